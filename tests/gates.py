"""Connections that tests can cut, freeze and thin out, as if the network or the process did it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

from redis import exceptions

from hub.store.connect import Lines


class Gate:
    """What passes between one process and its store. ``state``: "open"; "away" (every command is refused);
    "frozen" (no command is sent on, no answer comes, until it is open again)."""

    def __init__(self) -> None:
        self.refused_one = asyncio.Event()
        self._state: Literal["open", "away", "frozen"] = "open"
        self._open = asyncio.Event()
        self._open.set()

    @property
    def state(self) -> str:
        """What it lets through."""
        return self._state

    def set(self, state: Literal["open", "away", "frozen"]) -> None:
        """Let through what ``state`` says from now on."""
        self._state = state
        if state == "frozen":
            self._open.clear()
        else:
            self._open.set()

    async def let(self) -> None:
        """Return when a command may pass. Raises redis' ConnectionError."""
        await self._open.wait()
        if self._state == "away":
            self.refused_one.set()
            raise exceptions.ConnectionError("cut off by the test")


class GatedRedis:
    """A client behind a gate."""

    def __init__(self, inner: Any, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Send one command, if the gate lets it."""
        await self._gate.let()
        return await self._inner.execute_command(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class GatedPubSub:
    """A pub/sub connection whose messages a test can lose, repeat or disorder."""

    def __init__(self, inner: Any, sift: Callable[[Any], list[Any]]) -> None:
        self._inner = inner
        self._sift = sift
        self._held: list[Any] = []

    async def get_message(self, **options: Any) -> Any:
        """The next message that is let through."""
        while not self._held:
            message = await self._inner.get_message(**options)
            if message is None or message["type"] != "message":
                return message
            self._held = self._sift(message)
        return self._held.pop(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class GatedLines:
    """One process's connections behind a gate. ``sift`` makes of each published message those that arrive."""

    def __init__(self, inner: Lines, sift: Callable[[Any], list[Any]] = lambda message: [message]) -> None:
        self.gate = Gate()
        self.sift = sift
        self._inner = inner
        self.commands: Any = GatedRedis(inner.commands, self.gate)
        self.blocking: Any = GatedRedis(inner.blocking, self.gate)

    def pubsub(self) -> Any:
        """A pub/sub connection of its own."""
        return GatedPubSub(self._inner.pubsub(), self._sifted)

    def _sifted(self, message: Any) -> list[Any]:
        return self.sift(message)  # as it is now: tests change it

    async def close(self) -> None:
        """Close all."""
        await self._inner.close()
