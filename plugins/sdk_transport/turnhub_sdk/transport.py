"""The transport ``sdk``: checks an agent's options, opens sessions, owns what all its sessions share."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hub import AgentInfo, AgentUnavailable, Capability, Connection, SessionInfo, Transport
from turnhub_sdk.cli import reason_against
from turnhub_sdk.environment import agent_environment, rehearsal_environment
from turnhub_sdk.options import Options, options_of

if TYPE_CHECKING:
    from hub.testing import RehearsalModel


class SdkTransport(Transport):
    """Runs turns against Claude Code, through the Claude Agent SDK."""

    name: str = "sdk"
    capabilities: frozenset[Capability] = frozenset(
        {"interrupt", "steer", "resume", "fork", "context", "questions", "permissions"}
    )

    def __init__(self) -> None:
        self._shared = contextlib.AsyncExitStack()
        self._starting = asyncio.Lock()
        self._rehearsal: RehearsalModel | None = None

    def check(self, agent: AgentInfo) -> str | None:
        """Why this agent cannot run here, with what mends it. Raises ConfigError where its options are
        wrong."""
        return reason_against(options_of(agent))

    async def open(self, session: SessionInfo) -> Connection:
        """A connection for ``session``; the agent is started with its first turn. Raises AgentUnavailable."""
        options = options_of(session.agent)
        reason = await asyncio.to_thread(reason_against, options)
        if reason is not None:
            raise AgentUnavailable(reason)
        if not await asyncio.to_thread(Path(session.cwd).is_dir):
            raise AgentUnavailable(f"The agent's working directory {session.cwd!r} does not exist. Create it.")
        # The SDK is heavy: its import takes a second in which nothing else may wait.
        module = await asyncio.to_thread(importlib.import_module, "turnhub_sdk.connection")
        offline = await self._rehearsal_of(session.agent) if options.rehearsal else None
        connection: Connection = module.SdkConnection(session, options, lambda: _environment(options, offline))
        return connection

    async def _rehearsal_of(self, agent: AgentInfo) -> Mapping[str, str]:
        from hub.testing import RehearsalModel, claude_environment  # noqa: PLC0415 - only a rehearsal needs it

        async with self._starting:
            model = self._rehearsal
            if model is None:
                model = self._rehearsal = await self._shared.enter_async_context(RehearsalModel())
        home = Path(agent.state_dir or self._shared.enter_context(tempfile.TemporaryDirectory())) / "rehearsal"
        return await asyncio.to_thread(claude_environment, model.url, home)

    async def close(self) -> None:
        """Stop the rehearsal's model."""
        self._rehearsal = None
        await self._shared.aclose()


def _environment(options: Options, offline: Mapping[str, str] | None) -> Mapping[str, str]:
    values = agent_environment(options)
    return values if offline is None else {**values, **rehearsal_environment(dict(offline))}
