"""Routes to models, against servers on loopback: what is sent, what is taken, and each failure by its name."""

from __future__ import annotations

import time
from typing import Any

import pytest
from turnhub_distiller import Distiller

from hub import Distilled, DistillerSettings, FinishedTurn
from hub.testing import Completion, Fail, Reply, ScriptedModel, ScriptedOpenAI, Silence, Think, Use, reply

from .conftest import ANSWER, answered, turn

pytestmark = pytest.mark.anyio


def plugin(provider: str, base_url: str, fallback: str = "none", **route: Any) -> Distiller:
    """The plugin with one route, to a server on loopback."""
    made = Distiller()
    table = {"provider": provider, "model": "small", "base_url": base_url, **route}
    values = {"route": "mine", "fallback": fallback, "routes": {"mine": table}}
    made.use_distiller(DistillerSettings(where="here", values=values))
    return made


async def by_openai(
    finished: FinishedTurn, *answers: Completion, **route: Any
) -> tuple[Distilled, ScriptedOpenAI]:
    """What comes of a turn when the model answers so."""
    async with ScriptedOpenAI(answers).running() as server:
        return await plugin("openai", server.url, **route).distill_turn(finished), server


def code_of(made: Distilled) -> str:
    """The code of what failed."""
    assert made.distillate is None
    assert made.failure is not None
    return made.failure.code


async def test_an_openai_compatible_server_makes_a_memory(worked: FinishedTurn) -> None:
    """It is asked once, with the cap that counts reasoning, for strict JSON; its title stands apart."""
    made, server = await by_openai(worked, Completion(text=answered()), answer_tokens=400, thinking_tokens=1200)
    assert made.failure is None
    assert made.distillate is not None
    assert (made.route, made.model, made.title) == ("mine", "small", ANSWER["title"])
    assert made.distillate.summary == ANSWER["summary"]
    assert made.distillate.failures == ({"what": "pytest", "why": "a date without a zone raised"},)
    (request,) = server.requests
    assert request.get("max_completion_tokens", request.get("max_tokens")) == 1600
    shape = request["response_format"]["json_schema"]
    assert shape["strict"] is True
    assert shape["schema"]["additionalProperties"] is False
    assert "pytest -q" in str(request["messages"])


async def test_anthropic_makes_a_memory(worked: FinishedTurn) -> None:
    """There the structure is the input of a tool that has to be called."""
    async with ScriptedModel(reply(Use("remember", ANSWER))) as model:
        made = await plugin("anthropic", model.url, answer_tokens=300, thinking_tokens=900).distill_turn(worked)
        (request,) = model.requests
    assert made.distillate is not None
    assert made.distillate.key_findings == ("A date without a zone is taken as UTC.",)
    assert request.body["max_tokens"] == 1200
    assert request.body["tools"][0]["input_schema"]["additionalProperties"] is False


async def test_files_that_a_model_made_up_are_not_kept(worked: FinishedTurn) -> None:
    """What the record shows is kept whatever the model says."""
    made, _ = await by_openai(worked, Completion(text=answered(files_changed=["src/other.py"])))
    assert made.distillate is not None
    assert made.distillate.files_changed == ("src/dates.py",)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_cap_spent_on_reasoning_is_told_with_its_numbers(provider: str, worked: FinishedTurn) -> None:
    """Never a silent blank, and never a second try that would go the same way."""
    numbers: dict[str, Any] = {"answer_tokens": 500, "thinking_tokens": 1500}
    if provider == "openai":
        spent = Completion(reasoning="hmm " * 500, finish="length", tokens=2000)
        made, server = await by_openai(worked, spent, **numbers)
        asked = len(server.requests)
    else:
        thought = Reply(parts=(Think("hmm " * 500),), stop="max_tokens", output_tokens=2000, times=None)
        async with ScriptedModel(thought) as model:
            made = await plugin("anthropic", model.url, **numbers).distill_turn(worked)
            asked = len(model.requests)
    assert code_of(made) == "token_cap"
    assert made.failure is not None
    for number in (
        "2000 tokens (500 for the answer and 1500 for reasoning)",
        "after 2000 tokens",
        "thinking_tokens",
    ):
        assert number in made.failure.message
    assert asked == 1


async def test_a_cap_hit_in_the_answer_names_the_other_budget(worked: FinishedTurn) -> None:
    """Half an answer is no answer."""
    made, _ = await by_openai(worked, Completion(text=answered()[:50], finish="length", tokens=2000))
    assert code_of(made) == "token_cap"
    assert made.failure is not None
    assert "distiller.routes.mine.answer_tokens" in made.failure.message


@pytest.mark.parametrize(
    "junk",
    [
        "I would rather talk about it.",
        answered(mood="good"),
        answered(failures=[{"what": "x", "why": "y", "who": "z"}]),
        answered(summary=7),
        answered(summary=""),
        answered(summary=" \n"),
        '{"summary": "only"}',
        "",
    ],
)
async def test_junk_is_refused_and_tried_again_once(junk: str, worked: FinishedTurn) -> None:
    """The model is told what was wrong. A second time it is a failure; else the second answer counts."""
    made, server = await by_openai(worked, Completion(text=junk))
    assert code_of(made) == "bad_output"
    assert len(server.requests) == 2
    assert "cannot be read" in server.requests[1]["messages"][-1]["content"]
    made, _ = await by_openai(worked, Completion(text=junk), Completion(text=answered()))
    assert made.distillate is not None
    assert made.failure is None


async def test_a_fence_around_the_answer_is_forgiven(worked: FinishedTurn) -> None:
    """Small models put one there whatever they are told."""
    made, server = await by_openai(worked, Completion(text=f"```json\n{answered()}\n```"))
    assert made.distillate is not None
    assert len(server.requests) == 1


async def test_a_model_that_stalls_is_given_up_in_time(worked: FinishedTurn) -> None:
    """After the route's own time, once."""
    began = time.monotonic()
    made, server = await by_openai(worked, Completion(stall=True), timeout_s=1.5)
    assert code_of(made) == "timeout"
    assert made.failure is not None
    assert "1.5 s" in made.failure.message
    assert (len(server.requests), time.monotonic() - began < 15) == (1, True)


async def test_a_stalling_anthropic_is_given_up_in_time(worked: FinishedTurn) -> None:
    """The same over the other interface."""
    async with ScriptedModel(lambda _: Silence()) as model:
        made = await plugin("anthropic", model.url, timeout_s=1.5).distill_turn(worked)
    assert code_of(made) == "timeout"


async def test_a_refusal_is_a_refusal(worked: FinishedTurn) -> None:
    """By either interface, with no second try."""
    made, server = await by_openai(worked, Completion(refusal="I cannot help with that.", finish="content_filter"))
    assert (code_of(made), len(server.requests)) == ("refused", 1)
    async with ScriptedModel(Reply(stop="refusal", times=None)) as model:
        made = await plugin("anthropic", model.url).distill_turn(worked)
        assert (code_of(made), len(model.requests)) == ("refused", 1)


@pytest.mark.parametrize(("status", "asked"), [(500, 2), (429, 2), (401, 1), (404, 1)])
async def test_an_error_of_the_server_is_told_with_its_status(
    status: int, asked: int, worked: FinishedTurn
) -> None:
    """What may pass is tried again, once; what will not is not."""
    made, server = await by_openai(worked, Completion(status=status))
    assert (code_of(made), len(server.requests)) == ("model_error", asked)
    assert made.failure is not None
    assert str(status) in made.failure.message
    async with ScriptedModel(lambda _: Fail(status=status)) as model:
        made = await plugin("anthropic", model.url).distill_turn(worked)
        assert (code_of(made), len(model.requests)) == ("model_error", asked)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"\xff\xfe{", b"[]", b"null", b'{"id": "x"}', b'{"choices": []}']
)
async def test_an_answer_that_is_no_message_is_told_as_that(body: bytes, worked: FinishedTurn) -> None:
    """The server is there: what it says is nothing that a model says. It is tried again, once."""
    made, server = await by_openai(worked, Completion(body=body))
    assert (code_of(made), len(server.requests)) == ("bad_output", 2)
    made, _ = await by_openai(worked, Completion(body=body), Completion(text=answered()))
    assert made.failure is None


async def test_a_server_that_is_not_there_is_unreachable(worked: FinishedTurn) -> None:
    """With the address that was tried."""
    async with ScriptedOpenAI([Completion()]).running() as server:
        url = server.url
    made = await plugin("openai", url).distill_turn(worked)
    assert code_of(made) == "unreachable"
    assert made.failure is not None
    assert url in made.failure.message


async def test_a_missing_key_is_told_by_the_variables_name(
    worked: FinishedTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent then."""
    monkeypatch.delenv("MY_KEY", raising=False)
    made = Distiller()
    route = {"provider": "anthropic", "model": "small", "api_key_env": "MY_KEY"}
    values = {"route": "mine", "fallback": "none", "routes": {"mine": route}}
    made.use_distiller(DistillerSettings(where="here", values=values))
    failed = await made.distill_turn(worked)
    assert code_of(failed) == "no_key"
    assert failed.failure is not None
    assert "MY_KEY" in failed.failure.message


async def test_the_extractive_route_stands_in_and_the_failure_still_shows(worked: FinishedTurn) -> None:
    """By default."""
    made, _ = await by_openai(worked, Completion(status=401), fallback="extractive")
    assert made.failure is not None
    assert made.failure.code == "model_error"
    assert made.distillate is not None
    assert (made.route, made.model, made.title) == ("extractive", None, "Fix the date parser.")


async def test_a_local_route_follows_nobody_elsewhere(
    worked: FinishedTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a proxy of the environment nor a redirection leads what is sent away."""
    async with ScriptedOpenAI([Completion(text=answered())]).running() as elsewhere:
        there = elsewhere.url
        monkeypatch.setenv("HTTP_PROXY", there.removesuffix("/v1"))
        monkeypatch.setenv("http_proxy", there.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        made, _ = await by_openai(worked, Completion(text=answered()))
        assert made.distillate is not None
        made, _ = await by_openai(worked, Completion(location=f"{there}/chat/completions"))
        assert code_of(made) == "model_error"
        assert elsewhere.requests == []


async def test_a_record_of_any_size_is_sent_in_bounded_length() -> None:
    """The beginning and the end of what is long are kept."""
    long = turn(text="begin " + "word " * 50_000 + "end")
    _, server = await by_openai(long, Completion(text=answered()))
    (request,) = server.requests
    sent = str(request["messages"])
    assert len(sent) < 10_000
    assert "begin" in sent
    assert "end" in sent
