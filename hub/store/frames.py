"""Pure: the newest frames of one stream in memory, and views on them. A subscriber is only a cursor.

Frames are kept in the order of their numbers, up to a bound; ``floor`` says from where on nothing is
missing. What several subscribers want at once is joined once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from hub.store.records import Entry

_CHUNK_BYTES = 256 * 1024


class View(Struct, frozen=True, cache_hash=True):
    """What a subscriber sees: one turn up to its end, or a log (with or without transient events)."""

    turn_id: str | None = None
    transient: bool = False

    def shows(self, entry: Entry) -> bool:
        """Whether the subscriber is to get this event."""
        if self.turn_id is not None:
            return entry.turn_id == self.turn_id
        return self.transient or entry.durable


class Slice(Struct, frozen=True):
    """Frames to send, joined; the cursor after them; whether the view's turn has ended with them."""

    frames: bytes
    cursor: int
    ended: bool


def joined(entries: Sequence[Entry], view: View, cursor: int) -> Slice:
    """What ``view`` shows of ``entries`` (all behind ``cursor``): about 256 KiB at the most."""
    parts: list[bytes] = []
    size = 0
    for entry in entries:
        cursor = entry.seq
        if not view.shows(entry):
            continue
        parts.append(entry.frame)
        size += len(entry.frame)
        if view.turn_id is not None and entry.terminal:
            return Slice(b"".join(parts), cursor, ended=True)
        if size >= _CHUNK_BYTES:
            break
    return Slice(parts[0] if len(parts) == 1 else b"".join(parts), cursor, ended=False)


class Frames:
    """A bounded run of entries. ``last``: the highest number known; every event with
    ``floor`` < seq <= ``last`` that still exists is held."""

    def __init__(self, floor: int, *, most_bytes: int) -> None:
        self.floor = self.last = floor
        self._most_bytes = most_bytes
        self._bytes = 0
        self._entries: list[Entry] = []
        self._numbers: list[int] = []
        self._cache: dict[tuple[int, View], Slice] = {}

    def append(self, entries: Sequence[Entry], last: int) -> None:
        """Add entries behind ``last``, in order; ``last`` is then the highest number known."""
        for entry in entries:
            if entry.seq > self.last:
                self._entries.append(entry)
                self._numbers.append(entry.seq)
                self._bytes += len(entry.frame)
                self.last = entry.seq
        self.last = max(self.last, last)
        self._cache.clear()
        if self._bytes > self._most_bytes:
            self._drop()

    def after(self, cursor: int, view: View) -> Slice:
        """What ``view`` shows behind ``cursor`` (at or above the floor), joined once for all who ask."""
        key = (cursor, view)
        found = self._cache.get(key)
        if found is None:
            start = bisect_right(self._numbers, cursor)
            found = joined(self._entries[start:], view, cursor)
            if not found.ended and (not self._numbers or found.cursor >= self._numbers[-1]):
                # All is seen: the cursor stands at the newest number, even if that event is no longer held. It
                # may be ahead of that already (the store was read), and it only rises.
                found = Slice(found.frames, max(found.cursor, self.last), ended=False)
            self._cache[key] = found
        return found

    def _drop(self) -> None:
        """Drop the older half, never the newest: appending stays cheap on average."""
        keep = len(self._entries) - 1
        size = len(self._entries[keep].frame)
        while keep > 0 and size + len(self._entries[keep - 1].frame) <= self._most_bytes // 2:
            keep -= 1
            size += len(self._entries[keep].frame)
        self.floor = self._numbers[keep - 1] if keep else self.floor
        del self._entries[:keep], self._numbers[:keep]
        self._bytes = size
