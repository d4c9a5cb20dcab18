"""Telling plugins what happens to a turn: in order, beside the turn, so that nobody waits for them."""

from __future__ import annotations

import asyncio
from typing import Any

from hub import hooks
from hub.plugins import Plugins


class Observers:
    """The observers of one turn; :meth:`run` has to be running."""

    def __init__(self, plugins: Plugins) -> None:
        self._manager = plugins.manager
        self._told: asyncio.Queue[tuple[str, dict[str, Any]] | None] = asyncio.Queue()

    def tell(self, hook: str, **facts: Any) -> None:
        """Have the observers of ``hook`` told, after all that was told before."""
        if getattr(self._manager.hook, hook).get_hookimpls():
            self._told.put_nowait((hook, facts))

    def close(self) -> None:
        """Nothing more is told: :meth:`run` returns when all has been."""
        self._told.put_nowait(None)

    async def run(self) -> None:
        """Tell, until closed. Each observer is bounded in time, and its failure is logged and never felt."""
        while (told := await self._told.get()) is not None:
            hook, facts = told
            await hooks.notify(self._manager, hook, **facts)
