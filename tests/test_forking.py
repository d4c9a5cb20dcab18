"""Forks: a new log that shows the whole conversation, marks what it copied, and leaves nothing open."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.archive import Line
from hub.errors import BadCursor, Invalid
from hub.events import (
    AnyEvent,
    ForkedFrom,
    SessionCreated,
    TurnEvent,
    Unknown,
    decode,
    encode,
    type_of,
)
from hub.fold import fold
from hub.forking import cut_after, fork_lines, runs
from hub.items import AssistantItem
from hub.modelview import model_view
from tests.strategies import durable, session_logs

NEW = "ses_01m8n0a252p9dn1xhpsvr7k5wy"
CREATED = SessionCreated(agent="echo", transport="scripted")


class One(NamedTuple):
    """What is known of an event."""

    seq: int
    turn_id: str
    type: str


def known(events: list[AnyEvent]) -> list[One]:
    """The log, as a cut looks at it."""
    return [One(e.seq, e.turn_id if isinstance(e, TurnEvent) else "", type_of(e)) for e in durable(events)]


def forked(events: list[AnyEvent], upto: int) -> tuple[Line, ...]:
    """The fork's log."""
    origin = ForkedFrom(session_id="ses_1", seq=upto)
    return fork_lines([encode(e) for e in durable(events)], CREATED, origin, session_id=NEW, at="NOW")


def read(lines: tuple[Line, ...]) -> list[AnyEvent | Unknown]:
    """The fork's events."""
    return [decode(line.json) for line in lines]


@given(session_logs(), st.data())
def test_a_fork_shows_the_conversation_up_to_its_cut(events: list[AnyEvent], data: st.DataObject) -> None:
    """A model sees the same, at any cut, but for the end of a turn that the cut goes through."""
    upto = data.draw(st.integers(0, len(events)))
    there = model_view(event for event in durable(events) if event.seq <= upto)
    here = model_view(read(forked(events, upto)))
    assert len(here) >= len(there)
    for theirs, ours in zip(there, here, strict=False):
        if getattr(theirs, "status", "") != "running":
            assert ours == theirs
    assert len(here) - len(there) <= 1  # the note that the turn was stopped by the fork


@given(session_logs(), st.data())
def test_copies_are_numbered_anew_and_name_their_origin(events: list[AnyEvent], data: st.DataObject) -> None:
    """1, 2, 3, …; each copy says which event it is there; all belong to the new session."""
    upto = data.draw(st.integers(0, len(events)))
    fork = read(forked(events, upto))
    assert [event.seq for event in fork] == list(range(1, len(fork) + 1))
    assert {event.session_id for event in fork} == {NEW}
    first = fork[0]
    assert isinstance(first, SessionCreated)
    assert first.forked_from == ForkedFrom(session_id="ses_1", seq=upto)
    by_seq = {event.seq: event for event in events}
    copies = [event for event in fork[1:] if isinstance(event.copied, int)]
    assert [type_of(by_seq[event.copied]) for event in copies] == [type_of(event) for event in copies]  # type: ignore[index]
    left_out = {"session_created", "message_queued", "message_unqueued"}
    kept = [e.seq for e in durable(events) if e.seq <= upto and type_of(e) not in left_out]
    assert [event.copied for event in copies] == kept


@given(session_logs(), st.data())
def test_nothing_is_open_in_a_fork(events: list[AnyEvent], data: st.DataObject) -> None:
    """No turn runs, no tool runs, no ask waits, wherever the cut is."""
    lines = forked(events, data.draw(st.integers(0, len(events))))
    assert runs(lines) is None
    for item in fold(read(lines)):
        if isinstance(item, AssistantItem):
            assert item.status != "running"
            assert not [block for block in item.blocks if getattr(block, "status", "") == "running"]
            assert not [ask for ask in item.asks if ask.state == "open"]


@given(session_logs(running=False))
def test_a_fork_of_everything_has_the_same_items(events: list[AnyEvent]) -> None:
    """But for numbers and the ids of asks, which move with the session."""
    there, here = fold(events), fold(read(forked(events, len(events))))
    assert len(there) == len(here)
    for theirs, ours in zip(there, here, strict=True):
        if isinstance(theirs, AssistantItem):
            assert isinstance(ours, AssistantItem)
            assert (ours.blocks, ours.status, ours.memory) == (theirs.blocks, theirs.status, theirs.memory)


@given(session_logs())
def test_without_a_point_all_is_taken_but_the_running_turn(events: list[AnyEvent]) -> None:
    """A fork while a turn runs goes on from before it."""
    log = known(events)
    cut = cut_after(log, None, len(events))
    running = runs(log)
    assert cut == (len(events) if running is None else running - 1)
    assert not [
        one for one in forked(events, cut) if one.type == "turn_interrupted" and b'"by":"fork"' in one.json
    ]


LOG = [
    One(1, "", "session_created"),
    One(2, "t1", "turn_started"),
    One(9, "t1", "turn_completed"),
    One(10, "t1", "turn_distilled"),
    One(11, "t2", "user_message"),
]


def test_a_turn_is_taken_over_with_its_memory() -> None:
    """The cut behind a turn lies behind what was remembered of it at once."""
    assert cut_after(LOG, "t1", 12) == 10
    assert cut_after(LOG, 5, 12) == 5
    assert cut_after(LOG, 12, 12) == 12
    assert cut_after(LOG, None, 12) == 10


def test_a_point_that_is_none_is_refused() -> None:
    """Beyond the end, a turn that is not there, a turn that runs still: each is told apart."""
    with pytest.raises(BadCursor, match="stands at 12"):
        cut_after(LOG, 13, 12)
    with pytest.raises(Invalid, match="is no turn"):
        cut_after(LOG, "t3", 12)
    with pytest.raises(Invalid, match="has not ended"):
        cut_after(LOG, "t2", 12)
