"""Sweeping overdue turns: re-adopted where their transport can, else ended as what they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import structlog

from hub import events, ids
from hub.errors import HubError, NotFound
from hub.runner.services import Services
from hub.runner.supervise import conclude, finish
from hub.runner.turns import ring
from hub.store.records import SessionRecord, Taken, TurnRecord
from hub.turn import Failed, TurnTally

_NO_RUNNER_S = 30.0
_FOREIGN_LEASES = 3


class Reaper:
    """Sweeps every third of a lease. ``adopt`` runs a turn that goes on here."""

    def __init__(self, services: Services, adopt: Callable[[Taken], None]) -> None:
        self._services = services
        self._adopt = adopt
        self._lease_s = services.config.runner.lease_s
        self._log = structlog.get_logger("hub.reaper")

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            try:
                await self.sweep()
            except HubError as error:
                self._log.warning("could not sweep", error=error.detail)
            await asyncio.sleep(self._lease_s / 3)

    async def sweep(self) -> None:
        """Look at every overdue turn once."""
        for overdue in await self._services.overview.overdue():
            try:
                await self._reap(overdue.session_id, overdue.late_ms / 1000)
            except NotFound:
                continue  # deleted meanwhile
            except HubError as error:
                self._log.warning("could not reap", session_id=overdue.session_id, error=error.detail)

    async def _reap(self, session_id: str, late_s: float) -> None:
        services = self._services
        turn, record = await services.store.turn(session_id), await services.store.session(session_id)
        if turn is None:
            return
        mine = record.agent in services.config.agents
        if turn.state == "running" and not mine and late_s < _FOREIGN_LEASES * self._lease_s:
            return  # a runner that serves this agent may still go on with it
        transport = services.transport_of(record.agent)
        adopt = mine and not isinstance(transport, str) and "adopt" in transport.capabilities
        lease_ms = int(self._lease_s * 1000)
        taken = await services.store.reap(session_id, turn.id, services.runner_id, lease_ms, adopt=adopt)
        if taken == "ring":
            await self._ring(record, turn)
        elif taken is not None and adopt:
            self._log.info("re-adopted a turn", session_id=session_id, turn_id=turn.id, attempt=taken.turn.attempt)
            self._adopt(taken)
        elif taken is not None:
            sentence = "The runner of this turn went away in the middle of it. What came is kept; try again."
            await self._bury(taken, Failed(code="owner_lost", message=sentence))

    async def _ring(self, record: SessionRecord, turn: TurnRecord) -> None:
        """Nobody has taken it. If nobody ever will, the turn says so."""
        services = self._services
        waited = datetime.now(UTC) - datetime.fromisoformat(turn.started_at)
        served = {agent for runner in await services.work.runners() for agent in runner.agents}
        if record.agent not in served and waited.total_seconds() > _NO_RUNNER_S:
            lease_ms = int(self._lease_s * 1000)
            taken = await services.store.take(record.id, turn.id, services.runner_id, lease_ms)
            if taken is not None:
                sentence = (
                    f"No runner serves agent {record.agent!r}. Start one whose configuration has it; try again."
                )
                await self._bury(taken, Failed(code="agent_unavailable", message=sentence))
            return
        await ring(services, record.agent, record.id, turn.id)

    async def _bury(self, taken: Taken, ending: Failed) -> None:
        """End a turn that nobody runs: what its live stream holds is closed and kept."""
        services, turn, session_id = self._services, taken.turn, taken.session.id
        tally = TurnTally()
        after = turn.first - 1
        while page := await services.store.live_page(session_id, turn.id, after):
            for entry in page:
                tally.feed(events.decode(events.line_of(entry.frame)))
            after = page[-1].seq
        closing, judged = conclude(tally, ending, None)
        started = datetime.fromisoformat(turn.started_at)
        written = await finish(
            services.store,
            taken.claim,
            closing,
            judged,
            duration_ms=max(0, int((datetime.now(UTC) - started).total_seconds() * 1000)),
            tools=tally.tools,
            next_turn=ids.turn_id(),
        )
        if written is None:
            return
        terminal, finished = written
        self._log.info("ended a lost turn", session_id=session_id, turn_id=turn.id, code=ending.code)
        services.metrics.turn_ended(taken.session.agent, terminal)
        if finished.next_turn:
            await ring(services, taken.session.agent, session_id, finished.next_turn)
