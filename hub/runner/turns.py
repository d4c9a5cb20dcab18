"""From a taken turn to its written end: the parts put together, observers told, the next turn rung."""

from __future__ import annotations

import asyncio
import time

import anyio
import structlog

from hub import hooks, ids
from hub.errors import AgentUnavailable, HubError
from hub.events import Terminal
from hub.runner.asking import Asking
from hub.runner.connections import Connections
from hub.runner.context import LiveTurn
from hub.runner.services import Services
from hub.runner.supervise import Patience, Supervisor, conclude, finish
from hub.runner.writer import LeaseLost, Writer, WriterBounds
from hub.store.records import Appended, Taken
from hub.transport import Connection
from hub.turn import Ending, Failed, TurnTally


class RunningTurn:
    """One turn of this runner, from take to finish."""

    def __init__(
        self, services: Services, connections: Connections, taken: Taken, *, adopted: bool = False
    ) -> None:
        config = services.config.runner
        session = services.session_info(taken.session)
        agent = session.agent.name
        self.taken = taken
        self.session = session
        self._services = services
        self._connections = connections
        self._started = time.monotonic()
        bounds = WriterBounds(lease_s=config.lease_s, batch_s=config.batch_ms / 1000, live_most=config.live_limit)
        self._tally = TurnTally()
        self._writer = Writer(services.store, taken.claim, bounds, heard=self._heard, tally=self._tally)
        self._asking = Asking(
            services.store,
            services.plugins,
            taken.claim,
            session,
            timeout_s=services.ask_timeout_s(session.policy),
            flush=self._writer.flush,
        )
        self._turn = LiveTurn(services.store, taken, session, self._writer, self._asking, adopted=adopted)
        patience = Patience(
            stall_s=services.option_s(agent, "stall_s", config.stall_s), interrupt_grace_s=config.interrupt_grace_s
        )
        self._supervisor = Supervisor(self._turn, self._writer, self._asking, patience)
        if taken.turn.cancel_by:
            self._turn.cancelled.request(taken.turn.cancel_by)

    # What others tell it

    def ask_settled(self, ask_id: str) -> None:
        """Somebody answered."""
        self._asking.settled(ask_id)

    def look(self) -> None:
        """Something may have been said to this turn: hear it soon."""
        self._writer.poke()

    def shut_down(self) -> None:
        """The process stops."""
        self._supervisor.shut_down()

    def _heard(self, appended: Appended) -> None:
        self._services.metrics.appended(0)
        if appended.cancel_by:
            self._turn.cancelled.request(appended.cancel_by)
        for ask_id in appended.answers:
            self._asking.settled(ask_id)

    # Its life

    async def run(self) -> None:
        """Run the turn to its written end. Never raises but when cancelled."""
        turn_id, manager = self.taken.turn.id, self._services.plugins.manager
        started = asyncio.create_task(
            hooks.notify(
                manager, "turn_started", session=self.session, turn_id=turn_id, message=self.taken.turn.message
            )
        )
        try:
            ending = await self._ending()
        finally:
            await started
        await self._end(ending)

    async def _ending(self) -> Ending:
        try:
            return await self._supervisor.run(self._open)
        except* LeaseLost as lost:
            detail = str(lost.exceptions[0])
        structlog.get_logger("hub.turn").error("lost the turn", turn_id=self.taken.turn.id, reason=detail)
        return Failed(code="owner_lost", message=f"The hub could not keep this turn: {detail} What came is kept.")

    async def _open(self) -> Connection:
        services, agent = self._services, self.session.agent
        transport = services.transport_of(agent.name)
        if isinstance(transport, str):
            raise AgentUnavailable(transport)
        cwd = self.session.cwd
        if not await anyio.Path(cwd).is_dir():
            raise AgentUnavailable(f"The working directory {cwd} does not exist. Make it, or use another cwd.")
        return await self._connections.borrow(transport, self.session, self.taken.turn.previous)

    async def _end(self, ending: Ending) -> None:
        session_id = self.session.id
        closing, judged = conclude(self._tally, ending, self._turn.first_sign)
        broken = self._supervisor.left_behind or (
            isinstance(judged, Failed) and judged.code in ("agent_dead", "owner_lost", "agent_error", "incomplete")
        )
        written = await finish(
            self._services.store,
            self.taken.claim,
            closing,
            judged,
            duration_ms=int((time.monotonic() - self._started) * 1000),
            tools=self._tally.tools,
            next_turn=ids.turn_id(),
        )
        if written is not None:
            terminal, finished = written
            if finished.next_turn:
                await ring(self._services, self.session.agent.name, session_id, finished.next_turn)
            await self._observed(terminal)
        if broken or written is None:
            await self._connections.discard(session_id)
        else:
            self._connections.give_back(session_id)

    async def _observed(self, terminal: Terminal) -> None:
        self._services.metrics.turn_ended(self.session.agent.name, terminal)
        await hooks.notify(
            self._services.plugins.manager,
            "turn_ended",
            session=self.session,
            turn_id=self.taken.turn.id,
            ending=terminal,
        )


async def ring(services: Services, agent: str, session_id: str, turn_id: str) -> None:
    """Ring for a turn; if that fails, whoever reaps rings again."""
    try:
        await services.work.ring(agent, session_id, turn_id)
    except HubError as error:
        structlog.get_logger("hub.runner").warning("could not ring", turn_id=turn_id, error=error.detail)
