"""Exports: out and in again without a loss, checked line by line."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from hub.archive import About, Archive, BadArchive, export_lines, line_of_event, read_archive, readdressed
from hub.events import AnyEvent, Event, ForkedFrom, TurnFailed, decode, encode, encode_body, type_of
from hub.fold import fold
from hub.ids import session_id
from hub.items import AssistantItem
from hub.masking import MASK
from tests.strategies import durable, session_logs

OLD = "ses_01m8n0a252p9dn1xhpsvr7k5wx"
NEW = "ses_01m8n0a252p9dn1xhpsvr7k5wy"
ABOUT = About(id=OLD, agent="echo", transport="scripted", title="A talk", created_at="2026-01-01T00:00:00.000Z")


def written(events: list[AnyEvent], session: str = OLD) -> list[bytes]:
    """The log's JSON lines, as the store writes them."""
    moved = [msgspec.structs.replace(event, session_id=session) for event in durable(events)]
    return [b'{"type":"%s","seq":%d,%s' % (type_of(e).encode(), e.seq, encode_body(e)) for e in moved]


def exported(lines: list[bytes], about: About = ABOUT, *, masked: bool = False) -> bytes:
    """The export of a log."""
    return b"".join(export_lines(about, lines, masked=masked))


def again(archive: Archive, session: str = NEW) -> bytes:
    """The export of what was imported."""
    about = msgspec.structs.replace(archive.about, id=session)
    return exported([line.json for line in archive.lines], about)


@given(session_logs(running=False))
def test_an_export_that_is_imported_and_exported_is_the_same(events: list[AnyEvent]) -> None:
    """But for the session's id, every byte: header, events, numbers, order. Back under its old id: every byte."""
    data = exported(written(events))
    there = again(read_archive(data, NEW))
    assert there == exported(written(events, NEW), msgspec.structs.replace(ABOUT, id=NEW))
    assert again(read_archive(there, OLD), OLD) == data


@given(session_logs(running=False))
def test_an_imported_conversation_looks_as_it_did(events: list[AnyEvent]) -> None:
    """The items of the import are those of the log, unmasked and masked alike where there is no secret."""
    for masked in (False, True):
        found = read_archive(exported(written(events), masked=masked), NEW)
        assert fold(decode(line.json) for line in found.lines) == fold(
            decode(line) for line in written(events, NEW)
        )


@given(session_logs(running=True))
def test_a_turn_that_ran_when_it_was_exported_is_ended_by_the_import(events: list[AnyEvent]) -> None:
    """Everything that came is there, what was open is closed, and nothing seems to run that nobody runs."""
    data = exported(written(events))
    found = read_archive(data, NEW)
    assert again(found).startswith(exported(written(events, NEW), msgspec.structs.replace(ABOUT, id=NEW)))
    last = decode(found.lines[-1].json)
    assert isinstance(last, TurnFailed)
    assert (last.code, last.retryable, last.session_id) == ("owner_lost", False, NEW)
    items = fold(decode(line.json) for line in found.lines)
    assert all(item.status != "running" for item in items if isinstance(item, AssistantItem))
    assert [line.seq for line in found.lines] == sorted({line.seq for line in found.lines})


def test_ids_of_asks_move_with_their_session() -> None:
    """An ask's id carries its session's; one of another form stays."""
    new_ask = f"ask_{NEW.removeprefix('ses_')}_x"
    moved = readdressed({"type": "ask_opened", "ask": {"id": f"ask_{OLD.removeprefix('ses_')}_x"}}, OLD, NEW)
    assert moved["ask"] == {"id": new_ask}
    assert readdressed({"ask_id": f"ask_{OLD.removeprefix('ses_')}_x"}, OLD, NEW)["ask_id"] == new_ask
    assert readdressed({"ask_id": "own"}, OLD, NEW)["ask_id"] == "own"


def test_secrets_are_masked_and_structure_is_kept() -> None:
    """Content loses its secrets; ids, types and numbers stay, and the header says that it was masked."""
    message = (
        b'{"type":"user_message","seq":2,"session_id":"%s","at":"T","turn_id":"t","message_id":"m",'
        b'"text":"API_KEY=abcdef123456","origin":"api"}' % OLD.encode()
    )
    data = exported([CREATED, message], msgspec.structs.replace(ABOUT, title="PASSWORD=hunter2!"), masked=True)
    assert b"abcdef123456" not in data
    assert b"hunter2" not in data
    header, _, line = (msgspec.json.decode(one) for one in data.splitlines())
    assert header["masked"] is True
    assert header["session"]["title"] == f"PASSWORD={MASK}"
    assert line["text"] == f"API_KEY={MASK}"
    assert (line["message_id"], line["turn_id"], line["seq"]) == ("m", "t", 2)


def test_a_forks_origin_survives() -> None:
    """The header keeps where the session came from."""
    about = msgspec.structs.replace(ABOUT, forked_from=ForkedFrom(session_id=NEW, seq=7))
    assert read_archive(exported([CREATED], about), NEW).about == about


CREATED = line_of_event(
    1,
    {
        "type": "session_created",
        "session_id": OLD,
        "at": "T",
        "agent": "echo",
        "transport": "scripted",
        "policy": None,
    },
).json
HEADER = exported([]).strip()


def event(**fields: object) -> bytes:
    """A line that would do, but for ``fields``."""
    told = {"type": "message_queued", "seq": 2, "session_id": OLD, "at": "T", "message_id": "m", "text": "x"}
    return msgspec.json.encode({**told, **fields})


def turn(kind: str, seq: int, name: str = "t", **fields: object) -> bytes:
    """An event of a turn."""
    return msgspec.json.encode({"type": kind, "seq": seq, "session_id": OLD, "at": "T", "turn_id": name, **fields})


def done(seq: int) -> bytes:
    """The end of the turn."""
    return turn("turn_completed", seq, stop_reason="x", duration_ms=1)


WRONG = {
    "nothing": ([], 1, "empty"),
    "no header": ([CREATED], 1, "turnhub_export"),
    "no json": ([b"{"], 1, "no JSON"),
    "deep": ([b"[" * 100_000], 1, "no JSON"),
    "a list": ([b"[]"], 1, "turnhub_export"),
    "a later version": ([HEADER.replace(b'"turnhub_export":1', b'"turnhub_export":2'), CREATED], 1, "version 2"),
    "true for a version": ([HEADER.replace(b'"turnhub_export":1', b'"turnhub_export":true')], 1, "version True"),
    "an unknown field": ([HEADER.replace(b'"masked"', b'"mask":1,"masked"'), CREATED], 1, "unknown field"),
    "a title without end": ([HEADER.replace(b"A talk", b"x" * 5_000)], 1, "title"),
    "no id": ([HEADER.replace(OLD.encode(), b"x"), CREATED], 1, "session.id"),
    "no events": ([HEADER], 2, "no event"),
    "not created": ([HEADER, event()], 2, "session_created"),
    "created twice": ([HEADER, CREATED, CREATED.replace(b'"seq":1', b'"seq":2')], 3, "second session_created"),
    "no event": ([HEADER, CREATED, b"{}"], 3, "is no event"),
    "a broken line": ([HEADER, CREATED, event()[:-3]], 3, "is no event"),
    "an unknown type": ([HEADER, CREATED, event(type="later")], 3, "'later'"),
    "a wrong field": ([HEADER, CREATED, event(text=5)], 3, "is no event"),
    "a delta": ([HEADER, CREATED, turn("text_delta", 2, block=0, text="x")], 3, "no log keeps"),
    "another session's": ([HEADER, CREATED, event(session_id=NEW)], 3, "belongs to session"),
    "a number again": ([HEADER, CREATED, event(seq=1)], 3, "seq 1"),
    "a number below none": ([HEADER, CREATED, event(seq=-1)], 3, "seq -1"),
    "a number without end": ([HEADER, CREATED, event(seq=1 << 60)], 3, "seq"),
    "a number that leaves none to go on with": ([HEADER, CREATED, event(seq=(1 << 53) - 1)], 3, "and below"),
    "no turn": ([HEADER, CREATED, turn("turn_started", 2, "", attempt=1)], 3, "without a turn_id"),
    "two turns at once": (
        [HEADER, CREATED, turn("turn_started", 2, attempt=1), b"", turn("turn_started", 3, "u", attempt=1)],
        5,
        "is not ended",
    ),
    "two ends": (
        [HEADER, CREATED, done(2), done(3)],
        4,
        "second",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_line(name: str) -> None:
    """Nothing is imported of an export with a mistake, and the mistake can be found."""
    lines, number, words = WRONG[name]
    with pytest.raises(BadArchive) as error:
        read_archive(b"\n".join(lines), NEW)
    assert error.value.facts == {"line": number}
    assert words in error.value.detail


def test_a_new_id_is_no_part_of_what_is_checked() -> None:
    """The import does not look at what it is called here."""
    fresh = session_id()
    (line,) = read_archive(b"\n".join([HEADER, CREATED, b"", b"  "]), fresh).lines
    found = decode(line.json)
    assert isinstance(found, Event)
    assert (found.session_id, encode(found)) == (fresh, line.json)
