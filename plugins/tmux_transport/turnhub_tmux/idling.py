"""Between turns: hears what is typed at the agent's own keyboard, by its hooks and in its transcript."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, TypeAlias

import structlog
from msgspec import Struct

from hub import Idle, Proof
from turnhub_tmux.bridge.facts import Fact, PromptSubmitted, SessionSeen
from turnhub_tmux.bridge.subscription import Subscription
from turnhub_tmux.history import History, Place, Typed, at
from turnhub_tmux.pumps import pumping
from turnhub_tmux.traces import plain
from turnhub_tmux.transcript.facts import Prompt, key_of
from turnhub_tmux.transcript.locate import told_path
from turnhub_tmux.transcript.tail import Row, Tail, size_of
from turnhub_tmux.transcript.watch import Watcher
from turnhub_tmux.witnessed import Record

_TICK_S: Final = 20.0


class _Tick(Struct, frozen=True):
    """Time to see whether the agent is there still."""


Heard: TypeAlias = Fact | Row | _Tick


class Idling:
    """Listens to the agent of one session until somebody there has typed a prompt, or the agent is gone.
    ``there``: where its transcript is now, None once the agent is gone."""

    def __init__(
        self,
        idle: Idle,
        history: History,
        record: Record,
        watcher: Watcher,
        *,
        subscription: Subscription | None,
        there: Callable[[], Awaitable[Path | None]],
    ) -> None:
        self._idle = idle
        self._history = history
        self._record = record
        self._watcher = watcher
        self._subscription = subscription
        self._there = there
        self._heard: asyncio.Queue[Heard] = asyncio.Queue()
        self._facts: list[Fact] = list(history.early)
        self._tail: Tail | None = None
        self._changed = asyncio.Event()
        self._log = structlog.get_logger(__name__).bind(session=idle.session.id)

    async def run(self) -> None:
        """Until a turn begins, or there is nothing to listen to any more."""
        unread = self._history.unread
        if unread is not None:
            self._tail = Tail(Path(unread.path), unread.offset)
        for fact in self._facts:
            self._heard.put_nowait(fact)
        self._history.early.clear()
        self._facts.clear()
        try:
            async with self._listening():
                while not await self._over(await self._heard.get()):
                    pass
        finally:
            self._history.leave(self._facts)

    def _listening(self) -> AbstractAsyncContextManager[None]:
        pumps = [self._rows(), self._ticks()]
        if self._subscription is not None:
            pumps.append(self._hooks(self._subscription))
        return pumping(pumps)

    # What is heard

    async def _over(self, heard: Heard) -> bool:
        match heard:
            case _Tick():
                return not await self._still_there()
            case Row():
                return await self._read(heard)
            case Fact():
                return await self._hear(heard)

    async def _still_there(self) -> bool:
        path = await self._there()
        if path is not None and (self._tail is None or self._tail.path.name != path.name):
            self._follow(path, 0 if self._tail is not None else None)
        return path is not None

    async def _hear(self, fact: Fact) -> bool:
        self._keep(fact)
        match fact:
            case SessionSeen():
                path = told_path(fact.transcript_path)
                if path is not None and (self._tail is None or self._tail.path.name != path.name):
                    self._follow(path, 0)
            case PromptSubmitted(queued=False) if not (fact.repeated or fact.late or fact.agent):
                return await self._prompted(fact.prompt, "hook", fact.prompt_id, fact.prompt_id)
            case _:
                pass
        return False

    def _keep(self, fact: Fact) -> None:
        """Of the prompt that is being answered now, what was told: of others nobody will ask any more."""
        if self._facts and fact.prompt_id is not None and self._facts[-1].prompt_id != fact.prompt_id:
            self._facts.clear()
        if not self._history.owns(fact.prompt_id):
            self._facts.append(fact)

    async def _read(self, row: Row) -> bool:
        for fact in row.facts:
            if isinstance(fact, Prompt) and not fact.aside:
                self._history.unread = self._at(row.start)
                if await self._prompted(fact.text, "transcript", fact.prompt_id, key_of(fact)):
                    return True
                self._history.own(fact.uuid)
        self._history.unread = self._at(row.end)
        return False

    async def _prompted(self, prompt: str, proof: Proof, prompt_id: str | None, key: str | None) -> bool:
        """Somebody typed; whether listening is over with it."""
        text = plain(prompt)
        if not key or not text.strip() or self._history.owns(key):
            return False
        if self._history.arrived(prompt):
            self._history.own(key)
            return False
        facts = tuple(fact for fact in self._facts if prompt_id is None or fact.prompt_id == prompt_id)
        self._history.typed = Typed(
            text=text, key=key, proof=proof, prompt_id=prompt_id, facts=facts, place=self._history.unread
        )
        answer = await self._idle.prompted(text, key)
        if answer == "known":
            self._history.own(key)
            self._history.typed = None
            return False
        if answer == "busy":  # after that turn it is read, and told, again
            self._history.typed = None
        else:  # what is left is of prompts that the agent answers with it
            self._facts = [fact for fact in self._facts if fact not in facts]
        return True

    def _at(self, offset: int) -> Place | None:
        return None if self._tail is None else at(self._tail.path, offset)

    # Listening

    def _follow(self, path: Path, offset: int | None) -> None:
        self._tail = Tail(path, size_of(path) if offset is None else offset)
        self._history.unread = at(path, self._tail.offset)
        self._changed.set()

    async def _hooks(self, subscription: Subscription) -> None:
        async for fact in subscription:
            self._record.note(fact)
            self._heard.put_nowait(fact)

    async def _ticks(self) -> None:
        while True:
            self._heard.put_nowait(_Tick())
            await asyncio.sleep(_TICK_S)

    async def _rows(self) -> None:
        while True:
            tail = self._tail
            if tail is None:
                await self._changed.wait()
                self._changed.clear()
                continue
            self._changed = self._watcher.follow(tail.path)
            try:
                while self._tail is tail:
                    await self._more(tail)
                    await self._watcher.wait(tail.path, self._changed)
            finally:
                self._watcher.unfollow(tail.path, self._changed)

    async def _more(self, tail: Tail) -> None:
        try:
            rows = await tail.read_all()
        except OSError as error:
            self._log.warning("the transcript cannot be read", error=error.strerror)
            return
        for row in rows:
            for fact in row.facts:
                self._record.note(fact)
            self._heard.put_nowait(row)
