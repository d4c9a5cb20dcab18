"""What one process holds of one stream while somebody watches it: the newest frames, and who waits."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable

from msgspec import Struct

from hub.store.frames import Frames, Slice, View, joined
from hub.store.records import Entry, Snapshot, entry
from hub.store.store import Store

_BEYOND = 1 << 53
_TURNS_KEPT = 4


class FeedBounds(Struct, frozen=True, kw_only=True):
    """``held_bytes``: frames held in memory for each watched session; ``heartbeat_s``: longest silence of a
    stream; ``reread_s``: how often a session with a turn is read although nothing rang."""

    held_bytes: int = 8 * 1024 * 1024
    heartbeat_s: float = 15.0
    reread_s: float = 5.0


class Channel(ABC):
    """A watched stream. Listens on the doorbell under ``name``."""

    def __init__(self, name: str, bounds: FeedBounds) -> None:
        self.name = name
        self.bounds = bounds
        self.frames = Frames(0, most_bytes=bounds.held_bytes)
        self.users = 0
        self.begun = False
        self.closed = False
        self.lock = asyncio.Lock()
        self.clock = asyncio.get_running_loop().time
        self._waiters: list[asyncio.Future[None]] = []

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
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self) -> None:
        """Return at the next ring."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

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


class SessionChannel(Channel):
    """A watched session. ``turn_id``: the running turn as far as it was read; ``trimmed``: the highest number
    that was dropped from its live stream."""

    def __init__(
        self,
        name: str,
        bounds: FeedBounds,
        store: Store,
        session_id: str,
        want_reading: Callable[[SessionChannel], None],
    ) -> None:
        super().__init__(name, bounds)
        self.session_id = session_id
        self.turn_id: str | None = None
        self.trimmed = 0
        self._store = store
        self._want_reading = want_reading
        self._starts: dict[str, int] = {}
        self._early: list[Entry] = []
        self._rang_at = self.clock()

    def start_of(self, turn_id: str) -> int:
        """The cursor before a turn's first event; 0 where that is not known."""
        return self._starts.get(turn_id, 1) - 1

    def quiet(self) -> bool:
        """Whether a turn runs and nothing rang for some time."""
        return self.turn_id is not None and self.clock() - self._rang_at >= self.bounds.reread_s

    def finished(self, view: View, cursor: int) -> bool:
        """A turn that does not run has nothing to follow once everything known was seen."""
        return view.turn_id is not None and view.turn_id != self.turn_id and cursor >= self.frames.last

    # Listening

    def rung(self, payload: bytes) -> None:
        """Take published frames in; a hole in their numbers means reading the store."""
        self._rang_at = self.clock()
        entries = published(payload)
        if not entries:
            self._want_reading(self)  # the session was deleted: reading tells
        elif self.lock.locked():
            self._early += entries  # whoever reads takes them in at the end
        elif entries[0].seq > self.frames.last + 1:
            self._early += entries
            self._want_reading(self)
        else:
            self._take(entries, entries[-1].seq)

    def missed(self) -> None:
        self._want_reading(self)

    # Reading (under the lock)

    async def begin(self) -> None:
        """Hold the running turn from its first event, or nothing up to the present number."""
        turn = await self._store.turn(self.session_id)
        if turn is None:
            floor = (await self._store.snapshot(self.session_id, _BEYOND, most=1)).cursor
        else:
            floor = turn.first - 1
        self.frames = Frames(floor, most_bytes=self.bounds.held_bytes)
        await self.sync()
        self.begun = True

    async def sync(self) -> None:
        """Read what is not held yet, up to one instant, then take in what rang meanwhile."""
        self._rang_at = self.clock()
        complete = False
        while not complete:
            snapshot = await self._store.snapshot(self.session_id, self.frames.last, also=tuple(self._starts))
            self._take(snapshot.entries, snapshot.cursor)
            complete = snapshot.complete
        self._learn(snapshot)
        early, self._early = self._early, []
        fresh = [one for one in early if one.seq > self.frames.last]
        if fresh and fresh[0].seq == self.frames.last + 1:
            self._take(fresh, fresh[-1].seq)
        elif fresh:
            self._want_reading(self)

    def _learn(self, snapshot: Snapshot) -> None:
        turn = snapshot.turn
        self.turn_id = turn.id if turn else None
        self.trimmed = turn.trimmed if turn else 0
        if turn:
            self._starts[turn.id] = turn.first

    def _take(self, entries: list[Entry] | tuple[Entry, ...], last: int) -> None:
        for one in entries:
            if one.seq > self.frames.last:
                self._follow(one)
        self.frames.append(entries, last)
        self.ring()

    def _follow(self, one: Entry) -> None:
        """Know which turn runs."""
        if one.type in ("user_message", "turn_started") and one.turn_id not in self._starts:
            self.turn_id, self.trimmed = one.turn_id, 0
            self._starts[one.turn_id] = one.seq
            for old in list(self._starts)[:-_TURNS_KEPT]:
                del self._starts[old]
        elif one.terminal and one.turn_id == self.turn_id:
            self.turn_id = None

    async def older(self, view: View, cursor: int) -> Slice:
        """Pages of the live stream (it has all of a turn, while it lasts) or of the log."""
        floor, entries = self.frames.floor, await self._page(view, cursor)
        if not entries:
            return Slice(b"", floor, ended=False)
        return joined(entries, view, cursor)

    async def _page(self, view: View, cursor: int) -> list[Entry]:
        if view.transient:
            return list((await self._store.snapshot(self.session_id, cursor, most=1000)).entries)
        if view.turn_id is not None:
            live = await self._store.live_page(self.session_id, view.turn_id, cursor)
            if live:
                return live
        return await self._store.log_page(self.session_id, cursor)


def published(payload: bytes) -> list[Entry]:
    """The entries of a published batch: for each the turn's id and a newline before the frame."""
    entries = []
    for part in payload.split(b"\n\n"):
        if part:
            turn_id, frame = part.split(b"\n", 1)
            entries.append(entry(turn_id.decode(), frame + b"\n\n"))
    return entries
