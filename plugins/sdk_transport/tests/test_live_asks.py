"""Permissions and questions with the real Claude Code."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
from turnhub_sdk.testing import ScriptedAgent

from hub import Completed, Failed, Interrupted, ToolFinished
from hub.testing import Use, allow, answer, ask_user, deny, reply, respond, withdraw

pytestmark = [pytest.mark.anyio, pytest.mark.real]

TOUCH = (reply(Use("Bash", {"command": "touch made", "description": "Make it"})), reply("Done."))
QUESTION = (
    reply(
        ask_user(
            {"question": "Which size?", "options": ["Small", "Large"]},
            {"question": "Which toppings?", "options": ["Ham", "Olives"], "multiSelect": True},
        )
    ),
    reply("Thank you."),
)


async def test_an_allowed_tool_runs(tmp_path: Path) -> None:
    """The ask names the command; allowed it runs, and the agent's taking of the answer is told."""
    async with ScriptedAgent(TOUCH, tmp_path) as agent:
        turn = agent.turn("go")
        playing = asyncio.create_task(agent.play(turn))
        ask = await turn.asked()
        assert not (agent.cwd / "made").exists()
        turn.settle(allow())
        await playing
        assert (agent.cwd / "made").exists()
    assert (ask.request.kind, ask.request.tool, ask.request.subject) == ("permission", "Bash", "touch made")
    assert ask.delivered
    assert [event.status for event in turn.of(ToolFinished)] == ["ok"]
    assert not turn.problems


async def test_a_denied_tool_does_not_run(tmp_path: Path) -> None:
    """Denied it does not run, is told as denied, and the agent gets the person's words."""
    async with ScriptedAgent(TOUCH, tmp_path) as agent:
        turn = await agent.play("go", replies=[deny("Not in this folder.")])
        assert not (agent.cwd / "made").exists()
        assert agent.model.turns[-1].results[-1].text == "Not in this folder."
    assert turn.asks[0].delivered
    assert [event.status for event in turn.of(ToolFinished)] == ["denied"]
    assert isinstance(turn.judged, Completed)


async def test_an_edited_input_is_what_runs(tmp_path: Path) -> None:
    """Allowed with another input, that one runs."""
    async with ScriptedAgent(TOUCH, tmp_path) as agent:
        await agent.play("go", replies=[allow(input={"command": "touch other"})])
        assert sorted(path.name for path in agent.cwd.iterdir()) == ["other"]


async def test_consent_leaves_nothing_behind(tmp_path: Path) -> None:
    """An answer changes no settings: the next call of the same kind is asked again."""
    script = [reply(Use("Bash", {"command": f"touch m{n}"})) for n in range(2)]
    async with ScriptedAgent([*script, reply("Done.")], tmp_path) as agent:
        turn = await agent.play("go", replies=lambda _: allow(scope="session"))
        assert not (agent.cwd / ".claude").exists()
    assert len(turn.asks) == 2


async def test_questions_are_answered_in_words(tmp_path: Path) -> None:
    """Labels and free text reach the model for every question."""
    async with ScriptedAgent(QUESTION, tmp_path) as agent:
        given = answer({"Which size?": "Family, please", "Which toppings?": "Ham, Olives"})
        turn = await agent.play("go", replies=[given])
        told = agent.model.turns[-1].results[-1].text
    assert '"Which size?"="Family, please"' in told
    assert '"Which toppings?"="Ham, Olives"' in told
    assert turn.asks[0].request.questions[1].multi_select
    assert turn.asks[0].delivered


async def test_a_response_in_ones_own_words(tmp_path: Path) -> None:
    """One response to all questions reaches the model as such."""
    async with ScriptedAgent(QUESTION, tmp_path) as agent:
        await agent.play("go", replies=[respond("Surprise me.")])
        assert "Surprise me." in agent.model.turns[-1].results[-1].text


@pytest.mark.parametrize("script", [TOUCH, QUESTION])
async def test_a_withdrawn_ask_is_a_no(tmp_path: Path, script: object) -> None:
    """When nobody may answer any more nothing runs, and the model is not told that anybody answered."""
    async with ScriptedAgent(script, tmp_path) as agent:
        turn = await agent.play("go", replies=[withdraw("the hub stops")])
        result = agent.model.turns[-1].results[-1]
        assert not (agent.cwd / "made").exists()
    assert result.is_error
    assert "the hub stops" in result.text
    assert not turn.asks[0].delivered
    assert not turn.problems


async def test_an_ask_may_wait_longer_than_a_stall(tmp_path: Path) -> None:
    """A person takes their time: that is no stall of the agent."""
    async with ScriptedAgent(TOUCH, tmp_path, stall_s=4.0) as agent:
        turn = agent.turn("go")
        playing = asyncio.create_task(agent.play(turn))
        await turn.asked()
        done, _ = await asyncio.wait([playing], timeout=5)
        assert not done
        turn.settle(allow())
        await playing
    assert isinstance(turn.judged, Completed)


async def test_an_interrupt_withdraws_the_ask(tmp_path: Path) -> None:
    """A stopped turn leaves no question that means nothing, and the tool does not run."""
    async with ScriptedAgent(TOUCH, tmp_path) as agent:
        turn = agent.turn("go")
        playing = asyncio.create_task(agent.play(turn))
        ask = await turn.asked()
        turn.cancelled.request()
        await playing
        assert not (agent.cwd / "made").exists()
    assert ask.withdrawn_by_caller
    assert isinstance(turn.judged, Interrupted)
    assert not turn.problems


async def test_an_agent_that_dies_takes_its_ask_along(tmp_path: Path) -> None:
    """Killed while it asks: the ask is withdrawn, the turn ends at once, and the session goes on."""
    script = {"before": reply("Noted."), "go": TOUCH, "again": reply("Here I am.")}
    async with ScriptedAgent(script, tmp_path) as agent:
        await agent.play("before")
        await agent.written("Noted.")
        turn = agent.turn("go")
        playing = asyncio.create_task(agent.play(turn))
        ask = await turn.asked()
        assert agent.pid is not None
        os.kill(agent.pid, signal.SIGKILL)
        async with asyncio.timeout(2):
            await playing
        assert ask.withdrawn_by_caller
        assert isinstance(turn.judged, Failed)
        assert turn.judged.code == "agent_dead"
        assert (await agent.play("again")).text == "Here I am."
        assert agent.model.turns[-1].prompts[0] == "before"


async def test_a_failing_hub_is_a_no(tmp_path: Path) -> None:
    """When asking fails the tool does not run, and the error's text is not shown to the model."""

    def broken(_: object) -> None:
        raise RuntimeError("INNER-SECRET")

    async with ScriptedAgent(TOUCH, tmp_path) as agent:
        await agent.play("go", replies=broken)
        result = agent.model.turns[-1].results[-1]
        assert not (agent.cwd / "made").exists()
    assert result.is_error
    assert "INNER-SECRET" not in result.text


async def test_a_projects_own_rules_and_hooks_are_not_believed(tmp_path: Path) -> None:
    """What lies in a working directory can neither allow itself anything nor run anything."""
    async with ScriptedAgent(TOUCH, tmp_path) as agent:
        settings = agent.cwd / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(
            '{"permissions": {"allow": ["Bash(touch made)"]}, "hooks": {"UserPromptSubmit": '
            '[{"hooks": [{"type": "command", "command": "touch hooked"}]}]}}'
        )
        turn = await agent.play("go", replies=[deny("No.")])
        assert not (agent.cwd / "hooked").exists()
        assert not (agent.cwd / "made").exists()
    assert len(turn.asks) == 1
