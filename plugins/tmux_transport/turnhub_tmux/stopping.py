"""Stopping an agent by the keyboard, and seeing that it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Final

from hub import HubError, Sight, TerminalFailed, TurnContext
from turnhub_tmux.typist import PaneTypist, seen_in

_LOOK_S: Final = 0.06
_OBEY_S: Final = 0.6
_BACK_S: Final = 0.4
_PRESSES: Final = 3
_WHOLE_S: Final = 1.8
_CLEAR_S: Final = 1.0


async def stop(turn: TurnContext, typist: PaneTypist, *, early: bool = True, also: Collection[str] = ()) -> bool:
    """Press the key that interrupts until the agent is at rest, and take back the words that it put into its
    composer again (which it does ``early``, before it has shown anything, and with what waited in its queue:
    ``also``); whether it was seen to be at rest. Takes two seconds at most."""
    try:
        async with asyncio.timeout(_WHOLE_S):
            return await _stop(turn, typist, early=early or bool(also), sent=[turn.message.text, *also])
    except (TimeoutError, HubError):
        return False


async def _stop(turn: TurnContext, typist: PaneTypist, *, early: bool, sent: Sequence[str]) -> bool:
    async with turn.exclusive(typist.place) as hold:
        sight = await typist.look()
        if sight.scrolled:
            await typist.unscroll()
            sight = await typist.look()
        draft, pressed = sight.draft, False
        for _ in range(_PRESSES):
            if not _works(sight):
                break
            hold.check()
            pressed = True
            with suppress(TerminalFailed):  # looking tells
                await typist.press(typist.manifest.keys.interrupt, sight=sight)
            sight = await _rest(typist)
        at_rest = not _works(sight)
        if at_rest and pressed and early:
            sight = await _put_back(typist, sight)
        if at_rest and sight.draft and sight.draft != draft and _ours(sight, sent):
            hold.check()
            with suppress(TimeoutError):  # a draft is set aside by the next delivery
                async with asyncio.timeout(_CLEAR_S):
                    await typist.clear(sight)
        return at_rest


def _works(sight: Sight) -> bool:
    seen = seen_in(sight)
    return sight.holder == "agent" and seen is not None and seen.screen.state in ("busy", "waiting")


def _ours(sight: Sight, sent: Sequence[str]) -> bool:
    """Whether what stands in the composer now is what was sent in this turn, put back."""
    shown, ours = "".join(sight.draft.split()), ["".join(text.split()) for text in sent]
    known = any(shown in text or text in shown for text in ours if text)
    return bool(shown) and (known or not sight.draft_whole)


async def _put_back(typist: PaneTypist, sight: Sight) -> Sight:
    """The sight once words stand in the composer again, or after a moment: the agent puts them back late."""
    deadline = asyncio.get_running_loop().time() + _BACK_S
    while not sight.draft and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(_LOOK_S)
        sight = await typist.look()
    return sight


async def _rest(typist: PaneTypist) -> Sight:
    """The sight once the agent rests, or after a while."""
    deadline = asyncio.get_running_loop().time() + _OBEY_S
    while True:
        await asyncio.sleep(_LOOK_S)
        sight = await typist.look()
        if not _works(sight) or asyncio.get_running_loop().time() >= deadline:
            return sight
