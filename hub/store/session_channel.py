"""What one process holds of one watched session, and how it keeps up with the store."""

from __future__ import annotations

from collections.abc import Callable

from hub.errors import StoreUnavailable
from hub.store.channels import Channel, FeedBounds
from hub.store.frames import Frames, Slice, View, joined
from hub.store.records import Entry, Snapshot, entry
from hub.store.store import Store

_BEYOND = 1 << 53
_TURNS_KEPT = 4


class WentBack(StoreUnavailable):
    """The store stands where it stood before: it was restored, or a replica that lacked the latest took over. What
    is held here beyond that is not so any more."""


class SessionChannel(Channel):
    """A watched session. ``turn_id``: the running turn as far as it was read. ``behind``: the store is known to
    have more than is held."""

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
        self.behind = False
        self._trimmed = 0  # the highest number that was dropped from the running turn's live stream
        self._lacking = 0  # the highest that had been dropped when it was read: it is not among the frames
        self._store = store
        self._want_reading = want_reading
        self._starts: dict[str, int] = {}
        self._early: list[Entry] = []
        self._rang_at = self.clock()

    def start_of(self, turn_id: str) -> int:
        """The cursor before a turn's first event; 0 where that is not known."""
        return self._starts.get(turn_id, 1) - 1

    def wants_reading(self) -> bool:
        """Whether there is more to read, or a turn runs and nothing rang for some time."""
        silent = self.clock() - self._rang_at >= self.bounds.reread_s
        return self.behind or (self.turn_id is not None and silent)

    def gap_end(self, turn_id: str, after: int) -> int:
        """The highest number of the running turn that is no longer held, where it is beyond ``after``; else
        0."""
        highest = self._lacking if after >= self.frames.floor else self._trimmed
        return highest if turn_id == self.turn_id and highest > after else 0

    def finished(self, view: View, cursor: int) -> bool:
        """A turn that does not run has nothing to follow once everything known was seen."""
        return view.turn_id is not None and view.turn_id != self.turn_id and cursor >= self.frames.last

    # Listening

    def rung(self, payload: bytes) -> None:
        """Take published frames in; a hole in their numbers means reading the store."""
        self._rang_at = self.clock()
        entries = published(payload)
        if not entries:
            self.missed()  # the session was deleted: reading tells
        elif self.lock.locked():
            self._early += entries  # whoever reads takes them in at the end
        elif entries[0].seq == self.frames.last + 1:
            self._take(entries, entries[-1].seq)
        else:
            self._follow_on(entries)

    def missed(self) -> None:
        self.behind = True
        self._want_reading(self)

    def _follow_on(self, entries: list[Entry]) -> None:
        """Take in what follows without a hole; behind a hole, the store has to be read."""
        fresh = {one.seq: one for one in entries if one.seq > self.frames.last}
        following: list[Entry] = []
        while one := fresh.pop(self.frames.last + 1 + len(following), None):
            following.append(one)
        if following:
            self._take(following, following[-1].seq)
        if fresh:
            self.missed()

    # Reading (under the lock)

    async def begin(self) -> None:
        """Hold the running turn from its first event, or nothing up to the present number."""
        turn = await self._store.turn(self.session_id)
        if turn is None:
            floor = (await self._store.snapshot(self.session_id, _BEYOND, most=1)).cursor
        else:
            floor = turn.first - 1
            self._starts[turn.id] = turn.first
        self.frames = Frames(floor, most_bytes=self.bounds.held_bytes)
        await self.sync()
        self.begun = True

    async def sync(self) -> None:
        """Read what is not held yet, up to one instant, then take in what rang meanwhile."""
        self._rang_at = self.clock()
        self.readings += 1
        number = self.readings
        self.behind = False
        try:
            await self._read_on()
        except BaseException:
            self.behind = True
            raise
        early, self._early = self._early, []
        self._follow_on(early)
        self.read = number

    async def _read_on(self) -> None:
        complete = False
        while not complete:
            held = self.frames.last
            snapshot = await self._store.snapshot(self.session_id, held, also=tuple(self._starts))
            if snapshot.cursor < held:
                raise WentBack(f"The store has lost events of {self.session_id}: it stands at {snapshot.cursor}.")
            if snapshot.turn and snapshot.turn.trimmed > held:
                self._lacking = snapshot.turn.trimmed
            self._take(snapshot.entries, snapshot.cursor)
            complete = snapshot.complete
        self._learn(snapshot)

    def _learn(self, snapshot: Snapshot) -> None:
        turn, known = snapshot.turn, self.turn_id
        self.turn_id = turn.id if turn else None
        self._trimmed = turn.trimmed if turn else 0
        if turn:
            self._starts[turn.id] = turn.first
        if self.turn_id != known:
            self.ring()

    def _take(self, entries: list[Entry] | tuple[Entry, ...], last: int) -> None:
        if last <= self.frames.last:
            return  # nothing new: with many subscribers, waking them all for nothing is dear
        for one in entries:
            if one.seq > self.frames.last:
                self._follow(one)
        self.frames.append(entries, last)
        self.ring()

    def _follow(self, one: Entry) -> None:
        """Know which turn runs."""
        if one.type in ("user_message", "turn_started") and one.turn_id not in self._starts:
            self.turn_id, self._trimmed = one.turn_id, 0
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
