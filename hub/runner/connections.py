"""The open connections of a runner: one for each session, reused over turns, closed when idle."""

from __future__ import annotations

import asyncio

import structlog
from msgspec import Struct

from hub.errors import HubError
from hub.runner.contain import bounded, stop
from hub.transport import Connection, SessionInfo, Transport

_CLOSE_S = 5.0
_WATCH_S = 2.0


class Held(Struct, eq=False):
    """A connection that is open for a session. ``used_at``: when its last turn ended (the loop's clock).
    ``after``: the runner that served the session last, as far as is known here: if another one did since, the
    connection is stale. ``watch``: what watches the agent between turns."""

    session_id: str
    connection: Connection
    used_at: float
    gone: asyncio.Event
    after: str = ""
    busy: bool = True
    watch: asyncio.Task[None] | None = None


class Connections:
    """Connections by session. One whose session was served elsewhere meanwhile is stale: the agent has moved
    on, and two lines to one agent would fork its history."""

    def __init__(self, idle_s: float, *, close_s: float = _CLOSE_S) -> None:
        self._idle_s = idle_s
        self._close_s = close_s
        self._held: dict[str, Held] = {}
        self._leaving: dict[str, Held] = {}
        self._clock = asyncio.get_running_loop().time

    async def borrow(self, transport: Transport, session: SessionInfo, *, after: str, fresh: bool = False) -> Held:
        """The session's connection, opened if need be; a new one if ``fresh``, or if another runner than ``after``
        served the session before. One that is being closed is waited for. Raises what :meth:`Transport.open`
        raises."""
        held = self._held.get(session.id)
        if held is not None and not await self._unwatched(held):
            fresh = True
        if held is not None and (fresh or held.busy or held.after != after):
            self.take_out(held)
            await self.close_one(held)
            held = None
        if leaving := self._leaving.get(session.id):
            await leaving.gone.wait()
        if held is None:
            held = Held(session.id, await transport.open(session), self._clock(), asyncio.Event(), after)
            if (other := self._held.get(session.id)) is not None:
                await self.close_one(held)
                if (
                    other.busy or other.after != after
                ):  # the turn that wanted it was given up; another has run since
                    raise HubError("The connection opened too late.")
                return await self.borrow(transport, session, after=after)  # opened meanwhile, to be watched
            self._held[session.id] = held
        held.busy = True
        return held

    async def _unwatched(self, held: Held) -> bool:
        """Nobody watches any more; False where that could not be had."""
        watch = held.watch
        return watch is None or await stop(watch, within_s=_WATCH_S)

    def idle(self, session_id: str) -> Held | None:
        """The connection of a session in which no turn runs."""
        held = self._held.get(session_id)
        return None if held is None or held.busy else held

    def knows(self, session_id: str) -> bool:
        """Whether a connection is open, or being closed, for the session."""
        return session_id in self._held or session_id in self._leaving

    def give_back(self, held: Held, *, after: str) -> None:
        """The turn is over, ``after`` served it; the connection stays open for the next."""
        held.busy, held.used_at, held.after = False, self._clock(), after

    def take_out(self, held: Held) -> None:
        """The connection is not to be used again. Whoever says so calls :meth:`close_one` then."""
        if self._held.get(held.session_id) is held:
            del self._held[held.session_id]
            self._leaving[held.session_id] = held

    async def close_one(self, held: Held) -> None:
        """Close a connection, in bounded time; nothing depends on how it takes it."""
        try:
            await self._unwatched(held)
            if wrong := await bounded(held.connection.close, within_s=self._close_s):
                log = structlog.get_logger("hub.connections")
                log.error("a connection failed to close", session_id=held.session_id, error=wrong)
        finally:
            held.gone.set()
            if self._leaving.get(held.session_id) is held:
                del self._leaving[held.session_id]

    async def close_idle(self) -> None:
        """Close connections that nobody has used for the idle time. One that watches is in use."""
        limit = self._clock() - self._idle_s
        unused = [held for held in self._held.values() if not held.busy and held.watch is None]
        await self._close_all([held for held in unused if held.used_at < limit])

    async def unwatch(self) -> None:
        """No session is watched any more."""
        async with asyncio.TaskGroup() as group:
            for held in self._held.values():
                group.create_task(self._unwatched(held))

    async def close(self) -> None:
        """Close all of them, side by side."""
        await self._close_all(list(self._held.values()))

    async def _close_all(self, some: list[Held]) -> None:
        for held in some:
            self.take_out(held)
        async with asyncio.TaskGroup() as group:
            for held in some:
                group.create_task(self.close_one(held))
