"""What is noticed of an agent during one turn, in one queue: by its hooks, its transcript, its screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import structlog
from msgspec import Struct

from hub import Sight
from turnhub_tmux.bridge.facts import Fact, SessionSeen
from turnhub_tmux.bridge.subscription import Subscription
from turnhub_tmux.history import Place, at
from turnhub_tmux.pumps import pumping
from turnhub_tmux.transcript.facts import Entered, Prompt, RowFact
from turnhub_tmux.transcript.locate import told_path
from turnhub_tmux.transcript.tail import Tail, size_of
from turnhub_tmux.transcript.watch import Watcher
from turnhub_tmux.typist import PaneTypist
from turnhub_tmux.witnessed import Record

_HOOKED_S: Final = 0.5
_BLIND_S: Final = 0.25
_TAIL_S: Final = 0.5


class Wanted(Struct, frozen=True):
    """Somebody wants the turn stopped."""


Item: TypeAlias = Fact | RowFact | Sight | Wanted


class Senses:
    """Notices for one turn. ``find``: where the transcript is, once that is known; ``offset``: where the turn
    begins in it, where that is known, and ``sizes`` of the transcripts that may be it, as the turn began;
    ``unread``: where reading it stood before the turn; ``told``: whether the agent's hooks are told, as far as is
    known now; ``lines``: the agent's list of what was submitted to it, from where the turn begins, and ``of_it``:
    whether a line of it is of this agent's session."""

    def __init__(
        self,
        record: Record,
        watcher: Watcher,
        subscription: Subscription | None,
        find: Callable[[], Path | None],
        *,
        offset: int | None = None,
        unread: Place | None = None,
        told: bool = True,
        sizes: Mapping[Path, int] | None = None,
        lines: Tail | None = None,
        of_it: Callable[[Entered], bool] = lambda _: True,
    ) -> None:
        self.items: asyncio.Queue[Item] = asyncio.Queue()
        self.tail: Tail | None = None
        self.agent_session: str | None = None
        self._record = record
        self._watcher = watcher
        self._subscription = subscription
        self._find = find
        self._offset = offset
        self._unread = unread
        self._told = told and subscription is not None
        self._sizes = sizes
        self._lines = lines
        self._of_it = of_it
        self._starts: dict[str, int] = {}
        self._rest: int | None = None
        self._began: int | None = None
        self._found = asyncio.Event()
        self._log = structlog.get_logger(__name__)

    @property
    def hooked(self) -> bool:
        """Whether the agent's hooks are told here."""
        return self._told

    @property
    def began(self) -> Place | None:
        """Where this turn's part of the transcript begins."""
        return None if self.tail is None or self._began is None else at(self.tail.path, self._began)

    @property
    def accounted(self) -> Place | None:
        """Up to where this turn has accounted for the transcript."""
        if self.tail is None:
            return None
        return at(self.tail.path, self.tail.offset if self._rest is None else self._rest)

    def rest_from(self, prompt: RowFact) -> None:
        """From this row on, what is read belongs to another turn."""
        if self._rest is None:
            self._rest = self._starts.get(prompt.uuid)

    def rest_on(self) -> None:
        """What was taken for another turn's is read on as this one's."""
        self._rest = None

    def open(self, typist: PaneTypist, wanted: asyncio.Event) -> AbstractAsyncContextManager[None]:
        """Notice for the block."""
        pumps = [self._transcript(), self._screen(typist), self._stops(wanted)]
        if self._subscription is not None:
            pumps.append(self._hooks(self._subscription))
        return pumping(pumps)

    async def locate(self) -> None:
        """Find the transcript, where that can be told by now. What is in it already is not of this turn, unless
        an offset was remembered."""
        if self.tail is None:
            path = await asyncio.to_thread(self._find)
            if path is not None and self._offset is None:
                end = await asyncio.to_thread(size_of, path) if self._sizes is None else self._sizes.get(path, 0)
                await self._late(path)
                self._follow(path, end)
            elif path is not None:
                self._follow(path, self._offset or 0)

    async def _late(self, path: Path) -> None:
        """Put on record what was written since the turn before: it is nothing of this turn, and no news in it."""
        if self._unread is None or self._unread.path != str(path):
            return
        with suppress(OSError):  # then whoever reads it next says so
            for row in await Tail(path, self._unread.offset).read_all():
                for fact in row.facts:
                    self._record.note(fact)

    def _follow(self, path: Path, offset: int) -> None:
        self.tail, self._began, self._rest = Tail(path, offset), offset, None
        self._found.set()

    async def catch_up(self) -> None:
        """Notice what transcript and list of lines have by now. Raises OSError."""
        for row in await self._lines.read_all() if self._lines is not None else ():
            for fact in row.facts:
                if isinstance(fact, Entered) and self._of_it(fact):
                    self._record.note(fact)
        if self.tail is not None:
            for row in await self.tail.read_all():
                for fact in row.facts:
                    self._record.note(fact)
                    if isinstance(fact, Prompt):
                        self._starts[fact.uuid] = row.start
                    self.items.put_nowait(fact)

    async def _transcript(self) -> None:
        while self.tail is None:
            await self.locate()
            if self.tail is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_TAIL_S):
                        await self._found.wait()
        tail = self.tail
        changed = self._watcher.follow(tail.path)
        try:
            while True:
                if self.tail is not tail:
                    self._watcher.unfollow(tail.path, changed)
                    tail = self.tail
                    changed = self._watcher.follow(tail.path)
                try:
                    await self.catch_up()
                except OSError as error:
                    self._log.warning("the transcript cannot be read", error=error.strerror)
                    await asyncio.sleep(_TAIL_S)
                await self._watcher.wait(tail.path, changed)
        finally:
            self._watcher.unfollow(tail.path, changed)

    def forget(self) -> None:
        """What the hooks told while no turn was there to hear it is not of this turn."""
        for fact in self._subscription.now() if self._subscription is not None else ():
            self._told = True
            self._record.note(fact)
            if isinstance(fact, SessionSeen):
                self._moved(fact)

    async def _hooks(self, subscription: Subscription) -> None:
        async for fact in subscription:
            self._told = True
            self._record.note(fact)
            if isinstance(fact, SessionSeen):
                self._moved(fact)
            self.items.put_nowait(fact)

    def _moved(self, seen: SessionSeen) -> None:
        """The agent itself says where it writes; that counts."""
        self.agent_session = seen.agent_session
        path = told_path(seen.transcript_path)
        if path is not None and (self.tail is None or self.tail.path.name != path.name):
            self._follow(path, 0)

    async def _screen(self, typist: PaneTypist) -> None:
        while True:
            self.items.put_nowait(await typist.look())
            await asyncio.sleep(_HOOKED_S if self.hooked else _BLIND_S)

    async def _stops(self, wanted: asyncio.Event) -> None:
        await wanted.wait()
        self.items.put_nowait(Wanted())
