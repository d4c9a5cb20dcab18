"""The transport ``tmux``: checks an agent's options, opens sessions, owns what its sessions share."""

from __future__ import annotations

import asyncio
import importlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from hub import AgentInfo, AgentUnavailable, Capability, Connection, Screen, SessionInfo, Transport
from turnhub_tmux.options import manifest_of, options_of
from turnhub_tmux.program import reason_against

if TYPE_CHECKING:
    from turnhub_tmux.shared import Shared


class TmuxTransport(Transport):
    """Runs turns against agents in tmux panes."""

    name: str = "tmux"
    capabilities: frozenset[Capability] = frozenset(
        {"interrupt", "steer", "resume", "adopt", "questions", "permissions", "watch", "screen"}
    )

    def __init__(self) -> None:
        self._shared: Shared | None = None
        self._starting = asyncio.Lock()

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
        shared = await self._sharing()
        folder = await shared.folder(session)
        bridge = await shared.bridge(session.agent) if options.bridged else None
        connection: Connection = module.TmuxConnection(
            session, options, manifest, shared=shared, bridge=bridge, folder=folder
        )
        return connection

    async def forget(self, session: SessionInfo) -> None:
        """End the agent of a deleted session, if it was started here and nobody looks at its terminal, and remove
        the session's files."""
        options = options_of(session.agent)
        shared = await self._sharing()
        folder = await shared.folder(session)
        bridge = await shared.bridge(session.agent) if options.bridged else None
        module = await asyncio.to_thread(importlib.import_module, "turnhub_tmux.seat")
        await module.Seats(session, options, bridge, folder).end(session.memory)
        if bridge is not None:
            await bridge.forget(session.id)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def screen(self, session: SessionInfo) -> Screen:
        """The session's pane, as it is now. Raises AgentUnavailable."""
        options = options_of(session.agent)
        manifest = manifest_of(session.agent, options)
        module = await asyncio.to_thread(importlib.import_module, "turnhub_tmux.looking")
        shown: Screen = await module.shown(session, options, manifest)
        return shown

    async def close(self) -> None:
        """Stop listening. The agents stay."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await shared.close()

    async def _sharing(self) -> Shared:
        async with self._starting:
            if self._shared is None:
                module = await asyncio.to_thread(importlib.import_module, "turnhub_tmux.shared")
                self._shared = module.Shared()
            return self._shared
