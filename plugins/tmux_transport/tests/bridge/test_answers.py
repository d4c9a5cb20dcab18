"""Answers as the agent takes them, whether it took them, and displayed text in its order."""

from __future__ import annotations

import json
import random

from hypothesis import given
from hypothesis import strategies as st
from turnhub_tmux.bridge.decisions import Allow, Deny, answered, respond, took
from turnhub_tmux.bridge.display import Display
from turnhub_tmux.bridge.facts import AskOver, Displayed, PermissionAsked

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
