"""Emptying a composer by what is seen after each key, and knowing whether it was our keys that emptied it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from hub import Cleared, Sight, is_part

if TYPE_CHECKING:
    from turnhub_tmux.typist import PaneTypist

_PROBE: Final = "x"
_KILL: Final = "C-u"
_BACK: Final = "BSpace"
_FORTH: Final = "DC"
_INSERT: Final = "i"
_LOOK_S: Final = 0.06
_WAIT_S: Final = 1.5
_PROBE_S: Final = 1.0
_WHOLE_S: Final = 4.5
_MOST: Final = 4000


class Clearing:
    """One clearing. First a key whose effect can be told from the agent's taking the text; then ``C-u``, which
    takes a line a press in some agents and nothing in others; then as many ``BSpace`` and ``DC`` as it takes: a
    person may have left the cursor anywhere. What does not yield to that may be an editor like vim's in its normal
    mode: ``i`` leaves it, and where it is only a letter, it is taken away again."""

    def __init__(self, typist: PaneTypist, sight: Sight) -> None:
        self._typist = typist
        self._sight = sight
        self._alive = False
        self._clock = asyncio.get_running_loop().time
        self._end = self._clock() + _WHOLE_S

    async def run(self) -> Cleared:
        """Until it is empty, nothing yields any more, or somebody else has the keyboard. Raises TerminalFailed."""
        if not self._reaches():
            return "kept"
        if not self._sight.draft:
            return "gone"
        if (early := await self._probe()) is not None:
            return early
        for keys in ((_KILL,), (_BACK, _FORTH), (_INSERT, _BACK, _FORTH), (_BACK, _FORTH)):
            while self._reaches() and self._sight.draft and self._clock() < self._end:
                if not await self._pressed(*keys) or _INSERT in keys:
                    break
        if not self._reaches() or self._sight.draft:
            return "kept"
        return "cleared" if self._alive else "gone"

    async def _probe(self) -> Cleared | None:
        """Take a character away, or put one behind a block or a lone character, and see it happen: then every key
        from before has been heard, and did not submit."""
        was = self._sight.draft
        if len(was) <= 1 or not self._sight.draft_whole:
            return await self._put_one(was)
        for key in (_FORTH, _BACK) if self._typist.at_edge(self._sight) else (_BACK, _FORTH):
            while not await self._typist.press(key, sight=self._sight):  # keys of before are still at work
                if (early := await self._look_again()) is not None:
                    return early
                if not self._reaches() or not (was := self._sight.draft):
                    return None
            if await self._changed(was, within_s=_PROBE_S):
                now = self._sight.draft
                self._alive = bool(now) and is_part(now, was)
                return None
            if not self._reaches():
                return "kept"
        return "kept"

    async def _put_one(self, was: str) -> Cleared | None:
        if not await self._typist.press(_PROBE, sight=self._sight):
            return await self._look_again()
        if not await self._changed(was):  # not heard yet: what is to be heard later is to come to nothing
            await self._typist.press(_BACK, sight=self._sight)
            return "kept"
        now = self._sight.draft
        self._alive = now == was + _PROBE
        if not self._alive and now == _PROBE:
            await self._typist.press(_BACK, sight=self._sight)
            return "gone"
        return None

    async def _pressed(self, *keys: str) -> bool:
        """Press them as often as the draft may want; whether that changed anything."""
        was = self._sight.draft
        lines = was.count("\n") + 1
        times = 2 * lines + 1 if keys == (_KILL,) else min(len(was) + lines + 8, _MOST)
        times = 1 if _INSERT in keys else times
        if not await self._typist.press(*keys, sight=self._sight, times=times):
            return await self._look_again() is None
        return await self._changed(was)

    async def _look_again(self) -> Cleared | None:
        """Something moved between look and key: the key was not pressed."""
        await asyncio.sleep(_LOOK_S)
        self._sight = await self._typist.look()
        return None if self._clock() < self._end else "kept"

    async def _changed(self, was: str, *, within_s: float = _WAIT_S) -> bool:
        """Wait for the draft to become another; whether it did. A change that goes on is waited for."""
        deadline = min(self._clock() + within_s, self._end)
        while True:
            await asyncio.sleep(_LOOK_S)
            last, self._sight = self._sight.draft, await self._typist.look()
            now = self._sight.draft
            if not self._reaches() or (now != was and now == last):
                return True
            if not now:
                return True
            if self._clock() >= deadline:
                return now != was

    def _reaches(self) -> bool:
        sight = self._sight
        return sight.holder == "agent" and sight.dialog is None and not sight.scrolled
