"""HTTP/1.1 on a connection: uvicorn's protocol, with bounds that it lacks.

A request's head has to be complete in time and of a sane size, and so has what follows a body; a connection on
which nothing is under way, or whose client takes no bytes, is closed however it trickles; the number of
connections is bounded, over all and for each address. What cannot be parsed gets a problem document, and a
stream can cut off its client.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Any, ClassVar, Final

from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from hub.config import ServerConfig
from hub.errors import BadRequest, HubError, Overloaded
from hub.events import to_json
from hub.front.peers import peer_of
from hub.front.problems import BodyTooSlow, HeadersTooLarge, document, kind_of
from hub.front.proxies import Trusted
from hub.front.sse import ABORT, STUCK_S

log = logging.getLogger(__name__)

FAREWELL_S: Final = 5.0
_NO_HTTP: Final = "This is no HTTP request: its method, address, headers or the lengths of its body are malformed."


class Limits(Struct, frozen=True, kw_only=True):
    """``head_s``: seconds in which a request's head has to be complete; ``idle_s``: how long a connection may
    wait for its next request, or take for a body that nobody reads; ``stuck_s``: how long a client may take no
    bytes; ``head_bytes``: the largest head; ``connections``: how many at once; ``per_address``: how many of one
    other machine, ``trusted`` proxies excepted, which bring many people's."""

    head_s: float = 10.0
    idle_s: float = 30.0
    stuck_s: float = STUCK_S
    head_bytes: int = 64 * 1024
    connections: int = 10_000
    per_address: int = 1_000
    trusted: tuple[str, ...] = ()


def limits_of(server: ServerConfig) -> Limits:
    """The limits that are configured."""
    return Limits(
        head_s=server.head_timeout_s,
        idle_s=server.idle_timeout_s,
        head_bytes=server.max_head_bytes,
        connections=server.max_connections,
        per_address=server.max_connections_per_address,
        trusted=server.trusted_proxies,
    )


class FrontProtocol(HttpToolsProtocol):
    """One connection. Subclasses set ``limits``, with what is ``trusted`` of them, and ``peers``: the connections
    of each address."""

    limits: ClassVar[Limits] = Limits()
    trusted: ClassVar[Trusted] = Trusted(())
    peers: ClassVar[Counter[str]] = Counter()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._peer: str | None = None
        self._timer: asyncio.TimerHandle | None = None  # of what is waited for
        self._abort_timer: asyncio.TimerHandle | None = None  # of the client that takes nothing
        self._counted_bytes = 0  # of the head; in a body, of what is no body since some came
        self._body_came = False
        self._in_head = False
        self._in_body = False
        self._under_way: list[
            RequestResponseCycle
        ] = []  # requests without a whole response; the base knows the last

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or say that there are too many."""
        super().connection_made(transport)
        self._peer = None if self.trusted.has(self.client) else peer_of(self.client)
        if self._peer is not None:
            self.peers[self._peer] += 1
        if len(self.connections) > self.limits.connections:
            self._refuse(Overloaded("Too many connections are open. Try again later."))
        elif self._peer is not None and self.peers[self._peer] > self.limits.per_address:
            self._refuse(Overloaded(f"Too many connections from {self._peer} are open. Close some."))
        else:
            self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._stop_waiting()
        self._stop_aborting()
        if self._peer is not None:
            self.peers[self._peer] -= 1
            if not self.peers[self._peer]:
                del self.peers[self._peer]
        self.pipeline.clear()  # nobody is there to be answered
        for cycle in self._under_way:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes in; a head that grows beyond the bound is refused, and so is what stands between the parts of
        a body or follows it."""
        self._body_came = False
        super().data_received(data)
        if self._body_came:
            self._counted_bytes = 0
        elif self._in_head or self._in_body:
            self._count(len(data))

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        extensions: dict[str, Any] = {ABORT: self.transport.abort}
        self.scope["extensions"] = extensions
        self._begin_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; one that follows a body counts for nothing, and is not kept."""
        if not self._in_body:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._body_came = True
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """A request's head is complete."""
        self._in_head, self._in_body, self._counted_bytes = False, True, 0
        self._stop_waiting()
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:
            self._under_way = [one for one in self._under_way if not one.response_complete] + [self.cycle]

    def on_message_complete(self) -> None:
        """A request is complete."""
        self._in_body = False
        super().on_message_complete()
        if self.cycle.response_complete and not self.pipeline:
            self._wait(self.limits.idle_s)

    def on_response_complete(self) -> None:
        """A response is complete. If nothing else is under way, neither the next request nor the rest of this
        one is waited for without end, whatever trickles in."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._abort_after(FAREWELL_S)
        elif self.cycle.response_complete and not self.pipeline and not self._in_head:
            self._wait(self.limits.idle_s)

    def pause_writing(self) -> None:
        """The client takes no bytes at the moment."""
        super().pause_writing()
        self._abort_after(self.limits.stuck_s)

    def resume_writing(self) -> None:
        """It does again."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop_aborting()

    def send_400_response(self, msg: str) -> None:
        """What cannot be parsed gets a problem document. (``msg`` never says more than that.)"""
        self._refuse(BadRequest(_NO_HTTP))

    def _begin_head(self) -> None:
        self._in_head, self._in_body, self._counted_bytes = True, False, 0
        self._wait(self.limits.head_s)

    def _count(self, size: int) -> None:
        self._counted_bytes += size
        if self._counted_bytes > (most := self.limits.head_bytes):
            self._refuse(HeadersTooLarge(f"The head of the request is larger than {most} bytes."))

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _abort_after(self, seconds: float) -> None:
        if self._abort_timer is None:
            self._abort_timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_aborting(self) -> None:
        if self._abort_timer is not None:
            self._abort_timer.cancel()
            self._abort_timer = None

    def _too_slow(self) -> None:
        if self._in_head and self._counted_bytes:
            self._refuse(BodyTooSlow(f"The head of the request did not arrive within {self.limits.head_s:.0f} s."))
        else:
            self._close()

    def _close(self) -> None:
        """Close, and wait for a client that takes nothing only so long."""
        self._stop_waiting()
        self.transport.close()
        self._abort_after(FAREWELL_S)

    def _refuse(self, error: HubError) -> None:
        """Answer in the protocol's own bytes, and close. Where an answer is on its way, or would come after this
        one, the connection is cut off instead; where it has been given, it is closed."""
        if self.transport.is_closing():
            return
        log.info("a connection is refused: %s", error.code)
        cycle = self.cycle
        if cycle is not None and self._in_body and cycle.response_complete:
            self._close()
            return
        if cycle is not None and not cycle.response_complete and (cycle.response_started or self._in_head):
            self.transport.abort()
            return
        body = to_json(document(error))
        head = (
            b"content-type: application/problem+json\r\ncache-control: no-store\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n" % len(body)
        )
        self.transport.write(STATUS_LINE[kind_of(error.code).status] + head + body)
        self._close()


def bounded(limits: Limits) -> type[FrontProtocol]:
    """The protocol with ``limits``, and counts of its own."""
    own = {"limits": limits, "trusted": Trusted(limits.trusted), "peers": Counter()}
    return type("BoundedProtocol", (FrontProtocol,), own)
