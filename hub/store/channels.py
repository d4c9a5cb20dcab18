"""What one process holds of one stream while somebody watches it: the newest frames, and who waits."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod

from msgspec import Struct

from hub.store.frames import Frames, Slice, View
from hub.store.records import Entry


class FeedBounds(Struct, frozen=True, kw_only=True):
    """``held_bytes``: frames held in memory for each watched session; ``heartbeat_s``: longest silence of a
    stream; ``reread_s``: how often a session with a turn is read although nothing rang."""

    held_bytes: int = 8 * 1024 * 1024
    heartbeat_s: float = 15.0
    reread_s: float = 5.0


class Channel(ABC):
    """A watched stream. Listens on the doorbell under ``name``. ``readings``: how many readings of the store
    have begun; ``read``: the last of them that was completed."""

    def __init__(self, name: str, bounds: FeedBounds) -> None:
        self.name = name
        self.bounds = bounds
        self.frames = Frames(0, most_bytes=bounds.held_bytes)
        self.users = 0
        self.begun = False
        self.closed = False
        self.lock = asyncio.Lock()
        self.readings = 0
        self.read = 0
        self._loop = asyncio.get_running_loop()
        self.clock = self._loop.time
        self._waiters: list[asyncio.Future[None]] = []
        self._due = math.inf

    @abstractmethod
    def rung(self, payload: bytes) -> None:
        """Something was published."""

    @abstractmethod
    def missed(self) -> None:
        """Something may have been missed."""

    async def begin(self) -> None:
        """Be ready for the first subscriber."""
        self.begun = True

    async def sync(self) -> None:  # noqa: B027 - hints have no past to read
        """Come up to the present."""

    def ring(self) -> None:
        """Wake every subscriber."""
        waiters, self._waiters, self._due = self._waiters, [], math.inf
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def ring_if_due(self) -> None:
        """Wake every subscriber if one of them has waited long enough."""
        if self.clock() >= self._due:
            self.ring()

    def wait(self, due: float) -> asyncio.Future[None]:
        """What is done at the next ring, which comes soon after ``due`` at the latest."""
        self._due = min(self._due, due)
        waiter = self._loop.create_future()
        self._waiters.append(waiter)
        return waiter

    def close(self) -> None:
        """Every subscriber is over."""
        self.closed = True
        self.ring()

    async def older(self, view: View, cursor: int) -> Slice:
        """What ``view`` shows behind ``cursor``, below what is held."""
        return Slice(b"", max(cursor, self.frames.floor), ended=False)

    def finished(self, view: View, cursor: int) -> bool:
        """Whether nothing can follow ``cursor`` in ``view``."""
        return False


class HubChannel(Channel):
    """Hints over all sessions. Their numbers are this process's own, and they have no history."""

    def rung(self, payload: bytes) -> None:
        kind = payload.split(b'"', 4)[3]
        number = self.frames.last + 1
        frame = b"event: " + kind + b"\ndata: " + payload + b"\n\n"
        self.frames.append([Entry(number, "", kind.decode(), frame)], number)
        self.ring()

    def missed(self) -> None:
        """Nothing is kept of hints: everybody is told to look."""
        self.rung(b'{"type":"hub","state":"reconnected"}')
