"""Forms of an agent's servers: a question for each field, and answers as the values that the server takes."""

from __future__ import annotations

from typing import Any

import pytest

from hub import Answered, By, Settlement, WithdrawnAsk, elicitation_answers, elicitation_result, elicited
from hub.asks import SKIPPED, AskRequest, settle
from hub.errors import Invalid
from hub.events import Ask
from hub.forms import answers_of, questions_of, values_of

ME = By(kind="person", name="me")
FORM: dict[str, Any] = {
    "properties": {
        "name": {"type": "string", "description": "Who", "minLength": 2, "maxLength": 5},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date"},
        "site": {"type": "string", "format": "uri"},
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large, really"]},
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
        "extras": {"type": "array", "items": {"enum": ["Ham", "Oil, green"]}},
        "tags": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "Ex"}]}},
        "gift": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "price": {"type": "number"},
    },
    "required": ["name"],
}
GOOD = {
    "name: Who": ("Ann", "Ann"),
    "mail": ("a@b.c", "a@b.c"),
    "day": ("2030-12-31", "2030-12-31"),
    "site": ("https://example.org/x", "https://example.org/x"),
    "size": ("Large, really", "l"),
    "colour": ("blue", "b"),
    "extras": ("Oil, green, Ham", ["Oil, green", "Ham"]),
    "tags": ("Ex", ["x"]),
    "gift": ("No", False),
    "count": ("9", 9),
    "price": ("1.5", 1.5),
}
BAD = [
    ("name: Who", "A", "2 characters at least"),
    ("name: Who", "Annabel", "5 characters at most"),
    ("mail", "a at b", "an e-mail address"),
    ("day", "tomorrow", "a date"),
    ("site", "example", "an address with its scheme"),
    ("size", "Huge", "one of 'Small', 'Large, really'"),
    ("extras", "Ham, Egg", "one of 'Ham', 'Oil, green', not 'Egg'"),
    ("gift", "perhaps", "one of 'Yes', 'No'"),
    ("count", "1.5", "a whole number"),
    ("count", "10", "a whole number from 1 to 9"),
    ("price", "nan", "a number"),
    ("price", "inf", "a number"),
    ("price", "much", "a number"),
]


def test_each_field_is_a_question_of_its_kind() -> None:
    """By its title or name and its description; what can be chosen is offered by name."""
    questions = {one.question: one for one in questions_of("Fill in", FORM)}
    assert list(questions) == list(GOOD)
    assert [option.label for option in questions["size"].options] == ["Small", "Large, really"]
    assert [option.label for option in questions["colour"].options] == ["Red", "Blue"]
    assert [option.label for option in questions["gift"].options] == ["Yes", "No"]
    assert [name for name, one in questions.items() if one.multi_select] == ["extras", "tags"]
    assert questions["name: Who"].header == "name"


def test_answers_become_the_values_that_the_server_takes_and_back() -> None:
    """Numbers are numbers, consents are booleans, choices are what they stand for."""
    values = {text.partition(":")[0]: value for text, (_, value) in GOOD.items()}
    assert values_of("Fill in", FORM, {text: answer for text, (answer, _) in GOOD.items()}) == values
    assert values_of("Fill in", FORM, answers_of("Fill in", FORM, values)) == values
    assert values_of("Fill in", FORM, {"name: Who": "Ann"}) == {"name": "Ann"}


@pytest.mark.parametrize(("text", "answer", "why"), BAD)
def test_an_answer_that_a_field_does_not_take_is_refused_in_words(text: str, answer: str, why: str) -> None:
    """The sentence names the field and what it takes."""
    with pytest.raises(Invalid, match=why) as refused:
        values_of("Fill in", FORM, {"name: Who": "Ann", text: answer})
    assert repr(text) in refused.value.detail


def test_a_required_field_cannot_be_skipped_and_two_fields_are_two_questions() -> None:
    """Whatever they are called."""
    with pytest.raises(Invalid, match="cannot be skipped"):
        values_of("Fill in", FORM, {"gift": "Yes"})
    twice = {"properties": {"a": {"title": "Same"}, "b": {"title": "Same"}}}
    assert [one.question for one in questions_of("", twice)] == ["Same", "Same (b)"]
    assert values_of("", twice, {"Same": "1", "Same (b)": "2"}) == {"a": "1", "b": "2"}


@pytest.mark.parametrize("schema", [{}, {"properties": 7}, {"properties": {"a": 1}}])
def test_a_form_without_fields_is_a_question_whether_one_agrees(schema: Any) -> None:
    """Only the one word agrees."""
    assert [one.question for one in questions_of("Go on?", schema)] == ["Go on?"]
    assert values_of("Go on?", schema, {"Go on?": "Accept"}) == {}
    with pytest.raises(Invalid, match="declined or cancelled"):
        values_of("Go on?", schema, {"Go on?": "no"})


def asked(request: AskRequest) -> Ask:
    """The ask that a request makes."""
    return Ask(
        id="a", kind=request.kind, tool=request.tool, input=request.input, questions=request.questions
    )  # as the hub does


def test_only_what_a_person_filled_in_is_accepted() -> None:
    """Decline and cancel are what they say; a time-out, a withdrawal and an answer that does not fit cancel."""
    request = elicited("shop", "What?", FORM, source="sdk")
    ask = asked(request)
    filled = settle(ask, {"answers": {**dict.fromkeys(GOOD), "name: Who": "Ann", "count": "2"}}, ME)
    assert filled.answers is not None
    assert filled.answers["gift"] == SKIPPED
    accepted = elicitation_result(request, Answered(ask_id="a", settlement=filled))
    assert accepted == {"action": "accept", "content": {"name": "Ann", "count": 2}}
    assert elicitation_answers(request, {"name": "Ann", "gift": True}) == {"name: Who": "Ann", "gift": "Yes"}
    for response, action in (("Decline", "decline"), ("cancel", "cancel")):
        settled = settle(ask, {"response": response}, ME)
        assert elicitation_result(request, Answered(ask_id="a", settlement=settled)) == {"action": action}
    for settlement in (
        Settlement(by=By(kind="timeout", name="timeout"), response="Nobody answered in time."),
        Settlement(by=ME, answers={"name: Who": "A"}),
    ):
        assert elicitation_result(request, Answered(ask_id="a", settlement=settlement)) == {"action": "cancel"}
    assert elicitation_result(request, WithdrawnAsk(ask_id="a", reason="over")) == {"action": "cancel"}


def test_an_answer_to_a_form_is_checked_before_it_is_taken() -> None:
    """Other words than these two answer no form; a wrong value leaves the ask open."""
    ask = asked(elicited("shop", "What?", FORM, source="sdk"))
    with pytest.raises(Invalid, match="`decline` and `cancel`"):
        settle(ask, {"response": "as you like"}, ME)
    with pytest.raises(Invalid, match="a whole number"):
        settle(ask, {"answers": {**dict.fromkeys(GOOD), "name: Who": "Ann", "count": "two"}}, ME)


def test_an_elicitation_that_sends_its_user_elsewhere_shows_where() -> None:
    """The address stands in the question, and agreeing says no more than that."""
    request = elicited("bank", "Log in:", None, source="hook", url="https://example.org/in")
    assert [one.question for one in request.questions] == ["Log in: https://example.org/in"]
    settled = settle(asked(request), {"answers": {"Log in: https://example.org/in": "Accept"}}, ME)
    assert elicitation_result(request, Answered(ask_id="a", settlement=settled)) == {
        "action": "accept",
        "content": {},
    }
