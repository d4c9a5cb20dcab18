"""The real Claude Code against a scripted model: for the tests of this plugin, and of those that judge what it
does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from hub import Connection, SessionInfo
from hub.testing import FakeTurn, ScriptedModel, claude_environment, make_session
from turnhub_sdk.transport import SdkTransport


class ScriptedAgent:
    """One session with an agent whose model follows ``script``. An asynchronous context manager.

    ``folder`` holds everything: ``cwd``, the agent's home, its state. ``options`` are the agent's. Turns
    follow one another and remember, as in a hub; :meth:`forked` is another session that inherits what was
    remembered.
    """

    def __init__(self, script: Any, folder: Path, **options: Any) -> None:
        self.model = ScriptedModel(script)
        self.transport = SdkTransport()
        self.cwd = folder / "cwd"
        self._folder = folder
        self._options = options
        self._memory: dict[str, str] = {}
        self._connection: Connection | None = None
        self._session: SessionInfo | None = None

    async def __aenter__(self) -> Self:
        await self.model.start()
        self.cwd.mkdir(parents=True, exist_ok=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()
        await self.transport.close()
        await self.model.close()

    @property
    def session(self) -> SessionInfo:
        """The session, with what its turns remembered so far."""
        options = {"max_retries": 2, **self._options}
        env = {**self.environment(), **options.pop("env", {})}
        made = make_session(
            "sdk",
            cwd=self.cwd,
            state_dir=self._folder / "state",
            memory=self._memory,
            id=self._session.id if self._session else None,
            env=env,
            **options,
        )
        self._session = made
        return made

    def environment(self) -> Mapping[str, str]:
        """The variables that lead the agent to the scripted model."""
        return claude_environment(self.model.url, self._folder / "home")

    @property
    def pid(self) -> int | None:
        """The process id of the agent, while there is one."""
        return getattr(self._connection, "pid", None)

    async def connection(self) -> Connection:
        """The session's connection, opened where there is none."""
        if self._connection is None:
            self._connection = await self.transport.open(self.session)
        return self._connection

    async def leave(self) -> None:
        """Close the connection; the next turn opens another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def written(self, text: str, *, within: float = 60.0) -> None:
        """Wait until the agent has written ``text`` down: only that survives a kill. ``within`` seconds or
        TimeoutError."""
        async with asyncio.timeout(within):
            while not await asyncio.to_thread(self._is_written, text):  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(0.05)

    def _is_written(self, text: str) -> bool:
        transcripts = (self._folder / "home").rglob("*.jsonl")
        return any(text in path.read_text(encoding="utf-8") for path in transcripts)

    def forked(self) -> SessionInfo:
        """A new session that goes on from this one."""
        return msgspec.structs.replace(self.session, id=make_session().id, memory={}, inherited=dict(self._memory))

    def turn(self, text: str, **details: Any) -> FakeTurn:
        """The session's next turn, not played yet; ``details`` as for FakeTurn."""
        return FakeTurn(text, session=self.session, **details)

    async def play(self, turn: FakeTurn | str, *, within: float = 90.0, **details: Any) -> FakeTurn:
        """Play a turn to its end, as a runner would."""
        if isinstance(turn, str):
            turn = self.turn(turn, **details)
        connection = await self.connection()
        try:
            await turn.play(connection, within=within)
        finally:
            self._memory.update(turn.remembered)
        return turn
