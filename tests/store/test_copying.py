"""Whole logs: read, and given to a new session, on every kind of store."""

from __future__ import annotations

import pytest

from hub import ids
from hub.archive import Line, line_of_event
from hub.errors import IdempotencyMismatch, Invalid
from hub.events import ForkedFrom, line_of
from hub.store import copying
from hub.store.records import SessionRecord
from tests.store.desk import Desk

pytestmark = pytest.mark.anyio

FROM = ForkedFrom(session_id="ses_x", seq=3)


def record(**details: object) -> SessionRecord:
    """A session that is to be made."""
    given = {"id": ids.session_id(), "agent": "claude", "transport": "scripted", **details}
    return SessionRecord(**given)  # type: ignore[arg-type]


def lines(session_id: str, *seqs: int) -> list[Line]:
    """A log with these numbers: its beginning, then what was remembered of a turn."""
    first, *rest = seqs
    head = {"session_id": session_id, "at": "T"}
    created = {"type": "session_created", **head, "agent": "claude", "transport": "scripted"}
    memory = {"type": "distill_failed", **head, "turn_id": "t", "code": "x", "message": "y"}
    return [line_of_event(first, created), *(line_of_event(seq, memory) for seq in rest)]


async def test_a_session_comes_into_being_with_its_log(desk: Desk) -> None:
    """Its numbers are kept, holes and all; new events follow them; what was remembered is in its memory."""
    wanted = record(title="A", archived=True, copied=9, forked_from=FROM, inherited={"own": "1"}, sensitive=True)
    log = lines(wanted.id, 1, 4, 9)
    made, new = await desk.store.copy_session(wanted, log, [("Bash", "ls")])
    assert new
    assert made.created_at == made.updated_at != ""
    assert (made.title, made.archived, made.copied, made.sensitive) == ("A", True, 9, True)
    assert (made.forked_from, made.inherited, made.imported_from) == (FROM, {"own": "1"}, None)
    found = await desk.store.whole_log(wanted.id)
    assert [(one.seq, one.type, one.turn_id) for one in found] == [
        (1, "session_created", ""),
        (4, "distill_failed", "t"),
        (9, "distill_failed", "t"),
    ]
    assert [line_of(one.frame) for one in found] == [line.json for line in log]
    assert [one.seq for one in await desk.store.memory_page(wanted.id)] == [4, 9]
    assert [grant.subject for grant in await desk.store.grants(wanted.id)] == ["ls"]
    assert (await desk.store.begin(wanted.id, "go on")).first == 10


async def test_a_session_that_is_there_is_not_made_again(desk: Desk) -> None:
    """The same origin: the session that is there, untouched. Another one: refused."""
    wanted = record(forked_from=FROM)
    await desk.store.copy_session(wanted, lines(wanted.id, 1))
    again, new = await desk.store.copy_session(wanted, lines(wanted.id, 1, 2))
    assert (again.id, new) == (wanted.id, False)
    assert len(await desk.store.whole_log(wanted.id)) == 1
    with pytest.raises(IdempotencyMismatch):
        await desk.store.copy_session(record(id=wanted.id), lines(wanted.id, 1))


async def test_long_logs_are_read_and_written_whole(redis_desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a page; beyond the most there is nothing made."""
    wanted = record()
    log = lines(wanted.id, *range(1, 2 * copying._PAGE + 2))
    await redis_desk.store.copy_session(wanted, log)
    assert [one.seq for one in await redis_desk.store.whole_log(wanted.id)] == list(range(1, len(log) + 1))
    monkeypatch.setattr(copying, "MOST_EVENTS", 2)
    other = record()
    with pytest.raises(Invalid, match="too long"):
        await redis_desk.store.copy_session(other, lines(other.id, 1, 2, 3))
    assert await redis_desk.store.whole_log(other.id) == []
