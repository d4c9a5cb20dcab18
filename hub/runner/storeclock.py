"""The store's clock beside our own: whether somebody has set it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple


class _Look(NamedTuple):
    before_s: float
    store_ms: int
    after_s: float


class StoreClock:
    """``read_ms``: the store's clock; ``steady_s``: one of our own that nobody sets, and that stands still while
    this machine sleeps."""

    def __init__(self, read_ms: Callable[[], Awaitable[int]], steady_s: Callable[[], float]) -> None:
        self._read_ms = read_ms
        self._steady_s = steady_s
        self._last: _Look | None = None

    async def jump_s(self) -> float:
        """By how many seconds at least the store's clock was set since it was asked last: forward, or (below 0)
        back; 0 where it only went on. A slow answer makes no jump. Raises StoreUnavailable."""
        before = self._steady_s()
        look = _Look(before, await self._read_ms(), self._steady_s())
        last, self._last = self._last, look
        if last is None:
            return 0.0
        went_s = (look.store_ms - last.store_ms) / 1000
        longest, shortest = look.after_s - last.before_s, look.before_s - last.after_s
        return went_s - longest if went_s > longest else min(0.0, went_s - shortest)
