"""What a person sees of a turn, also when it does not go smoothly."""

from __future__ import annotations

import pytest

from hub import events
from hub.cli.lines import tool_line
from hub.cli.output import Output
from hub.cli.view import View
from hub.client import Received
from hub.events import (
    AnyEvent,
    Ask,
    AskOpened,
    AskSettled,
    AskWithdrawn,
    By,
    Gap,
    MessageDelivered,
    Question,
    QuestionOption,
    Reasoning,
    Status,
    Text,
    TextDelta,
    TurnCompleted,
    TurnFailed,
    Unknown,
    UserMessage,
)


def see(capsys: pytest.CaptureFixture[str], *shown: AnyEvent | Unknown, own: bool = True) -> tuple[str, str]:
    view = View(Output(), own_message=own)
    for event in shown:
        line = "" if isinstance(event, Unknown) else events.encode(event).decode()
        view.show(Received(event, line))
    got = capsys.readouterr()
    return got.out, got.err


def delta(text: str, block: int = 1) -> TextDelta:
    return TextDelta(block=block, text=text)


def test_words_that_were_streamed_are_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole text only adds what is missing of it."""
    assert see(capsys, delta("Hel"), delta("lo"), Text(block=1, text="Hello"))[0] == "Hello\n"
    assert see(capsys, delta("Hel"), Text(block=1, text="Hello"))[0] == "Hello\n"
    assert see(capsys, Text(block=1, text="Hello"))[0] == "Hello\n"


def test_words_that_turn_out_otherwise_are_said_to_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody is left with words that the agent did not say."""
    out, err = see(capsys, delta("Helo"), Text(block=1, text="Hello"))
    assert out == "Helo\nHello\n"
    assert "does not count" in err


def test_a_retry_takes_back_what_was_streamed(capsys: pytest.CaptureFixture[str]) -> None:
    """The block begins anew, and that is said."""
    shown = (
        delta("Half"),
        Status(state="retrying", detail="overloaded"),
        delta("Whole"),
        Text(block=1, text="Whole"),
    )
    out, err = see(capsys, *shown)
    assert out == "Half\nWhole\n"
    assert "trying again: overloaded (what was written last does not count)" in err


def test_blocks_that_alternate_do_not_run_together(capsys: pytest.CaptureFixture[str]) -> None:
    """A new block, or a tool, begins a new line."""
    assert see(capsys, delta("a", 1), delta("b", 2), Text(block=2, text="b"))[0] == "a\nb\n"


def test_a_sequence_that_a_stream_cuts_is_still_removed(capsys: pytest.CaptureFixture[str]) -> None:
    """Deltas end anywhere."""
    assert see(capsys, delta("a\x1b"), delta("[31"), delta("mb"), Text(block=1, text="a\x1b[31mb"))[0] == "ab\n"


def test_a_cut_off_text_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """What was kept of a failed turn is not taken for the whole."""
    out, err = see(capsys, Text(block=1, text="Half", partial=True))
    assert out == "Half\n"
    assert "cut off" in err


def test_an_uncertain_delivery_is_told_and_a_certain_one_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    """Only what is not plain success is worth a line."""
    assert see(capsys, MessageDelivered(verdict="submitted", proof="sdk")) == ("", "")
    assert "delivery: unverified" in see(capsys, MessageDelivered(verdict="unverified"))[1]
    assert "queued (by hook)" in see(capsys, MessageDelivered(verdict="queued", proof="hook"))[1]


def test_a_permission_shows_the_whole_subject_and_cannot_forge_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """It is judged: nothing of it is left out, and each of its lines is marked as its own."""
    ask = Ask(
        id="ask_1", kind="permission", tool="Ba\nsh", subject="a\nturnhub: allowed\n" + "x" * 500, danger="d\nd"
    )
    err = see(capsys, AskOpened(ask=ask))[1]
    assert "    | a\n    | turnhub: allowed\n" in err
    assert "x" * 500 in err
    assert "? Ba sh asks for permission:" in err
    assert "danger: d d" in err
    plain = Ask(id="ask_1", kind="permission", tool="Bash", input={"command": "ls"})
    assert '    | {"command":"ls"}' in see(capsys, AskOpened(ask=plain))[1]


def test_a_question_shows_its_options_by_number(capsys: pytest.CaptureFixture[str]) -> None:
    """With what they mean, and how to answer from anywhere."""
    options = (QuestionOption(label="Red", description="warm"), QuestionOption(label="Bl\nue"))
    ask = Ask(id="ask_1", kind="question", tool="x", questions=(Question(question="Which?", options=options),))
    err = see(capsys, AskOpened(ask=ask))[1]
    assert "? Which?\n  1. Red: warm\n  2. Bl ue\n  turnhub answer ask_1 --choose N" in err


def test_who_settled_an_ask_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A person, a rule, or time."""
    policy = By(kind="policy", name="permissions", rule="Bash(ls)")
    err = see(capsys, AskSettled(ask_id="a", by=policy, decision="allow", scope="session"))[1]
    assert "allowed for the session by policy permissions (Bash(ls))" in err
    person = By(kind="person", name="phone")
    assert (
        "answered by person phone: Red" in see(capsys, AskSettled(ask_id="a", by=person, answers={"Q": "Red"}))[1]
    )
    assert "no longer asked: gone" in see(capsys, AskWithdrawn(ask_id="a", reason="gone"))[1]


def test_a_gap_is_told_and_unknown_events_are_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    """What is missing is said; what a later hub may say does not disturb."""
    assert "events 3 to 8 are no longer held" in see(capsys, Gap(after=2, before=9))[1]
    assert see(capsys, Unknown(name="later")) == ("", "")


def test_the_message_is_shown_to_those_who_did_not_write_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Who sends knows the words."""
    message = UserMessage(message_id="m", text="hello")
    assert see(capsys, message, own=True) == ("", "")
    assert see(capsys, message, own=False)[1] == "> hello\n"


def test_a_tool_is_told_by_what_it_is_about() -> None:
    """A command, a file, what it asks; else its input as JSON."""
    assert tool_line("Bash", {"command": "ls", "timeout": 3}) == "Bash ls"
    asked = {"questions": [{"question": "Which?", "options": []}, {"question": "Why?"}]}
    assert tool_line("AskUserQuestion", asked) == "AskUserQuestion Which? Why?"
    assert tool_line("Note", {"on": True, "to": None}) == 'Note {"on":true,"to":null}'
    assert tool_line("Odd", {"questions": "none"}) == 'Odd {"questions":"none"}'
    assert tool_line("Bare", {}) == "Bare"


def test_the_ending_has_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    """Time, tools, money; a stop that is not the usual one; whether to try again."""
    done = TurnCompleted(stop_reason="end_turn", duration_ms=83_000, tools=2, cost_usd=0.5)
    assert see(capsys, done)[1] == "✓ done · 1 min 23 s · 2 tools · $0.50\n"
    tiny = TurnCompleted(stop_reason="end_turn", duration_ms=900, cost_usd=0.0001)
    assert see(capsys, tiny)[1] == "✓ done · 900 ms · $0.0001\n"
    assert "done (refusal) · 900 ms" in see(capsys, TurnCompleted(stop_reason="refusal", duration_ms=900))[1]
    failed = TurnFailed(code="stalled", message="Nothing came.", retryable=False, duration_ms=1500)
    assert see(capsys, failed)[1] == "✗ failed (stalled): Nothing came. · 1.5 s\n"
    assert "· I think" in see(capsys, Reasoning(block=1, text="I\nthink"))[1]
