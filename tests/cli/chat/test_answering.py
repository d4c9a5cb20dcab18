"""Answers, typed step by step."""

from __future__ import annotations

import pytest

from hub.cli.chat.answering import Answering
from hub.cli.replies import Unclear
from hub.events import Ask, Question, QuestionOption

COLOUR = Question(question="Which colour?", options=(QuestionOption(label="Red"), QuestionOption(label="Blue")))
SIZES = Question(
    question="Which sizes?", options=(QuestionOption(label="S"), QuestionOption(label="L")), multi_select=True
)


def asking(*questions: Question) -> Answering:
    return Answering(Ask(id="ask_1", kind="question", tool="AskUserQuestion", questions=questions))


def test_a_permission_takes_one_word() -> None:
    """Or a sentence that says what would be one."""
    answering = Answering(Ask(id="ask_1", kind="permission", tool="Bash"))
    assert "[a]llow" in answering.hint
    with pytest.raises(Unclear):
        answering.take("maybe")
    assert answering.take("d not now") == {"decision": "deny", "message": "not now"}


def test_questions_come_one_by_one_and_a_refused_reply_begins_anew() -> None:
    """The reply is there when the last is answered."""
    answering = asking(COLOUR, SIZES)
    assert answering.hint == "Which colour? number, or your own words"
    with pytest.raises(Unclear):
        answering.take("7")
    assert answering.take("2") is None
    assert answering.hint == "Which sizes? number, or your own words (several: 1,3)"
    assert answering.take("1,2") == {"answers": {"Which colour?": "Blue", "Which sizes?": ["S", "L"]}}
    answering.again()
    assert answering.hint.startswith("Which colour?")


def test_one_question_asked_twice_is_answered_once() -> None:
    """Its text is the key of its answer."""
    assert asking(COLOUR, COLOUR).take("1") == {"answers": {"Which colour?": "Red"}}


def test_an_ask_without_a_question_takes_words() -> None:
    """As its response."""
    answering = asking()
    assert answering.hint == "your answer"
    assert answering.take("so it is") == {"response": "so it is"}


def test_what_is_over_says_why() -> None:
    """In the place of what is to be typed."""
    answering = asking(COLOUR)
    answering.over = "answered by person phone: Red"
    assert answering.hint == "No longer asked: answered by person phone: Red. Enter goes on"
