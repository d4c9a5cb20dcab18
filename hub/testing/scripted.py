"""The scripted transport: an agent that does what its message says, for tests, demos and plugin authors.

A message of plain words is answered by ``Echo: <words>``, or by the agent's own ``steps`` where its options
have some; a message that is a JSON object is played. :mod:`hub.testing.script` says what a script may hold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from hub.errors import AgentUnavailable, ConfigError
from hub.hookspecs import hookimpl
from hub.testing import script
from hub.testing.player import Player
from hub.transport import AgentInfo, Capability, Connection, Message, SessionInfo, Transport, TurnContext, Verdict
from hub.turn import Ending, Failed, Interrupted

_OPTIONS: Final = ("steps", "unavailable")


class ScriptedTransport(Transport):
    """Plays scripts. Options of an agent: ``steps`` answer every message that is no script itself;
    ``unavailable = "why"`` makes an agent that cannot run.

    With ``adopts`` an agent outlives the hub, as one in a terminal does: a turn that another runner began goes
    on at the step where it stood.
    """

    capabilities: frozenset[Capability] = frozenset(
        {"interrupt", "steer", "resume", "context", "questions", "permissions"}
    )

    def __init__(self, name: str = "scripted", *, adopts: bool = False) -> None:
        self.name = name
        if adopts:
            self.capabilities = self.capabilities | {"adopt"}

    async def open(self, session: SessionInfo) -> Connection:
        """A connection that plays scripts. Raises AgentUnavailable where the agent's options say so."""
        if (why := self.check(session.agent)) is not None:
            raise AgentUnavailable(why)
        return ScriptedConnection(session, adopts="adopt" in self.capabilities)

    def check(self, agent: AgentInfo) -> str | None:
        """What ``unavailable`` says. Raises ConfigError for unknown options and steps that cannot be played."""
        where = f"agents.{agent.name}"
        if unknown := sorted(agent.options.keys() - set(_OPTIONS)):
            raise ConfigError(f"{where}.{unknown[0]}: unknown; a scripted agent takes {', '.join(_OPTIONS)}.")
        try:
            script.steps_of({"steps": agent.options.get("steps", ())})
        except script.BadScript as error:
            raise ConfigError(f"{where}.steps: {error}.") from None
        why = agent.options.get("unavailable")
        if why is not None and not isinstance(why, str):
            raise ConfigError(f"{where}.unavailable: expected a string that says why.")
        return why


class ScriptedConnection(Connection):
    """One session's script player."""

    def __init__(self, session: SessionInfo, *, adopts: bool = False) -> None:
        self._default = session.agent.options.get("steps")
        self._adopts = adopts
        self._runs: dict[str, int] = {}
        self._stop: asyncio.Event | None = None
        self._player: Player | None = None

    async def run(self, turn: TurnContext) -> Ending:
        """Play the message to its end, or until somebody stops it."""
        stop = self._stop = asyncio.Event()
        self._player = Player(turn, self._runs, adopts=self._adopts)
        playing = asyncio.ensure_future(self._player.play(self._steps(turn)))
        watching = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(turn.cancelled.wait())]
        try:
            await asyncio.wait({playing, *watching}, return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                return playing.result()
            await _end(playing)
            await self._player.close_tools()
            return Interrupted(by=turn.cancelled.by or "person")
        except script.BadScript as error:
            return Failed(code="agent_error", message=f"This script cannot be played: {error}.", retryable=False)
        finally:
            self._stop = self._player = None
            await _end(playing, *watching)

    async def steer(self, message: Message) -> Verdict:
        """Echo it into the running turn as ``Steered: <text>``."""
        if self._player is None:
            return Verdict(verdict="unverified", detail="No turn is running.")
        await self._player.say(f"Steered: {message.text}")
        return Verdict(verdict="submitted", proof="sdk")

    async def interrupt(self) -> None:
        """Stop the running script."""
        if self._stop is not None:
            self._stop.set()

    async def close(self) -> None:
        """Stop the running script, if there is one."""
        await self.interrupt()

    def _steps(self, turn: TurnContext) -> Callable[[], tuple[script.Step, ...]]:
        words = turn.message.text
        found = script.script_in(words)
        if found is None and self._default is not None:
            found = {"steps": self._default}
        return lambda: (script.Say(f"Echo: {words}"),) if found is None else script.steps_of(found)


async def _end(*tasks: asyncio.Future[Any]) -> None:
    """Cancel ``tasks`` and see them out. What they raise is of no interest any more."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@hookimpl
def register_transports(register: Callable[[Transport], None]) -> None:
    """Offer the scripted transport."""
    register(ScriptedTransport())
