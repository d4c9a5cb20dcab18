"""Token buckets, as arithmetic: how much somebody may ask for at once, and in the long run.

Of a bucket one number is kept: when it will be full again. A full one is not kept at all.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from msgspec import Struct

MOST: Final = 10_000
_GRAIN: Final = 0.01  # of a request, which the rounding of times may cost


class Rate(Struct, frozen=True):
    """``burst`` requests at once, ``per_s`` each second in the long run; ``per_s`` 0: no bound."""

    per_s: float
    burst: int


def take(full_at: float, now: float, rate: Rate) -> tuple[float, float]:
    """Take one from the bucket that is full at ``full_at`` (seconds): when it is full after that, and 0; or
    ``full_at`` as it was, and the seconds after which there is one to take."""
    if not rate.per_s:
        return full_at, 0.0
    missing = max(0.0, full_at - now) * rate.per_s
    lacking = missing - (rate.burst - 1)
    if lacking > _GRAIN:
        return full_at, lacking / rate.per_s
    return max(full_at, now) + 1 / rate.per_s, 0.0


class Buckets:
    """A bucket for each key. Only those that are not full are held, and ``most`` of them: beyond that the one
    whose key has not asked for the longest time is forgotten."""

    def __init__(self, rate: Rate, most: int = MOST) -> None:
        self._rate = rate
        self._most = most
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        """How many are held."""
        return len(self._full_at)

    def wait(self, key: str, now: float) -> float:
        """The seconds after which ``key`` may take one; 0: at once. Takes nothing."""
        return take(self._full_at.get(key, now), now, self._rate)[1]

    def take(self, key: str, now: float) -> float:
        """Take one for ``key`` and return 0; or take nothing and return the seconds to wait."""
        full_at, wait = take(self._full_at.get(key, now), now, self._rate)
        if full_at > now:
            self._full_at[key] = full_at
            self._full_at.move_to_end(key)
        self._forget(now)
        return wait

    def _forget(self, now: float) -> None:
        """Let go of full ones, the oldest first, and of what is too many."""
        while self._full_at and (len(self._full_at) > self._most or next(iter(self._full_at.values())) <= now):
            self._full_at.popitem(last=False)
