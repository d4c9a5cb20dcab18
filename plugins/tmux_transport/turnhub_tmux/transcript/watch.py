"""Being told when transcripts change: by file events where the platform has them, by looking where it has not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self, TypeAlias

from watchfiles import Change, awatch

log = logging.getLogger(__name__)

LOOK_S: Final = 0.5
"""Seconds between looks where there are no file events."""
SURE_S: Final = 5.0
"""Seconds between looks where there are: events are not relied on alone."""
_DEBOUNCE_MS: Final = 50
_STEP_MS: Final = 20
_PROOF_OF_LIFE_MS: Final = 2000

_Name: TypeAlias = tuple[str, ...]


class Watcher:
    """Watches one folder (:func:`~turnhub_tmux.transcript.locate.projects`) for everybody who follows a file
    somewhere in it; the folder need not be there yet. An asynchronous context manager. ``events=False``: by
    looking only."""

    def __init__(self, root: Path, *, events: bool = True) -> None:
        self._root = root
        self._events = events
        self._waiting: dict[_Name, set[asyncio.Event]] = {}
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._alive = asyncio.Event()

    @property
    def live(self) -> bool:
        """Whether file events come."""
        return self._alive.is_set()

    async def listening(self) -> None:
        """Return when file events come."""
        await self._alive.wait()

    def follow(self, path: Path) -> asyncio.Event:
        """An event that is set whenever the file changes. Give it to :meth:`unfollow` in the end."""
        changed = asyncio.Event()
        self._waiting.setdefault(_name(path), set()).add(changed)
        return changed

    def unfollow(self, path: Path, changed: asyncio.Event) -> None:
        """No more."""
        waiting = self._waiting.get(_name(path), set())
        waiting.discard(changed)
        if not waiting:
            self._waiting.pop(_name(path), None)

    async def wait(self, path: Path, changed: asyncio.Event) -> None:
        """Return when ``changed`` (from :meth:`follow`) is set, or when it is time to look anyway."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SURE_S if self.live and path.is_relative_to(self._root) else LOOK_S):
                await changed.wait()
        changed.clear()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._watch()) if self._events else None
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        task, self._task = self._task, None
        if task is not None:
            await asyncio.wait({task})
            task.result()

    async def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                if await asyncio.to_thread(self._root.is_dir):
                    await self._listen()
            except FileNotFoundError:
                pass  # it went just now; it may come again
            except (OSError, RuntimeError) as error:  # no watches left, or a file system that has no events
                log.warning("no file events for %s (%s): it is looked at instead", self._root, error)
                return
            finally:
                self._alive.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._stop.wait()

    async def _listen(self) -> None:
        """Pass events on until the folder goes, or we are stopped."""
        batches = awatch(
            self._root,
            stop_event=self._stop,
            watch_filter=_is_transcript,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            rust_timeout=_PROOF_OF_LIFE_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        async for batch in batches:
            if not self.live:
                self._alive.set()
                self._tell(lambda _: True)  # it may have changed before we listened
            # By the end of the path: a platform may know the folder by another name.
            touched = {_name(Path(path)) for _, path in batch}
            self._tell(touched.__contains__)
            if not batch and not await asyncio.to_thread(self._root.is_dir):
                return

    def _tell(self, concerned: Callable[[_Name], bool]) -> None:
        for name, waiting in self._waiting.items():
            if concerned(name):
                for changed in waiting:
                    changed.set()


def _is_transcript(_: Change, path: str) -> bool:
    return path.endswith(".jsonl")


def _name(path: Path) -> _Name:
    return path.parts[-2:]
