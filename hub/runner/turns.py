"""From a taken turn to its written end: the parts put together, observers told, the next turn rung."""

from __future__ import annotations

import asyncio
import time

import anyio
import structlog

from hub.errors import AgentUnavailable, Fenced, HubError, NotFound
from hub.events import Unknown, is_durable, type_of
from hub.runner.asking import Asking
from hub.runner.connections import Connections, Held
from hub.runner.contain import stop
from hub.runner.context import LiveTurn
from hub.runner.delivering import Delivering
from hub.runner.ending import end_turn, since_ms, written
from hub.runner.observers import Observers
from hub.runner.resuming import Resuming
from hub.runner.sensitive import decide, decide_late
from hub.runner.services import Services
from hub.runner.silence import Silence
from hub.runner.steering import Steering
from hub.runner.supervise import Patience, Supervisor
from hub.runner.writer import AWAY, RETRY_S, LeaseLost, Writer, WriterBounds
from hub.store.records import Appended, Taken
from hub.transport import Connection
from hub.turn import Ending, Failed

_STOP_S = 2.0
_STOP_PART_OF_LEASE = 0.2
_UNUSABLE = ("agent_dead", "agent_error", "incomplete")


class RunningTurn:
    """One turn of this runner, from take to finish. :meth:`attend` has to be running beside :meth:`run`."""

    def __init__(
        self, services: Services, connections: Connections, taken: Taken, *, adopted: bool = False
    ) -> None:
        config = services.config.runner
        session = services.session_info(taken.session)
        agent = session.agent.name
        stop_s = min(_STOP_S, config.lease_s * _STOP_PART_OF_LEASE)
        self.taken = taken
        self.session = session
        self._services = services
        self._connections = connections
        self._held: Held | None = None
        self._over = asyncio.Event()
        self._decided = False
        self._recalled = not adopted
        self._started = time.monotonic() - (since_ms(taken.turn) / 1000 if adopted else 0)
        self._observers = Observers(services.plugins)
        bounds = WriterBounds(
            lease_s=config.lease_s, stop_s=stop_s, batch_s=config.batch_ms / 1000, live_most=config.live_limit
        )
        self._writer = Writer(services.store, taken.claim, bounds, heard=self._heard, metrics=services.metrics)
        self._asking = Asking(services, taken.claim, session, self._writer, self._observers)
        silence = Silence(services.option_s(agent, "stall_s", config.stall_s), asyncio.get_running_loop().time())
        self._turn = LiveTurn(
            services.store,
            taken,
            session,
            writer=self._writer,
            asking=self._asking,
            delivering=Delivering(services, taken.claim, session, self._writer, adopted=adopted),
            resuming=Resuming(services.plugins, session, self._asking),
            silence=silence,
            adopted=adopted,
        )
        self._steering = Steering(services.store, taken.claim, self._writer)
        patience = Patience(interrupt_grace_s=config.interrupt_grace_s, stop_s=stop_s)
        self._supervisor = Supervisor(self._turn, self._writer, self._asking, silence, patience)
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
        if appended.cancel_by:
            self._turn.cancelled.request(appended.cancel_by)
        for ask_id in appended.answers:
            self._asking.settled(ask_id)
        self._steering.wanted(appended.steers)

    # Its life

    async def attend(self) -> None:
        """Beside :meth:`run`, and for as long after it as it takes: tell observers, close the connection if it
        is not to be used again."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._observers.run())
            await self._over.wait()
            if self._held is not None:
                await self._connections.close_one(self._held)

    async def run(self) -> None:
        """Run the turn to its written end, or until another runner is to go on with it. Never raises but when
        cancelled."""
        turn = self.taken.turn
        self._observers.tell("turn_started", session=self.session, turn_id=turn.id, message=turn.message)
        try:
            lost = await self._run()
            unfinished = self._supervisor.shut or self._supervisor.ending is None
            if unfinished and self._adoptable:
                await self._let_go()
            else:
                await self._end(self._supervisor.ending or lost or Failed(code="owner_lost"))
        finally:
            self._give_back(usable=False)
            self._observers.close()
            self._over.set()

    async def _run(self) -> Failed | None:
        """The turn under supervision; with a lost lease, the failure that it is unless it had ended before."""
        steering = asyncio.create_task(self._steering.run())
        try:
            await self._supervisor.run(self._open)
        except* LeaseLost as errors:
            detail = str(errors.exceptions[0])
        else:
            return None
        finally:
            await stop(steering, within_s=_STOP_S)
        structlog.get_logger("hub.turn").error("lost the turn", turn_id=self.taken.turn.id, reason=detail)
        await self._settle()
        return Failed(code="owner_lost", message=f"The hub could not keep this turn: {detail} What came is kept.")

    async def _settle(self) -> None:
        """Write what was not written when the lease was lost: the turn may be ours still."""
        try:
            await self._writer.settle()
        except Fenced:
            return  # whoever has the turn now ends it
        except HubError as error:
            structlog.get_logger("hub.turn").error(
                "the last events of a turn are lost", turn_id=self.taken.turn.id, error=error.detail
            )

    def _give_back(self, *, usable: bool) -> None:
        """Let go of the connection, before the end is written: the next turn may begin at that instant. A good
        one is another turn's from then on; a bad one is ours still, to be closed."""
        if self._held is None:
            return
        if usable:
            self._connections.give_back(self._held, after=self._services.runner_id)
            self._held = None
        else:
            self._connections.take_out(self._held)

    @property
    def _adoptable(self) -> bool:
        transport = self._services.transport_of(self.session.agent.name)
        return not isinstance(transport, str) and "adopt" in transport.capabilities

    async def _open(self) -> Connection:
        services, agent = self._services, self.session.agent
        await self._writer.persist(lambda: decide(services, self.taken))
        self._decided = True
        transport = services.transport_of(agent.name)
        if isinstance(transport, str):
            raise AgentUnavailable(transport)
        cwd = self.session.cwd
        if not await anyio.Path(cwd).is_dir():
            raise AgentUnavailable(f"The working directory {cwd} does not exist. Make it, or use another cwd.")
        if not self._recalled:
            await self._writer.persist(self._recall)
        await self._turn.prepare(transport.capabilities)
        held = await self._connections.borrow(
            transport, self.session, after=self.taken.turn.previous, fresh=self._turn.adopted
        )
        if self._turn.closed:  # it opened too late: the turn was given up
            self._connections.take_out(held)
            await self._connections.close_one(held)
            raise HubError("The connection opened too late.")
        self._held = held
        if "steer" in transport.capabilities:
            self._steering.begin(held.connection)
        return held.connection

    async def _recall(self) -> None:
        """Know what an adopted turn has shown before, and what it had asked."""
        store, turn = self._services.store, self.taken.turn
        found = [(seq, event) async for seq, event in written(store, self.session.id, turn)]
        asks = (await store.snapshot(self.session.id, found[-1][0] if found else 0, whole=True, most=1)).asks
        if self._recalled:
            return
        for seq, event in found:
            if not isinstance(event, Unknown):
                self._writer.recall(event, seq)
        self._asking.inherit(asks)
        self._turn.shown = tuple(event for _, event in found if is_durable(type_of(event)))
        self._recalled = True

    async def _end(self, ending: Ending) -> None:
        while not self._recalled:
            try:
                await self._recall()
            except AWAY:
                await asyncio.sleep(RETRY_S)
            except NotFound:  # deleted: nobody owns it any more
                break
        if not self._decided:
            await decide_late(self._services, self.taken)
        broken = isinstance(ending, Failed) and ending.code in _UNUSABLE
        self._give_back(usable=self._supervisor.clean and not broken)
        duration_ms = int((time.monotonic() - self._started) * 1000)
        terminal = await end_turn(
            self._services,
            self.taken,
            self._writer.tally,
            ending,
            sign=self._turn.first_sign,
            duration_ms=duration_ms,
        )
        if terminal is not None:
            self._observers.tell("turn_ended", session=self.session, turn_id=self.taken.turn.id, ending=terminal)

    async def _let_go(self) -> None:
        """The agent outlives this runner: the turn goes on under the next one, which finds it at once."""
        while True:
            try:
                return await self._services.store.release(self.taken.claim)
            except Fenced:
                return None  # somebody has it already
            except AWAY:
                await asyncio.sleep(RETRY_S)  # else its lease runs out by itself
