"""The runner: takes turns of its agents, runs each under supervision, renews, sweeps, and stops in time."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import structlog
from msgspec import Struct

from hub.errors import HubError
from hub.runner.connections import Connections
from hub.runner.reaper import Reaper
from hub.runner.services import Services
from hub.runner.turns import RunningTurn
from hub.store import keys
from hub.store.records import RunnerRecord, Taken
from hub.store.work import Wanted

_HEARTBEAT_S = 5.0
_WAIT_MS = 5_000
_AWAY_S = 0.5


class _Limits(Struct, frozen=True):
    turns: int = 500
    at_once: int = 16


class Runner:
    """Runs until :meth:`stop`. One in a process."""

    def __init__(self, services: Services, version: str) -> None:
        self._services = services
        self._version = version
        self._id = services.runner_id
        self._turns: dict[str, RunningTurn] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping = asyncio.Event()
        self._limits = _Limits()
        self._room = asyncio.Event()
        self._room.set()
        self._connections = Connections(self._id, services.config.runner.idle_s)
        self._log = structlog.get_logger("hub.runner").bind(runner=self._id)

    @property
    def running(self) -> int:
        """How many turns run here."""
        return len(self._turns)

    def stop(self) -> None:
        """Take nothing more; end what runs; :meth:`run` returns within the shutdown grace."""
        self._stopping.set()

    async def idle(self, within_s: float) -> None:
        """Return when no turn runs here any more, after ``within_s`` seconds at the latest."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=within_s)

    async def run(self) -> None:
        """Serve all configured agents until stopped."""
        services = self._services
        channel = keys.runner_channel(self._id)
        await services.doorbell.listen(channel, self)
        await self._announce()
        async with asyncio.TaskGroup() as turns:
            chores = [turns.create_task(self._heartbeat()), turns.create_task(self._idle())]
            chores.append(turns.create_task(Reaper(services, lambda taken: self._start(turns, taken, True)).run()))
            chores += [turns.create_task(self._take(agent, turns)) for agent in services.config.agents]
            await self._stopping.wait()
            for chore in chores:
                chore.cancel()
            await self._shut_down()
        await services.doorbell.leave(channel, self)
        await self._connections.close()
        for transport in services.plugins.transports.values():
            await transport.close()
        with suppress(HubError):  # its heartbeat runs out by itself
            await services.work.leave(self._id)

    # Listener on the runner's own channel

    def rung(self, payload: bytes) -> None:
        """Somebody cancels a turn or has settled an ask."""
        what, _, turn_id, *rest = payload.decode().split(" ")
        turn = self._turns.get(turn_id)
        if turn is None:
            return
        if what == "settled":
            turn.ask_settled(rest[0])
        else:
            turn.look()

    def missed(self) -> None:
        """Something may have been said meanwhile: every turn renews, and hears it."""
        for turn in self._turns.values():
            turn.look()

    # Chores

    async def _take(self, agent: str, group: asyncio.TaskGroup) -> None:
        work = self._services.work
        prepared = False
        while True:
            try:
                if not prepared:
                    await work.prepare(agent)
                    prepared = True
                await self._room.wait()
                wanted = await work.wait(agent, self._id, most=self._limits.at_once, block_ms=_WAIT_MS)
            except HubError as error:
                self._log.warning("no work to be had", agent=agent, error=error.detail)
                await asyncio.sleep(_AWAY_S)
                continue
            for one in wanted:
                group.create_task(self._run_wanted(one, group))

    async def _run_wanted(self, wanted: Wanted, group: asyncio.TaskGroup) -> None:
        lease_ms = int(self._services.config.runner.lease_s * 1000)
        try:
            taken = await self._services.store.take(wanted.session_id, wanted.turn_id, self._id, lease_ms)
        except HubError as error:  # it is rung again
            self._log.warning("could not take a turn", turn_id=wanted.turn_id, error=error.detail)
            return
        if taken is not None:
            self._start(group, taken, adopted=False)

    def _start(self, group: asyncio.TaskGroup, taken: Taken, adopted: bool) -> None:
        if taken.turn.id not in self._turns:
            running = RunningTurn(self._services, self._connections, taken, adopted=adopted)
            self._turns[taken.turn.id] = running
            if len(self._turns) >= self._limits.turns:
                self._room.clear()
            self._tasks[taken.turn.id] = group.create_task(self._run(running))

    async def _run(self, running: RunningTurn) -> None:
        turn_id = running.taken.turn.id
        agent = running.session.agent.name
        try:
            with self._services.metrics.turn(agent):
                await running.run()
        except Exception as error:  # noqa: BLE001 - one turn must not take the others down; it is reaped
            self._log.error("a turn broke", turn_id=turn_id, error=type(error).__name__, detail=str(error))
            self._log.debug("that error", exc_info=error)
        finally:
            del self._turns[turn_id], self._tasks[turn_id]
            self._room.set()

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(_HEARTBEAT_S)
            await self._announce()

    async def _announce(self) -> None:
        work = self._services.work
        try:
            record = RunnerRecord(
                id=self._id,
                host=socket.gethostname(),
                agents=tuple(self._services.config.agents),
                seen=await work.clock(),
                version=self._version,
            )
            await work.announce(record)
        except HubError as error:
            self._log.warning("no heartbeat", error=error.detail)

    async def _idle(self) -> None:
        while True:
            await asyncio.sleep(min(60.0, self._services.config.runner.idle_s))
            await self._connections.close_idle()

    async def _shut_down(self) -> None:
        """Let every turn end with its event; whoever cannot in time is reaped later."""
        for turn in self._turns.values():
            turn.shut_down()
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks.values(), timeout=self._services.config.runner.shutdown_grace_s)
        for task in late:
            self._log.error("a turn could not end in time; it will be reaped")
            task.cancel()
