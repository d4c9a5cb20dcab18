"""Pure: what a session that goes on from another one begins with.

The new log has numbers of its own. Behind its own ``session_created`` stand copies of the other's events, each
with the number that it has there (``copied``), so that a client sees the whole conversation. What is the other
session's alone is left out: its queue, and the consent that it was given. A turn that the cut goes through is
ended there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

import msgspec

from hub.archive import Line, closing_lines, line_of_event, readdressed
from hub.errors import BadCursor, Invalid
from hub.events import (
    TERMINAL,
    ForkedFrom,
    SessionCreated,
    TurnEvent,
    TurnStarted,
    UserMessage,
    decode,
    stamp,
    to_json,
)
from hub.turn import Interrupted, TurnTally

_LEFT_OUT: Final = frozenset({"session_created", "message_queued", "message_unqueued", "grant_revoked"})
_AFTERMATH: Final = frozenset({"turn_distilled", "distill_failed"})
_CUT: Final = "fork"


class Known(Protocol):
    """What has to be known of an event to find the place of a cut."""

    @property
    def seq(self) -> int:
        """Its number."""

    @property
    def turn_id(self) -> str:
        """Its turn, "" for none."""

    @property
    def type(self) -> str:
        """Its type."""


def cut_after(log: Sequence[Known], after: int | str | None, cursor: int) -> int:
    """The number of the last event that a fork takes over.

    ``after``: a number (up to ``cursor``, where the session stands), or the id of a turn that has ended, which is
    taken over with what was remembered of it; None: all but a turn that runs. Raises BadCursor, Invalid."""
    if isinstance(after, int):
        if not 0 <= after <= cursor:
            raise BadCursor(f"`after` is {after}; this session stands at {cursor}.")
        return after
    if after is not None:
        return _turn_end(log, after)
    running = runs(log)
    return cursor if running is None else running - 1


def runs(log: Sequence[Known]) -> int | None:
    """The number of the first event of the turn that runs; None where none does."""
    ended = {one.turn_id for one in log if one.type in TERMINAL}
    return next((one.seq for one in log if one.turn_id and one.turn_id not in ended), None)


def _turn_end(log: Sequence[Known], turn_id: str) -> int:
    place = next((at for at, one in enumerate(log) if one.turn_id == turn_id and one.type in TERMINAL), None)
    if place is None:
        runs = any(one.turn_id == turn_id for one in log)
        why = "has not ended yet; give the number of an event to cut it" if runs else "is no turn of this session"
        raise Invalid(f"`after`: {turn_id[:80]!r} {why}.", field="after")
    end = log[place].seq
    for one in log[place + 1 :]:
        if one.type not in _AFTERMATH:
            break
        end = one.seq
    return end


def fork_lines(
    log: Iterable[bytes], created: SessionCreated, origin: ForkedFrom, *, session_id: str, at: str
) -> tuple[Line, ...]:
    """The log that session ``session_id`` begins with. ``log``: the JSON lines of the other session; ``created``:
    what it is; ``at``: the present."""
    first = msgspec.structs.replace(stamp(created, session_id, None, at), seq=1, forked_from=origin)
    lines = [Line(seq=1, type="session_created", turn_id="", json=to_json(first))]
    copies = _Copies(origin.session_id, session_id)
    lines += copies.of(line for line in log if decode(line).seq <= origin.seq)
    lines += copies.closing(at)
    return tuple(lines)


class _Copies:
    """Copies one event after the other."""

    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new
        self._last = 1
        self._turn: str | None = None
        self._tally = TurnTally()

    def of(self, log: Iterable[bytes]) -> Iterator[Line]:
        """The copies of ``log``."""
        for line in log:
            told = msgspec.json.decode(line)
            if told["type"] in _LEFT_OUT:
                continue
            self._follow(line)
            self._last += 1
            told = readdressed(told, self._old, self._new)
            head = {"session_id": self._new, "at": told.get("at", ""), "copied": told["seq"]}
            rest = {key: value for key, value in told.items() if key not in head}
            yield line_of_event(self._last, {"type": told["type"], **head, **rest})

    def _follow(self, line: bytes) -> None:
        event = decode(line)
        if isinstance(event, UserMessage | TurnStarted) and event.turn_id != self._turn:
            self._turn, self._tally = event.turn_id, TurnTally()
        if isinstance(event, TurnEvent) and event.turn_id == self._turn:
            self._tally.feed(event)
            if self._tally.terminal is not None:
                self._turn = None

    def closing(self, at: str) -> Iterator[Line]:
        """What ends a turn that the cut goes through."""
        if self._turn is not None:
            ending = Interrupted(by=_CUT)
            where = {"session_id": self._new, "turn_id": self._turn, "at": at}
            yield from closing_lines(self._tally, ending, **where, last=self._last)
