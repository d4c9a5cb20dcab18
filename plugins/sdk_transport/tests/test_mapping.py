"""What real messages of Claude Code become, from recordings (see ``record.py``)."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import claude_agent_sdk as sdk
import pytest
from turnhub_sdk.mapping import TurnMap

from hub import (
    AnyEvent,
    Completed,
    Failed,
    Interrupted,
    MessageDelivered,
    Reasoning,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Usage,
)
from hub.testing import EventRules

UUID = "00000000-0000-4000-8000-000000000001"
RECORDED = Path(__file__).parent / "recorded"
NAMES = sorted(path.stem for path in RECORDED.glob("*.json"))
_LEFT_OUT: dict[str, Any] = {"signature": "", "uuid": "", "duration_api_ms": 0}


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {name: _decoded(item) for name, item in value.items() if name != "__class__"}
    if "__class__" not in value:
        return fields
    kind = getattr(sdk, value["__class__"])
    missing = {n: _LEFT_OUT[n] for n in kind.__dataclass_fields__ if n in _LEFT_OUT and n not in fields}
    return kind(**missing, **fields)


def _messages(name: str) -> list[sdk.Message]:
    return [_decoded(message) for message in json.loads((RECORDED / f"{name}.json").read_text())]


class Played:
    """A recording, mapped: its events, and what the map knows in the end."""

    def __init__(self, name: str, *, stop_at: str | None = None, denied: tuple[str, ...] = ()) -> None:
        self.map = TurnMap(UUID, login="Log in like this.")
        self.map.tools.denied.update(denied)
        self.events: list[AnyEvent] = []
        for now, message in enumerate(_messages(name)):
            if stop_at is not None and stop_at in repr(message):
                self.map.stopping = True
            self.events += self.map.feed(message, float(now))
        self.ending = self.map.ending

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def texts(self) -> list[str]:
        return [event.text for event in self.of(Text)]

    @property
    def failed(self) -> Failed:
        assert isinstance(self.ending, Failed)
        return self.ending


@pytest.mark.parametrize("name", NAMES)
def test_every_recording_ends_and_keeps_the_rules(name: str) -> None:
    """Each turn has exactly one ending, and its events break no rule of the hub."""
    rules = EventRules()
    played = Played(name)
    broken = list(itertools.chain.from_iterable(rules.broken_by(event) for event in played.events))
    assert not broken
    assert played.ending is not None
    assert not rules.unfinished_tools


@pytest.mark.parametrize("name", NAMES)
def test_every_message_is_told_as_delivered_once(name: str) -> None:
    """Claude Code itself names the prompt that it took: that is the proof."""
    assert Played(name).of(MessageDelivered) == [MessageDelivered(verdict="submitted", proof="sdk")]


def test_a_plain_answer() -> None:
    """Deltas add up to the durable text; the end says what it took and cost."""
    played = Played("plain")
    assert "".join(delta.text for delta in played.of(TextDelta)) == "Hello there, friend."
    assert played.of(Text) == [Text(block=0, text="Hello there, friend.")]
    usage = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=0, cache_creation_tokens=0)
    assert played.ending == Completed(stop_reason="end_turn", usage=usage, cost_usd=0.00014)


def test_the_cost_of_a_turn_is_a_difference() -> None:
    """Results tell sums over the session: what was spent before is not this turn's."""
    turn = TurnMap(UUID, spent_usd=0.0001)
    for message in _messages("plain"):
        turn.feed(message, 0.0)
    assert turn.ending is not None
    assert turn.ending.cost_usd == pytest.approx(0.00004)


def test_reasoning_has_blocks_of_its_own() -> None:
    """Reasoning and text are numbered together."""
    played = Played("thinking")
    assert played.of(Reasoning) == [Reasoning(block=0, text="Let me see.")]
    assert played.of(Text) == [Text(block=1, text="It is so.")]


def test_a_tool_runs_between_texts() -> None:
    """A tool starts, ends with a digest and its whole output, and the text goes on behind it."""
    played = Played("tool_allowed")
    (started,), (finished,) = played.of(ToolStarted), played.of(ToolFinished)
    assert (started.tool_id, started.name, started.parent_id) == ("toolu_1", "Bash", None)
    assert (finished.status, finished.digest.text, finished.digest.bytes) == ("ok", "ran", 3)
    assert finished.output == "ran"
    assert finished.duration_ms > 0
    assert played.texts == ["I will.", "Done."]


def test_a_denied_tool_is_no_error() -> None:
    """A tool that somebody refused is told as denied; one that went wrong as an error."""
    assert Played("tool_denied", denied=("toolu_1",)).of(ToolFinished)[0].status == "denied"
    assert Played("tool_failed").of(ToolFinished)[0].status == "error"


def test_a_refusal_of_the_agent_itself_is_a_denial() -> None:
    """What Claude Code's own rules refuse is told as denied too."""
    turn = TurnMap(UUID)
    turn.feed(sdk.SystemMessage("permission_denied", {"tool_use_id": "t"}), 0.0)
    use, result = sdk.ToolUseBlock("t", "Bash", {}), sdk.ToolResultBlock("t", "no", is_error=True)
    turn.feed(sdk.AssistantMessage([use], model="m"), 1.0)
    assert [getattr(e, "status", None) for e in turn.feed(sdk.UserMessage([result]), 2.0)] == ["denied"]


def test_parallel_tools_are_kept_apart() -> None:
    """Each of several tools at once has its own start and end."""
    played = Played("parallel")
    assert [event.tool_id for event in played.of(ToolStarted)] == ["toolu_1", "toolu_2"]
    assert [event.digest.text for event in played.of(ToolFinished)] == ["ran", "too"]


def test_a_helpers_tools_stand_under_it() -> None:
    """A helper's tools name the tool that they run in; its words are not the answer."""
    played = Played("helper")
    assert [(e.tool_id, e.parent_id) for e in played.of(ToolStarted)] == [("t1", None), ("t2", "t1")]
    assert played.texts == ["All is done."]


def test_an_interrupted_text_is_kept_as_partial() -> None:
    """What was said before the interrupt is kept and marked."""
    played = Played("interrupted", stop_at="Request interrupted")
    (text,) = played.of(Text)
    assert text.partial
    assert text.text.startswith("word word")
    assert isinstance(played.ending, Interrupted)


def test_an_interrupted_tool_is_told_as_interrupted() -> None:
    """A tool that an interrupt stopped neither failed nor was denied."""
    played = Played("interrupted_ask", stop_at="doesn't want to proceed")
    assert [event.status for event in played.of(ToolFinished)] == ["interrupted"]


def test_a_cut_text_is_begun_anew() -> None:
    """After a cut in the middle of a text what was streamed does not count; the new text has a new number."""
    played = Played("cut_text")
    assert any(event.state == "retrying" for event in played.of(Status))
    assert played.of(Text) == [Text(block=1, text="All of it.")]
    assert isinstance(played.ending, Completed)


def test_a_block_before_a_cut_counts() -> None:
    """A block that was whole when the stream broke stays, and the agent goes on behind it."""
    assert Played("cut_block").texts == ["First part.", "Second part."]


def test_the_pieces_of_an_answer_that_is_always_cut_are_left_for_the_hub() -> None:
    """When nothing helps the turn is incomplete; what the last try streamed is neither lost nor called
    whole."""
    played = Played("cut_always")
    rules = EventRules()
    for event in played.events:
        rules.broken_by(event)
    assert played.failed.code == "incomplete"
    assert len(rules.unwritten_blocks) == 1
    assert not played.texts


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("bad_key", "agent_unavailable", "Invalid API key · Fix external API key. Log in like this."),
        ("no_login", "agent_unavailable", "Not logged in · Please run /login. Log in like this."),
        ("cut_block_always", "incomplete", "The answer was cut off before its end."),
        ("dropped", "agent_error", "Connection dropped"),
        ("empty", "empty_response", None),
        ("empty_after_tool", "empty_response", None),
        ("thinking_only", "reasoning_only", None),
        ("token_cap", "token_cap", "output token maximum"),
        ("refusal", "agent_error", "safeguards"),
        ("server_error", "agent_error", "500 It broke."),
        ("too_long", "agent_error", "Begin a new session"),
    ],
)
def test_a_failure_has_the_code_that_a_person_would_expect(name: str, code: str, words: str | None) -> None:
    """No fault ends as a blank success; the agent's own words are told."""
    failed = Played(name).failed
    assert failed.code == code
    assert words is None or (failed.message is not None and words in failed.message)


def test_an_error_that_a_retry_mends_is_only_a_status() -> None:
    """A model that was busy for a moment leaves a status and a completed turn."""
    played = Played("recovered")
    assert "HTTP 529" in str([event.detail for event in played.of(Status)])
    assert isinstance(played.ending, Completed)


def test_the_last_error_sticks() -> None:
    """A success that follows an error without a word of the model does not wash it off."""
    turn = TurnMap(UUID)
    words: list[sdk.ContentBlock] = [sdk.TextBlock("API Error: it broke")]
    turn.feed(sdk.AssistantMessage(words, model="<synthetic>", error="server_error"), 0.0)
    assert turn.sign == Failed(code="agent_error", message="API Error: it broke")
    for message in _messages("plain")[-2:]:
        turn.feed(message, 0.0)
    assert isinstance(turn.ending, Failed)
    assert turn.ending.code == "agent_error"


def test_an_error_after_which_the_model_goes_on_is_none() -> None:
    """A stream that broke behind a tool: the tool counts, and the agent goes on to its end."""
    played = Played("cut_tool")
    assert [event.status for event in played.of(ToolFinished)] == ["ok"]
    assert played.texts == ["Done."]
    assert isinstance(played.ending, Completed)


def test_what_a_command_prints_is_shown() -> None:
    """A command of Claude Code itself answers without a model: that is a text, too."""
    assert "Estimated cost" in Played("command").texts[0]
    assert Played("compact").texts


def test_a_result_of_another_prompt_is_not_this_turns() -> None:
    """A turn that something else began does not end this one."""
    turn = TurnMap("another")
    for message in _messages("plain"):
        turn.feed(message, 0.0)
    assert turn.ending is None
    assert not turn.over


def test_the_turn_waits_for_the_agent_to_come_to_rest() -> None:
    """A result is the end only when nothing more is owed; silence ends it too."""
    turn = TurnMap(UUID)
    for message in _messages("plain")[:-1]:
        turn.feed(message, 0.0)
    assert turn.over
    assert turn.ending is None
    turn.finish()
    assert isinstance(turn.ending, Completed)


def test_text_that_is_no_utf8_is_made_fit() -> None:
    """A lone surrogate, which JSON may carry, does not break the log."""
    turn = TurnMap(UUID)
    blocks: list[sdk.ContentBlock] = [
        sdk.TextBlock("a\ud800b"),
        sdk.ToolUseBlock("t", "Bash", {"k\udc00": ["\ud800"]}),
    ]
    events = turn.feed(sdk.AssistantMessage(blocks, model="m"), 0.0)
    assert events == [
        Text(block=0, text="a\ufffdb"),
        ToolStarted(tool_id="t", name="Bash", input={"k\ufffd": ["\ufffd"]}),
    ]
