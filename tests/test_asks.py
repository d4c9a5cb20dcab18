"""An ask's answers: what settles it, and what leaves it open with a sentence that says why."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.asks import SKIPPED, AskRequest, Settlement, coalescing_key, identical_key, merged, settle, settled_event
from hub.errors import Invalid
from hub.events import Ask, By, Question, QuestionOption
from tests.strategies import json_objects, words

ADA = By(kind="person", name="ada")
PERMISSION = Ask(id="a", kind="permission", tool="Bash", subject="ls", input={"command": "ls"})
COLOUR = Question(question="Which colour?", options=(QuestionOption(label="Red"), QuestionOption(label="Blue")))
SIZES = Question(
    question="Which sizes?", options=(QuestionOption(label="S"), QuestionOption(label="L")), multi_select=True
)
QUESTION = Ask(id="q", kind="question", tool="AskUserQuestion", questions=(COLOUR, SIZES))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({"decision": "allow"}, Settlement(by=ADA, decision="allow", scope="once")),
        ({"decision": "allow", "scope": "session"}, Settlement(by=ADA, decision="allow", scope="session")),
        (
            {"decision": "allow", "input": {"command": "ls -l"}},
            Settlement(by=ADA, decision="allow", scope="once", input={"command": "ls -l"}),
        ),
        (
            {"decision": "deny", "message": "not here"},
            Settlement(by=ADA, decision="deny", scope="once", message="not here"),
        ),
    ],
)
def test_a_permission_is_settled_by_a_decision(reply: dict[str, Any], expected: Settlement) -> None:
    """Allow once or for the session, with an edited input; deny with words for the agent."""
    assert settle(PERMISSION, reply, ADA) == expected


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ({}, "decision"),
        ({"decision": "maybe"}, "maybe"),
        ({"decision": None}, "decision"),
        ({"decision": "allow", "scope": "forever"}, "forever"),
        ({"decision": "allow", "force": True}, "force"),
        ({"decision": "allow", "input": "ls"}, "input"),
        ({"decision": "allow", "message": 5}, "message"),
        ({"decision": "deny", "input": {}}, "input"),
        ({"decision": "deny", "scope": "session"}, "scope"),
        ({"answers": {"Which colour?": "Red"}}, "answers"),
        ({"response": "yes"}, "response"),
    ],
)
def test_a_permission_is_not_settled_by_anything_else(reply: dict[str, Any], named: str) -> None:
    """What does not fit is refused, and the sentence names it."""
    with pytest.raises(Invalid, match=named):
        settle(PERMISSION, reply, ADA)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            {"answers": {"Which colour?": "Red", "Which sizes?": ["S", "L"]}},
            Settlement(by=ADA, answers={"Which colour?": "Red", "Which sizes?": "S, L"}),
        ),
        (
            {"answers": {"Which colour?": None, "Which sizes?": "S"}},
            Settlement(by=ADA, answers={"Which colour?": SKIPPED, "Which sizes?": "S"}),
        ),
        (
            {"answers": {"Which sizes?": "none of these", "Which colour?": ["a warm grey"]}},
            Settlement(by=ADA, answers={"Which colour?": "a warm grey", "Which sizes?": "none of these"}),
        ),
        ({"response": "You choose."}, Settlement(by=ADA, response="You choose.")),
    ],
)
def test_a_question_is_settled_by_words(reply: dict[str, Any], expected: Settlement) -> None:
    """Labels, several labels, free text for one question, or one response to all."""
    assert settle(QUESTION, reply, ADA) == expected


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ({}, "either"),
        ({"answers": {}, "response": "x"}, "either"),
        ({"answers": {}}, "Which colour"),
        ({"answers": {"Which colour?": "Red"}}, "Which sizes"),
        ({"answers": {"Which colour?": None, "Which sizes?": None}}, "skipped"),
        ({"answers": {"Which colour?": " ", "Which sizes?": "S"}}, "Which colour"),
        ({"answers": {"Which colour?": [], "Which sizes?": "S"}}, "Which colour"),
        ({"answers": {"Which colour?": "Red", "Which sizes?": ["S", ""]}}, "Which sizes"),
        ({"answers": {"Which colour?": ["Red", "Blue"], "Which sizes?": "S"}}, "one answer"),
        ({"answers": {"Which color?": "Red", "Which sizes?": "S"}}, "No such question: 'Which color"),
        ({"answers": {"Which colour?": 5, "Which sizes?": "S"}}, "answers"),
        ({"answers": ["Red"]}, "answers"),
        ({"response": "  "}, "empty"),
        ({"decision": "allow"}, "decision"),
    ],
)
def test_a_question_is_not_settled_by_anything_else(reply: dict[str, Any], named: str) -> None:
    """Missing, empty, superfluous and misspelt answers are refused by name; the ask is open still."""
    with pytest.raises(Invalid, match=named):
        settle(QUESTION, reply, ADA)


def test_a_question_without_parts_takes_a_response_only() -> None:
    """Nobody can settle a question with an answer to nothing."""
    bare = Ask(id="q", kind="question", tool="AskUserQuestion")
    with pytest.raises(Invalid, match="response"):
        settle(bare, {"answers": {}}, ADA)
    assert settle(bare, {"response": "yes"}, ADA).response == "yes"


@given(st.sampled_from([PERMISSION, QUESTION]), json_objects | st.fixed_dictionaries({}, optional={
    "decision": st.sampled_from(["allow", "deny"]) | words,
    "scope": st.sampled_from(["once", "session"]) | words,
    "message": words | st.none(),
    "input": json_objects,
    "answers": st.dictionaries(
        st.sampled_from(["Which colour?", "Which sizes?"]) | words, words | st.lists(words, max_size=2)
    ),
    "response": words,
}))  # fmt: skip
def test_any_reply_settles_whole_or_is_refused_in_a_sentence(ask: Ask, reply: dict[str, Any]) -> None:
    """No reply crashes, and no settlement is half: a permission has a decision; a question every answer, or a
    response."""
    outcome = outcome_of(ask, reply)
    if isinstance(outcome, Invalid):
        assert outcome.detail.endswith(".")
        return
    settlement = outcome
    assert settlement.by == ADA
    if ask.kind == "permission":
        assert settlement.decision is not None
        assert settlement.answers is None
        assert settlement.response is None
    else:
        assert settlement.decision is None
        assert settlement.response or set(settlement.answers or {}) == {"Which colour?", "Which sizes?"}


def outcome_of(ask: Ask, reply: dict[str, Any]) -> Settlement | Invalid:
    """The settlement, or why there is none."""
    try:
        return settle(ask, reply, ADA)
    except Invalid as error:
        return error


@given(json_objects, json_objects)
def test_asks_are_one_by_kind_tool_and_subject_and_identical_by_input_too(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    """Coalescing looks at what is asked about; identity at the whole call, whatever the order of its keys."""
    one = AskRequest(kind="permission", tool="Bash", subject="ls", input=first)
    two = AskRequest(kind="permission", tool="Bash", subject="ls", input=second)
    turned = AskRequest(kind="permission", tool="Bash", subject="ls", input=dict(reversed(first.items())))
    assert coalescing_key(one) == coalescing_key(two)
    assert identical_key(one) == identical_key(turned)
    assert (identical_key(one) == identical_key(two)) == (same_json(first) == same_json(second))


def same_json(value: Any) -> bytes:
    """One spelling of a JSON value."""
    return msgspec.json.encode(value, order="sorted")


def test_other_kinds_tools_and_subjects_are_other_asks() -> None:
    """No two of these share a decision, also where their words join to the same text."""
    asks = [
        AskRequest(kind="permission", tool="Bash", subject="ls"),
        AskRequest(kind="question", tool="Bash", subject="ls"),
        AskRequest(kind="permission", tool="Bas", subject="hls"),
        AskRequest(kind="permission", tool="Bash", subject="ls "),
    ]
    assert len({coalescing_key(ask) for ask in asks}) == len(asks)
    assert len({identical_key(ask) for ask in asks}) == len(asks)


def test_a_call_that_is_no_unicode_still_has_an_identity() -> None:
    """An agent's half surrogate pair does not break the gate."""
    assert identical_key(AskRequest(kind="permission", tool="Bash", input={"x": "\ud800"}))


def test_the_event_tells_the_whole_settlement() -> None:
    """Nothing of a settlement is lost on its way into the log."""
    settlement = settle(PERMISSION, {"decision": "allow", "scope": "session", "input": {"command": "x"}}, ADA)
    event = settled_event("a", settlement)
    assert {name: getattr(event, name) for name in Settlement.__struct_fields__} == msgspec.structs.asdict(
        settlement
    )


TYPED = msgspec.structs.replace(QUESTION, refuses=("response", "lines"))
LISTED = msgspec.structs.replace(QUESTION, refuses=("words",))


@pytest.mark.parametrize(
    ("ask", "reply", "named"),
    [
        (msgspec.structs.replace(PERMISSION, refuses=("answer",)), {"decision": "allow"}, "terminal"),
        (msgspec.structs.replace(QUESTION, refuses=("answer",)), {"response": "x"}, "terminal"),
        (
            msgspec.structs.replace(PERMISSION, refuses=("input",)),
            {"decision": "allow", "input": {"command": "pwd"}},
            "not changed",
        ),
        (
            msgspec.structs.replace(PERMISSION, refuses=("message",)),
            {"decision": "deny", "message": "no"},
            "takes no words",
        ),
        (
            msgspec.structs.replace(PERMISSION, refuses=("lines",)),
            {"decision": "deny", "message": "no\nnever"},
            "more than one line",
        ),
        (TYPED, {"response": "whatever"}, "its own answer"),
        (TYPED, {"answers": {"Which colour?": "a\ngreen", "Which sizes?": "S"}}, "more than one line"),
        (LISTED, {"answers": {"Which colour?": "green", "Which sizes?": "S"}}, "'Red', 'Blue'"),
        (LISTED, {"answers": {"Which colour?": "Red", "Which sizes?": ["S", "XXL"]}}, "'S', 'L'"),
        (LISTED, {"response": "green"}, "'Red', 'Blue'"),
    ],
)
def test_what_cannot_be_conveyed_is_refused_with_what_can(ask: Ask, reply: dict[str, Any], named: str) -> None:
    """A wrong answer is never delivered instead: the ask stays open, and the sentence says what it takes."""
    with pytest.raises(Invalid, match=named):
        settle(ask, reply, ADA)


@pytest.mark.parametrize(
    ("ask", "reply"),
    [
        (msgspec.structs.replace(PERMISSION, refuses=("input", "message")), {"decision": "deny"}),
        (msgspec.structs.replace(PERMISSION, refuses=("input", "lines")), {"decision": "deny", "message": "no"}),
        (TYPED, {"answers": {"Which colour?": "a green", "Which sizes?": ["S", "very wide"]}}),
        (LISTED, {"answers": {"Which colour?": "blue", "Which sizes?": ["S", "L"]}}),
    ],
)
def test_everything_else_is_taken_as_before(ask: Ask, reply: dict[str, Any]) -> None:
    """What an ask refuses says nothing about other answers."""
    assert settle(ask, reply, ADA).by == ADA


LS = AskRequest(kind="permission", tool="Bash", subject="ls", source="hook", input={"command": "ls"})


@pytest.mark.parametrize(
    "other",
    [
        AskRequest(kind="permission", tool="Bash", subject="ls", source="pane", rationale="to see"),
        AskRequest(kind="permission", tool="Bash", subject="ls", source="pane", rationale="to see", tool_id="t1"),
        AskRequest(kind="question", tool="?", subject="?", source="pane", rationale="to see", tool_id="t1"),
    ],
)
def test_the_same_seen_twice_is_one_and_the_most_trusted_word_holds(other: AskRequest) -> None:
    """By the tool call, else by kind, tool and subject, in whatever order it comes; what the better source leaves
    empty is filled in, and nothing else: not what the lesser source could not convey."""
    one = msgspec.structs.replace(LS, tool_id="t1")
    seen = msgspec.structs.replace(other, input={"command": "cut of…"}, danger="", refuses=("input",))
    for order in ([one, seen], [seen, one]):
        assert merged(order) == (msgspec.structs.replace(one, rationale="to see"),)


def test_what_is_not_the_same_stays_apart() -> None:
    """Two calls of the same words are two, when both are named; so are another tool and another subject."""
    first, second = (msgspec.structs.replace(LS, tool_id=name) for name in ("t1", "t2"))
    other = AskRequest(kind="permission", tool="Bash", subject="pwd", source="pane")
    plugin = AskRequest(kind="question", tool="dialog:x", source="my plugin")
    assert merged([plugin, other, first, second]) == (first, second, other, plugin)
    unnamed = msgspec.structs.replace(LS, source="pane")
    assert merged([unnamed, first, second]) == (first, second)
    assert merged([]) == ()
