"""Transports that do what a test says, good or bad."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from hub.errors import AgentUnavailable
from hub.events import Text
from hub.transport import Capability, Connection, Idle, Screen, SessionInfo, Transport, TurnContext
from hub.turn import Completed, Ending

Act = Callable[[TurnContext], Awaitable[Any]]


async def good(turn: TurnContext) -> Ending:
    """A good turn."""
    await turn.emit(Text(block=0, text=f"You said: {turn.message.text}"))
    return Completed()


async def nothing() -> None:
    """Do nothing."""


async def unseen(idle: Idle) -> None:
    """See nothing."""


async def forever() -> None:
    """Never return."""
    await asyncio.get_running_loop().create_future()


async def stubborn(seconds: float) -> None:
    """Go on for so long, whoever cancels."""
    end = asyncio.get_running_loop().time() + seconds
    while (left := end - asyncio.get_running_loop().time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


async def dark(session: SessionInfo) -> Screen:
    """There is nothing to be seen."""
    raise AgentUnavailable(f"The lights of {session.agent.name} are out.")


class Acting(Transport):
    """Plays ``acts``: for each turn the next of them, and good turns when there are no more. ``opened`` and
    ``closed`` count connections."""

    name = "scripted"

    def __init__(
        self,
        *acts: Act,
        opening: Callable[[], Awaitable[None]] = nothing,
        interrupting: Callable[[], Awaitable[None]] = nothing,
        closing: Callable[[], Awaitable[None]] = nothing,
        watching: Callable[[Idle], Awaitable[None]] = unseen,
        showing: Callable[[SessionInfo], Awaitable[Screen]] = dark,
        capabilities: frozenset[Capability] = frozenset({"interrupt"}),
    ) -> None:
        self.acts = list(acts)
        self.opening = opening
        self.interrupting = interrupting
        self.closing = closing
        self.watching = watching
        self.showing = showing
        self.capabilities = capabilities
        self.opened = self.closed = self.interrupted = self.down = 0
        self.watched = 0
        self.forgotten: list[str] = []
        self.turns: list[TurnContext] = []
        self._changed = asyncio.Condition()

    async def until(self, reached: Callable[[], bool]) -> None:
        """Return when ``reached()``; it is looked at whenever something was counted."""
        async with self._changed:
            await self._changed.wait_for(reached)

    async def count(self, what: str) -> None:
        """Count something."""
        setattr(self, what, getattr(self, what) + 1)
        async with self._changed:
            self._changed.notify_all()

    async def open(self, session: SessionInfo) -> Connection:
        """A connection that acts."""
        await self.count("opened")
        await self.opening()
        return ActingConnection(self)

    async def forget(self, session: SessionInfo) -> None:
        """Keep which."""
        self.forgotten.append(session.id)
        async with self._changed:
            self._changed.notify_all()

    async def screen(self, session: SessionInfo) -> Screen:
        """What the test says."""
        return await self.showing(session)

    async def close(self) -> None:
        """Count."""
        await self.count("down")


class ActingConnection(Connection):
    """A connection that acts."""

    def __init__(self, transport: Acting) -> None:
        self._transport = transport

    async def run(self, turn: TurnContext) -> Ending:
        """Play the next act."""
        self._transport.turns.append(turn)
        act = self._transport.acts.pop(0) if self._transport.acts else good
        ending: Ending = await act(turn)
        return ending

    async def interrupt(self) -> None:
        """What the test says."""
        await self._transport.count("interrupted")
        await self._transport.interrupting()

    async def watch(self, idle: Idle) -> None:
        """What the test says."""
        await self._transport.count("watched")
        await self._transport.watching(idle)

    async def close(self) -> None:
        """What the test says."""
        await self._transport.count("closed")
        await self._transport.closing()
