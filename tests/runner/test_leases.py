"""Leases: a runner that cannot renew stops in time, one that is gone is replaced, one that comes back is too
late."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from hub.asks import AskRequest
from hub.config import RunnerConfig
from hub.events import (
    AskOpened,
    AskWithdrawn,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
    UserMessage,
)
from hub.runner.reaper import Reaper
from hub.store import keys
from hub.store.connect import Connections
from hub.store.store import Bounds
from hub.testing.hub import TestHub, hub_config
from hub.transport import Capability, TurnContext
from hub.turn import Completed
from tests.gates import GatedLines
from tests.runner.acting import Acting, forever
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio

SHORT = RunnerConfig(lease_s=1.5, interrupt_grace_s=0.3)


@pytest.fixture
def gated(redis_url: str) -> Callable[[], GatedLines]:
    """Makes connections that a test can cut."""
    return lambda: GatedLines(Connections(redis_url))


async def log_types(hub: TestHub, session: str) -> list[str]:
    """The types of what is in the log."""
    return [entry.type for entry in await hub.store.log_page(session, 0)]


class Speaker:
    """An act that speaks when told to, and knows when it was stopped."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str] = asyncio.Queue()
        self.stopped = asyncio.Event()
        self.stopped_at = 0.0

    async def __call__(self, turn: TurnContext) -> Any:
        """Say each word as a block of its own; end with "end"."""
        try:
            block = 0
            while (word := await self.words.get()) != "end":
                await turn.emit(TextDelta(block=block, text=word))
                await turn.emit(Text(block=block, text=word))
                block += 1
            return Completed()
        finally:
            self.stopped_at = time.monotonic()
            self.stopped.set()


@pytest.mark.parametrize("how", ["away", "frozen"])
async def test_a_store_that_is_away_for_less_than_the_lease_costs_nothing(
    hubs: Hubs, gated: Callable[[], GatedLines], how: Any
) -> None:
    """The runner's store refuses, or hangs, for a while: the turn goes on, every event is there once."""
    speaker, lines = Speaker(), gated()
    config = hub_config(runner=RunnerConfig(lease_s=8))
    async with hubs(config, transports=[Acting(speaker)], runners=0) as hub:
        hub.add_runner(lines)
        begun = await hub.send(await hub.session())
        speaker.words.put_nowait("before")
        await hub.until(begun, Text)
        lines.gate.set(how)
        for number in range(20):
            speaker.words.put_nowait(f"during {number}")
        await asyncio.sleep(0.5)
        lines.gate.set("open")
        speaker.words.put_nowait("after")
        speaker.words.put_nowait("end")
        events = await hub.events(begun)
        expected = ["before", *(f"during {number}" for number in range(20)), "after"]
        assert [event.text for event in events if isinstance(event, Text)] == expected
        assert [event.text for event in events if isinstance(event, TextDelta)] == expected
        assert isinstance(events[-1], TurnCompleted)
        assert [event.seq for event in events] == list(range(2, len(events) + 2))


@pytest.mark.parametrize("how", ["away", "frozen"])
async def test_a_store_that_is_away_for_longer_stops_the_transport_before_the_lease_ends(
    hubs: Hubs, gated: Callable[[], GatedLines], how: Any
) -> None:
    """The transport is stopped while nobody else can have the turn yet. When the store is back, the turn ends
    as owner_lost, and what was emitted meanwhile is there, once."""
    speaker, lines = Speaker(), gated()
    async with hubs(hub_config(runner=SHORT), transports=[Acting(speaker)], runners=0) as hub:
        hub.add_runner(lines)
        session = await hub.session()
        begun = await hub.send(session)
        speaker.words.put_nowait("before")
        await hub.until(begun, Text)
        lines.gate.set(how)
        cut_at = time.monotonic()
        speaker.words.put_nowait("during")
        async with asyncio.timeout(10):
            await speaker.stopped.wait()
        assert speaker.stopped_at - cut_at < SHORT.lease_s
        lines.gate.set("open")
        events = await hub.events(begun)
        assert [event.text for event in events if isinstance(event, Text)] == ["before", "during"]
        assert isinstance(events[-1], TurnFailed)
        assert (events[-1].code, events[-1].retryable) == ("owner_lost", True)
        assert isinstance(await hub.run_turn(session), TurnCompleted)


async def test_a_turn_that_ended_while_the_store_was_away_ends_as_what_it_was(
    hubs: Hubs, gated: Callable[[], GatedLines]
) -> None:
    """The transport completed, and only then the lease was lost: a completed turn, once the store is back."""
    speaker, lines = Speaker(), gated()
    async with hubs(hub_config(runner=SHORT), transports=[Acting(speaker)], runners=0) as hub:
        hub.add_runner(lines)
        begun = await hub.send(await hub.session())
        speaker.words.put_nowait("before")
        await hub.until(begun, Text)
        lines.gate.set("away")
        speaker.words.put_nowait("last")
        speaker.words.put_nowait("end")
        await speaker.stopped.wait()
        await asyncio.sleep(SHORT.lease_s)
        lines.gate.set("open")
        events = await hub.events(begun)
        assert [event.text for event in events if isinstance(event, Text)] == ["before", "last"]
        assert isinstance(events[-1], TurnCompleted)


async def test_a_zombie_writes_nothing_and_stops_its_transport(
    hubs: Hubs, gated: Callable[[], GatedLines]
) -> None:
    """A runner is frozen past its lease, another one ends its turn, and the next turn begins there. Thawed,
    the first finds itself fenced: not one event of it is written, and its transport has been stopped."""
    speaker, lines = Speaker(), gated()
    transport = Acting(speaker)
    async with hubs(hub_config(runner=SHORT), transports=[transport], runners=0) as hub:
        zombie = hub.add_runner(lines)
        session = await hub.session()
        begun = await hub.send(session)
        speaker.words.put_nowait("before")
        await hub.until(begun, Text)
        lines.gate.set("frozen")
        hub.add_runner()
        speaker.words.put_nowait("from the grave")
        ending = await hub.ending(begun)
        assert isinstance(ending, TurnFailed)
        assert ending.code == "owner_lost"
        assert isinstance(await hub.run_turn(session), TurnCompleted)
        log = await hub.store.log_page(session, 0)
        lines.gate.set("open")
        async with asyncio.timeout(10):
            await speaker.stopped.wait()
            await zombie.runner.idle(within_s=10)
        assert zombie.runner.running == 0
        assert await hub.store.log_page(session, 0) == log
        assert b"from the grave" not in b"".join(entry.frame for entry in log)
        assert isinstance(await hub.run_turn(session), TurnCompleted)


async def test_a_killed_runner_leaves_one_honest_end(hubs: Hubs) -> None:
    """The runner dies in the middle: within a lease and a sweep another one keeps the partial text and marks
    it, closes the open tool as unknown, withdraws the ask, ends the turn once, and begins the queued message."""
    ready = asyncio.Event()

    async def act(turn: TurnContext) -> Any:
        await turn.emit(Text(block=0, text="whole"))
        await turn.emit(TextDelta(block=1, text="half of "))
        await turn.emit(TextDelta(block=1, text="it"))
        await turn.emit(ToolStarted(tool_id="t1", name="Bash"))
        await turn.emit(ToolFinished(tool_id="t1", status="ok"))
        await turn.emit(ToolStarted(tool_id="t2", name="Bash"))
        ready.set()
        await turn.ask(AskRequest(kind="permission", tool="Bash", subject="ls"))

    async with hubs(hub_config(runner=SHORT), transports=[Acting(act)]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        opened = await hub.until(begun, AskOpened)
        await hub.store.enqueue(session, "next")
        watching = asyncio.create_task(hub.events(begun))
        start = time.monotonic()
        await hub.runners[0].kill()
        hub.add_runner()
        events = await watching
        assert time.monotonic() - start < SHORT.lease_s * 4 / 3 + 2
        assert isinstance(events[-1], TurnFailed)
        assert (events[-1].code, events[-1].retryable, events[-1].tools) == ("owner_lost", True, 2)
        texts = [(text.block, text.text, text.partial) for text in events if isinstance(text, Text)]
        assert texts == [(0, "whole", False), (1, "half of it", True)]
        tools = [(tool.tool_id, tool.status) for tool in events if isinstance(tool, ToolFinished)]
        assert tools == [("t1", "ok"), ("t2", "unknown")]
        assert [one.ask_id for one in events if isinstance(one, AskWithdrawn)] == [opened.ask.id]
        async with asyncio.timeout(10), await hub.feed.log(session) as log:
            while (frames := await log.read()) is not None and b"turn_completed" not in frames:
                pass
        types = await log_types(hub, session)
        assert (types.count("turn_failed"), types.count("turn_completed")) == (1, 1)


async def test_an_interrupted_turn_whose_runner_died_is_interrupted(hubs: Hubs) -> None:
    """Somebody wanted it stopped, and it has stopped."""

    async def act(turn: TurnContext) -> Any:
        await turn.emit(TextDelta(block=0, text="x"))
        await forever()

    async with hubs(hub_config(runner=SHORT), transports=[Acting(act)]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await hub.until(begun, TextDelta)
        await hub.runners[0].kill()
        await hub.store.cancel(session, "ann")
        hub.add_runner()
        ending = await hub.ending(begun)
        assert isinstance(ending, TurnInterrupted)
        assert ending.by == "ann"


async def test_an_entry_that_cannot_be_read_does_not_keep_a_lost_turn_from_its_end(hubs: Hubs) -> None:
    """The live stream of a killed runner holds what no reader understands (a wrong field, an event of a later
    version): the turn ends all the same, with the rest kept."""

    async def act(turn: TurnContext) -> Any:
        await turn.emit(TextDelta(block=0, text="kept"))
        past_the_checks = turn._writer  # type: ignore[attr-defined]
        await past_the_checks.put(Text(block="x", text="lost"), 10)  # type: ignore[arg-type]
        await past_the_checks.put(ToolStarted(tool_id="t", name="Bash"), 10)
        await forever()

    async with hubs(hub_config(runner=SHORT), transports=[Acting(act)]) as hub:
        begun = await hub.send(await hub.session())
        subscription = await hub.feed.turn(begun.session_id, turn_id=begun.turn_id)
        assert subscription is not None
        seen = b""
        async with asyncio.timeout(15), subscription:
            while b"event: tool_started" not in seen:
                frames = await subscription.read()
                assert frames is not None
                seen += frames
            await hub.runners[0].kill()
            hub.add_runner()
            while (frames := await subscription.read()) is not None:
                seen += frames
        assert b'"code":"owner_lost"' in seen
        assert b'"text":"kept","partial":true' in seen
        assert b'"status":"unknown"' in seen


async def test_many_runners_reap_a_turn_once(hubs: Hubs) -> None:
    """Ten turns of a killed runner, three runners that sweep: each turn has one end."""

    async def act(turn: TurnContext) -> Any:
        await turn.emit(TextDelta(block=0, text="x"))
        await forever()

    async with hubs(hub_config(runner=SHORT), transports=[Acting(*[act] * 10)]) as hub:
        turns = [await hub.send(await hub.session()) for _ in range(10)]
        for begun in turns:
            await hub.until(begun, TextDelta)
        await hub.runners[0].kill()
        for _ in range(3):
            hub.add_runner()
        for begun in turns:
            assert isinstance(await hub.ending(begun), TurnFailed)
            types = await log_types(hub, begun.session_id)
            assert types.count("turn_failed") == 1


async def test_a_turn_that_nobody_was_called_for_is_rung_again(hubs: Hubs) -> None:
    """The front died between beginning and ringing: the sweep rings, and the turn runs."""
    async with hubs(hub_config(runner=SHORT), bounds=Bounds(ring_ms=100)) as hub:
        begun = await hub.store.begin(await hub.session(), "hello")
        assert isinstance(await hub.ending(begun), TurnCompleted)


async def test_a_runner_that_dies_between_reading_and_taking_loses_no_turn(hubs: Hubs) -> None:
    """Work that was handed out and never taken is rung again."""
    async with hubs(hub_config(runner=SHORT), bounds=Bounds(ring_ms=100), runners=0) as hub:
        await hub.work.prepare("agent")
        begun = await hub.send(await hub.session())
        assert [one.turn_id for one in await hub.work.wait("agent", most=5, block_ms=100)] == [begun.turn_id]
        hub.add_runner()
        assert isinstance(await hub.ending(begun), TurnCompleted)


async def test_an_agent_that_nobody_serves_is_unavailable(hubs: Hubs) -> None:
    """After some time in which no living runner has the agent, the turn says so and what to do; before, and
    while somebody serves it, it is rung for."""
    async with hubs(hub_config("other", runner=RunnerConfig(lease_s=30)), bounds=Bounds(ring_ms=1)) as hub:
        runner = hub.runners[0]
        begun = await hub.send(await hub.session("gone"))

        def reaper(unserved_s: float) -> Reaper:
            return Reaper(runner.services, lambda taken: None, lambda turn_id: False, unserved_s=unserved_s)

        await asyncio.sleep(0.01)
        await reaper(60).sweep()
        assert await hub.store.turn(begun.session_id) is not None
        await asyncio.sleep(0.01)
        await reaper(0).sweep()
        ending = await hub.ending(begun)
        assert isinstance(ending, TurnFailed)
        assert ending.code == "agent_unavailable"
        assert "'gone'" in ending.message
        assert "Start one" in ending.message


async def test_turns_of_an_agent_that_another_runner_serves_are_left_to_it_for_a_while(hubs: Hubs) -> None:
    """A runner that does not serve the agent ends its overdue turn only after three leases."""

    async def act(turn: TurnContext) -> Any:
        await turn.emit(TextDelta(block=0, text="x"))
        await forever()

    config = hub_config("mine", runner=RunnerConfig(lease_s=0.6))
    async with hubs(config, transports=[Acting(act)]) as hub:
        begun = await hub.send(await hub.session())
        await hub.until(begun, TextDelta)
        await hub.runners[0].kill()
        start = time.monotonic()
        hub.add_runner(config=hub_config("other", runner=config.runner))
        ending = await hub.ending(begun)
        assert time.monotonic() - start > 3 * 0.6 - 0.1
        assert isinstance(ending, TurnFailed)


# Re-adoption

ADOPTING: frozenset[Capability] = frozenset({"interrupt", "adopt"})


async def shows_and_hangs(turn: TurnContext) -> Any:
    """Show a word and a running tool, and hang."""
    await turn.emit(Text(block=0, text="first half"))
    await turn.emit(ToolStarted(tool_id="t", name="Bash"))
    await turn.emit(TextDelta(block=1, text="un"))
    await forever()


async def completes(turn: TurnContext) -> Any:
    """What an adopted turn does whose agent is done meanwhile."""
    assert turn.adopted
    return Completed()


async def test_an_agent_that_outlives_its_runner_is_adopted(hubs: Hubs) -> None:
    """Same turn, attempt 2, on a new connection; old subscribers see its terminal event; what was shown before
    counts, and the transport is told: it is no empty turn, its tool and its half block are closed, its tools are
    counted once."""
    transport = Acting(shows_and_hangs, completes, capabilities=ADOPTING)
    async with hubs(hub_config(runner=SHORT), transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await hub.until(begun, TextDelta)
        watching = asyncio.create_task(hub.events(begun))
        await hub.runners[0].kill()
        hub.add_runner()
        events = await watching
        assert [event.attempt for event in events if isinstance(event, TurnStarted)] == [1, 2]
        assert {event.turn_id for event in events} == {begun.turn_id}  # type: ignore[union-attr]
        assert len([event for event in events if isinstance(event, UserMessage)]) == 1
        assert isinstance(events[-1], TurnCompleted)
        assert events[-1].tools == 1
        assert [(one.text, one.partial) for one in events if isinstance(one, Text)] == [
            ("first half", False),
            ("un", True),
        ]
        assert [one.status for one in events if isinstance(one, ToolFinished)] == ["unknown"]
        assert transport.opened == 2
        assert transport.turns[1].attempt == 2
        assert [type(one) for one in transport.turns[1].shown] == [
            UserMessage,
            TurnStarted,
            Text,
            ToolStarted,
            TurnStarted,
        ]
        assert isinstance(await hub.run_turn(session), TurnCompleted)


async def test_a_lost_lease_hands_an_adoptable_turn_over(hubs: Hubs, gated: Callable[[], GatedLines]) -> None:
    """The store is away for longer than the lease; the agent works on. When it is back, the turn is not
    ended: it is adopted, by whoever sweeps first."""
    stopped = asyncio.Event()

    async def act(turn: TurnContext) -> Any:
        try:
            await shows_and_hangs(turn)
        finally:
            stopped.set()

    transport = Acting(act, completes, capabilities=ADOPTING)
    lines = gated()
    async with hubs(hub_config(runner=SHORT), transports=[transport], runners=0) as hub:
        hub.add_runner(lines)
        begun = await hub.send(await hub.session())
        await hub.until(begun, TextDelta)
        lines.gate.set("away")
        async with asyncio.timeout(10):
            await stopped.wait()
        lines.gate.set("open")
        assert isinstance(await hub.ending(begun), TurnCompleted)
        assert transport.turns[1].adopted


async def test_an_interrupt_reaches_the_agent_of_an_adopted_turn(hubs: Hubs) -> None:
    """Interrupted while no runner was there: the one that adopts tells the agent, which runs still."""

    async def adopted(turn: TurnContext) -> Any:
        await turn.emit(Status(state="thinking"))
        await forever()

    transport = Acting(shows_and_hangs, adopted, capabilities=ADOPTING)
    async with hubs(hub_config(runner=SHORT), transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await hub.until(begun, TextDelta)
        await hub.runners[0].kill()
        await hub.store.cancel(session, "ann")
        hub.add_runner()
        assert isinstance(await hub.ending(begun), TurnInterrupted)
        assert transport.interrupted == 1


async def test_a_runner_leaves_its_own_overdue_turn_to_its_writer(hubs: Hubs) -> None:
    """A turn that runs here and looks overdue (the process stood still) is not reaped by its own runner."""
    config = hub_config(runner=RunnerConfig(lease_s=30, interrupt_grace_s=0.2))
    async with hubs(config, transports=[Acting(shows_and_hangs)]) as hub:
        begun = await hub.send(await hub.session())
        await hub.until(begun, TextDelta)
        runner = hub.runners[0]
        turn = await hub.store.turn(begun.session_id)
        assert turn is not None
        key = keys.bucket_key("leases", keys.bucket(begun.session_id))
        await hub.lines.commands.execute_command("ZADD", key, "1", begun.session_id)
        await Reaper(runner.services, lambda taken: None, lambda turn_id: turn_id == begun.turn_id).sweep()
        assert await hub.store.turn(begun.session_id) == turn
        await hub.store.cancel(begun.session_id, "ann")
        assert isinstance(await hub.ending(begun), TurnInterrupted)
