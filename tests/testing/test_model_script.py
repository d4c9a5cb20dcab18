"""What a scripted model says, and how a script picks it."""

from __future__ import annotations

import msgspec
import pytest

from hub.testing.model_script import (
    SPENT,
    Exchange,
    Fail,
    Reply,
    Rule,
    Rules,
    Say,
    Use,
    as_script,
    ask_user,
    load_rules,
    pick,
    reply,
)


def test_a_mapping_answers_by_the_exact_prompt() -> None:
    """A mapping is a script: each prompt has its answers, in order, and nothing else matches."""
    script = as_script({"a+b": [reply("one"), reply("two")], "c": reply("three")})
    assert script(Exchange(text="a+b")) == reply("one")
    assert script(Exchange(text="a+b", number=1)) == reply("two")
    assert script(Exchange(text="c\n")) == reply("three")
    assert script(Exchange(text="aab")) == SPENT


def test_one_answer_or_a_list_is_given_to_every_prompt() -> None:
    """A bare answer, or a list of them, serves any prompt."""
    assert as_script(reply("x"))(Exchange(text="whatever")) == reply("x")
    assert as_script([reply("x"), reply("y")])(Exchange(text="whatever", number=1)) == reply("y")


def test_a_function_is_a_script_as_it_stands() -> None:
    """A function decides by the exchange alone."""
    script = as_script(lambda exchange: reply(exchange.text.upper()))
    assert script(Exchange(text="loud")) == reply("LOUD")


def test_times_says_how_often_an_answer_is_given() -> None:
    """An answer is given ``times`` times before the next one; None means for ever."""
    answers = (Fail(status=529, times=2), reply("ok"))
    assert [pick(answers, n) for n in range(4)] == [answers[0], answers[0], answers[1], SPENT]
    assert pick([Fail(status=500)], 1000) == Fail(status=500)


def test_the_first_rule_that_matches_the_whole_prompt_wins() -> None:
    """Rules are regular expressions for the whole prompt, tried in order."""
    rules = Rules(
        rules=(Rule(when="fix.*", answers=(reply("first"),)), Rule(when=".*", answers=(reply("second"),))),
    )
    assert rules(Exchange(text="fix it\nplease")) == reply("first")
    assert rules(Exchange(text="do not fix it")) == reply("second")


def test_rules_can_be_written_as_json() -> None:
    """A JSON document says the same as the classes do."""
    document = """{"rules": [{"when": "hi", "answers": [
        {"type": "reply", "parts": [{"type": "say", "text": "Hello"}, {"type": "use", "name": "Bash"}]},
        {"type": "fail", "status": 500}]}]}"""
    rules = load_rules(document)
    assert rules(Exchange(text="hi")) == Reply(parts=(Say("Hello"), Use("Bash")))
    assert rules(Exchange(text="hi", number=9)) == Fail(status=500)


def test_a_wrong_document_is_refused_with_its_place() -> None:
    """A mistake in a script is named with its place."""
    with pytest.raises(msgspec.DecodeError, match=r"answers"):
        load_rules('{"rules": [{"when": "x", "answers": [{"type": "nonsense"}]}]}')


def test_a_question_is_filled_up_to_what_the_tool_wants() -> None:
    """Options may be plain labels; header, descriptions and multiSelect get defaults."""
    use = ask_user({"question": "Which?", "options": ["A", {"label": "B", "description": "b"}]})
    assert use.input["questions"] == [
        {
            "header": "Choice",
            "multiSelect": False,
            "question": "Which?",
            "options": [{"description": "", "label": "A"}, {"description": "b", "label": "B"}],
        }
    ]
