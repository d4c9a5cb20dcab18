"""The open connections of a runner: one for each session, reused over turns, closed when idle."""

from __future__ import annotations

import asyncio

import structlog
from msgspec import Struct

from hub.transport import Connection, SessionInfo, Transport

_CLOSE_S = 5.0


class _Held(Struct):
    connection: Connection
    used_at: float
    busy: bool = True


class Connections:
    """Connections by session. A connection whose session was served elsewhere meanwhile is stale: the agent
    has moved on, and two lines to one agent would fork its history."""

    def __init__(self, runner_id: str, idle_s: float) -> None:
        self._runner_id = runner_id
        self._idle_s = idle_s
        self._held: dict[str, _Held] = {}
        self._clock = asyncio.get_running_loop().time

    async def borrow(self, transport: Transport, session: SessionInfo, previous_runner: str) -> Connection:
        """The session's connection, opened if need be. Raises what :meth:`Transport.open` raises."""
        held = self._held.get(session.id)
        if held is not None and previous_runner != self._runner_id:
            await self.discard(session.id)
            held = None
        if held is None:
            held = _Held(await transport.open(session), self._clock())
            self._held[session.id] = held
        held.busy = True
        return held.connection

    def give_back(self, session_id: str) -> None:
        """The turn is over; the connection stays open for the next."""
        if held := self._held.get(session_id):
            held.busy, held.used_at = False, self._clock()

    async def discard(self, session_id: str) -> None:
        """Close the session's connection: it is not to be used again."""
        if held := self._held.pop(session_id, None):
            await _close(held.connection, session_id)

    async def close_idle(self) -> None:
        """Close connections that nobody has used for the idle time."""
        limit = self._clock() - self._idle_s
        for session_id, held in list(self._held.items()):
            if not held.busy and held.used_at < limit:
                await self.discard(session_id)

    async def close(self) -> None:
        """Close all of them, side by side."""
        async with asyncio.TaskGroup() as group:
            for session_id in list(self._held):
                group.create_task(self.discard(session_id))


async def _close(connection: Connection, session_id: str) -> None:
    log = structlog.get_logger("hub.connections")
    try:
        async with asyncio.timeout(_CLOSE_S):
            await connection.close()
    except TimeoutError:
        log.error("a connection does not close; it is left behind", session_id=session_id)
    except Exception as error:  # noqa: BLE001 - a transport may raise anything; nothing depends on its close
        log.error("a connection failed to close", session_id=session_id, error=type(error).__name__)
