"""Claude Code's requests as asks, and answers as Claude Code takes them."""

from __future__ import annotations

from typing import Any

import pytest
from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext
from turnhub_sdk.asking import request_of, result_of, subject_of

from hub import Answer, Answered, AskRequest, Question, QuestionOption, Settlement, WithdrawnAsk
from hub.testing import allow, answer, deny, respond

CONTEXT = ToolPermissionContext(tool_use_id="t1", decision_reason="It writes.")
QUESTIONS = [
    {"question": "A?", "header": "a", "options": [{"label": "x", "description": "d"}], "multiSelect": True},
    {"question": "B?", "options": [{"label": "y"}]},
]
GIVEN: dict[str, Any] = {"questions": QUESTIONS}
ASKED = request_of("AskUserQuestion", GIVEN, CONTEXT)
BASH = request_of("Bash", {"command": "rm x", "description": "Remove x"}, CONTEXT)


def _settled(settlement: Settlement) -> Answer:
    return Answered(ask_id="ask", settlement=settlement)


def test_a_permission_names_its_subject_and_its_reason() -> None:
    """What is asked is the command itself, with the reason that Claude Code gives."""
    expected = AskRequest(
        kind="permission",
        tool="Bash",
        subject="rm x",
        input={"command": "rm x", "description": "Remove x"},
        rationale="It writes.",
        tool_id="t1",
    )
    assert expected == BASH


@pytest.mark.parametrize(
    ("tool", "given", "subject"),
    [
        ("Write", {"file_path": "/a", "content": "b"}, "/a"),
        ("WebFetch", {"url": "https://x", "prompt": "p"}, "https://x"),
        ("mcp__mail__send", {"to": "b", "at": 1}, '{"at": 1, "to": "b"}'),
        ("Bash", {"command": 5}, '{"command": 5}'),
        ("EnterPlanMode", {}, ""),
    ],
)
def test_a_subject_is_what_the_consent_is_about(tool: str, given: dict[str, Any], subject: str) -> None:
    """A consent to one call of an unknown tool is not one to all its calls: its subject is the whole input."""
    assert subject_of(tool, given) == subject


def test_a_question_carries_its_options() -> None:
    """The questions are told as they are, with their defaults filled in."""
    assert ASKED.kind == "question"
    assert ASKED.questions == (
        Question(
            question="A?", header="a", options=(QuestionOption(label="x", description="d"),), multi_select=True
        ),
        Question(question="B?", options=(QuestionOption(label="y"),)),
    )


def test_a_malformed_question_is_still_an_ask() -> None:
    """What cannot be read as questions is shown as it came; the tool itself refuses it."""
    asked = request_of("AskUserQuestion", {"questions": [{"q": 1}]}, CONTEXT)
    assert asked.questions == ()
    assert asked.input == {"questions": [{"q": 1}]}


def test_an_allowed_call_runs_with_the_input_that_was_allowed() -> None:
    """The input as it came, or as the person changed it."""
    original = {"command": "rm x"}
    assert result_of(BASH, original, _settled(allow())) == PermissionResultAllow(updated_input=original)
    changed = result_of(BASH, original, _settled(allow(input={"command": "ls"})))
    assert changed == PermissionResultAllow(updated_input={"command": "ls"})


@pytest.mark.parametrize(
    "refusal",
    [_settled(deny()), _settled(deny("  ")), _settled(deny("Not now.")), WithdrawnAsk(ask_id="a", reason="over")],
)
@pytest.mark.parametrize("request_", [BASH, ASKED])
def test_a_refusal_is_never_empty(request_: AskRequest, refusal: Answer) -> None:
    """An empty refusal would reach the model as an empty error."""
    result = result_of(request_, GIVEN, refusal)
    assert isinstance(result, PermissionResultDeny)
    assert result.message.strip()
    assert not result.interrupt


def test_the_persons_own_words_reach_the_agent() -> None:
    """A refusal with words says these words."""
    result = result_of(BASH, {}, _settled(deny("Use git rm.")))
    assert result == PermissionResultDeny(message="Use git rm.")


def test_answers_go_with_the_questions_they_answer() -> None:
    """All questions answered, by their exact text, and nothing else sent."""
    result = result_of(ASKED, GIVEN, _settled(answer({"A?": "x, z", "B?": "my own"})))
    assert result == PermissionResultAllow(
        updated_input={"questions": QUESTIONS, "answers": {"A?": "x, z", "B?": "my own"}}
    )


def test_a_response_goes_alone() -> None:
    """With a response no answers are sent: they would be lost."""
    result = result_of(ASKED, GIVEN, _settled(respond("Neither.")))
    assert result == PermissionResultAllow(updated_input={"questions": QUESTIONS, "response": "Neither."})


@pytest.mark.parametrize("answers", [{"A?": "x"}, {"A?": "x", "B?": " "}, {"A?": "x", "B?": "y", "C?": "z"}, {}])
def test_answers_that_do_not_fit_are_never_passed_off_as_answers(answers: dict[str, str]) -> None:
    """The agent would read a wrong key as no answer, and go on as if all was well."""
    assert isinstance(result_of(ASKED, GIVEN, _settled(answer(answers))), PermissionResultDeny)
