"""Clocks that are set, or that differ: no turn is lost to them, none is held by them, durations and expiries are
those of a clock that nobody sets."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hub import events
from hub.asks import AskRequest
from hub.config import AgentConfig, PolicyConfig, RunnerConfig
from hub.events import AskOpened, AskSettled, TextDelta, TurnCompleted, TurnFailed
from hub.runner import asking as asking_module
from hub.runner.reaper import Reaper
from hub.runner.storeclock import StoreClock
from hub.store import keys
from hub.testing.hub import RunnerProcess, TestHub, hub_config
from hub.transport import TurnContext
from hub.turn import Completed, Ending
from tests.runner.acting import Acting, forever
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio

HOUR_MS = 3_600_000
LONG = hub_config(runner=RunnerConfig(lease_s=30))
ASKING = hub_config(
    agents={"agent": AgentConfig(name="agent", transport="scripted", cwd="/", policy="timed")},
    runner=RunnerConfig(interrupt_grace_s=0.2),
    policies={"timed": PolicyConfig(ask_timeout_s=600)},
)


async def speaks_and_hangs(turn: TurnContext) -> Any:
    await turn.emit(TextDelta(block=0, text="x"))
    await forever()


def reaper_of(runner: RunnerProcess) -> Reaper:
    """A reaper that knows of no turn of its own."""
    return Reaper(runner.services, lambda taken: None, lambda turn_id: False)


async def lease(hub: TestHub, session_id: str) -> float:
    """When the turn's lease ends: Unix milliseconds, by the store's clock."""
    key = keys.bucket_key("leases", keys.bucket(session_id))
    return float(await hub.lines.commands.execute_command("ZSCORE", key, session_id))


async def move_lease(hub: TestHub, session_id: str, by_ms: int) -> None:
    """As the lease looks once the store's clock was set."""
    key = keys.bucket_key("leases", keys.bucket(session_id))
    moved = str(await lease(hub, session_id) + by_ms)
    await hub.lines.commands.execute_command("ZADD", key, moved, session_id)


class SettableClock:
    """What the store says of the time, for one runner: ``off_ms`` away from what it is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, runner: RunnerProcess) -> None:
        self.off_ms = 0
        self._plain = runner.services.overview.clock_ms
        monkeypatch.setattr(runner.services.overview, "clock_ms", self._read_ms)

    async def _read_ms(self) -> int:
        return await self._plain() + self.off_ms


@pytest.mark.parametrize(
    ("looks", "jump_s"),
    [
        ([(0, 1_000, 0), (3, 4_000, 3)], 0.0),
        ([(0, 1_000, 0), (3, 14_000, 3)], 10.0),
        ([(0, 1_000, 0), (3, 4_000 - HOUR_MS, 3)], -3600.0),
        ([(0, 1_000, 2), (3, 3_000, 3)], 0.0),  # it may have answered at any time of the first two seconds
        ([(0, 1_000, 0), (3, 8_000, 7)], 0.0),  # nor is it known when it answered the second time
        ([(0, 1_000, 0), (3, 9_000, 7)], 1.0),
    ],
)
async def test_a_set_clock_is_told_from_a_slow_answer(looks: list[tuple[int, int, int]], jump_s: float) -> None:
    """Only what no waiting explains is a jump."""
    steady = [moment for before, _, after in looks for moment in (before, after)]
    stores = [store for _, store, _ in looks]

    async def read_ms() -> int:
        return stores.pop(0)

    clock = StoreClock(read_ms, lambda: float(steady.pop(0)))
    assert await clock.jump_s() == 0.0
    assert await clock.jump_s() == jump_s


async def test_a_store_whose_clock_is_set_forward_loses_no_turn(
    hubs: Hubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All leases look overdue at once. Who lives renews; only who has not after a lease is taken over."""
    async with hubs(LONG, transports=[Acting(speaks_and_hangs)]) as hub:
        begun = await hub.send(await hub.session())
        await hub.until(begun, TextDelta)
        clock = SettableClock(monkeypatch, hub.runners[0])
        reaper = reaper_of(hub.runners[0])
        await reaper.sweep()
        clock.off_ms = HOUR_MS
        await move_lease(hub, begun.session_id, -HOUR_MS)
        before = await hub.store.turn(begun.session_id)
        await reaper.sweep()
        await reaper.sweep()
        assert await hub.store.turn(begun.session_id) == before


async def test_a_store_whose_clock_was_set_back_holds_no_turn_that_nobody_runs(hubs: Hubs) -> None:
    """A lease that seems to hold for an hour is bounded by the first runner that looks."""
    async with hubs(LONG, transports=[Acting(speaks_and_hangs)]) as hub:
        begun = await hub.send(await hub.session())
        await hub.until(begun, TextDelta)
        await hub.runners[0].kill()
        await move_lease(hub, begun.session_id, HOUR_MS)
        other = hub.add_runner()
        await reaper_of(other).sweep()
        left_ms = await lease(hub, begun.session_id) - await other.services.overview.clock_ms()
        assert left_ms <= 90_000


async def test_how_long_a_lost_turn_lasted_is_not_taken_from_two_clocks(
    hubs: Hubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The front that began it is an hour behind the runner that ran it; the store's clock is the same to both."""
    config = hub_config(runner=RunnerConfig(lease_s=0.6))
    async with hubs(config, transports=[Acting(speaks_and_hangs)]) as hub:
        session = await hub.session()
        with monkeypatch.context() as patch:
            late = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="milliseconds")
            patch.setattr(events, "now", lambda: late.replace("+00:00", "Z"))
            begun = await hub.send(session)
        await hub.until(begun, TextDelta)
        await hub.runners[0].kill()
        hub.add_runner()
        ending = await hub.ending(begun)
        assert isinstance(ending, TurnFailed)
        assert ending.duration_ms < 60_000


async def test_a_runner_of_before_the_clock_was_set_back_is_not_alive(hubs: Hubs) -> None:
    """Its last word is from the future. One that lives is soon heard again."""
    async with hubs(LONG) as hub:
        runner = hub.runners[0]
        while not (known := await hub.work.runners()):  # noqa: ASYNC110 - it tells nobody when it has announced
            await asyncio.sleep(0.01)
        (record,) = known
        await hub.work.announce(type(record)(id="run_gone", host="x", agents=("agent",), seen=record.seen + 3600))
        assert [one.id for one in await hub.work.runners()] == [runner.id]


async def test_an_ask_expires_after_its_time_whatever_becomes_of_the_wall_clock(
    hubs: Hubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set forward by a day while it waits, it still waits; whoever looks at it meanwhile changes nothing."""

    async def asks(turn: TurnContext) -> Ending:
        await turn.ask(AskRequest(kind="permission", tool="Bash", subject="ls"))
        return Completed()

    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(days=1)

    async with hubs(ASKING, transports=[Acting(asks)]) as hub:
        begun = await hub.send(await hub.session(policy="timed"))
        opened: AskOpened = await hub.until(begun, AskOpened)
        assert opened.ask.expires_at is not None
        monkeypatch.setattr(asking_module, "datetime", Tomorrow)
        hub.runners[0].runner.missed()  # everybody who waits is woken, and looks
        for turn in hub.runners[0].runner._turns.values():
            turn.ask_settled(opened.ask.id)
        await asyncio.sleep(0.2)
        record = await hub.store.ask(opened.ask.id)
        assert record.state == "open"
        monkeypatch.undo()
        await hub.store.cancel(begun.session_id, "ann")
        seen = await hub.events(begun)
        assert not [event for event in seen if isinstance(event, AskSettled | TurnCompleted)]
