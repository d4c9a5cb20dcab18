"""The runner: takes turns of its agents, runs each under supervision, renews, sweeps, and stops in time."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog
from msgspec import Struct

from hub.errors import HubError
from hub.runner.connections import Connections
from hub.runner.contain import bounded
from hub.runner.distilling import Distilling
from hub.runner.forgetting import forget
from hub.runner.reaper import Reaper
from hub.runner.screens import look
from hub.runner.services import Services
from hub.runner.sound import said
from hub.runner.turns import RunningTurn
from hub.runner.watching import Watches
from hub.store import keys
from hub.store.records import RunnerRecord, Taken
from hub.store.work import Wanted

_HEARTBEAT_S = 5.0
_WAIT_MS = 5_000
_AWAY_S = 0.5
_IDLE_LOOK_S = 60.0
_CLOSE_S = 2.0


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
        self._after: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._limits = _Limits()
        self._room = asyncio.Event()
        self._room.set()
        self._connections = Connections(services.config.runner.idle_s, close_s=_CLOSE_S)
        self._watches: Watches | None = None
        self._distilling = Distilling(services)
        self._log = structlog.get_logger("hub.runner").bind(runner=self._id)

    @property
    def running(self) -> int:
        """How many turns run here."""
        return len(self._turns)

    def stop(self) -> None:
        """Take nothing more; end what runs; :meth:`run` returns within the shutdown grace and a few seconds
        for what transports leave behind."""
        self._stopping.set()

    async def idle(self, within_s: float) -> None:
        """Return when no turn runs here any more, after ``within_s`` seconds at the latest."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=within_s)

    async def run(self) -> None:
        """Serve all configured agents until stopped."""
        channel = keys.runner_channel(self._id)
        try:
            async with asyncio.TaskGroup() as turns:
                self._watches = Watches(
                    self._services, self._connections, turns, lambda wanted: self._run_wanted(wanted, turns)
                )
                chores = [turns.create_task(self._chores(channel, turns, self._watches))]
                await self._stopping.wait()
                for chore in chores:
                    chore.cancel()
                await self._shut_down()
        finally:
            await self._leave(channel)

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

    # Turns

    async def _run_wanted(self, wanted: Wanted, group: asyncio.TaskGroup) -> None:
        lease_ms = int(self._services.config.runner.lease_s * 1000)
        try:
            if wanted.deleted is not None:
                await forget(self._services, self._connections, wanted.deleted)
                return
            if wanted.looked_at is not None:
                await look(self._services, wanted.looked_at, wanted.look_id)
                return
            taken = await self._services.store.take(wanted.session_id, wanted.turn_id, self._id, lease_ms)
            if taken is not None:
                self._start(group, taken, adopted=False)
        except Exception as error:  # noqa: BLE001 - this one is rung again, or reaped; the others go on
            self._log.warning("could not take a turn", turn_id=wanted.turn_id, error=said(error))

    def _start(self, group: asyncio.TaskGroup, taken: Taken, adopted: bool) -> None:
        """Run a turn that is ours. Whoever stops still has to end the turns that it had just taken."""
        turn_id = taken.turn.id
        if turn_id in self._turns:
            return
        running = self._turns[turn_id] = RunningTurn(self._services, self._connections, taken, adopted=adopted)
        if self._stopping.is_set():
            running.shut_down()
        if len(self._turns) >= self._limits.turns:
            self._room.clear()
        self._tasks[turn_id] = group.create_task(self._run(running))
        after = group.create_task(running.attend())
        self._after.add(after)
        after.add_done_callback(self._after.discard)

    async def _run(self, running: RunningTurn) -> None:
        turn_id = running.taken.turn.id
        try:
            with self._services.metrics.turn(running.session.agent.name):
                await running.run()
        except Exception as error:  # noqa: BLE001 - one turn must not take the others down; it is reaped
            self._log.error("a turn broke", turn_id=turn_id, error=type(error).__name__)
            self._log.debug("that error", exc_info=error)
        finally:
            del self._turns[turn_id], self._tasks[turn_id]
            self._room.set()
            self._distilling.ended(running.session.id, turn_id)
        if self._watches is not None and not self._stopping.is_set():
            self._watches.start(running.session)

    # Chores

    async def _chores(self, channel: str, turns: asyncio.TaskGroup, watches: Watches) -> None:
        """Hear what is said to this runner, and only then take turns."""
        services, config = self._services, self._services.config
        await self._until_done("listen", lambda: services.doorbell.listen(channel, self))
        reaper = Reaper(
            services,
            adopt=lambda taken: self._start(turns, taken, adopted=True),
            runs=lambda turn_id: turn_id in self._turns,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(self._again("announce", self._announce, every_s=_HEARTBEAT_S))
            group.create_task(self._again("sweep", reaper.sweep, every_s=config.runner.lease_s / 3))
            idle_s = min(_IDLE_LOOK_S, config.runner.idle_s)
            group.create_task(self._again("close idle", self._connections.close_idle, every_s=idle_s))
            for agent in config.agents:
                group.create_task(self._serve(agent, turns))
            group.create_task(self._until_done("look after idle agents", watches.resume))
            group.create_task(self._until_done("distill", self._distilling.run))

    async def _serve(self, agent: str, turns: asyncio.TaskGroup) -> None:
        await self._until_done("prepare", lambda: self._services.work.prepare(agent))
        await self._again("take", lambda: self._take(agent, turns), every_s=0)

    async def _take(self, agent: str, turns: asyncio.TaskGroup) -> None:
        await self._room.wait()
        for wanted in await self._services.work.wait(agent, most=self._limits.at_once, block_ms=_WAIT_MS):
            turns.create_task(self._run_wanted(wanted, turns))

    async def _announce(self) -> None:
        work = self._services.work
        record = RunnerRecord(
            id=self._id,
            host=socket.gethostname(),
            agents=tuple(self._services.config.agents),
            seen=await work.clock(),
            version=self._version,
        )
        await work.announce(record)

    async def _again(self, chore: str, step: Callable[[], Awaitable[None]], *, every_s: float) -> None:
        """Do ``step`` for ever, ``every_s`` seconds apart."""
        while True:
            await self._until_done(chore, step)
            await asyncio.sleep(every_s)

    async def _until_done(self, chore: str, step: Callable[[], Awaitable[None]]) -> None:
        """Do ``step`` until it succeeds. A chore that fails is told of once and tried again: no failure of one
        may take the turns down that run here."""
        failed = False
        while True:
            try:
                return await step()
            except Exception as error:  # noqa: BLE001 - see above
                if not failed:
                    known = isinstance(error, HubError)
                    self._log.log(
                        logging.WARNING if known else logging.ERROR, f"cannot {chore}", error=said(error)
                    )
                    self._log.debug("that error", exc_info=error)
                failed = True
                await asyncio.sleep(_AWAY_S)

    # The end

    async def _shut_down(self) -> None:
        """Let every turn end with its event; whoever cannot in time is reaped later."""
        end = asyncio.get_running_loop().time() + self._services.config.runner.shutdown_grace_s
        for turn in self._turns.values():
            turn.shut_down()
        await self._connections.unwatch()
        try:
            async with asyncio.timeout_at(end):
                while self._tasks or self._after:
                    await asyncio.wait({*self._tasks.values(), *self._after})
        except TimeoutError:
            late = len(self._tasks)
            self._log.error("turns or their observers could not end in time; turns will be reaped", turns=late)
        for task in (*self._tasks.values(), *self._after):
            task.cancel()

    async def _leave(self, channel: str) -> None:
        """Let go of everything, in bounded time."""
        services = self._services
        await self._connections.close()
        for name, transport in services.plugins.transports.items():
            if wrong := await bounded(transport.close, within_s=_CLOSE_S):
                self._log.error("a transport failed to close", transport=name, error=wrong)
        with suppress(HubError, TimeoutError):  # its heartbeat runs out by itself
            async with asyncio.timeout(_CLOSE_S):
                await services.doorbell.leave(channel, self)
                await services.work.leave(self._id)
