"""Interrupting: soon, from anywhere, once; and never claiming to have stopped what was done."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from hub.asks import AskRequest, WithdrawnAsk
from hub.config import RunnerConfig
from hub.errors import NoActiveTurn
from hub.events import (
    AskOpened,
    AskWithdrawn,
    Text,
    TextDelta,
    ToolFinished,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    Usage,
)
from hub.store.store import Bounds
from hub.testing.hub import hub_config
from hub.transport import TurnContext
from hub.turn import Completed, Failed, Interrupted
from tests.runner.acting import Acting, forever, good, nothing, stubborn
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio

QUICK = RunnerConfig(lease_s=10, interrupt_grace_s=0.3)
HANG: list[Any] = [{"text": "a b c", "deltas": 3}, {"hang": True}]


async def hanging(turn: TurnContext) -> Any:
    """Say something and hang."""
    await turn.emit(TextDelta(block=0, text="so far"))
    await forever()


async def until_cancelled(turn: TurnContext) -> None:
    """Say something, and wait until the turn is to be stopped."""
    await turn.emit(TextDelta(block=0, text="so far"))
    await turn.cancelled.wait()


async def test_an_interrupt_from_another_process_ends_the_turn_at_once(hubs: Hubs) -> None:
    """The process that interrupts has connections of its own and runs nothing; the turn ends in well under a
    second, as interrupted by whoever asked, with its partial text kept and marked."""
    async with hubs(hub_config()) as hub, hub.other() as other:
        session = await hub.session()
        for _ in range(5):
            begun = await hub.send(session, HANG)
            await hub.until(begun, TextDelta)
            start = time.monotonic()
            await other.store.cancel(session, "ann")
            events = await hub.events(begun)
            assert time.monotonic() - start < 1
            assert isinstance(events[-1], TurnInterrupted)
            assert events[-1].by == "ann"
            texts = [event for event in events if isinstance(event, Text)]
            assert [(text.partial, text.text) for text in texts] in ([(True, "a b c")], [(False, "a b c")])
        assert isinstance(await hub.run_turn(session), TurnCompleted)


async def test_every_interrupt_is_heard_whatever_the_writer_does_just_then(hubs: Hubs) -> None:
    """Interrupts that come while a batch is on its way are not heard at the next renewal, but at once: 100
    turns that stream without a pause, each interrupted."""

    async def chatter(turn: TurnContext) -> Any:
        for number in range(40):
            await turn.emit(TextDelta(block=0, text=f"{number} "))
            await asyncio.sleep(0)
        await turn.cancelled.wait()
        return Interrupted()

    transport = Acting(*[chatter] * 100)
    async with hubs(hub_config(runner=RunnerConfig(lease_s=60)), transports=[transport]) as hub:

        async def one() -> None:
            session = await hub.session()
            begun = await hub.send(session)
            await hub.until(begun, TextDelta)
            await hub.store.cancel(session, "ann")
            assert isinstance(await hub.ending(begun, within_s=10), TurnInterrupted)

        for _ in range(10):
            await asyncio.gather(*(one() for _ in range(10)))


async def test_a_queued_turn_that_is_interrupted_never_reaches_its_agent(hubs: Hubs) -> None:
    """Interrupted before any runner took it: the runner ends it without opening a connection."""
    transport = Acting()
    async with hubs(hub_config(), transports=[transport], runners=0) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        assert await hub.store.cancel(session, "ann") == begun.turn_id
        hub.add_runner()
        ending = await hub.ending(begun)
        assert isinstance(ending, TurnInterrupted)
        assert ending.by == "ann"
        assert transport.opened == 0


async def test_an_interrupted_turn_that_nobody_serves_is_ended_by_whoever_sweeps(hubs: Hubs) -> None:
    """A runner that does not serve the agent ends the queued turn as interrupted."""
    config = hub_config("other", runner=RunnerConfig(lease_s=0.6))
    async with hubs(config, bounds=Bounds(ring_ms=100)) as hub:
        session = await hub.session("gone")
        begun = await hub.send(session)
        await hub.store.cancel(session, "ann")
        ending = await hub.ending(begun, within_s=5)
        assert isinstance(ending, TurnInterrupted)
        with pytest.raises(NoActiveTurn):
            await hub.store.cancel(session, "ann")


async def test_the_first_who_interrupts_is_named(hubs: Hubs) -> None:
    """Two interrupts are one: the second changes nothing."""
    transport = Acting(hanging)
    async with hubs(hub_config(runner=QUICK), transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await hub.until(begun, TextDelta)
        await asyncio.gather(*(hub.store.cancel(session, by) for by in ("ann", "bob")))
        log = await hub.events(begun)
        assert isinstance(log[-1], TurnInterrupted)
        assert transport.interrupted == 1


async def test_an_interrupt_withdraws_the_open_ask_and_says_why(hubs: Hubs) -> None:
    """The ask of an interrupted turn is withdrawn because of that, and not open anywhere."""
    ask = [{"tool": "Bash", "input": {"command": "ls"}, "ask": True}]
    async with hubs(hub_config()) as hub:
        session = await hub.session()
        begun = await hub.send(session, ask)
        opened = await hub.until(begun, AskOpened)
        await hub.store.cancel(session, "ann")
        events = await hub.events(begun)
        withdrawn = [event for event in events if isinstance(event, AskWithdrawn)]
        assert [(one.ask_id, one.reason) for one in withdrawn] == [(opened.ask.id, "the turn was interrupted")]
        assert isinstance(events[-1], TurnInterrupted)
        assert [event.status for event in events if isinstance(event, ToolFinished)] == ["interrupted"]
        assert await hub.overview.open_asks() == []
        assert (await hub.store.ask(opened.ask.id)).state == "withdrawn"


async def test_an_ask_of_a_transport_that_hangs_is_withdrawn_with_the_turn(hubs: Hubs) -> None:
    """The transport does not react to the interrupt: after its grace it is cancelled, and its ask withdrawn."""

    async def act(turn: TurnContext) -> Any:
        answer = await turn.ask(AskRequest(kind="permission", tool="Bash", subject="ls"))
        assert not isinstance(answer, WithdrawnAsk)
        return Completed()

    async with hubs(hub_config(runner=QUICK), transports=[Acting(act)]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await hub.until(begun, AskOpened)
        await hub.store.cancel(session, "ann")
        events = await hub.events(begun, within_s=3)
        assert [event.reason for event in events if isinstance(event, AskWithdrawn)] == [
            "the turn was interrupted"
        ]


@pytest.mark.parametrize("how", ["hangs", "raises", "exits", "is stubborn"])
async def test_an_interrupt_that_fails_is_contained(hubs: Hubs, how: str) -> None:
    """``interrupt`` hangs, raises or ends the process: the turn is cancelled after its grace and ends as
    interrupted, the connection is closed, the next turn is good."""

    async def interrupting() -> None:
        if how == "hangs":
            await forever()
        if how == "is stubborn":
            await stubborn(3)
        raise SystemExit(1) if how == "exits" else RuntimeError("cannot")

    transport = Acting(hanging, interrupting=interrupting)
    async with hubs(hub_config(runner=QUICK), transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await hub.until(begun, TextDelta)
        await hub.store.cancel(session, "ann")
        assert isinstance(await hub.ending(begun, within_s=4), TurnInterrupted)
        transport.interrupting = nothing
        assert isinstance(await hub.run_turn(session), TurnCompleted)
        assert transport.opened == 2


async def test_a_turn_that_was_done_before_the_interrupt_reached_it_is_completed(hubs: Hubs) -> None:
    """The transport completes on hearing of the interrupt, with words shown: that is what happened."""

    async def act(turn: TurnContext) -> Any:
        await until_cancelled(turn)
        return await good(turn)

    async with hubs(hub_config(runner=QUICK), transports=[Acting(act)]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await hub.until(begun, TextDelta)
        await hub.store.cancel(session, "ann")
        assert isinstance(await hub.ending(begun), TurnCompleted)


@pytest.mark.parametrize(
    "ending",
    [Completed(usage=Usage(input_tokens=7)), Failed(code="agent_error", usage=Usage(input_tokens=7)), None],
)
async def test_an_interrupted_turn_that_showed_nothing_is_interrupted(hubs: Hubs, ending: Any) -> None:
    """An empty completion, a failure or an error after the interrupt are its consequence, not a failure of
    their own; what was used is kept."""

    async def act(turn: TurnContext) -> Any:
        await turn.remember(began="yes")
        await turn.cancelled.wait()
        if ending is None:
            raise RuntimeError("connection reset")
        return ending

    transport = Acting(act)
    async with hubs(hub_config(runner=QUICK), transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await transport.until(lambda: transport.opened == 1)
        await hub.store.cancel(session, "ann")
        ended = await hub.ending(begun)
        assert isinstance(ended, TurnInterrupted)
        assert ended.by == "ann"
        assert (ended.usage and ended.usage.input_tokens) == (7 if ending else None)


async def test_a_turn_interrupted_at_the_agent_itself_says_so(hubs: Hubs) -> None:
    """A transport that ends as interrupted by the keyboard, without the hub's asking, is believed."""

    async def act(turn: TurnContext) -> Any:
        await turn.emit(Text(block=0, text="x"))
        return Interrupted(by="keyboard")

    async with hubs(hub_config(), transports=[Acting(act)]) as hub:
        ending = await hub.run_turn(await hub.session())
        assert isinstance(ending, TurnInterrupted)
        assert ending.by == "keyboard"


async def test_an_interrupt_that_races_the_end_leaves_one_end(hubs: Hubs) -> None:
    """Interrupts thrown at turns just as they end: each has one terminal event, the slot is free, and a late
    interrupt never hits the next turn."""
    async with hubs(hub_config()) as hub:

        async def one(delay: float) -> None:
            session = await hub.session()
            begun = await hub.send(session, [{"text": "a b"}, {"sleep_ms": 10}])
            await asyncio.sleep(delay)
            try:
                hit = await hub.store.cancel(session, "ann")
            except NoActiveTurn:
                hit = ""
            assert hit in ("", begun.turn_id)
            ending = await hub.ending(begun)
            assert isinstance(ending, TurnCompleted | TurnInterrupted)
            if not hit:
                assert isinstance(ending, TurnCompleted)
            assert isinstance(await hub.run_turn(session), TurnCompleted)
            log = await hub.store.log_page(session, 0)
            assert sum(entry.terminal for entry in log) == 2

        await asyncio.gather(*(one(number / 500) for number in range(40)))


async def test_an_interrupted_turn_lets_the_queue_go_on(hubs: Hubs) -> None:
    """The message that waited begins when the interrupted turn ends."""
    async with hubs(hub_config()) as hub:
        session = await hub.session()
        begun = await hub.send(session, HANG)
        await hub.until(begun, TextDelta)
        await hub.store.enqueue(session, "next")
        await hub.store.cancel(session, "ann")
        await hub.ending(begun)
        turn = await hub.store.turn(session)
        ends = 0
        async with asyncio.timeout(10), await hub.feed.log(session) as log:
            while ends < 2 and (frames := await log.read()) is not None:
                ends += frames.count(b"event: turn_interrupted") + frames.count(b"event: turn_completed")
        assert turn is None or turn.message.text == "next"
        assert not isinstance(await hub.run_turn(session), TurnFailed)
