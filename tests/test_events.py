"""The vocabulary and its codec: what is written can be read, here and by later and earlier versions."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub import events as ev
from hub.events import AnyEvent, Event, Gap, Text, TextDelta, ToolStarted, TurnEvent, Unknown, UserMessage
from tests.strategies import json_objects, session_logs

# The published table: type, D(urable) or T(ransient), terminal or not, and the fields beyond those of every event.
PUBLISHED = """
session_created   | D | agent transport policy
user_message      | D | message_id text origin
turn_started      | D | attempt
message_delivered | D | verdict proof detail
status            | T | state detail
text_delta        | T | block text
reasoning_delta   | T | block text
text              | D | block text partial
reasoning         | D | block text partial
tool_started      | D | tool_id name input parent_id
tool_finished     | D | tool_id status digest duration_ms
ask_opened        | D | ask
ask_settled       | D | ask_id decision answers by
ask_delivered     | D | ask_id
ask_withdrawn     | D | ask_id reason
message_queued    | D | message_id text
message_unqueued  | D | message_id text
turn_completed    | D, terminal | stop_reason duration_ms usage cost_usd tools
turn_failed       | D, terminal | code message retryable duration_ms usage cost_usd tools
turn_interrupted  | D, terminal | by duration_ms usage cost_usd tools
turn_distilled    | D | distillate route model
distill_failed    | D | code message
grant_revoked     | D | grant_id tool subject by
gap               | T | after before
"""
ROWS = [[cell.strip() for cell in line.split("|")] for line in PUBLISHED.strip().splitlines()]
OUTSIDE_TURNS = {"session_created", "grant_revoked", "message_queued", "message_unqueued", "gap"}

any_text = st.text(st.characters(exclude_categories=["Cs"]))
lines_ends = st.text(st.sampled_from('a\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029 :\\"\0é😀'), max_size=20)


def any_event() -> st.SearchStrategy[AnyEvent]:
    """One event of any type, as a hub may have written it."""
    return session_logs().flatmap(st.sampled_from)


@pytest.mark.parametrize(("name", "kept", "fields"), ROWS, ids=[row[0] for row in ROWS])
def test_events_are_what_the_published_table_says(name: str, kept: str, fields: str) -> None:
    """Each type has its fields, and is durable, transient, terminal as published."""
    kind = ev.EVENT_TYPES[name]
    assert set(fields.split()) <= set(kind.__struct_encode_fields__)
    assert ev.is_durable(name) == kept.startswith("D")
    assert (name in ev.TERMINAL) == ("terminal" in kept)
    assert issubclass(kind, TurnEvent) == (name not in OUTSIDE_TURNS)


def test_the_published_table_is_complete() -> None:
    """There is no event that the table does not name."""
    assert set(ev.EVENT_TYPES) == {row[0] for row in ROWS}
    assert set(ev.EVENT_TYPES) >= ev.TRANSIENT | ev.TERMINAL


def test_types_of_later_versions_count_as_durable() -> None:
    """Losing an event that nobody here understands is worse than keeping it."""
    assert ev.is_durable("telepathy")


@given(session_logs())
def test_events_survive_the_codec(events: list[AnyEvent]) -> None:
    """What is written is read back as it was."""
    for event in events:
        assert ev.decode(ev.encode(event)) == event


@given(any_event(), st.integers(1, 2**53))
def test_a_body_behind_its_number_is_the_event(event: AnyEvent, seq: int) -> None:
    """The store gives out the number; the join is byte for byte what encoding the numbered event gives."""
    numbered = msgspec.structs.replace(event, seq=seq)
    head = f'{{"type":"{ev.type_of(event)}","seq":{seq},'.encode()
    assert head + ev.encode_body(event) == ev.encode(numbered)
    assert ev.encode_body(numbered) == ev.encode_body(event)


def test_every_type_can_be_split_behind_its_number() -> None:
    """In each type's JSON the type comes first, then the number: the split depends on it."""
    for name, kind in ev.EVENT_TYPES.items():
        assert kind.__struct_encode_fields__[:3] == ("seq", "session_id", "at")
        assert kind.__struct_config__.tag == name


@given(any_event())
def test_fields_of_later_versions_are_passed_over(event: AnyEvent) -> None:
    """An event with fields that this version does not know is the event without them."""
    line = json.loads(ev.encode(event)) | {"from_the_future": {"deep": [1]}}
    assert ev.decode(json.dumps(line)) == event


def test_a_type_of_a_later_version_is_unknown_and_keeps_its_place() -> None:
    """An unknown type is no error: its number still counts."""
    line = '{"type":"telepathy","seq":7,"session_id":"ses_1","at":"T","turn_id":"t","x":[{}]}'
    assert ev.decode(line) == Unknown(seq=7, session_id="ses_1", at="T", name="telepathy")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"seq":1}',
        '{"type":5}',
        '{"type":"text","seq":1}',
        '{"type":"gap"',
        '{"type":"x","seq":"1"}',
    ],
)
def test_what_is_no_event_is_refused(line: str) -> None:
    """Broken JSON, a missing type, a known type without its fields: a decoding error, never a guess."""
    with pytest.raises(msgspec.DecodeError):
        ev.decode(line)


@given(st.one_of(any_text, lines_ends))
def test_no_text_can_break_a_frame(text: str) -> None:
    """A frame has three lines and an empty one, by any reader's idea of a line end."""
    event = TextDelta(seq=5, block=1, text=text)
    sse = ev.frame(event)
    assert sse.endswith(b"\n\n")
    assert len(sse.splitlines()) == 4
    assert [line.split(":")[0] for line in sse.decode().splitlines()] == ["id", "event", "data", ""]
    assert ev.decode(ev.line_of(sse)) == event


@given(st.lists(any_event(), max_size=5))
def test_joined_frames_are_taken_apart_again(events: list[AnyEvent]) -> None:
    """A run of frames, with comments and retry lines between them, gives back its events."""
    run = b": hello\n\nretry: 1000\n" + b": still here\n\n".join(ev.frame(event) for event in events)
    assert list(ev.decode_frames(run)) == events


def test_half_a_surrogate_pair_becomes_the_replacement_character() -> None:
    """Text that is no Unicode, as json.loads lets through, is mended rather than failing the turn; a whole
    pair becomes its character."""
    bad = json.loads('"x\\ud800y"')
    assert ev.decode(ev.encode(TextDelta(block=1, text=bad))) == TextDelta(block=1, text="x\ufffdy")
    tool = ToolStarted(tool_id="t", name="B", input={bad: [bad, {"n": 1, "pair": "\ud83d\ude00"}]})
    read = ev.decode(ev.encode(tool))
    assert read == ToolStarted(tool_id="t", name="B", input={"x\ufffdy": ["x\ufffdy", {"n": 1, "pair": "😀"}]})


@given(st.text())
def test_any_python_string_can_be_written(text: str) -> None:
    """Whatever an agent says, the line is valid UTF-8 JSON and splits behind its number."""
    event = UserMessage(message_id=text, text=text)
    assert json.loads(ev.encode(event))["type"] == "user_message"
    assert ev.decode(b'{"type":"user_message","seq":1,' + ev.encode_body(event)).seq == 1


@pytest.mark.parametrize("number", [2**53 + 1, 2**64, -(2**63) - 1, 2**200, 10**300])
def test_huge_integers_in_a_tools_input_stay_exact(number: int) -> None:
    """Integers of any size that Python's own JSON reads go through unharmed."""
    event = ToolStarted(tool_id="t", name="B", input={"n": number})
    assert ev.decode(ev.encode(event)) == event


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_has_not_become_null(number: float) -> None:
    """NaN and the infinities cannot be written as JSON numbers: null stands for them, and the line is valid."""
    event = ToolStarted(tool_id="t", name="B", input={"n": number})
    assert ev.decode(ev.encode(event)) == ToolStarted(tool_id="t", name="B", input={"n": None})


def test_what_json_cannot_hold_is_refused_when_written() -> None:
    """An object in a tool's input is the transport's mistake and is named at once."""
    with pytest.raises(TypeError, match="object"):
        ev.encode(ToolStarted(tool_id="t", name="B", input={"o": object()}))


@given(json_objects)
def test_to_json_is_plain_json(value: dict[str, object]) -> None:
    """Other records can be written the same way: any JSON reader gets the same value."""
    assert json.loads(ev.to_json(value)) == value


def test_stamp_fills_in_what_the_hub_knows() -> None:
    """Session, turn and time are the hub's to say; an event outside turns gets no turn."""
    stamped = ev.stamp(Text(block=1, text="x", turn_id="mine"), "ses_1", "trn_1", at="T")
    assert stamped == Text(block=1, text="x", session_id="ses_1", turn_id="trn_1", at="T")
    assert ev.stamp(Text(block=1, text="x", turn_id="kept"), "ses_1", None, at="T").at == "T"
    gap: Event = ev.stamp(Gap(after=1, before=3), "ses_1", "trn_1")
    assert not hasattr(gap, "turn_id")


def test_the_present_is_utc_with_milliseconds() -> None:
    """Times are RFC 3339, sortable as text."""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", ev.now())
