"""A typist whose sights carry the record of what the agent took, for those who verify deliveries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from hub import Cleared, Pace, Sight
from turnhub_tmux.bridge.facts import Fact
from turnhub_tmux.panes.pane import Pane
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.traces import CONCERN, PromptLog
from turnhub_tmux.transcript.facts import RowFact
from turnhub_tmux.typist import PaneTypist
from turnhub_tmux.verify import TRACES

_TELL_S: Final = 4.0
"""Seconds for which the screen's word waits for those who know the words."""


class Record:
    """A :class:`~turnhub_tmux.traces.PromptLog` that one can wait for. ``note`` it every fact, of the bridge and
    of the transcript."""

    def __init__(self, log: PromptLog | None = None) -> None:
        self.log = log or PromptLog()
        self._news = asyncio.Event()

    def note(self, fact: Fact | RowFact) -> None:
        """Take a fact into account."""
        self.log.note(fact)
        if isinstance(fact, CONCERN):
            self._news.set()

    async def news(self, within_s: float) -> None:
        """Return when there is more on record, or after ``within_s`` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._news.wait()
        self._news.clear()


async def _nothing() -> None:
    return


class WitnessedTypist(PaneTypist):
    """Types into a pane. ``catch_up`` reads what the transcript has so far (and notes it), at each look; it may
    raise OSError. ``told``: whether hooks or a transcript tell of what the agent takes."""

    def __init__(
        self,
        pane: Pane,
        manifest: Manifest,
        record: Record,
        *,
        catch_up: Callable[[], Awaitable[None]] = _nothing,
        pace: Pace | None = None,
        starting: Callable[[], bool] = lambda: False,
        told: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(pane, manifest, pace=pace, starting=starting)
        self._record = record
        self._catch_up = catch_up
        self._told = told
        self._sent_at: float | None = None

    async def look(self) -> Sight:
        """What the pane shows now, and what is on record."""
        sight = await super().look()
        with suppress(OSError):  # a transcript that cannot be read has not told
            await self._catch_up()
        traces = replace(self._record.log.now(), awaited=self._awaited())
        return replace(sight, seen={**sight.seen, TRACES: traces})

    def _awaited(self) -> bool:
        """Whether hooks or transcript have still to tell of what was sent."""
        if self._sent_at is None or not self._told():
            return False
        return asyncio.get_running_loop().time() - self._sent_at < _TELL_S

    async def change(self, within_s: float) -> None:
        """Return when the agent tells something, or after ``within_s`` seconds."""
        await self._record.news(within_s)

    async def paste(self, sight: Sight, text: str) -> bool:
        """Paste, if all is as it was."""
        self._record.log.typed(text)
        return await super().paste(sight, text)

    async def submit(self, sight: Sight) -> bool:
        """Press the key that submits, if all is as it was."""
        # Before it is known: a key of which nobody knows may have been taken.
        self._record.log.sent()
        self._sent_at = asyncio.get_running_loop().time()
        pressed = await super().submit(sight)
        if not pressed:
            self._record.log.withdrawn()
        return pressed

    async def clear(self, sight: Sight) -> Cleared:
        """Empty the composer, by what is seen."""
        words = self._record.log.last_typed
        ours = words is not None and self.staged(sight, sight, words)
        cleared = await super().clear(sight)
        if cleared == "cleared" and ours:
            self._record.log.withdrawn()
        return cleared
