"""Following a transcript: whole lines only, from any offset, through truncation and rotation; bounded memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

from msgspec import Struct

from turnhub_tmux.transcript.facts import RowFact
from turnhub_tmux.transcript.rows import facts
from turnhub_tmux.transcript.watch import Watcher

_CHUNK: Final = 256 * 1024
_LONGEST: Final = 32 * 1024 * 1024


class Row(Struct, frozen=True, kw_only=True):
    """One row that says something. ``start`` and ``end`` are its place in the file, in bytes; ``generation``
    rises when the file was begun anew, so that its rows may come again."""

    start: int
    end: int
    generation: int
    facts: tuple[RowFact, ...]


class Tail:
    """Reads one transcript from ``offset`` on. The file need not be there yet. An offset in the middle of a line
    (the agent was just writing) skips the rest of that line."""

    def __init__(self, path: Path, offset: int = 0, *, longest: int = _LONGEST) -> None:
        self.path = path
        self._offset = offset  # where the next line begins
        self._partial = b""  # what is there of it
        self._skipping = offset > 0  # until the next line begins
        self._generation = 0
        self._inode: int | None = None
        self._longest = longest
        self._lock = asyncio.Lock()
        if offset:
            # The byte before tells whether a line begins here.
            self._offset = offset - 1

    @property
    def offset(self) -> int:
        """Where the next row begins: a later tail from here on misses nothing."""
        return self._offset

    @property
    def generation(self) -> int:
        """How often the file was begun anew."""
        return self._generation

    async def read(self) -> list[Row]:
        """The rows that were completed since, without waiting; in pieces where they are many (then call again).
        An empty list: there are none. Raises OSError where the file is there and cannot be read."""
        async with self._lock:
            while True:
                data, fresh = await asyncio.to_thread(self._more)
                if fresh:
                    self._begin_anew()
                if not data:
                    return []
                rows = self._rows(data)
                if rows:
                    return rows

    async def read_all(self) -> list[Row]:
        """All rows that are there now. For a file that grew by a little."""
        rows: list[Row] = []
        while more := await self.read():
            rows += more
        return rows

    async def follow(self, watcher: Watcher) -> AsyncGenerator[list[Row], None]:
        """Rows as they come, for ever. Raises OSError as :meth:`read` does."""
        changed = watcher.follow(self.path)
        try:
            while True:
                while rows := await self.read():
                    yield rows
                await watcher.wait(self.path, changed)
        finally:
            watcher.unfollow(self.path, changed)

    # Reading

    def _more(self) -> tuple[bytes, bool]:
        """The next bytes, and whether the file is another one, or shorter, than before."""
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                place = self._offset + len(self._partial)
                fresh = self._inode not in (None, found.st_ino) or found.st_size < place
                self._inode = found.st_ino
                file.seek(0 if fresh else place)
                return file.read(_CHUNK), fresh
        except (FileNotFoundError, NotADirectoryError):
            return b"", False

    def _begin_anew(self) -> None:
        self._offset, self._partial, self._skipping = 0, b"", False
        self._generation += 1

    def _rows(self, data: bytes) -> list[Row]:
        """The rows that ``data`` completes."""
        lines = data.split(b"\n")
        rows: list[Row] = []
        for piece in lines[:-1]:
            line, start = self._partial + piece, self._offset
            self._offset += len(line) + 1
            self._partial = b""
            if self._skipping:
                self._skipping = False
                continue
            found = facts(line)
            if found:
                rows.append(Row(start=start, end=self._offset, generation=self._generation, facts=found))
        self._partial += lines[-1]
        if self._skipping or len(self._partial) > self._longest:
            # Nobody reads that line: it goes on, and we go along.
            self._offset += len(self._partial)
            self._partial, self._skipping = b"", True
        return rows


def size_of(path: Path) -> int:
    """How long a transcript is now, in bytes: what is written later stands behind. 0 where there is none yet."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
