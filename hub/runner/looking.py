"""Looking at a terminal before and while one types: what stops a delivery, and the words for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hub.transport import Verdict
from hub.typist import Hold, Sight, TerminalFailed, Typist

_DISMISSALS = 3


class Stopped(Exception):
    """The delivery ends here, with this verdict."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.verdict)
        self.verdict = verdict


def unverified(detail: str) -> Verdict:
    """Nothing proves it either way."""
    return Verdict(verdict="unverified", detail=detail)


def success(verdict: Verdict | None) -> bool:
    """Whether the agent has the message."""
    return verdict is not None and verdict.verdict in ("submitted", "queued")


class Looking:
    """Somebody who may type into the terminal as long as ``hold`` stands. ``typed``: something was typed."""

    def __init__(self, typist: Typist, hold: Hold, clock: Callable[[], float]) -> None:
        self.typed = False
        self.hold = hold
        self._typist = typist
        self._clock = clock

    async def usable(self) -> Sight:
        """The sight of a composer that can be typed into. An agent that is only starting is waited for. Raises
        Stopped."""
        pace, dismissed = self._typist.pace, 0
        deadline = self._clock() + pace.start_s
        while True:
            sight = await self._unscrolled()
            if sight.dialog is not None and sight.holder == "agent" and dismissed < _DISMISSALS:
                self.hold.check()
                dismissed += 1
                if await self._typist.dismiss(sight):
                    await self._typist.change(pace.look_s)
                    continue
            if _settled(sight) or self._clock() >= deadline:
                break
            await self._typist.change(pace.look_s)
        self.check(sight)
        if not _settled(sight):
            raise Stopped(unverified(f"{_why_not(sight)}, so nothing {'more ' * self.typed}was typed."))
        return sight

    async def look(self) -> Sight:
        """What there is now, in the composer's own terms. Raises Stopped where the keyboard is not the agent's."""
        sight = await self._unscrolled()
        self.check(sight)
        return sight

    async def _unscrolled(self) -> Sight:
        """A sight; where somebody has scrolled, that is left first."""
        sight = await self._typist.look()
        if sight.scrolled and sight.holder == "agent":
            self.hold.check()
            await self._typist.unscroll()
            sight = await self._typist.look()
        return sight

    async def pressed(self, key: Callable[[Sight], Awaitable[bool]], sight: Sight) -> bool:
        """Whether the terminal took the key. One of which nobody knows counts as taken: looking tells. Raises
        PlaceLost."""
        self.hold.check()
        try:
            taken = await key(sight)
        except TerminalFailed:
            taken = True
        self.typed |= taken
        return taken

    def check(self, sight: Sight) -> None:
        """Raises Stopped where typing would reach somebody else than the agent's composer."""
        if sight.holder in ("shell", "nothing"):
            raise Stopped(dead(sight))
        if sight.holder == "agent" and sight.dialog is not None:
            raise Stopped(Verdict(verdict="blocked", proof="pane", detail=sight.dialog))


def dead(sight: Sight) -> Verdict:
    """The agent is gone."""
    what = "a shell is in its place" if sight.holder == "shell" else "nothing runs in its terminal"
    return Verdict(verdict="dead", proof="pane", detail=f"The agent is gone: {what}.")


def _settled(sight: Sight) -> bool:
    """Whether waiting would change nothing."""
    if sight.holder in ("shell", "nothing"):
        return True
    if sight.holder == "unknown" or sight.scrolled:
        return False
    return sight.dialog is not None or (sight.composer != "absent" and not sight.starting)


def _why_not(sight: Sight) -> str:
    if sight.holder == "unknown":
        return "What runs in the terminal could not be found out"
    if sight.scrolled:
        return "Somebody scrolls in the terminal"
    return "The screen shows no place to type into"
