"""Going on where a turn was cut off: what the log tells of it, what is asked, what the agent is told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hub.asks import SKIPPED
from hub.events import (
    AnyEvent,
    Ask,
    AskOpened,
    AskSettled,
    By,
    MessageDelivered,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
)
from hub.resuming import (
    DID_NOT_RUN,
    NOBODY_KNOWS,
    RAN,
    RESUME,
    CutOff,
    Doubt,
    cut_off,
    question_about,
    questions_of,
    told_to_go_on,
)

PERSON = By(kind="person", name="ann")


def attempt(turn: str, *events: AnyEvent, message: str = "msg_1") -> list[AnyEvent]:
    """The events of one turn about a message."""
    begun = TurnStarted(turn_id=turn, attempt=1, message_id=message)
    return [begun, MessageDelivered(turn_id=turn, verdict="submitted", proof="sdk"), *events]


def call(turn: str, tool_id: str, command: str = "make") -> ToolStarted:
    return ToolStarted(turn_id=turn, tool_id=tool_id, name="Bash", input={"command": command})


def end(turn: str, tool_id: str, status: Any) -> ToolFinished:
    return ToolFinished(turn_id=turn, tool_id=tool_id, status=status)


def ids(cut: CutOff) -> list[str]:
    return [doubt.tool_id for doubt in cut.doubts]


def test_a_call_without_a_result_is_in_doubt_and_others_are_not() -> None:
    """Unknown, interrupted, or never heard of again: nobody knows. With a result, an error's too, or refused:
    it is done with."""
    events = attempt(
        "t1",
        *(call("t1", name) for name in ("ok", "error", "denied", "unknown", "interrupted", "open")),
        *(end("t1", name, name) for name in ("ok", "error", "denied", "unknown", "interrupted")),
        TurnFailed(turn_id="t1", code="owner_lost", message="m", retryable=True, duration_ms=1),
    )
    cut = cut_off(events, "msg_1")
    assert (cut.taken, cut.cut, cut.why) == (True, "failed", "owner_lost")
    assert ids(cut) == ["unknown", "interrupted", "open"]


def test_only_the_attempts_at_the_message_count() -> None:
    """Turns of other messages before it are nothing of it; all attempts at it are."""
    events = [
        *attempt("t0", call("t0", "old"), message="msg_0"),
        *attempt("t1", call("t1", "first")),
        *attempt("t2", call("t2", "second"), TurnInterrupted(turn_id="t2", by="ann", duration_ms=1)),
    ]
    cut = cut_off(events, "msg_1")
    assert (ids(cut), cut.cut, cut.why) == (["first", "second"], "interrupted", "ann")


def test_a_message_that_the_agent_never_had_gives_nothing_to_go_on_from() -> None:
    """A delivery that failed, or that is told of words given later, is none of the message."""
    begun = TurnStarted(turn_id="t1", attempt=1, message_id="msg_1")
    for verdict, message in (("staged", None), ("submitted", "msg_2")):
        later: Iterable[AnyEvent] = [begun, MessageDelivered(turn_id="t1", verdict=verdict, message_id=message)]  # type: ignore[arg-type]
        assert not cut_off(later, "msg_1").taken


def test_one_ask_holds_a_question_for_each_call_and_equal_calls_are_told_apart() -> None:
    """Its options say what the agent will be told."""
    doubts = [Doubt(tool_id=name, name="Bash", input={"command": "make"}) for name in "ab"]
    request = question_about(doubts)
    assert request is not None
    assert (request.kind, request.tool) == ("question", RESUME)
    assert [one.question for one in request.questions] == [
        "Did this run? Bash: make",
        "Did this run (2)? Bash: make",
    ]
    assert [option.label for option in request.questions[0].options] == [RAN, DID_NOT_RUN, NOBODY_KNOWS]
    assert question_about([]) is None
    long = Doubt(tool_id="c", name="Odd", input={"x": "y" * 9000})
    assert len(long.words) < 500


def test_what_a_person_has_said_before_is_not_asked_again() -> None:
    """By the question's text; what a policy or the clock settled is no knowledge."""
    ask = Ask(id="ask_1", kind="question", tool=RESUME)
    (text,) = questions_of([Doubt(tool_id="a", name="Bash", input={"command": "make"})])

    def told_by(by: By) -> dict[str, str]:
        settled = AskSettled(turn_id="t2", ask_id="ask_1", by=by, answers={text: RAN})
        events = [*attempt("t1", call("t1", "a")), *attempt("t2", AskOpened(turn_id="t2", ask=ask), settled)]
        return dict(cut_off(events, "msg_1").answered)

    assert told_by(PERSON) == {text: RAN}
    assert told_by(By(kind="timeout", name="timeout")) == {}


def test_the_agent_is_told_what_is_known_of_each_call_and_the_message_again() -> None:
    """What ran, what did not, what nobody knows, what a person says of it in own words, what changes nothing."""
    commands = ("one", "two", "three", "four", "five", "six")
    doubts = tuple(Doubt(tool_id=one, name="Bash", input={"command": one}) for one in commands)
    texts = list(questions_of(doubts))
    answers = dict(zip(texts, (RAN, DID_NOT_RUN, NOBODY_KNOWS, SKIPPED, "half of it"), strict=False))
    cut = CutOff(taken=True, cut="failed", why="owner_lost", doubts=doubts)
    told = told_to_go_on(cut, doubts[5:], answers, "the message")
    lines = {line.split(": ")[1]: line for line in told.splitlines() if line.startswith("- ")}
    assert "a person says that it ran. Do not run it again." in lines["one"]
    assert "did not run" in lines["two"]
    assert "nobody knows" in lines["three"]
    assert "nobody knows" in lines["four"]
    assert lines["five"].endswith("a person says: half of it")
    assert "changes nothing" in lines["six"]
    assert "(by owner_lost" in told
    assert told.endswith("The message was:\nthe message")


def test_words_about_calls_are_left_out_where_there_are_none() -> None:
    """It is told to go on, and which message it was."""
    told = told_to_go_on(CutOff(taken=True, cut="interrupted", why="ann"), (), {}, "m")
    assert "was stopped before you were done" in told
    assert "under way" not in told
