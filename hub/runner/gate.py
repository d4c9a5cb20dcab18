"""Asks about the same at the same time: one at a time is put to people, and the others resolve again after it.

Nine prompts for three parallel calls of one kind are one: whoever comes second waits, sees the grant that the
first one made, and takes over its one-time answer if it is the very same call. What runs afterwards runs side by
side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hub.asks import Answer, Answered, AskRequest, coalescing_key, identical_key

AS_BEFORE = "as "
"""How the rule begins of an answer that was taken over."""


class _Door:
    """Of one kind of ask: who is inside, how many were, and what the last ones were told."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0
        self.passed = 0
        self.told: dict[str, tuple[int, Answered]] = {}


class Passage:
    """One ask's way through the gate. ``same``: what the very same call was told while this one waited."""

    def __init__(self, door: _Door, request: AskRequest) -> None:
        self._door = door
        self._call = identical_key(request)
        self._came = door.passed
        self.same: Answered | None = None

    def enter(self) -> None:
        """It is this one's turn."""
        number, told = self._door.told.get(self._call, (0, None))
        self.same = told if number > self._came else None

    def leave(self, answer: Answer) -> None:
        """What it was told is there for who waited meanwhile; a withdrawal is nobody else's, and what was taken
        over is no answer to who came after it was given."""
        self._door.passed += 1
        if isinstance(answer, Answered) and not (answer.settlement.by.rule or "").startswith(AS_BEFORE):
            self._door.told[self._call] = (self._door.passed, answer)


class Gate:
    """The gate of one turn: by kind, tool and subject."""

    def __init__(self) -> None:
        self._doors: dict[str, _Door] = {}

    @asynccontextmanager
    async def passing(
        self, request: AskRequest, elsewhere: asyncio.Future[Any] | None = None
    ) -> AsyncIterator[Passage]:
        """Wait until nobody else is asked the like. Who has an answer from ``elsewhere`` meanwhile goes past."""
        key = coalescing_key(request)
        door = self._doors.setdefault(key, _Door())
        passage = Passage(door, request)
        door.users += 1
        try:
            entered = await _entered(door.lock, elsewhere)
            try:
                if entered:
                    passage.enter()
                yield passage
            finally:
                if entered:
                    door.lock.release()
        finally:
            door.users -= 1
            if not door.users:
                del self._doors[key]


async def _entered(lock: asyncio.Lock, elsewhere: asyncio.Future[Any] | None) -> bool:
    """Acquire the lock; False where ``elsewhere`` was faster."""
    acquiring = asyncio.ensure_future(lock.acquire())
    try:
        if elsewhere is None:
            return await acquiring
        await asyncio.wait({acquiring, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
        if elsewhere.cancelled() or not elsewhere.done():  # cancelled: nobody knows what was answered there
            return await acquiring
    except asyncio.CancelledError:
        await _given_up(acquiring, lock)
        raise
    await _given_up(acquiring, lock)
    return False


async def _given_up(acquiring: asyncio.Future[Any], lock: asyncio.Lock) -> None:
    """Want the lock no more; if it was had at that very moment, give it back."""
    had = acquiring.done() and not acquiring.cancelled()
    if not had:
        acquiring.cancel()
        await asyncio.wait({acquiring})
        had = not acquiring.cancelled()
    if had:
        lock.release()
