"""What is typed, as a reply to an ask."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.asks import settle
from hub.cli.replies import Reply, Unclear, choice, from_options, permission
from hub.events import Ask, By, Question, QuestionOption

OPTIONS = (QuestionOption(label="Red"), QuestionOption(label="Blue"), QuestionOption(label="12"))
ONE = Question(question="Which?", options=OPTIONS)
MANY = Question(question="Which ones?", options=OPTIONS, multi_select=True)
OPEN = Question(question="Why?")
PERMISSION = Ask(id="a", kind="permission", tool="Bash")
PERSON = By(kind="person", name="x")


def question(*questions: Question) -> Ask:
    return Ask(id="a", kind="question", tool="AskUserQuestion", questions=questions)


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        ("a", {"decision": "allow"}),
        (" YES ", {"decision": "allow"}),
        ("s", {"decision": "allow", "scope": "session"}),
        ("d", {"decision": "deny"}),
        ("n", {"decision": "deny"}),
        ("no  use git ", {"decision": "deny", "message": "use git"}),
    ],
)
def test_a_permission_is_one_word_or_a_denial_with_words(typed: str, reply: Reply) -> None:
    """Letters or words, in any case."""
    assert permission(typed) == reply
    settle(PERMISSION, reply, PERSON)


@pytest.mark.parametrize("typed", ["", " ", "1", "allow it", "yes but", "s x", "ad", "dd"])
def test_nothing_else_permits_or_denies(typed: str) -> None:
    """Only a clear word counts: `yes but` is no yes."""
    with pytest.raises(Unclear, match="Type one of"):
        permission(typed)


@given(st.text())
def test_whatever_is_typed_it_is_a_valid_reply_or_unclear(typed: str) -> None:
    """The hub would take every reply that comes out."""
    for ask, parse in (
        (PERMISSION, permission),
        (question(ONE), lambda text: {"answers": {"Which?": choice(ONE, text)}}),
    ):
        try:
            reply = parse(typed)
        except Unclear:
            continue
        settle(ask, reply, PERSON)


@pytest.mark.parametrize(
    ("asked", "typed", "answer"),
    [
        (ONE, "2", "Blue"),
        (ONE, " 1 ", "Red"),
        (ONE, "2 please", "2 please"),
        (ONE, "Blue", "Blue"),
        (MANY, "1, 3", ["Red", "12"]),
        (MANY, "2", "Blue"),
        (MANY, "Red, green", "Red, green"),
        (OPEN, "42", "42"),
        (ONE, "²", "²"),
    ],
)
def test_a_number_is_an_option_and_everything_else_is_words(asked: Question, typed: str, answer: object) -> None:
    """Where there are no options a number is words too."""
    assert choice(asked, typed) == answer


@pytest.mark.parametrize(
    ("asked", "typed"), [(ONE, ""), (ONE, "0"), (ONE, "4"), (ONE, "1,2"), (MANY, "1,9"), (OPEN, " ")]
)
def test_a_number_that_is_no_option_is_unclear(asked: Question, typed: str) -> None:
    """It may be a slip: it is asked again."""
    with pytest.raises(Unclear):
        choice(asked, typed)


def test_one_text_answers_one_question_and_responds_to_several() -> None:
    """With several questions no single one is meant."""
    assert from_options(question(OPEN), decision=None, text="x") == {"answers": {"Why?": "x"}}
    assert from_options(question(OPEN, ONE), decision=None, text="x") == {"response": "x"}


def test_choices_name_their_question_where_there_are_several() -> None:
    """NUMBER=CHOICE, for each."""
    asked = question(ONE, MANY)
    reply = from_options(asked, decision=None, choose=("1=2", "2=1,3"))
    assert reply == {"answers": {"Which?": "Blue", "Which ones?": ["Red", "12"]}}
    settle(asked, reply, PERSON)
    for wrong in (("2",), ("3=1",), ("x=1",), ("0=1",), ("1=",)):
        with pytest.raises(Unclear):
            from_options(asked, decision=None, choose=wrong)
    assert from_options(question(MANY), decision=None, choose=("1", "2")) == {
        "answers": {"Which ones?": ["Red", "Blue"]}
    }


def test_an_edited_input_is_a_json_object() -> None:
    """What runs instead."""
    reply = from_options(PERMISSION, decision="allow", scope="once", input_json='{"command": "ls"}')
    assert reply == {"decision": "allow", "scope": "once", "input": {"command": "ls"}}
    with pytest.raises(Unclear, match=re.escape("--input wants a JSON object")):
        from_options(PERMISSION, decision="allow", input_json="ls")
