"""Pure: how long a turn has been silent, and what that calls for."""

from __future__ import annotations

from typing import Final, Literal

SHOWN_AFTER: Final = 1 / 3
_SOON_S = 0.01


class Silence:
    """Seconds of any one clock. A third of ``stall_s`` in silence is shown, the whole of it ends the turn."""

    def __init__(self, stall_s: float, now: float) -> None:
        self.stall_s = stall_s
        self.shown = False
        self._since = now

    def broken(self, now: float) -> None:
        """Something was heard, or is waited for with good reason."""
        self._since, self.shown = now, False

    def wait(self, now: float) -> float:
        """Seconds until :meth:`look` is worth a call."""
        limit = self.stall_s * (1.0 if self.shown else SHOWN_AFTER)
        return max(_SOON_S, self._since + limit - now)

    def look(self, now: float) -> Literal["fine", "show", "over"]:
        """What the silence calls for now; "show" once in each."""
        silent = now - self._since
        if silent >= self.stall_s:
            return "over"
        if silent < self.stall_s * SHOWN_AFTER or self.shown:
            return "fine"
        self.shown = True
        return "show"
