"""What an MCP server wants its user to fill in, and plans: asks as any other, with every kind of real agent."""

from __future__ import annotations

import json

import pytest

from tests.e2e.asks.actors import PLAN_FILE, Play, Scenario, Stage, life, told
from tests.e2e.door import Json

pytestmark = pytest.mark.anyio
ORDER = {"tool": "mcp__shop__order", "input": {}}


@pytest.fixture(scope="module", params=["sdk", "hooks"])
def actor(request: pytest.FixtureRequest, stage: Stage) -> Scenario:
    """Each kind of agent that can be told the values of a form."""
    return stage.actors[request.param]


async def test_a_form_is_a_question_for_each_field_and_is_filled_in(stage: Stage, actor: Scenario) -> None:
    """What does not fit is refused with the reason and the ask waits still; then the server gets the values, with
    their types; the log tells who filled it in."""
    play = await Play.begin(stage, actor, [ORDER])
    form = await _form(play)
    assert form["ask"]["subject"] == "shop: What shall be ordered?"
    shown = [(one["question"], [option["label"] for option in one["options"]]) for one in form["ask"]["questions"]]
    assert shown == [
        ("name: Who orders", []),
        ("Size", ["Small", "Large"]),
        ("As a gift?", ["Yes", "No"]),
        ("How many", []),
    ]
    fitting = {"name: Who orders": "Ann", "Size": "Large", "As a gift?": "Yes", "How many": "3"}
    for wrong, why in (
        ({"How many": "some"}, "takes a whole number"),
        ({"How many": "12"}, "from 1 to 9"),
        ({"Size": "Huge"}, "takes one of 'Small', 'Large'"),
        ({"Size": None}, "cannot be skipped"),
    ):
        answer = await play.answer(form, answers={**fitting, **wrong})
        assert answer.status_code == 422
        assert why in answer.json()["detail"]
    assert (await play.answer(form, response="whatever")).status_code == 422
    await play.agree(form, answers={**fitting, "As a gift?": None})
    item = await play.end()
    assert item["status"] == "completed"
    log = await play.log()
    assert await _answered(play) == {"action": "accept", "content": {"count": 3, "name": "Ann", "size": "l"}}
    assert life(_about(log, form)) == [("opened",), ("settled", "person", "primary", None), ("delivered",)]


@pytest.mark.parametrize("response", ["decline", pytest.param("cancel", marks=pytest.mark.full)])
async def test_a_form_is_declined_or_cancelled(stage: Stage, actor: Scenario, response: str) -> None:
    """The server is told which."""
    play = await Play.begin(stage, actor, [ORDER])
    form = await _form(play)
    await play.agree(form, response=response)
    await play.end()
    assert (await _answered(play))["action"] == response
    assert life(_about(await play.log(), form))[1:] == [("settled", "person", "primary", None), ("delivered",)]


async def test_a_form_that_nobody_fills_in_is_cancelled_in_time(stage: Stage, actor: Scenario) -> None:
    """The time-out is no consent, and the agent goes on."""
    play = await Play.begin(stage, actor, [ORDER], policy="quick")
    await _form(play)
    await play.end()
    assert (await _answered(play))["action"] == "cancel"
    assert [event["by"]["kind"] for event in told(await play.log(), "ask_settled")][1:] == ["timeout"]


async def test_an_interrupt_withdraws_a_form(stage: Stage, actor: Scenario) -> None:
    """The turn stops; answering is a 410."""
    play = await Play.begin(stage, actor, [ORDER])
    form = await _form(play)
    await stage.json("POST", f"/v1/sessions/{play.session}/interrupt")
    item = await play.end()
    assert item["ending"]["type"] == "turn_interrupted"
    assert (await play.answer(form, response="decline")).status_code == 410


async def test_without_hooks_a_form_is_shown_and_left_to_the_terminal(stage: Stage) -> None:
    """It is an ask that says where it is to be answered; an answer over the hub is refused with that; interrupted
    it is withdrawn."""
    play = await Play.begin(stage, stage.actors["keys"], [ORDER])
    form = await _form(play)
    assert form["ask"]["tool"] == "Elicitation"
    assert "'shop'" in form["ask"]["rationale"]
    answer = await play.answer(form, response="decline")
    assert answer.status_code == 422
    assert "in its terminal" in answer.json()["detail"]
    await stage.json("POST", f"/v1/sessions/{play.session}/interrupt")
    item = await play.end()
    assert item["ending"]["type"] == "turn_interrupted"
    assert life(_about(await play.log(), form)) == [("opened",), ("withdrawn",)]


@pytest.mark.parametrize("name", ["sdk-plans", "hooks-plans", pytest.param("keys-plans", marks=pytest.mark.full)])
@pytest.mark.parametrize("told_with", [pytest.param("call", marks=pytest.mark.full), "file"])
async def test_a_plan_is_shown_sent_back_with_words_and_approved(stage: Stage, name: str, told_with: str) -> None:
    """Whether the plan stands in the call or only in the agent's own file, the ask shows its text. The model is
    told what to change; approved, it is told that."""
    actor = stage.actors[name]
    words = f"# Plan {told_with}\n\n1. Look around\n2. Change little\n"
    write = {"tool": "Write", "input": {"file_path": PLAN_FILE, "content": words}}
    leave = {"tool": "ExitPlanMode", "input": {"plan": words} if told_with == "call" else {}}
    back = await Play.begin(stage, actor, [write], [leave])
    ask = await back.ask()
    assert (ask["ask"]["kind"], ask["ask"]["tool"]) == ("permission", "ExitPlanMode")
    assert "Change little" in json.dumps(ask["ask"]["input"])
    await back.agree(ask, decision="deny", message="fewer steps")
    await back.end()
    assert "fewer steps" in await actor.told(await back.log())
    if told_with == "call":
        return  # which leaves the agent in its mode for plans, for the other one
    go = await Play.begin(stage, actor, [write], [leave])
    await go.agree(await go.ask(), decision="allow")
    await go.end()
    assert "approved your plan" in await actor.told(await go.log())
    assert life(await go.log()) == [("opened",), ("settled", "person", "primary", "allow"), ("delivered",)]


async def _form(play: Play) -> Json:
    """The form, behind the permission to call the server."""
    permission = await play.ask()
    assert permission["ask"]["tool"] == "mcp__shop__order"
    await play.agree(permission, decision="allow")
    (form,) = await play.asks(kind="question")
    return dict(form)


def _about(log: list[Json], ask: Json) -> list[Json]:
    """What a log tells of one ask."""
    return [event for event in log if ask["id"] in (event.get("ask_id"), event.get("ask", {}).get("id"))]


async def _answered(play: Play) -> Json:
    """What the server was told."""
    words = await play.actor.told(await play.log())
    return dict(json.loads(words[words.index("{") : words.rindex("}") + 1]))
