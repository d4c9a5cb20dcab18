"""Handing facts to whoever watches a session: in order, bounded, and never silently short."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final, Self

from turnhub_tmux.bridge.facts import Fact, Missed, PermissionAsked

MOST: Final = 4096


class Backlog:
    """Facts in order, ``most`` at the most. Of too many the oldest go, and a :class:`Missed` says so in their
    place; an ask that is still open stays."""

    def __init__(self, most: int = MOST) -> None:
        self._facts: deque[Fact] = deque()
        self._asks: list[PermissionAsked] = []
        self._missed = 0
        self._most = most

    def put(self, fact: Fact) -> None:
        """Add a fact."""
        self._facts.append(fact)
        while len(self._facts) > self._most:
            gone = self._facts.popleft()
            if isinstance(gone, PermissionAsked):
                self._asks.append(gone)
            else:
                self._missed += 1

    def take(self) -> list[Fact]:
        """All of them, oldest first; none are left."""
        missed: list[Fact] = [Missed(count=self._missed)] if self._missed else []
        facts = [*missed, *self._asks, *self._facts]
        self._missed = 0
        self._asks.clear()
        self._facts.clear()
        return facts

    def __bool__(self) -> bool:
        return bool(self._facts or self._missed or self._asks)


class Subscription:
    """The facts of one session as an asynchronous iterator; it ends when the bridge closes, or :meth:`close`.
    An asynchronous context manager."""

    def __init__(self, left: Callable[[Subscription], None], held: Iterable[Fact], most: int = MOST) -> None:
        self._left = left
        self._backlog = Backlog(most)
        self._ready: deque[Fact] = deque(held)
        self._wake = asyncio.Event()
        self._closed = False

    def put(self, fact: Fact) -> None:
        """For the bridge: one more fact."""
        self._backlog.put(fact)
        self._wake.set()

    def close(self) -> None:
        """No more facts after those that are there."""
        if not self._closed:
            self._closed = True
            self._wake.set()
            self._left(self)

    def now(self) -> list[Fact]:
        """What is there already, without waiting."""
        facts = [*self._ready, *self._backlog.take()]
        self._ready.clear()
        return facts

    def __aiter__(self) -> AsyncIterator[Fact]:
        return self

    async def __anext__(self) -> Fact:
        while not self._ready:
            self._wake.clear()
            self._ready.extend(self._backlog.take())
            if self._ready:
                break
            if self._closed:
                raise StopAsyncIteration
            await self._wake.wait()
        return self._ready.popleft()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
