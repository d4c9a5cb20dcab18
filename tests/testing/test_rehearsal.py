"""The rehearsal's script: what a newcomer is shown."""

from __future__ import annotations

import httpx
import pytest

from hub.testing import Exchange, Fail, RehearsalModel, Reply, Say, Use
from hub.testing.model_script import Part, ToolResult
from hub.testing.rehearsal import COMMAND, QUESTION, rehearse


def _said(text: str, **details: object) -> str:
    answer = rehearse(Exchange(text=text, **details))  # type: ignore[arg-type]
    assert isinstance(answer, Reply)
    return "".join(part.text for part in answer.parts if isinstance(part, Say))


def _parts(text: str) -> tuple[Part, ...]:
    answer = rehearse(Exchange(text=text))
    assert isinstance(answer, Reply)
    return answer.parts


def _result(text: str, *, is_error: bool = False) -> tuple[ToolResult, ...]:
    return (ToolResult(tool_use_id="t", text=text, is_error=is_error),)


@pytest.mark.parametrize("text", ["help", "hello there", "", "What can you do?"])
def test_anything_gets_an_overview(text: str) -> None:
    """Whatever a newcomer writes, the answer lists what to try."""
    said = _said(text)
    for word in ("slow", "permission", "question", "fail"):
        assert f"`{word}`" in said


@pytest.mark.parametrize("text", ["slow", " Slow! ", "`slow`", "/slow please"])
def test_a_word_is_understood_however_it_is_written(text: str) -> None:
    """Case, quotes and punctuation do not matter."""
    assert "1 of 40" in _said(text)


def test_the_slow_answer_takes_about_twenty_seconds() -> None:
    """Long enough for a reload; every line numbered, so that a gap would show."""
    (say,) = _parts("slow")
    assert isinstance(say, Say)
    assert 15 < len(say.text.split()) * say.every_s < 30
    assert [line.split()[0] for line in say.text.splitlines()] == [str(n) for n in range(1, 41)]


def test_a_permission_is_asked_for_a_harmless_command() -> None:
    """It says what it wants first; the command only prints a line."""
    words, use = _parts("permission")
    assert isinstance(words, Say)
    assert use == Use("Bash", {"command": COMMAND, "description": "Print one line"})
    assert "echo" in COMMAND


def test_the_outcome_of_a_permission_is_told() -> None:
    """Allowed, denied, or allowed with a changed command: what really happened is said."""
    assert "it printed:\n\n    a line" in _said("permission", results=_result("a line\n"))
    denied = _said("permission", results=_result("Not now.", is_error=True))
    assert "Nothing was run" in denied
    assert "Not now." in denied


def test_a_question_has_options_and_its_answer_is_told() -> None:
    """The question can be answered by an option; the answer comes back as it reached the agent."""
    _, use = _parts("question")
    assert isinstance(use, Use)
    (question,) = use.input["questions"]
    assert question["question"] == QUESTION
    assert [option["label"] for option in question["options"]] == ["Coffee", "Tea", "Water"]
    assert '"Tea"' in _said("question", results=_result('answered "Tea"'))


def test_a_failure_works_on_its_retry_only() -> None:
    """The first time fails for good; tried again it works; another time it fails again."""
    assert isinstance(rehearse(Exchange(text="fail", prompts=("fail",))), Fail)
    retried = Exchange(text="fail", prompts=("fail", "fail"), unanswered=2)
    assert isinstance(rehearse(retried), Reply)
    later = Exchange(text="fail", prompts=("fail", "fail", "fail"), unanswered=1)
    assert isinstance(rehearse(later), Fail)
    after_another = Exchange(text="fail", prompts=("help", "fail"), unanswered=2)
    assert isinstance(rehearse(after_another), Fail)


@pytest.mark.anyio
async def test_it_is_an_endpoint_that_keeps_nothing() -> None:
    """The rehearsal serves like any scripted model, and does not grow with use."""
    async with RehearsalModel(pace=0) as model, httpx.AsyncClient(base_url=model.url, trust_env=False) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "slow"}]}
        response = await client.post("/v1/messages", json=body)
        assert "40 of 40" in response.json()["content"][0]["text"]
        assert not model.requests
