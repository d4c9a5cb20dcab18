"""Between turns: agents that live on are watched, and what somebody types at their own keyboard is a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from hub.errors import AgentUnavailable, HubError, IdempotencyMismatch, StillQueued, TurnInFlight
from hub.runner.connections import Connections, Held
from hub.runner.contain import contained
from hub.runner.keyboard import keyboard_key
from hub.runner.services import Services
from hub.runner.sound import said
from hub.store.overview import SessionSummary
from hub.store.work import Wanted
from hub.transport import Prompted, SessionInfo, Transport

_LOOKED_AFTER = 200
"""How many sessions, those that changed last, are looked after when a hub starts."""


class IdleSession:
    """The context of a session in which no turn runs: :class:`hub.transport.Idle`. ``run`` lets this runner take a
    turn that has begun."""

    def __init__(self, services: Services, session: SessionInfo, run: Callable[[Wanted], Awaitable[None]]) -> None:
        self.session = session
        self._services = services
        self._run = run

    async def prompted(self, text: str, key: str) -> Prompted:
        """Begin the turn of words that were typed at the agent's own keyboard."""
        try:
            begun = await self._services.store.begin(
                self.session.id,
                text,
                literal=False,  # typed once more, in a retry, they mean what they meant
                origin="keyboard",
                idempotency_key=keyboard_key(key),
            )
        except TurnInFlight:
            return "busy"
        except (IdempotencyMismatch, StillQueued):
            return "known"
        if begun.repeated:
            return "known"
        await self._run(Wanted(begun.session_id, begun.turn_id))
        return "begun"


class Watches:
    """The watches of a runner, as tasks of ``group``."""

    def __init__(
        self,
        services: Services,
        connections: Connections,
        group: asyncio.TaskGroup,
        run: Callable[[Wanted], Awaitable[None]],
    ) -> None:
        self._services = services
        self._connections = connections
        self._group = group
        self._run = run
        self._log = structlog.get_logger("hub.watch").bind(runner=services.runner_id)

    def start(self, session: SessionInfo) -> None:
        """Watch a session whose turn has just ended, if its agent can be watched and is still held here."""
        if self._watching(session.agent.name) is None:
            return
        held = self._connections.idle(session.id)
        if held is not None and held.watch is None:
            held.watch = self._group.create_task(self._watch(held, session))

    async def resume(self) -> None:
        """Look after the agents that live on since another hub served them: who types there meanwhile is heard.
        Raises StoreUnavailable."""
        if not any(map(self._watching, self._services.config.agents)):
            return
        page = await self._services.overview.sessions(limit=_LOOKED_AFTER)
        for summary in page.sessions:
            await self._resume(summary)

    async def _resume(self, summary: SessionSummary) -> None:
        record = summary.record
        transport = self._watching(record.agent)
        served = record.memory and not record.archived and summary.turn is None
        if transport is None or not served or self._connections.knows(record.id):
            return
        session = self._services.session_info(record)
        try:
            held = await self._connections.borrow(transport, session, after=record.runner)
        except (AgentUnavailable, HubError) as error:
            self._log.debug("a session is not watched", session_id=record.id, reason=error.detail)
        except Exception as error:  # noqa: BLE001 - a plugin's fault leaves the other sessions alone
            self._log.warning("a session is not watched", session_id=record.id, error=said(error))
        else:
            self._connections.give_back(held, after=record.runner)
            self.start(session)

    def _watching(self, agent: str) -> Transport | None:
        """The transport of an agent, where it watches and this runner serves it."""
        if agent not in self._services.config.agents:
            return None
        transport = self._services.transport_of(agent)
        return None if isinstance(transport, str) or "watch" not in transport.capabilities else transport

    async def _watch(self, held: Held, session: SessionInfo) -> None:
        idle = IdleSession(self._services, session, self._run)
        try:
            await contained(lambda: held.connection.watch(idle))
        except Exception as error:  # noqa: BLE001 - a watch that fails sees nothing until the next turn; said here
            known = isinstance(error, HubError)
            self._log.warning("a session is not watched any more", session_id=session.id, error=said(error))
            if not known:
                self._log.debug("that error", exc_info=error)
        finally:
            held.watch = None
