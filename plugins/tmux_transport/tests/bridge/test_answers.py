"""Answers as the agent takes them, whether it took them, and displayed text in its order."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from turnhub_tmux.bridge.course import Course
from turnhub_tmux.bridge.decisions import Allow, Deny, Fill, answered, respond, took
from turnhub_tmux.bridge.display import Display
from turnhub_tmux.bridge.facts import AskOver, Displayed, PermissionAsked
from turnhub_tmux.bridge.posts import read

QUESTIONS = [{"question": "Which?", "options": [{"label": "A"}]}]
ASKED = PermissionAsked(ask_id="a", tool="AskUserQuestion", input={"questions": QUESTIONS})


def decision(body: bytes) -> object:
    """The decision in a response."""
    said = json.loads(body)["hookSpecificOutput"]
    assert said["hookEventName"] == "PermissionRequest"
    return said["decision"]


def test_responses_have_the_shape_that_the_agent_takes() -> None:
    """Allow, changed allow, deny with words, answers with the questions echoed."""
    assert decision(respond(Allow())) == {"behavior": "allow"}
    assert decision(respond(Allow(input={"command": "x"}))) == {
        "behavior": "allow",
        "updatedInput": {"command": "x"},
    }
    assert decision(respond(Allow(input={"plan": "x"}, mode="default", same=True))) == {
        "behavior": "allow",
        "updatedInput": {"plan": "x"},
        "updatedPermissions": [{"type": "setMode", "mode": "default", "destination": "session"}],
    }
    assert decision(respond(Deny(message="no"))) == {"behavior": "deny", "message": "no"}
    assert decision(respond(answered(ASKED, {"Which?": 'neither,\n"both"'}))) == {
        "behavior": "allow",
        "updatedInput": {"questions": QUESTIONS, "answers": {"Which?": 'neither,\n"both"'}},
    }


def test_half_a_surrogate_pair_in_an_answer_is_harmless() -> None:
    """It becomes the replacement character, and counts as taken when that comes back."""
    answer = answered(ASKED, {"Which?": "bad \ud800 end"})
    assert "\ufffd" in respond(answer).decode()
    over = AskOver(
        ask_id="a", sign="tool", ran=True, input={"questions": QUESTIONS, "answers": {"Which?": "bad \ufffd end"}}
    )
    assert took(answer, over) is True


def test_whether_an_answer_was_taken_is_told_by_what_ran() -> None:
    """The same words: ours. Other words: somebody else's. Nothing ran: not told."""
    answer = answered(ASKED, {"Which?": "A"})
    ran = AskOver(ask_id="a", sign="tool", ran=True, input={"questions": QUESTIONS, "answers": {"Which?": "A"}})
    other = AskOver(ask_id="a", sign="tool", ran=True, input={"questions": QUESTIONS, "answers": {"Which?": "B"}})
    assert took(answer, ran) is True
    assert took(answer, other) is False
    assert took(Allow(), ran) is True
    assert took(Allow(), AskOver(ask_id="a", sign="prompt")) is None
    assert took(Allow(), AskOver(ask_id="a", sign="batch", output="rejected")) is None


def test_a_denial_was_taken_when_the_model_was_told_its_words() -> None:
    """It was not when the tool ran; else nobody knows."""
    no = Deny(message="not today")
    assert took(no, AskOver(ask_id="a", sign="batch", output="not today")) is True
    assert took(no, AskOver(ask_id="a", sign="batch", output="rejected by a rule")) is None
    assert took(no, AskOver(ask_id="a", sign="tool", ran=True)) is False
    assert took(no, AskOver(ask_id="a", sign="gone")) is None
    assert took(Deny(message=""), AskOver(ask_id="a", sign="batch", output="")) is None


@given(st.lists(st.text(max_size=4), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_text_comes_out_in_order_whatever_order_it_came_in(parts: list[str], chance: random.Random) -> None:
    """Never with a gap, never twice, and whole at the end."""
    pieces = [
        Displayed(turn="t", message_id="m", index=number, final=number == len(parts) - 1, delta=part)
        for number, part in enumerate(parts)
    ]
    shuffled = pieces + pieces[: len(pieces) // 2]
    chance.shuffle(shuffled)
    display, shown = Display(), ""
    for piece in shuffled:
        shown += display.add(piece)
        assert "".join(parts).startswith(shown)
    assert shown == display.text("m") == "".join(parts)
    assert display.whole("m")


def test_a_gap_holds_back_what_comes_after_it() -> None:
    """A piece that never comes leaves a text that is not whole."""
    display = Display()
    assert display.add(Displayed(turn="t", message_id="m", index=1, final=True, delta="b")) == ""
    assert (display.text("m"), display.whole("m")) == ("", False)
    assert (display.text("unknown"), display.whole("unknown")) == ("", False)


def test_a_call_as_it_was_is_taken_whatever_it_ran_with() -> None:
    """The agent adds to a plan what it knows of it."""
    ran = AskOver(ask_id="a", sign="tool", ran=True, input={"plan": "x", "file": "y.md"})
    assert took(Allow(input={"plan": "x\n"}, mode="default", same=True), ran) is True
    assert took(Allow(input={"plan": "x\n"}), ran) is False


FORM = {"mcp_server_name": "my shop", "message": "What?", "mode": "form", "requested_schema": {"properties": {}}}


def test_a_servers_form_is_filled_in_by_its_hook() -> None:
    """In the form of its own event; what cannot be carried is made harmless."""
    said = json.loads(respond(Fill(action="accept", content={"size": "l", "odd": "\ud800"})))
    assert said == {
        "hookSpecificOutput": {
            "hookEventName": "Elicitation",
            "action": "accept",
            "content": {"size": "l", "odd": "\ufffd"},
        }
    }


def test_a_form_is_over_when_its_server_goes_on(body: Callable[..., bytes]) -> None:
    """Answered by us, the end of a tool of that server tells, in which nobody else can have answered; of another
    server's nothing is told. Before our answer, only what the server was told ends it."""

    def take(course: Course, event: str, **fields: Any) -> list[AskOver]:
        post = read(body(event, **fields), "form")
        assert post is not None
        return [fact for fact in course.take(post) if isinstance(fact, AskOver)]

    course = Course()
    assert take(course, "Elicitation", **FORM) == []
    (asked,) = course.asks
    assert (asked.tool, asked.input["server"]) == ("Elicitation", "my shop")
    ran: dict[str, Any] = {"tool_name": "mcp__my_shop__order", "tool_input": {}, "tool_response": []}
    assert take(course, "PostToolUse", tool_use_id="t1", **ran) == []
    course.answered("form")
    assert take(course, "PostToolUse", tool_use_id="t2", **{**ran, "tool_name": "mcp__other__order"}) == []
    failed = {**ran, "tool_use_id": "t3", "is_interrupt": True}
    assert take(course, "PostToolUseFailure", **failed) == []
    (over,) = take(course, "PostToolUse", tool_use_id="t4", **ran)
    assert took(Fill(action="accept", content={"size": "l"}), over) is True
    take(course, "Elicitation", **FORM)
    (over,) = take(course, "ElicitationResult", mcp_server_name="my shop", action="accept", content={"size": "s"})
    assert took(Fill(action="accept", content={"size": "l"}), over) is False
    assert took(Fill(action="accept", content={"size": "s"}), over) is True
    assert took(Fill(action="decline"), over) is False
    assert took(Fill(action="decline"), AskOver(ask_id="form", sign="stop")) is None
