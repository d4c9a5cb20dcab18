"""Streams over HTTP. The one module that knows sse-starlette.

Importing sse-starlette replaces ``uvicorn.Server.handle_exit`` for the whole process and its responses end by
a process-wide flag that is polled. Neither is wanted: the replacement is undone here, and :class:`EventStream`
sends the frames as they come, ready encoded, from a subscription; draining the feed ends them at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Final, Protocol, cast

from sse_starlette.sse import AppStatus, EventSourceResponse
from starlette.types import Receive, Scope, Send
from uvicorn.server import Server

from hub.errors import HubError
from hub.front.headers import HARDENED

log = logging.getLogger(__name__)

COMMENT: Final = b":\n\n"
RETRY: Final = b"retry: 1000\n"
STUCK_S: Final = 30.0
ABORT: Final = "turnhub.abort"
_LOOKS: Final = 6
_LARGE: Final = 16 * 1024


def undo_patch() -> None:
    """Give uvicorn its own ``handle_exit`` back, if sse-starlette took it."""
    if getattr(Server, "handle_exit") is AppStatus.handle_exit:  # noqa: B009 - mypy takes the plain form for a call
        setattr(Server, "handle_exit", AppStatus.original_handler)  # noqa: B010


undo_patch()


class Readable(Protocol):
    """What a stream is read from: :class:`hub.store.feed.Subscription`, or the like."""

    async def __aenter__(self) -> Any:
        """Begin to watch."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop watching."""

    async def read(self) -> bytes | None:
        """The next frames; ``b""`` when a comment is due; None when the stream is over."""


class _Nothing:
    """sse-starlette wants content; ours comes from the subscription."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        raise StopAsyncIteration


class EventStream(EventSourceResponse):
    """A stream of frames. The client going away ends it and nothing else; a client that takes no bytes for
    ``stuck_s`` seconds is cut off. ``then`` is done once the head of the response is out (or cannot be sent):
    nothing is started for a client before it hears that it is served. ``counted`` lasts as long as the stream.
    """

    def __init__(
        self,
        subscription: Readable,
        *,
        then: Callable[[], Awaitable[None]] | None = None,
        counted: AbstractContextManager[None] | None = None,
        stuck_s: float = STUCK_S,
    ) -> None:
        super().__init__(_Nothing(), ping=0, sep="\n", headers=dict(HARDENED))
        del self.headers["connection"]  # the server's own business
        self._subscription = subscription
        self._then = then
        self._counted = counted or nullcontext()
        self._stuck_s = stuck_s
        self._sending_since: float | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, then frames until the subscription is over or the client is gone."""
        async with self._subscription:
            with self._counted:
                await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            taken = await self._head(scope["method"] == "HEAD", send)
        finally:
            if self._then is not None:
                await self._then()
        if scope["method"] != "HEAD" and not (taken and await self._served(receive, send)):
            await self._cut_off(scope, receive)

    async def _head(self, alone: bool, send: Send) -> bool:
        """Send the head and the first comment; false when the client does not take them."""
        try:
            async with asyncio.timeout(self._stuck_s):
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                body = b"" if alone else COMMENT
                await send({"type": "http.response.body", "body": body, "more_body": not alone})
        except TimeoutError:
            return False
        return True

    async def _served(self, receive: Receive, send: Send) -> bool:
        """Send everything; false when the client takes nothing any more."""
        loop = asyncio.get_running_loop()
        stuck = False
        timer: asyncio.TimerHandle | None = None

        def look() -> None:
            nonlocal stuck, timer
            since = self._sending_since
            stuck = since is not None and loop.time() - since >= self._stuck_s
            if stuck:
                ending.reschedule(loop.time())
            else:
                timer = loop.call_later(self._stuck_s / _LOOKS, look)

        def over(_: asyncio.Task[None]) -> None:
            ending.reschedule(loop.time())

        # The pump is the task, and not the watch: what wakes for each event should not wake below all the
        # layers of an application.
        pump = asyncio.create_task(self._pump(send))
        try:
            async with asyncio.timeout(None) as ending:
                pump.add_done_callback(over)
                timer = loop.call_later(self._stuck_s / _LOOKS, look)
                try:
                    await _disconnected(receive)
                finally:
                    timer.cancel()
                    pump.remove_done_callback(over)
                    pump.cancel()
                    await asyncio.wait([pump])
        except TimeoutError:
            if not ending.expired():
                raise
        if not pump.cancelled():
            pump.result()
        return not stuck

    async def _pump(self, send: Send) -> None:
        read, clock = self._subscription.read, asyncio.get_running_loop().time
        head = RETRY
        try:
            while (frames := await read()) is not None:
                if not frames:
                    frames = COMMENT
                elif head:
                    frames, head = head + frames, b""
                self._sending_since = clock()
                await send({"type": "http.response.body", "body": frames, "more_body": True})
                self._sending_since = None
                if len(frames) > _LARGE:
                    await asyncio.sleep(0)  # a long replay lets others in between, and sees the client leave
        except HubError as error:
            log.warning("a stream ends early: %s", error.code)
        self._sending_since = clock()
        await send({"type": "http.response.body", "body": b""})

    async def _cut_off(self, scope: Scope, receive: Receive) -> None:
        log.info("a client took nothing for %.0f s; its stream is cut off", self._stuck_s)
        abort = cast(Callable[[], None] | None, scope.get("extensions", {}).get(ABORT))
        if abort is None:
            raise ConnectionError("The client takes nothing any more.")
        abort()
        await _disconnected(receive)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
