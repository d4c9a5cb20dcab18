"""Other people's unsent text: set aside while a message is delivered, and given back. Never lost unseen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from hub.runner.looking import Looking, Stopped, unverified
from hub.transport import Verdict
from hub.typist import PlaceLost, Sight, Typist, is_part

_CLEARINGS = 3


class Draft:
    """The draft in one terminal's composer. ``text``: what was set aside and has not been given back."""

    def __init__(self, typist: Typist, looking: Looking, clock: Callable[[], float]) -> None:
        self.text = ""
        self._gone = False
        self._typist = typist
        self._looking = looking
        self._clock = clock

    async def set_aside(self, sight: Sight, *, ours: bool) -> Sight:
        """Empty the composer; the sight of it then. ``ours``: it is nobody's draft, and need not be kept.
        Raises Stopped."""
        if not (ours or sight.draft_whole):
            told = "Somebody's unsent text is in the composer, and not all of it can be seen"
            raise Stopped(unverified(f"{told}: it was left alone, and nothing was typed."))
        was = sight.draft
        self.text = "" if ours else was
        for _ in range(_CLEARINGS):
            self._looking.hold.check()
            self._gone = await self._typist.clear(sight) == "gone"
            sight = await self._looking.usable()
            if sight.composer != "draft":
                return sight
            if not is_part(sight.draft, was):
                raise Stopped(unverified("Somebody types in the composer just now, so nothing was typed."))
        self.text = ""  # it stands there, all of it or in part
        told = f"Unsent text in the composer could not be cleared ({was!r})"
        raise Stopped(unverified(f"{told}, so nothing was typed."))

    async def give_back(self, verdict: Verdict) -> Verdict:
        """Put it back where it was, if the composer is free; ``verdict``, with what became of it."""
        if not self.text:
            return verdict
        text, self.text = self.text, ""
        told, left = f"A draft could not be put back: {text!r}", text
        with suppress(PlaceLost, Stopped):
            if self._gone:
                told, left = f"A draft went just when it was set aside: {text!r}", ""
            elif await self._put(text):
                told, left = "A draft was set aside and put back", ""
        return replace(verdict, detail=joined(verdict.detail, told), draft=left or None)

    async def _put(self, text: str) -> bool:
        sight = await self._looking.look()
        if sight.holder != "agent" or sight.composer not in ("empty", "ghost") or sight.scrolled:
            return False
        if not await self._looking.pressed(lambda seen: self._typist.paste(seen, text), sight):
            return False
        deadline = self._clock() + self._typist.pace.paste_s
        while not self._typist.staged(sight, await self._typist.look(), text):
            if self._clock() >= deadline:
                return False
            await self._typist.change(self._typist.pace.look_s)
        return True


def joined(detail: str | None, more: str) -> str:
    """Two sentences, where there are two."""
    return f"{detail.rstrip('.')}. {more}" if detail else more
