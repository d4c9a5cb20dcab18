"""The open connections of a runner: one for each session, reused over turns, closed when idle."""

from __future__ import annotations

import asyncio

import structlog
from msgspec import Struct

from hub.errors import HubError
from hub.runner.contain import bounded
from hub.transport import Connection, SessionInfo, Transport

_CLOSE_S = 5.0


class Held(Struct, eq=False):
    """A connection that is open for a session. ``used_at``: when its last turn ended (the loop's clock)."""

    session_id: str
    connection: Connection
    used_at: float
    gone: asyncio.Event
    busy: bool = True


class Connections:
    """Connections by session. One whose session was served elsewhere meanwhile is stale: the agent has moved
    on, and two lines to one agent would fork its history."""

    def __init__(self, idle_s: float, *, close_s: float = _CLOSE_S) -> None:
        self._idle_s = idle_s
        self._close_s = close_s
        self._held: dict[str, Held] = {}
        self._leaving: dict[str, Held] = {}
        self._clock = asyncio.get_running_loop().time

    async def borrow(self, transport: Transport, session: SessionInfo, *, fresh: bool) -> Held:
        """The session's connection, opened if need be; a new one if ``fresh``. One that is being closed is
        waited for. Raises what :meth:`Transport.open` raises."""
        held = self._held.get(session.id)
        if held is not None and (fresh or held.busy):
            self.take_out(held)
            await self.close_one(held)
            held = None
        if leaving := self._leaving.get(session.id):
            await leaving.gone.wait()
        if held is None:
            held = Held(session.id, await transport.open(session), self._clock(), asyncio.Event())
            if session.id in self._held:  # the turn that wanted it was given up, and another has begun since
                await self.close_one(held)
                raise HubError("The connection opened too late.")
            self._held[session.id] = held
        held.busy = True
        return held

    def give_back(self, held: Held) -> None:
        """The turn is over; the connection stays open for the next."""
        held.busy, held.used_at = False, self._clock()

    def take_out(self, held: Held) -> None:
        """The connection is not to be used again. Whoever says so calls :meth:`close_one` then."""
        if self._held.get(held.session_id) is held:
            del self._held[held.session_id]
            self._leaving[held.session_id] = held

    async def close_one(self, held: Held) -> None:
        """Close a connection, in bounded time; nothing depends on how it takes it."""
        try:
            if wrong := await bounded(held.connection.close, within_s=self._close_s):
                log = structlog.get_logger("hub.connections")
                log.error("a connection failed to close", session_id=held.session_id, error=wrong)
        finally:
            held.gone.set()
            if self._leaving.get(held.session_id) is held:
                del self._leaving[held.session_id]

    async def close_idle(self) -> None:
        """Close connections that nobody has used for the idle time."""
        limit = self._clock() - self._idle_s
        await self._close_all([held for held in self._held.values() if not held.busy and held.used_at < limit])

    async def close(self) -> None:
        """Close all of them, side by side."""
        await self._close_all(list(self._held.values()))

    async def _close_all(self, some: list[Held]) -> None:
        for held in some:
            self.take_out(held)
        async with asyncio.TaskGroup() as group:
            for held in some:
                group.create_task(self.close_one(held))
