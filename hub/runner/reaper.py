"""Sweeping overdue turns: re-adopted where their transport can, else ended as what they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

import structlog

from hub import hooks
from hub.errors import NotFound
from hub.events import Unknown
from hub.runner.ending import end_turn, ring, written
from hub.runner.sensitive import decide_late
from hub.runner.services import Services
from hub.runner.storeclock import StoreClock
from hub.store.records import SessionRecord, Taken, TurnRecord
from hub.turn import Ending, Failed, Interrupted, TurnTally

_FOREIGN_LEASES = 3
_LONGEST_LEASE_S = 60.0
_HEARD_AGAIN_S = 10.0  # two heartbeats of the runners


class Reaper:
    """``adopt`` runs a turn that goes on here; ``runs`` says whether a turn runs here: then its own writer is
    about to renew it, or to give it up. ``unserved_s``: how long a turn of an agent that nobody serves waits
    for a runner."""

    def __init__(
        self,
        services: Services,
        adopt: Callable[[Taken], None],
        runs: Callable[[str], bool],
        *,
        unserved_s: float = 30.0,
    ) -> None:
        self._services = services
        self._adopt = adopt
        self._runs = runs
        self._unserved_s = unserved_s
        self._lease_s = services.config.runner.lease_s
        self._lease_ms = int(self._lease_s * 1000)
        self._log = structlog.get_logger("hub.reaper").bind(runner=services.runner_id)
        self._clock = StoreClock(services.overview.clock_ms, asyncio.get_running_loop().time)
        self._patient_until = 0.0
        self._bounded = False

    async def sweep(self) -> None:
        """Look at every overdue turn once. What goes wrong with one of them leaves the others alone. Raises
        StoreUnavailable when it cannot be told which are overdue."""
        if not await self._sound():
            return
        for overdue in await self._services.overview.overdue():
            try:
                await self._look(overdue.session_id, overdue.late_ms / 1000)
            except NotFound:
                continue  # deleted meanwhile
            except Exception as error:  # noqa: BLE001 - whatever is wrong with this one: it is tried again
                self._log.warning("could not reap", session_id=overdue.session_id, error=type(error).__name__)
                self._log.debug("that error", exc_info=error)

    async def _sound(self) -> bool:
        """Whether the store's clock can be believed. Right after it was set forward every lease looks overdue,
        until those who live have renewed theirs; once it was set back, leases seem to hold for as long as that."""
        jump_s = await self._clock.jump_s()
        now = asyncio.get_running_loop().time()
        if abs(jump_s) > self._lease_s / 3:
            self._log.warning("the store's clock was set, or this machine slept", seconds=round(jump_s, 1))
        if jump_s > self._lease_s / 3:
            self._patient_until = now + max(self._lease_s, _HEARD_AGAIN_S)
        if jump_s < -self._lease_s / 3:
            self._bounded = False
        if not self._bounded:
            most_s = max(_LONGEST_LEASE_S, _FOREIGN_LEASES * self._lease_s)
            await self._services.overview.bound_leases(int(most_s * 1000))
            self._bounded = True
        return now >= self._patient_until

    async def _look(self, session_id: str, late_s: float) -> None:
        store = self._services.store
        turn = await store.turn(session_id)
        if turn is None or self._runs(turn.id):
            return
        record = await store.session(session_id)
        mine = record.agent in self._services.config.agents
        if turn.state == "running" and not mine and late_s < _FOREIGN_LEASES * self._lease_s:
            return  # a runner that serves this agent may still go on with it
        transport = self._services.transport_of(record.agent)
        adopt = mine and not isinstance(transport, str) and "adopt" in transport.capabilities
        taken = await store.reap(session_id, turn.id, self._services.runner_id, self._lease_ms, adopt=adopt)
        if taken == "ring":
            await self._call(record, turn)
        elif taken is not None and adopt:
            self._log.info("re-adopted a turn", session_id=session_id, turn_id=turn.id, attempt=taken.turn.attempt)
            self._adopt(taken)
        elif taken is not None:
            await self._bury(taken, _lost(taken.turn))

    async def _call(self, record: SessionRecord, turn: TurnRecord) -> None:
        """Nobody has taken it: ring again, unless nobody ever will, or nobody is to."""
        if turn.cancel_by:
            await self._take_and_bury(record, turn, Interrupted(by=turn.cancel_by))
        elif await self._unserved(record.agent, turn):
            sentence = f"No runner serves agent {record.agent!r}. Start one whose configuration has it; try again."
            await self._take_and_bury(record, turn, Failed(code="agent_unavailable", message=sentence))
        else:
            await ring(self._services, record.agent, record.id, turn.id)

    async def _unserved(self, agent: str, turn: TurnRecord) -> bool:
        waited_ms = await self._services.overview.clock_ms() - turn.born
        if waited_ms <= self._unserved_s * 1000:
            return False
        return all(agent not in runner.agents for runner in await self._services.work.runners())

    async def _take_and_bury(self, record: SessionRecord, turn: TurnRecord, ending: Ending) -> None:
        taken = await self._services.store.take(record.id, turn.id, self._services.runner_id, self._lease_ms)
        if taken is not None:
            await self._bury(taken, ending)

    async def _bury(self, taken: Taken, ending: Ending) -> None:
        """End a turn that nobody runs: what its live stream holds is closed and kept."""
        services, turn = self._services, taken.turn
        tally, last_at = TurnTally(), turn.started_at
        async for _, event in written(services.store, taken.session.id, turn):
            if not isinstance(event, Unknown):
                tally.feed(event)
                last_at = event.at
        duration_ms = _lasted_ms(turn, last_at)
        await decide_late(services, taken)
        terminal = await end_turn(services, taken, tally, ending, duration_ms=duration_ms)
        if terminal is None:
            return
        self._log.info("ended a turn that nobody runs", session_id=taken.session.id, turn_id=turn.id)
        session = services.session_info(taken.session)
        await hooks.notify(
            services.plugins.manager, "turn_ended", session=session, turn_id=turn.id, ending=terminal
        )


def _lasted_ms(turn: TurnRecord, last_at: str) -> int:
    """How long a turn lasted, to the last sign of life of its runner, else to its last event, of ``last_at``."""
    if turn.born and turn.alive:
        return max(0, turn.alive - turn.born)
    lasted = datetime.fromisoformat(last_at) - datetime.fromisoformat(turn.started_at)
    return max(0, int(lasted.total_seconds() * 1000))


def _lost(turn: TurnRecord) -> Ending:
    """What the end of a turn is whose runner is gone: if somebody wanted it stopped, it is stopped."""
    if turn.cancel_by:
        return Interrupted(by=turn.cancel_by)
    sentence = "The runner of this turn went away in the middle of it. What came is kept; try again."
    return Failed(code="owner_lost", message=sentence)
