"""Everything that can go wrong with the model or the agent, with the real Claude Code: each fault ends as the
failure that a person would expect, within bounds, and never as a blank success."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from turnhub_sdk import transport as transport_module
from turnhub_sdk.testing import ScriptedAgent

from hub import Completed, Failed, Status, Text, TextDelta
from hub.testing import Cut, Drop, Fail, FakeTurn, Say, Silence, Stall, Think, Use, allow, reply

pytestmark = [pytest.mark.anyio, pytest.mark.real]

TOO_LONG = "prompt is too long: 300000 tokens > 200000 maximum"
ECHO = Use("Bash", {"command": "echo hi"})
FAULTS: dict[str, tuple[Any, str, str]] = {
    "status 500": (Fail(status=500, message="It broke."), "agent_error", "It broke."),
    "status 502": (Fail(status=502), "agent_error", "502"),
    "status 529": (Fail(status=529, message="Overloaded."), "agent_error", "529"),
    "status 429": (Fail(status=429, message="Slow down."), "agent_error", "Wait a while"),
    "status 400": (Fail(status=400, message="Not like this."), "agent_error", "Not like this."),
    "status 404": (Fail(status=404, message="model: x"), "agent_error", "Correct `model`"),
    "wrong key": (Fail(status=401, message="invalid x-api-key"), "agent_unavailable", "/login"),
    "closed connection": (Drop(), "agent_error", "Connection"),
    "zero content": (reply(times=None), "empty_response", ""),
    "blank text": (reply("  \n", times=None), "empty_response", ""),
    "zero content after a tool": ([reply(ECHO), reply(times=None)], "empty_response", ""),
    "only thinking": (reply(Think("Hm."), times=None), "reasoning_only", ""),
    "only thinking after a tool": (
        [reply("Let me see.", ECHO), reply(Think("Hm."), times=None)],
        "reasoning_only",
        "",
    ),
    "max tokens": (reply("On and on", stop="max_tokens", times=None), "token_cap", "token"),
    "always cut in a text": (reply(Say("half", close=False), Cut(), times=None), "incomplete", "cut off"),
    "always cut behind a block": (reply("whole", Cut(), times=None), "incomplete", "cut off"),
    "stall after the start": (reply(Stall(), times=None), "stalled", "4 s"),
    "stall in a text": (reply(Say("half", close=False), Stall(), times=None), "stalled", "4 s"),
    "no response headers": (Silence(), "stalled", "4 s"),
    "status 402": (
        Fail(status=402, message="Nothing left"),
        "agent_error",
        "Nothing left. Mend the account's billing",
    ),
    "status 403": (Fail(status=403, message="Not you"), "agent_unavailable", "may not do this"),
    "too long": (Fail(status=400, message=TOO_LONG), "agent_error", "Begin a new session"),
    "refused": (reply("I will n", stop="refusal", times=None), "agent_error", "flagged"),
    "paused": (reply("Let me s", stop="pause_turn", times=None), "incomplete", "paused"),
}
POINTLESS = ("too long", "refused")  # to say the same again


def _failed(turn: FakeTurn) -> Failed:
    assert isinstance(turn.judged, Failed)
    return turn.judged


ALWAYS = ("status 500", "always cut behind a block", "zero content", "stall in a text", "closed connection")


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=() if fault in ALWAYS else pytest.mark.full) for fault in FAULTS]
)
async def test_a_fault_ends_as_what_it_is(tmp_path: Path, fault: str) -> None:
    """Each fault has its code, words that a person can act on, an end within bounds; the session goes on."""
    script, code, words = FAULTS[fault]
    async with ScriptedAgent({"go": script, "again": reply("Fine.")}, tmp_path, stall_s=4.0) as agent:
        turn = await agent.play("go", within=90.0)
        failed = _failed(turn)
        assert failed.code == code
        assert words in (failed.message or "")
        assert failed.retryable is (False if fault in POINTLESS else None)
        assert not turn.problems
        assert (await agent.play("again")).text == "Fine."


async def test_a_refused_connection_is_told_within_the_bounds(tmp_path: Path) -> None:
    """A model that is not there at all."""
    nowhere = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    async with ScriptedAgent(reply("x"), tmp_path, env=nowhere) as agent:
        turn = await agent.play("go", within=90.0)
    assert _failed(turn).code == "agent_error"
    assert "refused" in (_failed(turn).message or "")


async def test_a_silent_model_is_tried_again_within_the_bounds(tmp_path: Path) -> None:
    """Without response headers the agent tries again after ``api_timeout_s``, and then says what it is."""
    async with ScriptedAgent(Silence(), tmp_path, api_timeout_s=1.0, max_retries=1) as agent:
        turn = await agent.play("go", within=90.0)
    assert _failed(turn).code == "agent_error"
    assert any(status.state == "retrying" for status in turn.of(Status))


async def test_a_short_fault_is_only_a_status(tmp_path: Path) -> None:
    """Busy twice, then fine: the turn completes, and the wait was told."""
    async with ScriptedAgent([Fail(status=529, times=2), reply("Fine.")], tmp_path) as agent:
        turn = await agent.play("go")
    assert isinstance(turn.judged, Completed)
    assert [status.state for status in turn.of(Status)].count("retrying") == 2


async def test_a_cut_answer_begins_anew(tmp_path: Path) -> None:
    """What was streamed before a cut does not count; the whole answer comes once."""
    script = [reply(Say("half of it", close=False), Cut()), reply("All of it.")]
    async with ScriptedAgent(script, tmp_path) as agent:
        turn = await agent.play("go")
    assert [text.text for text in turn.of(Text)] == ["All of it."]
    assert not turn.problems


async def test_what_a_cut_tool_did_counts(tmp_path: Path) -> None:
    """A tool whose block was whole when the stream broke runs once, and the agent goes on."""
    script = [reply(Use("Bash", {"command": "echo x >> log"}), Cut()), reply("Done.")]
    async with ScriptedAgent(script, tmp_path) as agent:
        turn = await agent.play("go", replies=lambda _: allow())
        assert (agent.cwd / "log").read_text() == "x\n"
    assert isinstance(turn.judged, Completed)


async def test_a_stall_is_told_before_it_ends_the_turn(tmp_path: Path) -> None:
    """A stall is a status first; then the turn ends as stalled, soon."""
    async with ScriptedAgent(reply("Begun", Stall()), tmp_path, stall_s=4.0) as agent:
        turn = agent.turn("go")
        playing = asyncio.create_task(agent.play(turn))
        await turn.until(lambda: any(status.state == "stalled" for status in turn.of(Status)))
        async with asyncio.timeout(2):
            await playing
    assert [sign.code for sign in turn.signs] == ["stalled"]
    assert _failed(turn).code == "stalled"
    assert turn.text == "Begun"


async def test_a_tool_may_take_longer_than_a_stall(tmp_path: Path) -> None:
    """A tool that runs is a sign of life."""
    script = [reply(Use("Bash", {"command": "sleep 5; touch made"})), reply("Done.")]
    async with ScriptedAgent(script, tmp_path, stall_s=4.0) as agent:
        turn = await agent.play("go", replies=lambda _: allow())
    assert isinstance(turn.judged, Completed)


async def test_an_agent_killed_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    """The turn ends at once as agent_dead, what was streamed is there, and the next turn knows the history."""
    script = {
        "before": reply("Noted."),
        "go": reply(Say("word " * 1000, every_s=0.02)),
        "again": reply("Here I am."),
    }
    async with ScriptedAgent(script, tmp_path) as agent:
        await agent.play("before")
        await agent.written("Noted.")
        turn = agent.turn("go")
        playing = asyncio.create_task(agent.play(turn))
        await turn.seen(TextDelta, count=3)
        assert agent.pid is not None
        began = time.monotonic()
        os.kill(agent.pid, signal.SIGKILL)
        await playing
        assert time.monotonic() - began < 1
        assert _failed(turn).code == "agent_dead"
        assert "exit code -9" in (_failed(turn).message or "")
        assert (await agent.play("again")).text == "Here I am."
        # What the agent had not written down when it was killed is lost to it, what was over is not.
        assert (agent.model.turns[-1].prompts[0], agent.model.turns[-1].prompts[-1]) == ("before", "again")


async def test_an_agent_killed_between_turns(tmp_path: Path) -> None:
    """The next turn starts another one, with the same conversation."""
    async with ScriptedAgent([reply("Yes.")], tmp_path) as agent:
        await agent.play("one")
        await agent.written("Yes.")
        assert agent.pid is not None
        os.kill(agent.pid, signal.SIGKILL)
        turn = await agent.play("two")
        assert turn.text == "Yes."
        assert agent.model.turns[-1].prompts == ("one", "two")


@pytest.mark.parametrize("sign", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.full)])
@pytest.mark.parametrize("early", [False, pytest.param(True, marks=pytest.mark.full)])
async def test_what_a_killed_agent_had_spent_is_charged_to_no_other_turn(
    tmp_path: Path, sign: signal.Signals, early: bool
) -> None:
    """An agent is killed in the middle of a turn, or already before it between two: that turn tells no cost, and
    the next ones their own, neither more (it writes its sum down as it goes) nor nothing (it does not)."""
    script = {"long": [reply(ECHO), reply("half", Stall())], "a": reply("One.", times=None)}
    async with ScriptedAgent(script, tmp_path) as agent:
        costs = [(await agent.play("a")).judged.cost_usd]
        await agent.written("One.")
        if early:
            await _kill(agent, sign)
            costs.append((await agent.play("a")).judged.cost_usd)
        turn = agent.turn("long", replies=lambda _: allow())
        playing = asyncio.create_task(agent.play(turn))
        await turn.seen(TextDelta)
        await _kill(agent, sign)
        await playing
        costs += [(await agent.play("a")).judged.cost_usd for _ in range(2)]
        await agent.leave()
        costs.append((await agent.play("a")).judged.cost_usd)
    assert _failed(turn).cost_usd is None
    assert costs == [pytest.approx(0.00014)] * len(costs)


async def _kill(agent: ScriptedAgent, sign: signal.Signals) -> None:
    assert agent.pid is not None
    process = psutil.Process(agent.pid)
    process.send_signal(sign)
    await asyncio.to_thread(process.wait, 10)


async def test_an_agent_that_is_not_logged_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When only the agent itself finds out, the turn says so, with the line that mends it."""
    monkeypatch.setattr(transport_module, "reason_against", lambda _: None)
    async with ScriptedAgent(reply("x"), tmp_path, env={"ANTHROPIC_API_KEY": ""}) as agent:
        failed = _failed(await agent.play("go"))
    assert failed.code == "agent_unavailable"
    assert "Not logged in" in (failed.message or "")
    assert "or set ANTHROPIC_API_KEY" in (failed.message or "")


async def test_an_executable_that_is_no_agent(tmp_path: Path) -> None:
    """What does not start says why, in its own words, and how the turn ended is no mystery."""
    fake = tmp_path / "claude"
    fake.write_text("#!/bin/sh\necho out of order >&2\nexit 3\n")
    fake.chmod(0o700)
    async with ScriptedAgent(reply("x"), tmp_path, cli_path=str(fake)) as agent:
        failed = _failed(await agent.play("go"))
    assert failed.code == "agent_unavailable"
    assert "out of order" in (failed.message or "")
    assert "Check stderr" not in (failed.message or "")


async def test_an_executable_that_hangs(tmp_path: Path) -> None:
    """What never gets ready is given up in time."""
    fake = tmp_path / "claude"
    fake.write_text("#!/bin/sh\nexec sleep 60\n")
    fake.chmod(0o700)
    async with ScriptedAgent(reply("x"), tmp_path, cli_path=str(fake), connect_s=0.5) as agent:
        failed = _failed(await agent.play("go", within=90.0))
    assert (failed.code, failed.message) == ("agent_unavailable", "Claude Code did not start within 0.5 s.")
