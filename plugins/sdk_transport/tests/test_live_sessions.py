"""Sessions with the real Claude Code: resumed, closed when idle, side by side."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from turnhub_sdk.testing import ScriptedAgent

from hub import Completed, MessageDelivered, TextDelta
from hub.testing import Exchange, FakeTurn, Reply, Say, ScriptedModel, claude_environment, make_session, reply

pytestmark = [pytest.mark.anyio, pytest.mark.real]


async def test_a_session_goes_on_after_a_restart(tmp_path: Path) -> None:
    """A second connection resumes the agent's own conversation: the model gets the whole history."""
    async with ScriptedAgent([reply("Noted.")], tmp_path) as agent:
        first = await agent.play("my number is 7")
        await agent.leave()
        second = await agent.play("which number?")
        request = agent.model.turns[-1]
        assert request.prompts == ("my number is 7", "which number?")
        assert "Noted." in str(request.body["messages"])
    assert "sdk_session" in first.remembered
    assert "sdk_session" not in second.remembered


async def test_a_conversation_that_is_gone_is_told(tmp_path: Path) -> None:
    """Without its transcript the agent begins anew; that is said with the delivery, not kept quiet."""
    async with ScriptedAgent([reply("Noted.")], tmp_path) as agent:
        await agent.play("one")
        await agent.leave()
        shutil.rmtree(tmp_path / "home" / ".claude" / "projects")
        turn = await agent.play("two")
        assert agent.model.turns[-1].prompts == ("two",)
    (delivered,) = turn.of(MessageDelivered)
    assert delivered.verdict == "submitted"
    assert "begins anew" in (delivered.detail or "")
    assert "sdk_session" in turn.remembered


async def test_an_idle_agent_is_let_go_and_resumed(tmp_path: Path) -> None:
    """After ``idle_s`` no process is left; the next turn brings the conversation back."""
    async with ScriptedAgent([reply("Noted.")], tmp_path, idle_s=0.2) as agent:
        await agent.play("one")
        async with asyncio.timeout(5):
            while agent.pid is not None:  # noqa: ASYNC110 - nothing tells of a process that is let go
                await asyncio.sleep(0.05)
        await agent.play("two")
        assert agent.model.turns[-1].prompts == ("one", "two")


async def test_turns_of_one_session_share_a_process(tmp_path: Path) -> None:
    """While it is not idle for long the process stays."""
    async with ScriptedAgent([reply("Noted.")], tmp_path) as agent:
        await agent.play("one")
        pid = agent.pid
        await agent.play("two")
        assert agent.pid == pid is not None


async def test_a_process_that_missed_a_turn_is_replaced(tmp_path: Path) -> None:
    """When another runner had the session in between, its turn is not forgotten."""
    async with ScriptedAgent([reply("Noted.")], tmp_path) as agent:
        await agent.play("one")
        other = await agent.transport.open(agent.session)
        elsewhere = agent.turn("two")
        await elsewhere.play(other)
        await other.close()
        here = elsewhere.next("three")
        await here.play(await agent.connection())
        assert agent.model.turns[-1].prompts == ("one", "two", "three")


def _echo(exchange: Exchange) -> Reply:
    return reply(Say(f"This is {exchange.text}. " * 20, every_s=0.01))


async def test_two_sessions_at_once(tmp_path: Path) -> None:
    """Sessions run side by side and do not mix."""
    async with (
        ScriptedAgent(_echo, tmp_path / "a") as one,
        ScriptedAgent(_echo, tmp_path / "b") as two,
    ):
        a, b = one.turn("apple"), two.turn("pear")
        await asyncio.gather(one.play(a), two.play(b))
    assert isinstance(a.judged, Completed)
    assert isinstance(b.judged, Completed)
    assert "pear" not in a.text
    assert "apple" not in b.text
    assert len(a.of(TextDelta)) > 20


async def test_sessions_of_one_agent_do_not_know_each_other(tmp_path: Path) -> None:
    """Two sessions with one agent have two processes and two conversations."""
    async with ScriptedAgent([reply("Noted.")], tmp_path) as agent:
        await agent.play("one")
        other = make_session("sdk", cwd=agent.cwd, **agent.session.agent.options)
        connection = await agent.transport.open(other)
        turn = FakeTurn("two", session=other)
        await turn.play(connection)
        await connection.close()
        assert agent.model.turns[-1].prompts == ("two",)
        assert (await agent.play("three")).text == "Noted."


async def test_the_options_reach_the_agent(tmp_path: Path) -> None:
    """Model, tools and system prompt are what the model sees."""
    options = {"model": "claude-haiku-4-5", "tools": ["Read"], "append_system_prompt": "MARK-ONE"}
    async with ScriptedAgent(reply("Fine."), tmp_path, **options) as agent:
        await agent.play("go")
        request = agent.model.turns[0]
    assert request.body["model"].startswith("claude-haiku-4-5")
    assert request.tools == ("Read",)
    assert "MARK-ONE" in str(request.body["system"])


async def test_a_configuration_folder_of_its_own(tmp_path: Path) -> None:
    """``config_dir`` is where the agent keeps its conversations."""
    folder = tmp_path / "config"
    async with ScriptedModel(reply("Fine.")) as model:
        env = claude_environment(model.url, tmp_path / "home")
        folder.mkdir()
        del env["CLAUDE_CONFIG_DIR"]
        async with ScriptedAgent(reply("Fine."), tmp_path, config_dir=str(folder)) as agent:
            session = make_session("sdk", cwd=agent.cwd, env=env, config_dir=str(folder))
            connection = await agent.transport.open(session)
            await FakeTurn("hello", session=session).play(connection)
            await connection.close()
    assert list((folder / "projects").rglob("*.jsonl"))


async def test_a_fork_knows_what_was_said_and_the_session_nothing_of_the_fork(tmp_path: Path) -> None:
    """The agent forks its own conversation: the model gets the history, nothing is put before the message, costs
    are the turn's own, and both sessions go on apart."""
    async with ScriptedAgent([reply("Noted.")], tmp_path) as agent:
        first = await agent.play("my number is 7")
        connection = await agent.transport.open(agent.forked())
        fork = FakeTurn("which number?", session=agent.forked(), context="NOT-TWICE")
        await fork.play(connection)
        assert list(agent.model.turns[-1].prompts) == ["my number is 7", "which number?"]
        again = fork.next("and again?")
        await again.play(connection)
        assert list(agent.model.turns[-1].prompts) == ["my number is 7", "which number?", "and again?"]
        await connection.close()
        await agent.play("two")
        assert list(agent.model.turns[-1].prompts) == ["my number is 7", "two"]
        assert "NOT-TWICE" not in str([turn.body for turn in agent.model.turns])
    assert fork.remembered["sdk_session"] != first.remembered["sdk_session"]
    assert not fork.problems
    assert all((turn.judged.cost_usd or 0) > 0 for turn in (first, fork, again))


async def test_a_fork_of_what_is_gone_is_told_what_was_said(tmp_path: Path) -> None:
    """Without a conversation of its own to fork the agent gets the hub's words before the message."""
    async with ScriptedAgent([reply("Noted.")], tmp_path) as agent:
        await agent.play("one")
        await agent.leave()
        shutil.rmtree(tmp_path / "home" / ".claude" / "projects")
        connection = await agent.transport.open(agent.forked())
        fork = FakeTurn("two", session=agent.forked(), context="TOLD")
        await fork.play(connection)
        await connection.close()
        assert agent.model.turns[-1].prompts == ("TOLD\n\ntwo",)
    assert "sdk_forked" not in fork.remembered
