"""Turns with the real Claude Code: words, tools, the message that it got, stopping."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from turnhub_sdk.testing import ScriptedAgent

from hub import (
    Completed,
    Interrupted,
    MessageDelivered,
    Reasoning,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from hub.testing import Say, Stall, Think, Use, allow, reply

pytestmark = [pytest.mark.anyio, pytest.mark.real]


async def test_a_plain_turn(tmp_path: Path) -> None:
    """The message is delivered with proof, words stream, the durable text is their sum, one request is made."""
    async with ScriptedAgent({"hello": reply("Hello there, friend.")}, tmp_path) as agent:
        turn = await agent.play("hello")
    assert isinstance(turn.judged, Completed)
    assert turn.of(MessageDelivered) == [MessageDelivered(verdict="submitted", proof="sdk")]
    assert "".join(delta.text for delta in turn.of(TextDelta)) == turn.text == "Hello there, friend."
    assert [request.prompts for request in agent.model.turns] == [("hello",)]
    assert turn.judged.usage is not None
    assert turn.judged.usage.input_tokens == 10
    assert not turn.problems


async def test_reasoning_streams_beside_text(tmp_path: Path) -> None:
    """Reasoning is told as reasoning, in a block of its own."""
    async with ScriptedAgent(reply(Think("Hm, hm."), "So it is."), tmp_path) as agent:
        turn = await agent.play("why?")
    assert turn.of(Reasoning) == [Reasoning(block=0, text="Hm, hm.")]
    assert turn.text == "So it is."


async def test_each_turn_costs_its_own(tmp_path: Path) -> None:
    """Costs are differences of sums, also over a new connection: each of three like turns costs the same."""
    async with ScriptedAgent([reply("One answer.")], tmp_path) as agent:
        costs = [(await agent.play("a")).judged.cost_usd, (await agent.play("b")).judged.cost_usd]
        await agent.leave()
        costs.append((await agent.play("c")).judged.cost_usd)
    assert costs[0] is not None
    assert costs[0] > 0
    assert costs == [pytest.approx(costs[0])] * 3


async def test_parallel_tools(tmp_path: Path) -> None:
    """Two tools of one message both run and are told apart."""
    tools = [Use("Bash", {"command": f"echo {word}"}) for word in ("one", "two")]
    async with ScriptedAgent([reply(*tools), reply("Both.")], tmp_path) as agent:
        turn = await agent.play("go", replies=lambda _: allow())
    assert len({event.tool_id for event in turn.of(ToolStarted)}) == 2
    outputs = sorted(event.digest.text for event in turn.of(ToolFinished) if event.digest)
    assert outputs == ["one", "two"]
    assert not turn.problems


async def test_a_literal_message_is_words(tmp_path: Path) -> None:
    """A literal message is not acted on: no file is pulled in, no command run; the model gets the very words."""
    texts = ["look at @secret.txt", "/cost", "/compact now", "!ls", "# note"]
    async with ScriptedAgent(reply("Read.", times=None), tmp_path) as agent:
        (agent.cwd / "secret.txt").write_text("SECRET-VALUE")
        for text in texts:
            assert isinstance((await agent.play(text)).judged, Completed)
        assert list(agent.model.turns[-1].prompts) == texts
        assert "SECRET-VALUE" not in str([request.body for request in agent.model.requests])


async def test_a_message_that_is_not_literal_is_as_from_the_keyboard(tmp_path: Path) -> None:
    """Without ``literal`` a mentioned file is read and a command is run, with what it prints as the answer;
    one that prints nothing has not failed."""
    async with ScriptedAgent(reply("Read."), tmp_path) as agent:
        (agent.cwd / "secret.txt").write_text("SECRET-VALUE")
        await agent.play("look at @secret.txt", literal=False)
        assert "SECRET-VALUE" in str(agent.model.turns[0].body)
        command = await agent.play("/cost", literal=False)
        assert "cost" in command.text
        assert isinstance(command.judged, Completed)
        assert len(agent.model.turns) == 1
        silent = await agent.play("/clear", literal=False)
        assert isinstance(silent.judged, Completed)
        assert silent.text == "(The command gave no output.)"
        await agent.play("anew")
        assert agent.model.turns[-1].prompts == ("anew",)


async def test_an_interrupt_is_obeyed_at_once(tmp_path: Path) -> None:
    """In the middle of an answer: well under a second, what was said is kept, and the next turn is fine."""
    script = {"long": reply(Say("word " * 1000, every_s=0.02)), "next": reply("Here.")}
    async with ScriptedAgent(script, tmp_path) as agent:
        turn = agent.turn("long")
        playing = asyncio.create_task(agent.play(turn))
        await turn.seen(TextDelta, count=5)
        began = time.monotonic()
        turn.cancelled.request("ann")
        await playing
        took = time.monotonic() - began
        assert took < 1
        assert isinstance(turn.judged, Interrupted)
        assert turn.judged.by == "ann"
        assert [text.partial for text in turn.of(Text)] == [True]
        assert (await agent.play("next")).text == "Here."


async def test_an_interrupt_stops_a_tool(tmp_path: Path) -> None:
    """A tool that runs is stopped and told as interrupted."""
    async with ScriptedAgent([reply(Use("Bash", {"command": "sleep 60"}))], tmp_path) as agent:
        turn = agent.turn("go", replies=lambda _: allow())
        playing = asyncio.create_task(agent.play(turn))
        await turn.until(lambda: bool(turn.asks and turn.asks[0].delivered) or bool(turn.of(ToolStarted)))
        await agent.model.received()
        turn.cancelled.request()
        await playing
    assert isinstance(turn.judged, Interrupted)
    assert [event.status for event in turn.of(ToolFinished)] == ["interrupted"]


async def test_an_interrupt_before_the_first_sign(tmp_path: Path) -> None:
    """Stopped before the agent has even started: the message is not sent, and nothing hangs."""
    async with ScriptedAgent(reply("Never."), tmp_path) as agent:
        turn = agent.turn("hello")
        turn.cancelled.request("ann")
        began = time.monotonic()
        await agent.play(turn)
        assert time.monotonic() - began < 1
        assert isinstance(turn.judged, Interrupted)
        assert (await agent.play("now")).text == "Never."
        assert agent.model.turns[-1].prompts == ("now",)


async def test_an_interrupt_while_the_model_hangs(tmp_path: Path) -> None:
    """A model that has gone silent does not keep an interrupt waiting."""
    async with ScriptedAgent(reply("A beginning", Stall()), tmp_path) as agent:
        turn = agent.turn("hello")
        playing = asyncio.create_task(agent.play(turn))
        await turn.seen(Text)
        turn.cancelled.request()
        async with asyncio.timeout(2):
            await playing
    assert isinstance(turn.judged, Interrupted)
    assert turn.text == "A beginning"


async def test_a_hub_without_room_does_not_hold_up_an_interrupt(tmp_path: Path) -> None:
    """While events cannot be stored the agent still obeys: it is told beside them."""
    async with ScriptedAgent(reply(Say("word " * 1000, every_s=0.02)), tmp_path) as agent:
        turn = agent.turn("long")
        playing = asyncio.create_task(agent.play(turn))
        await turn.seen(TextDelta)
        turn.hold()
        turn.cancelled.request()
        turn.release()
        await playing
    assert isinstance(turn.judged, Interrupted)


async def test_many_deltas_do_not_hold_up_the_agent(tmp_path: Path) -> None:
    """Thousands of messages while the hub has no room: the agent is still heard, and still asks."""
    script = [reply(Say("x " * 3000), Use("Bash", {"command": "touch made"})), reply("Done.")]
    async with ScriptedAgent(script, tmp_path) as agent:
        turn = agent.turn("go", replies=lambda _: allow())
        turn.hold()
        playing = asyncio.create_task(agent.play(turn))
        await turn.seen(Status)
        turn.release()
        await playing
        assert isinstance(turn.judged, Completed)
        assert (agent.cwd / "made").exists()
