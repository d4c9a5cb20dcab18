"""Words for a turn that runs, given to the real Claude Code: taken between two tools, or when it is done."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from turnhub_sdk.testing import ScriptedAgent

from hub import Completed, Interrupted, Message, MessageDelivered, SteerUnsupported, TextDelta, ToolStarted
from hub.testing import Exchange, FakeTurn, Reply, Say, Stall, Use, allow, reply

pytestmark = [pytest.mark.anyio, pytest.mark.real]

MORE = Message(id="msg_more", text="and this too")


def script(exchange: Exchange) -> Reply:
    """By the first word of the prompt; it repeats what it was told."""
    word = (exchange.text.split() or [""])[0]
    if exchange.number:
        return reply(f"Result: {exchange.results[-1].text}" if exchange.results else "Nothing.")
    return {
        "LONG": reply(Say("word " * 40, every_s=0.05)),
        "TOOL": reply(Use("Bash", {"command": "sleep 2; echo hi", "description": "wait"})),
        "SLOW": reply(Say("one two three ", every_s=0.02), Stall()),
        "BLANK": reply(times=None),
    }.get(word, reply(f"Echo: {exchange.text}"))


def told(turn: FakeTurn) -> list[str]:
    return [one.verdict for one in turn.of(MessageDelivered) if one.message_id == MORE.id]


async def speaks(turn: FakeTurn) -> None:
    """Return once the turn has shown a part of its answer."""
    await turn.until(lambda: bool(turn.of(TextDelta)))


async def test_what_comes_while_it_speaks_is_answered_in_the_same_turn(tmp_path: Path) -> None:
    """Queued, then submitted; both answers are of one turn, whose usage and cost are those of both."""
    async with ScriptedAgent(script, tmp_path) as agent:
        turn = agent.turn("LONG answer")
        playing = asyncio.create_task(agent.play(turn))
        await speaks(turn)
        connection = await agent.connection()
        assert (await connection.steer(MORE)).verdict == "queued"
        await playing
        assert isinstance(turn.judged, Completed)
        assert turn.text.endswith("Echo: and this too")
        assert told(turn) == ["submitted"]
        assert turn.judged.usage is not None
        assert turn.judged.usage.input_tokens == 20
        once = await agent.play("afterwards")
        assert turn.judged.cost_usd == pytest.approx(2 * (once.judged.cost_usd or 0.0))
        assert once.text == "Echo: afterwards"
        with pytest.raises(SteerUnsupported):
            await connection.steer(MORE)
        assert agent.model.turns[-1].prompts == ("LONG answer", "and this too", "afterwards")
    assert not [*turn.problems, *once.problems]


async def test_what_comes_while_a_tool_runs_is_taken_with_its_result(tmp_path: Path) -> None:
    """One more request, which has both."""
    async with ScriptedAgent(script, tmp_path) as agent:
        turn = agent.turn("TOOL", replies=[allow()])
        playing = asyncio.create_task(agent.play(turn))
        await turn.until(lambda: bool(turn.of(ToolStarted)))
        assert (await (await agent.connection()).steer(MORE)).verdict == "queued"
        await playing
        assert isinstance(turn.judged, Completed)
        assert turn.text == "Result: hi"
        assert told(turn) == ["submitted"]
        assert len(agent.model.turns) == 2
        assert MORE.text in str(agent.model.turns[-1].body)
    assert not turn.problems


async def test_an_interrupt_stops_what_waited_too(tmp_path: Path) -> None:
    """The agent goes on to it by itself: it is stopped in that as well, and the next turn has its own answer."""
    async with ScriptedAgent(script, tmp_path) as agent:
        for number in range(3):
            turn = agent.turn(f"SLOW {number}")
            playing = asyncio.create_task(agent.play(turn))
            await speaks(turn)
            connection = await agent.connection()
            words = Message(id=MORE.id, text=f"SLOW {number} never mind")
            assert (await connection.steer(words)).verdict == "queued"
            turn.cancelled.request("ann")
            await connection.interrupt()
            await playing
            assert turn.judged == Interrupted(by="ann", usage=turn.judged.usage, cost_usd=turn.judged.cost_usd)
            after = await agent.play(f"after {number}")
            assert after.text == f"Echo: after {number}"
            assert not [*turn.problems, *after.problems]


async def test_words_without_an_answer_are_a_failure_with_its_name(tmp_path: Path) -> None:
    """What the agent said before them does not count as an answer to them."""

    def model(exchange: Exchange) -> Reply:
        return reply(times=None) if "BLANK" in str(agent.model.turns[-1].body) else script(exchange)

    async with ScriptedAgent(model, tmp_path) as agent:
        turn = agent.turn("LONG answer")
        playing = asyncio.create_task(agent.play(turn))
        await speaks(turn)
        await (await agent.connection()).steer(Message(id=MORE.id, text="BLANK"))
        await playing
    assert getattr(turn.judged, "code", None) == "empty_response"
