"""Streams of events that outlive their connection: they resume by cursor, every event once and in order.

A connection that ends without the turn's terminal event says nothing about the turn. The stream then asks the
log whether the turn has ended, and goes on with what is missing: from the log if it has, live if it has not.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Final, Protocol, Self, cast

import httpx
import msgspec
from msgspec import Struct

from hub import events
from hub.client.errors import ClientError, HubNotReachable, ProblemError, problem
from hub.client.sse import SseParser
from hub.events import AnyEvent, Unknown

_TEMPORARY: Final = frozenset({429, 502, 503, 504})
_UNBELIEVED: Final = "CERTIFICATE_VERIFY_FAILED"
_LONGEST_PAUSE_S: Final = 2.0
Open = Callable[[], Awaitable[httpx.Response]]


class Received(Struct, frozen=True):
    """An event and the line of JSON that it came as."""

    event: AnyEvent | Unknown
    line: str


class Patience(Struct, frozen=True, kw_only=True):
    """How long a lost connection is tried again: ``total_s`` since the last byte, the first time after
    ``first_s``, then twice as long each time. ``lost`` is told, once until events come again, why a connection
    ended; ``back``, that there is a connection again."""

    total_s: float = 60.0
    first_s: float = 0.1
    lost: Callable[[str], None] | None = None
    back: Callable[[], None] | None = None


class Requests(Protocol):
    """What a stream wants from the client."""

    async def open_live(self, session_id: str, after: int) -> httpx.Response: ...

    async def open_events(self, session_id: str, after: int) -> httpx.Response: ...

    async def open_hub(self, session_id: str | None, after: int) -> httpx.Response: ...

    async def page(self, session_id: str, after: int) -> tuple[list[Received], int | None]: ...


def received(line: str) -> Received:
    """The event in one line of JSON. Raises ClientError where it is none."""
    try:
        return Received(events.decode(line), line)
    except msgspec.DecodeError as error:
        raise ClientError(
            f"The hub sent something that is no event ({error}); is it of another version?"
        ) from None


class Stream:
    """Events, one by one, over as many connections as it takes. Use it as a context manager::

        async with client.send(session, "hello") as stream:
            async for one in stream:
                ...

    ``accepted`` is the hub's answer where it is no stream (a queued message, say); then there are no events.
    Raises ProblemError when the hub refuses, HubNotReachable when it is away for longer than the patience.
    """

    def __init__(
        self, requests: Requests, session_id: str, first: Open, patience: Patience, cursor: int = 0
    ) -> None:
        self._requests = requests
        self._session_id = session_id
        self._first = first
        self._patience = patience
        self._response: httpx.Response | None = None
        self._events = self._all()
        self._heard = time.monotonic()
        self._pause_s = patience.first_s
        self._away = False
        self.cursor = cursor
        self.accepted: dict[str, Any] | None = None

    async def __aenter__(self) -> Self:
        self._heard = time.monotonic()
        while True:
            try:
                await self._begin()
            except httpx.TransportError as error:
                if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout) and not self._away:
                    raise HubNotReachable(reason_of(error)) from None
                await self._wait(reason_of(error))  # it may have been received: it is sent again under its key
            else:
                return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._events.aclose()
        await self._close()

    def __aiter__(self) -> AsyncIterator[Received]:
        return self._events

    async def _all(self) -> AsyncGenerator[Received, None]:
        while self.accepted is None:
            try:
                if self._response is None:
                    for one in await self._catch_up():
                        yield one
                        if self._is_end(one.event):
                            return
                if self._response is not None:
                    self._is_back()
                    async with aclosing(self._frames(self._response)) as frames:
                        async for one in frames:
                            yield one
                            if self._is_end(one.event):
                                return
                reason = "the stream ended early"
            except httpx.TransportError as error:
                reason = reason_of(error)
            except HubNotReachable as error:
                reason = error.detail
            except ProblemError as error:
                if error.status not in _TEMPORARY:
                    raise
                reason = error.detail
            if self.accepted is None:
                await self._wait(reason)

    async def _begin(self) -> None:
        """Make the first request; what comes back is a stream or an answer. Raises ProblemError, and httpx's
        own errors."""
        response = await checked(await self._first())
        if self._was_missed(response):
            await response.aclose()
            return
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            self._response = response
            return
        body = await response.aread()
        try:
            self.accepted = msgspec.json.decode(body, type=dict[str, Any]) if body else {}
        except msgspec.DecodeError:
            raise ClientError("What answers there is no hub.") from None

    async def _frames(self, response: httpx.Response) -> AsyncGenerator[Received, None]:
        parser = SseParser()
        async with aclosing(cast(AsyncGenerator[bytes, None], response.aiter_raw())) as chunks:
            async for chunk in chunks:
                self._heard = time.monotonic()
                try:
                    messages = parser.feed(chunk)
                except ValueError as error:
                    raise ClientError(f"The hub sent too much at once: {error}.") from None
                for message in messages:
                    one = received(message.data)
                    if self._is_elsewhere(one.event):
                        return
                    if self._is_new(one.event):
                        self._pause_s, self._away = self._patience.first_s, False
                        yield one

    def _is_new(self, event: AnyEvent | Unknown) -> bool:
        """Whether ``event`` is yet to be told; if so, the cursor moves to it."""
        if event.seq > self.cursor:
            self.cursor = event.seq
            return True
        return isinstance(event, events.Gap)

    def _is_back(self) -> None:
        if self._away and self._patience.back is not None:
            self._away = False
            self._patience.back()

    async def _wait(self, reason: str) -> None:
        await self._close()
        if time.monotonic() - self._heard > self._patience.total_s:
            raise HubNotReachable(f"{reason}; what runs there goes on without us") from None
        if self._patience.lost is not None and not self._away:
            self._patience.lost(reason)
        self._away = True
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)

    async def _close(self) -> None:
        response, self._response = self._response, None
        if response is not None:
            await response.aclose()

    def _is_end(self, event: AnyEvent | Unknown) -> bool:
        """Whether nothing follows ``event``."""
        raise NotImplementedError

    def _was_missed(self, response: httpx.Response) -> bool:
        """Whether the first answer means that there is something, but only the log has it."""
        return False

    def _is_elsewhere(self, event: AnyEvent | Unknown) -> bool:
        """Whether the connection has gone on to something that is not ours."""
        return False

    async def _catch_up(self) -> list[Received]:
        """What was missed, as far as the log tells; and open the next connection, where one is wanted."""
        raise NotImplementedError


async def checked(response: httpx.Response) -> httpx.Response:
    """``response``, unless it is a refusal. Raises ProblemError."""
    if response.status_code >= 300:
        raise problem(response.status_code, await response.aread())
    return response


def reason_of(error: Exception) -> str:
    """Why the hub could not be reached, in a few words."""
    reason = str(error) or type(error).__name__
    if _UNBELIEVED in reason:
        told = reason.partition(f"{_UNBELIEVED}] certificate verify failed: ")[2].partition(" (_ssl")[0]
        return f"its certificate is not believed: {told or reason}; SSL_CERT_FILE names an authority of your own"
    return reason
