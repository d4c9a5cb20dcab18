"""Stopping a runner: every turn ends with its event or goes on elsewhere, and nothing takes long."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from hub.asks import AskRequest, settle
from hub.config import RunnerConfig
from hub.events import (
    AskOpened,
    AskWithdrawn,
    By,
    Text,
    TextDelta,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from hub.store.connect import Connections
from hub.store.store import Bounds
from hub.testing.hub import hub_config
from hub.testing.scripted import ScriptedTransport
from hub.transport import TurnContext
from hub.turn import Completed
from tests.gates import GatedLines
from tests.runner.acting import Acting, forever, nothing, stubborn
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio

PATIENT = RunnerConfig(lease_s=2, shutdown_grace_s=3)


async def streaming(turn: TurnContext) -> Any:
    """Stream without an end."""
    while True:
        await turn.emit(TextDelta(block=0, text="word "))
        await asyncio.sleep(0.005)


async def hanging(turn: TurnContext) -> Any:
    """Say something and hang."""
    await turn.emit(TextDelta(block=0, text="word "))
    await forever()


async def asking(turn: TurnContext) -> Any:
    """Say something and ask."""
    await turn.emit(TextDelta(block=0, text="word "))
    await turn.ask(AskRequest(kind="permission", tool="Bash", subject="ls"))


async def unwilling(turn: TurnContext) -> Any:
    """Say something and ignore everything."""
    await turn.emit(TextDelta(block=0, text="word "))
    await stubborn(4)


@pytest.mark.parametrize("act", [streaming, hanging, asking, unwilling])
async def test_a_stopping_runner_ends_its_turns_and_says_so(hubs: Hubs, act: Any) -> None:
    """Each turn ends as cancelled_by_shutdown, retryable, its text kept, its ask withdrawn; the runner is gone
    in bounded time; the next one goes on with the session."""
    async with hubs(hub_config(runner=PATIENT), transports=[Acting(act)]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await hub.until(begun, AskOpened if act is asking else TextDelta)
        start = time.monotonic()
        await hub.runners[0].stop(within_s=10)
        assert time.monotonic() - start < 6
        events = await hub.events(begun)
        assert isinstance(events[-1], TurnFailed)
        assert (events[-1].code, events[-1].retryable) == ("cancelled_by_shutdown", True)
        assert [event.partial for event in events if isinstance(event, Text)] == [True]
        assert len([event for event in events if isinstance(event, AskWithdrawn)]) == (act is asking)
        assert await hub.overview.open_asks() == []
        assert await hub.work.runners() == []
        hub.add_runner()
        assert isinstance(await hub.run_turn(session), TurnCompleted)


async def test_stopping_is_quick_with_many_turns(hubs: Hubs) -> None:
    """Fifty streaming turns end in about a second."""
    async with hubs(hub_config(), transports=[Acting(*[hanging] * 50)]) as hub:
        turns = [await hub.send(await hub.session()) for _ in range(50)]
        for begun in turns:
            await hub.until(begun, TextDelta)
        start = time.monotonic()
        await hub.runners[0].stop()
        assert time.monotonic() - start < 4
        for begun in turns:
            ending = await hub.ending(begun)
            assert isinstance(ending, TurnFailed)
            assert ending.code == "cancelled_by_shutdown"


async def test_turns_that_are_taken_while_the_runner_stops_end_or_go_on(hubs: Hubs) -> None:
    """A runner that stops in a rain of new turns: every one has one end, here or under the next runner, and
    stopping is bounded."""
    config = hub_config(runner=PATIENT)
    async with hubs(config, bounds=Bounds(ring_ms=100)) as hub:
        sessions = [await hub.session() for _ in range(60)]
        turns = [await hub.send(session, [{"sleep_ms": 30}, {"text": "a"}]) for session in sessions[:30]]
        stopping = asyncio.create_task(hub.runners[0].stop(within_s=10))
        turns += [await hub.send(session) for session in sessions[30:]]
        await stopping
        hub.add_runner()
        for begun in turns:
            ending = await hub.ending(begun)
            assert isinstance(ending, TurnCompleted | TurnFailed)
            log = await hub.store.log_page(begun.session_id, 0)
            assert sum(entry.terminal for entry in log) == 1


async def test_a_queued_message_waits_for_the_next_runner(hubs: Hubs) -> None:
    """The message that waited behind a turn that is cancelled by shutdown begins, and the next runner takes
    it."""
    async with hubs(hub_config(runner=PATIENT), transports=[Acting(hanging)]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await hub.until(begun, TextDelta)
        await hub.store.enqueue(session, "later")
        await hub.runners[0].stop()
        hub.add_runner()
        async with asyncio.timeout(15), await hub.feed.log(session) as log:
            while (frames := await log.read()) is not None and b"event: turn_completed" not in frames:
                pass
        types = [entry.type for entry in await hub.store.log_page(session, 0)]
        assert (types.count("turn_failed"), types.count("turn_completed")) == (1, 1)


async def test_a_store_that_is_away_does_not_hold_up_the_stop(hubs: Hubs, redis_url: str) -> None:
    """The end cannot be written: the runner gives up after its grace, and the turn is reaped later."""
    lines = GatedLines(Connections(redis_url))
    config = hub_config(runner=RunnerConfig(lease_s=3, shutdown_grace_s=0.5))
    async with hubs(config, transports=[Acting(hanging)], runners=0) as hub:
        runner = hub.add_runner(lines)
        begun = await hub.send(await hub.session())
        await hub.until(begun, TextDelta)
        lines.gate.set("frozen")
        start = time.monotonic()
        await runner.stop(within_s=10)
        assert time.monotonic() - start < 8
        hub.add_runner()
        ending = await hub.ending(begun)
        assert isinstance(ending, TurnFailed)
        assert ending.code == "owner_lost"


@pytest.mark.parametrize("how", ["hangs", "raises", "exits", "is stubborn"])
async def test_transports_that_do_not_close_do_not_hold_up_the_stop(hubs: Hubs, how: str) -> None:
    """Neither a connection nor a transport that fails at closing keeps the runner."""

    async def closing() -> None:
        if how == "hangs":
            await forever()
        if how == "is stubborn":
            await stubborn(3)
        raise SystemExit(1) if how == "exits" else RuntimeError("cannot")

    class Unclosable(Acting):
        async def close(self) -> None:
            await closing()

    transport = Unclosable(closing=closing)
    async with hubs(hub_config(), transports=[transport]) as hub:
        await hub.run_turn(await hub.session())
        await hub.runners[0].stop(within_s=9)
        transport.closing = nothing
        assert await hub.work.runners() == []


async def test_a_runner_waits_for_its_store(hubs: Hubs, redis_url: str) -> None:
    """Started while the store is away, it serves as soon as it is there."""
    lines = GatedLines(Connections(redis_url))
    lines.gate.set("away")
    async with hubs(hub_config(), runners=0) as hub:
        begun = await hub.send(await hub.session())
        hub.add_runner(lines)
        await lines.gate.refused_one.wait()
        lines.gate.set("open")
        assert isinstance(await hub.ending(begun), TurnCompleted)


async def test_a_runner_that_has_lost_its_store_can_be_stopped(hubs: Hubs, redis_url: str) -> None:
    """With nothing running and no store, stopping takes no longer than the good-bye may."""
    lines = GatedLines(Connections(redis_url))
    async with hubs(hub_config(), runners=0) as hub:
        runner = hub.add_runner(lines)
        await hub.run_turn(await hub.session())
        lines.gate.set("frozen")
        await runner.stop(within_s=6)


# Agents that outlive their runner


async def test_an_agent_that_outlives_the_runner_is_let_go_and_adopted_at_once(hubs: Hubs) -> None:
    """Stopping does not end the turn: its lease is given back, the next runner adopts it without waiting for
    the lease to run out, and the turn goes on where it stood."""
    steps = [{"text": "one"}, {"sleep_ms": 300}, {"text": "two"}, {"sleep_ms": 300}, {"text": "three"}]
    config = hub_config(runner=RunnerConfig(lease_s=30))
    async with hubs(config, transports=[ScriptedTransport(adopts=True)]) as hub:
        session = await hub.session()
        begun = await hub.send(session, steps)
        await hub.until(begun, lambda event: isinstance(event, Text) and event.text == "one")
        watching = asyncio.create_task(hub.events(begun))
        await hub.runners[0].stop()
        assert (await hub.store.turn(session)) is not None
        hub.add_runner()
        events = await watching
        assert isinstance(events[-1], TurnCompleted)
        assert [event.attempt for event in events if isinstance(event, TurnStarted)] == [1, 2]
        assert [event.text for event in events if isinstance(event, Text)] == ["one", "two", "three"]


@pytest.mark.parametrize("answered", ["after the restart", "before the restart"])
async def test_an_ask_survives_the_restart_of_the_runner(hubs: Hubs, answered: str) -> None:
    """The ask that was open stays open, under its id, and is answerable by anybody; when the adopting
    transport asks the same again, it is the same ask, and a settlement made meanwhile is its answer."""
    answers: list[Any] = []

    async def act(turn: TurnContext) -> Any:
        request = AskRequest(kind="permission", tool="Bash", subject="ls", input={"command": "ls", "n": 1})
        answer = await turn.ask(request)
        answers.append(answer)
        await turn.ask_delivered(answer.ask_id)
        await turn.emit(Text(block=0, text="done"))
        return Completed()

    config = hub_config(runner=RunnerConfig(lease_s=30))
    transport = Acting(act, act, capabilities=frozenset({"adopt"}))
    async with hubs(config, transports=[transport]) as hub:
        begun = await hub.send(await hub.session())
        opened = await hub.until(begun, AskOpened)
        await hub.runners[0].stop()
        (record,) = await hub.overview.open_asks()
        assert record.id == opened.ask.id
        reply = settle(record.ask, {"decision": "allow"}, By(kind="person", name="ann"))
        if answered == "before the restart":
            await hub.store.settle_ask(record, reply)
        hub.add_runner()
        if answered == "after the restart":
            await hub.until(begun, lambda event: isinstance(event, TurnStarted) and event.attempt == 2)
            await hub.store.settle_ask(record, reply)
        events = await hub.events(begun)
        assert isinstance(events[-1], TurnCompleted)
        assert len([event for event in events if isinstance(event, AskOpened)]) == 1
        assert [(answer.ask_id, answer.settlement.decision) for answer in answers] == [(record.id, "allow")]
        assert (await hub.store.ask(record.id)).state == "closed"
