"""One subscriber of a stream: a cursor and a view."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType

from hub.store.channels import Channel
from hub.store.frames import View


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
        self._patience = channel.bounds.heartbeat_s * 0.8
        self._due = channel.clock() + self._patience

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
        ended, its session is gone, the process stops, or this subscriber was too slow: it had caught up, and
        what it wants now is no longer held. Raises StoreUnavailable."""
        if self._first:
            first, self._first = self._first, b""
            return first
        channel = self._channel
        while not (self._over or channel.closed):
            if self.cursor < channel.frames.last or not self._caught_up:
                if self.cursor >= channel.frames.floor:
                    self._caught_up = True
                    found = channel.frames.after(self.cursor, self._view)
                elif self._caught_up:
                    return None
                else:
                    found = await channel.older(self._view, self.cursor)
                self.cursor, self._over = found.cursor, found.ended
                if found.frames:
                    self._due = channel.clock() + self._patience
                    return found.frames
            elif channel.finished(self._view, self.cursor):
                return None
            elif (at := channel.clock()) >= self._due:
                self._due = at + self._patience
                return b""
            else:
                await channel.wait(self._due)
        return None
