"""A session that somebody writes and others watch, for tests of the feed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from hub import ids
from hub.events import AnyEvent, Text, TextDelta
from hub.store.channels import FeedBounds
from hub.store.connect import Connections
from hub.store.records import Claim, Entry
from hub.store.store import Bounds, Store
from hub.store.subscription import Subscription
from hub.testing.hub import Process
from tests.gates import GatedLines
from tests.store.desk import Desk, completed, stamped

QUICK = FeedBounds(reread_s=0.3, heartbeat_s=30)


@asynccontextmanager
async def watching(
    url: str, bounds: FeedBounds = QUICK, sift: Callable[[Any], list[Any]] = lambda message: [message]
) -> AsyncIterator[Process]:
    """A process that watches: with its own connections, doorbell and feed. ``process.lines`` has a gate."""
    process = Process(GatedLines(Connections(url), sift), Bounds(), bounds)
    task = asyncio.create_task(process.run())
    try:
        yield process
    finally:
        task.cancel()
        await asyncio.wait([task])


async def read_all(subscription: Subscription | None, *, within_s: float = 20) -> bytes:
    """Everything, to the end of the stream."""
    assert subscription is not None
    seen = b""
    async with asyncio.timeout(within_s), subscription:
        while (frames := await subscription.read()) is not None:
            seen += frames
    return seen


async def read_until(subscription: Subscription, mark: bytes, *, within_s: float = 20) -> bytes:
    """Everything up to the frames that hold ``mark``."""
    seen = b""
    async with asyncio.timeout(within_s):
        while mark not in seen:
            frames = await subscription.read()
            assert frames is not None, f"the stream ended without {mark!r}"
            seen += frames
    return seen


class Author:
    """Writes turns in one session, and remembers every frame that was ever written."""

    def __init__(self, store: Store) -> None:
        self.desk = Desk(store)
        self.store = store
        self.session_id = ""
        self.claim: Claim | None = None
        self._batch = 0

    async def session(self) -> str:
        """A new session."""
        self.session_id = await self.desk.session()
        return self.session_id

    async def begin(self, text: str = "hello") -> str:
        """Begin and take a turn; its id."""
        taken = await self.desk.taken(self.session_id, text)
        self.claim, self._batch = taken.claim, 0
        return taken.turn.id

    async def write(self, *events: AnyEvent) -> int:
        """Append a batch; the last number."""
        assert self.claim is not None
        self._batch += 1
        batch = [stamped(self.claim, event) for event in events]
        return (await self.store.append(self.claim, self._batch, batch, 30_000)).last

    async def say(self, block: int, *pieces: str) -> int:
        """Stream a block, a batch a piece, and write it; the last number."""
        for piece in pieces:
            await self.write(TextDelta(block=block, text=piece))
        return await self.write(Text(block=block, text="".join(pieces)))

    async def finish(self) -> None:
        """End the turn."""
        assert self.claim is not None
        await self.store.finish(self.claim, [], stamped(self.claim, completed()), next_turn=ids.turn_id())  # type: ignore[arg-type]
        self.claim = None

    async def turn(self, blocks: int = 2) -> str:
        """A whole turn; its id."""
        turn_id = await self.begin()
        for block in range(blocks):
            await self.say(block, "a ", "b ", "c")
        await self.finish()
        return turn_id

    async def live(self, turn_id: str, after: int = 0) -> list[Entry]:
        """The truth about a turn, while its live stream is held."""
        return await self.store.live_page(self.session_id, turn_id, after, 1_000_000)

    async def log(self, after: int = 0) -> list[Entry]:
        """The truth about the log."""
        return await self.store.log_page(self.session_id, after, 1_000_000)


def joined(entries: list[Entry]) -> bytes:
    """The frames of entries."""
    return b"".join(entry.frame for entry in entries)


Step = Callable[[], Awaitable[Any]]
