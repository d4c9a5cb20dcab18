"""One subscriber of a stream: a cursor and a view."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType

from hub.store.channels import Channel
from hub.store.frames import Slice, View


class Subscription:
    """``async with`` it, and :meth:`read` until None."""

    def __init__(
        self, channel: Channel, view: View, cursor: int, release: Callable[[], Awaitable[None]], first: bytes = b""
    ) -> None:
        self.cursor = cursor
        self._channel = channel
        self._view = view
        self._release: Callable[[], Awaitable[None]] | None = release
        self._first = first
        self._caught_up = False
        self._over = False
        self._spoke = channel.clock()

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop watching. May be called again."""
        release, self._release = self._release, None
        if release is not None:
            await release()

    async def read(self) -> bytes | None:
        """The next frames, joined; ``b""`` when a comment is due; None when the stream is over: its turn
        ended, its session is gone, the process stops, or this subscriber was too slow. Raises
        StoreUnavailable."""
        if self._first:
            first, self._first = self._first, b""
            return first
        channel = self._channel
        while not (self._over or channel.closed):
            if self.cursor < channel.frames.last or not self._caught_up:
                found = self._held() if self.cursor >= channel.frames.floor else await self._older()
                if found is None:
                    return None
                self.cursor, self._over = found.cursor, found.ended
                if found.frames:
                    self._spoke = channel.clock()
                    return found.frames
            elif channel.finished(self._view, self.cursor):
                return None
            elif channel.clock() >= (due := self._spoke + channel.bounds.heartbeat_s * 0.8):
                self._spoke = channel.clock()
                return b""
            else:
                await channel.wait(due)
        return None

    def _held(self) -> Slice:
        self._caught_up = True
        return self._channel.frames.after(self.cursor, self._view)

    async def _older(self) -> Slice | None:
        """What is no longer held; None for a subscriber beyond the bounded lag: it had caught up before."""
        if self._caught_up:
            return None
        return await self._channel.older(self._view, self.cursor)
