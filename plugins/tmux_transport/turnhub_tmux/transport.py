"""The transport ``tmux``: checks an agent's options, opens sessions, owns what its sessions share."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hub import AgentInfo, AgentUnavailable, Capability, Connection, SessionInfo, Transport
from turnhub_tmux.options import manifest_of, options_of
from turnhub_tmux.program import reason_against

if TYPE_CHECKING:
    from turnhub_tmux.bridge.listener import Bridge


class TmuxTransport(Transport):
    """Runs turns against agents in tmux panes."""

    name: str = "tmux"
    capabilities: frozenset[Capability] = frozenset({"interrupt", "resume", "adopt", "questions", "permissions"})

    def __init__(self) -> None:
        self._shared = contextlib.AsyncExitStack()
        self._starting = asyncio.Lock()
        self._bridges: dict[Path, Bridge] = {}

    def check(self, agent: AgentInfo) -> str | None:
        """Why this agent cannot run here, with what mends it. Raises ConfigError where its options are wrong."""
        options = options_of(agent)
        manifest_of(agent, options)
        return reason_against(options)

    async def open(self, session: SessionInfo) -> Connection:
        """A connection for ``session``; its agent is found or started with its first turn. Raises
        AgentUnavailable."""
        options = options_of(session.agent)
        manifest = manifest_of(session.agent, options)
        reason = await asyncio.to_thread(reason_against, options)
        if reason is not None:
            raise AgentUnavailable(reason)
        if not await asyncio.to_thread(Path(session.cwd).is_dir):
            raise AgentUnavailable(f"The agent's working directory {session.cwd!r} does not exist. Create it.")
        # libtmux and the listener take a while to import: the start of every other command stays quick.
        module = await asyncio.to_thread(importlib.import_module, "turnhub_tmux.connection")
        folder = await asyncio.to_thread(self._folder, session.agent)
        bridge = await self._bridge(folder / "hooks") if options.bridged else None
        connection: Connection = module.TmuxConnection(
            session, options, manifest, bridge, folder / "sessions" / session.id
        )
        return connection

    def _folder(self, agent: AgentInfo) -> Path:
        folder = Path(agent.state_dir or self._shared.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    async def _bridge(self, folder: Path) -> Bridge:
        """The listener of an agent's sessions, listening."""
        module = await asyncio.to_thread(importlib.import_module, "turnhub_tmux.bridge.listener")
        async with self._starting:
            bridge = self._bridges.get(folder)
            if bridge is None:
                bridge = self._bridges[folder] = await self._shared.enter_async_context(module.Bridge(folder))
            return bridge

    async def close(self) -> None:
        """Stop listening. The agents stay."""
        self._bridges.clear()
        await self._shared.aclose()
