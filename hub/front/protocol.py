"""HTTP/1.1 on a connection: uvicorn's protocol, with bounds that it lacks.

A request's head has to be complete in time and of a sane size, the number of connections is bounded, what
cannot be parsed gets a problem document, and a stream can cut off a client that takes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, ClassVar

from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from hub.errors import BadRequest, HubError, Overloaded
from hub.events import to_json
from hub.front.problems import BodyTooSlow, HeadersTooLarge, document, kind_of
from hub.front.sse import ABORT

log = logging.getLogger(__name__)


class Limits(Struct, frozen=True, kw_only=True):
    """``head_s``: seconds in which a request's head has to be complete; ``idle_s``: how long a connection may
    wait for its next request; ``head_bytes``: the largest head; ``connections``: how many at once."""

    head_s: float = 10.0
    idle_s: int = 30
    head_bytes: int = 64 * 1024
    connections: int = 10_000


class FrontProtocol(HttpToolsProtocol):
    """One connection. Subclasses set ``limits``."""

    limits: ClassVar[Limits] = Limits()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._in_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or say that there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(Overloaded("Too many connections are open. Try again later."))
        else:
            self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes in; a head that grows beyond the bound is refused."""
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > self.limits.head_bytes:
                most = self.limits.head_bytes
                self._refuse(HeadersTooLarge(f"The head of the request is larger than {most} bytes."))

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        extensions: dict[str, Any] = {ABORT: self.transport.abort}
        self.scope["extensions"] = extensions
        self._begin_head()

    def on_headers_complete(self) -> None:
        """A request's head is complete."""
        self._end_head()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What cannot be parsed gets a problem document; a response on its way is cut off instead."""
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()
        else:
            self._refuse(BadRequest(msg))

    def _begin_head(self) -> None:
        self._end_head()
        self._in_head, self._head_bytes = True, 0
        self._head_timer = self.loop.call_later(self.limits.head_s, self._too_slow)

    def _end_head(self) -> None:
        self._in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_slow(self) -> None:
        if self._head_bytes:
            self._refuse(BodyTooSlow(f"The head of the request did not arrive within {self.limits.head_s:.0f} s."))
        else:
            self.transport.close()

    def _refuse(self, error: HubError) -> None:
        """Answer in the protocol's own bytes, and close. No application has been called."""
        self._end_head()
        if self.transport.is_closing():
            return
        log.info("a connection is refused: %s", error.code)
        body = to_json(document(error))
        head = (
            b"content-type: application/problem+json\r\ncache-control: no-store\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n" % len(body)
        )
        self.transport.write(STATUS_LINE[kind_of(error.code).status] + head + body)
        self.transport.close()


def bounded(limits: Limits) -> type[FrontProtocol]:
    """The protocol with ``limits``."""
    return type("BoundedProtocol", (FrontProtocol,), {"limits": limits})
