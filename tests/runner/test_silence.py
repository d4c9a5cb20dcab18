"""Silence of an agent: shown, then ended; waiting with good reason is no silence."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hub.asks import AskRequest, settle
from hub.config import AgentConfig, RunnerConfig
from hub.events import (
    AskOpened,
    AskSettled,
    By,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
)
from hub.runner.silence import Silence
from hub.testing.hub import hub_config
from hub.transport import TurnContext
from hub.turn import Completed
from tests.runner.acting import Acting, forever, good
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio


def test_silence_is_shown_once_and_ends_at_its_limit() -> None:
    """A third of the limit is shown, once; the limit ends; hearing something begins anew."""
    silence = Silence(9, now=100)
    assert silence.wait(100) == 3
    assert silence.look(102.9) == "fine"
    assert silence.look(103) == "show"
    assert silence.look(104) == "fine"
    assert silence.wait(104) == 5
    assert silence.look(109) == "over"
    silence.broken(109)
    assert [silence.look(now) for now in (110, 112, 113, 117.9, 118)] == ["fine", "show", "fine", "fine", "over"]


async def test_a_silent_agent_is_shown_and_then_ended(hubs: Hubs) -> None:
    """``stalled`` is shown first; then the turn fails as stalled, keeps its text, and the hanging connection
    is not used again."""

    async def act(turn: TurnContext) -> Any:
        await turn.emit(TextDelta(block=0, text="half"))
        await forever()

    transport = Acting(act)
    async with hubs(hub_config(runner=RunnerConfig(stall_s=0.6)), transports=[transport]) as hub:
        session = await hub.session()
        events = await hub.events(await hub.send(session))
        assert [event.state for event in events if isinstance(event, Status)][-1:] == ["stalled"]
        assert isinstance(events[-1], TurnFailed)
        assert (events[-1].code, events[-1].retryable) == ("stalled", True)
        assert [(text.text, text.partial) for text in events if isinstance(text, Text)] == [("half", True)]
        assert isinstance(await hub.run_turn(session), TurnCompleted)
        assert (transport.opened, transport.closed) == (2, 1)


async def test_an_agent_that_comes_back_is_shown_as_resumed(hubs: Hubs) -> None:
    """After a shown silence the first event is preceded by ``resumed``, and a second silence is shown too."""
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def act(turn: TurnContext) -> Any:
        for number in range(2):
            while await heard.get() != "stalled":
                pass
            await turn.emit(TextDelta(block=0, text=f"{number}"))
        return await good(turn)

    async with hubs(hub_config(runner=RunnerConfig(stall_s=1.5)), transports=[Acting(act)]) as hub:
        begun = await hub.send(await hub.session())
        states = []
        async with asyncio.timeout(20):
            async for event in hub.follow(begun):
                if isinstance(event, Status):
                    states.append(event.state)
                    heard.put_nowait(event.state)
        assert states == ["stalled", "resumed", "stalled", "resumed"]
        assert isinstance(event, TurnCompleted)


async def test_waiting_for_a_person_or_a_tool_is_no_silence(hubs: Hubs) -> None:
    """With an ask open, and with a tool running, three times the limit passes without a word."""
    asked = asyncio.Event()

    async def act(turn: TurnContext) -> Any:
        asked.set()
        await turn.ask(AskRequest(kind="permission", tool="Bash", subject="ls"))
        await turn.emit(ToolStarted(tool_id="t", name="Bash"))
        await asyncio.sleep(1)
        await turn.emit(ToolFinished(tool_id="t", status="ok"))
        return Completed()

    async with hubs(hub_config(runner=RunnerConfig(stall_s=0.3)), transports=[Acting(act)]) as hub:
        begun = await hub.send(await hub.session())
        opened = await hub.until(begun, AskOpened)
        await asyncio.sleep(1)
        record = await hub.store.ask(opened.ask.id)
        reply = settle(record.ask, {"decision": "allow"}, By(kind="person", name="ann"))
        await hub.store.settle_ask(record, reply)
        events = await hub.events(begun)
        assert isinstance(events[-1], TurnCompleted)
        begun_at, settled_at = opened.seq, next(one.seq for one in events if isinstance(one, AskSettled))
        tool = [one.seq for one in events if isinstance(one, ToolStarted | ToolFinished)]
        shown = [one.seq for one in events if isinstance(one, Status)]
        assert not [seq for seq in shown if begun_at < seq < settled_at or tool[0] < seq < tool[1]]


async def test_an_agents_own_patience_counts(hubs: Hubs) -> None:
    """``stall_s`` among the agent's options outranks the runner's."""

    async def act(turn: TurnContext) -> Any:
        await forever()

    config = hub_config()
    agent = AgentConfig(name="agent", transport="scripted", cwd="/", options={"stall_s": 0.3})
    async with hubs(hub_config(agents={"agent": agent}), transports=[Acting(act)]) as hub:
        ending = await hub.run_turn(await hub.session())
        assert isinstance(ending, TurnFailed)
        assert ending.code == "stalled"
    assert config.runner.stall_s > 100
