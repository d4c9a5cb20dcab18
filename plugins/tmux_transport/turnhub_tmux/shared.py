"""What all sessions of one process share: the listener that their agents post to, and who watches transcripts."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from hub import AgentInfo, SessionInfo
from turnhub_tmux.bridge.listener import Bridge
from turnhub_tmux.transcript.watch import Watcher


class Shared:
    """Made when it is first needed, closed with the transport."""

    def __init__(self) -> None:
        self._open = AsyncExitStack()
        self._starting = asyncio.Lock()
        self._bridges: dict[Path, Bridge] = {}
        self._watchers: dict[Path, Watcher] = {}
        self._scratch: Path | None = None

    async def folder(self, session: SessionInfo) -> Path:
        """The private files of a session."""
        agent = session.agent
        root = Path(agent.state_dir) if agent.state_dir else await asyncio.to_thread(self._temporary)
        folder = root / "sessions" / session.id
        await asyncio.to_thread(_private, root)
        return folder

    async def bridge(self, agent: AgentInfo) -> Bridge:
        """The listener, listening: one a process. Raises OSError."""
        root = Path(agent.shared_dir) if agent.shared_dir else await asyncio.to_thread(self._temporary)
        async with self._starting:
            bridge = self._bridges.get(root)
            if bridge is None:
                await asyncio.to_thread(_private, root)
                bridge = self._bridges[root] = await self._open.enter_async_context(Bridge(root / "hooks"))
            return bridge

    async def watcher(self, root: Path) -> Watcher:
        """Who watches the transcripts under ``root``."""
        async with self._starting:
            watcher = self._watchers.get(root)
            if watcher is None:
                watcher = self._watchers[root] = await self._open.enter_async_context(Watcher(root))
            return watcher

    async def close(self) -> None:
        """Stop listening and watching."""
        self._bridges.clear()
        self._watchers.clear()
        await self._open.aclose()

    def _temporary(self) -> Path:
        if self._scratch is None:
            self._scratch = Path(self._open.enter_context(tempfile.TemporaryDirectory()))
        return self._scratch


def _private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
