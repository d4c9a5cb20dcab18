"""Stopping an agent by the keyboard, and seeing that it stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Final

from hub import HubError, Sight, TerminalFailed, TurnContext
from turnhub_tmux.typist import PaneTypist, seen_in

_LOOK_S: Final = 0.06
_OBEY_S: Final = 1.0
_BACK_S: Final = 0.8
_GIVE_S: Final = 5.0
_SHOWN_S: Final = 2.0
_PRESSES: Final = 4
_WHOLE_S: Final = 3.8  # less than the hub's own patience with a turn that is to stop
_CLEAR_S: Final = 1.5


async def stop(turn: TurnContext, typist: PaneTypist, *, early: bool = True, also: Collection[str] = ()) -> bool:
    """Press the key that interrupts until the agent is at rest, and take back the words that it put into its
    composer again (which it does ``early``, before it has shown anything); whether it was seen to be at rest.
    What waited in its queue (``also``) it goes on to, or puts back as well. Takes four seconds at most."""
    theirs: list[str] = []
    at_rest = False
    with suppress(TimeoutError, HubError):
        async with asyncio.timeout(_WHOLE_S):
            sent = [turn.message.text, *also]
            at_rest = await _stop(turn, typist, early=early or bool(also), sent=sent, theirs=theirs)
    for draft in theirs:
        await give_back(turn, typist, draft)
    return at_rest


async def _stop(
    turn: TurnContext, typist: PaneTypist, *, early: bool, sent: Sequence[str], theirs: list[str]
) -> bool:
    async with turn.exclusive(typist.place) as hold:
        sight = await typist.look()
        if sight.scrolled:
            await typist.unscroll()
            sight = await typist.look()
        draft = sight.draft
        for _ in range(_PRESSES):
            if not _works(sight):
                break
            hold.check()
            with suppress(TerminalFailed):  # looking tells
                await typist.press(typist.manifest.keys.interrupt, sight=sight)
            sight = await _rest(typist)
            if early and not _works(sight):
                sight = await _put_back(typist, sight)
        at_rest = not _works(sight)
        if at_rest and sight.draft != draft:
            hold.check()
            await _take_away(typist, sight, sent, theirs)
        return at_rest


async def take_back(turn: TurnContext, typist: PaneTypist, sent: Sequence[str]) -> None:
    """Take away the words that the agent has put into its composer again instead of taking them."""
    theirs: list[str] = []
    with suppress(TimeoutError, HubError):  # a draft is set aside by the next delivery
        async with asyncio.timeout(_WHOLE_S), turn.exclusive(typist.place) as hold:
            sight = await _put_back(typist, await typist.look())
            hold.check()
            await _take_away(typist, sight, sent, theirs)
    for draft in theirs:
        await give_back(turn, typist, draft)


async def give_back(turn: TurnContext, typist: PaneTypist, draft: str) -> None:
    """Put a person's draft into the composer again, once that is free; for some seconds. Where something else is
    being written there by then, that stays."""
    with suppress(TimeoutError, HubError):  # its words were told of
        async with asyncio.timeout(_GIVE_S), turn.exclusive(typist.place) as hold:
            while (sight := await typist.look()).composer != "draft":
                hold.check()
                if sight.holder in ("shell", "nothing"):
                    return
                if _is_free(sight) and await typist.paste(sight, draft):
                    await _shown(typist)
                await asyncio.sleep(_LOOK_S)


async def _shown(typist: PaneTypist) -> None:
    """Return when the composer has a draft; for a moment: a paste may be swallowed."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_SHOWN_S):
            while (await typist.look()).composer != "draft":  # noqa: ASYNC110 - a screen tells nobody
                await asyncio.sleep(_LOOK_S)


def _is_free(sight: Sight) -> bool:
    usable = sight.holder == "agent" and sight.dialog is None and not sight.scrolled
    return usable and sight.composer in ("empty", "ghost")


async def _take_away(typist: PaneTypist, sight: Sight, sent: Sequence[str], left: list[str]) -> None:
    """Of what stands in the composer, what was ``sent``; a person's words beside it are ``left`` to be given back,
    also where this is cut off."""
    seen = seen_in(sight)
    if seen is None or not sight.draft:
        return
    composer = seen.screen.composer
    theirs = rest_of(sight.draft, sent, whole=not composer.truncated, blocks=composer.markers)
    if theirs is None:
        return
    left += [theirs] if theirs else []
    with suppress(TimeoutError):  # a draft is set aside by the next delivery
        async with asyncio.timeout(_CLEAR_S):
            if await typist.clear(sight) != "cleared":
                left.clear()


async def take_back_late(turn: TurnContext, typist: PaneTypist, sent: Sequence[str]) -> None:
    """Take words away that the agent put into its composer late, after it had been seen to stop, where nothing
    else stands there."""
    with suppress(TimeoutError, HubError):  # what stays is set aside, as a person's draft is
        async with asyncio.timeout(_CLEAR_S), turn.exclusive(typist.place) as hold:
            sight = await typist.look()
            ours = sight.draft_whole and is_of(sight.draft, sent)
            if ours and sight.dialog is None and not _works(sight):
                hold.check()
                await typist.clear(sight)


def _works(sight: Sight) -> bool:
    seen = seen_in(sight)
    return sight.holder == "agent" and seen is not None and seen.screen.state in ("busy", "waiting")


def rest_of(draft: str, sent: Sequence[str], *, whole: bool = True, blocks: Sequence[str] = ()) -> str | None:
    """What a person has typed beside words that were ``sent`` and put back, "" where there is nothing; None where
    it is not for us to touch. ``whole``: the draft shows all that stands there, but for the words of its
    ``blocks``."""
    squeezed, rest, ours, hidden = _squeezed(draft), draft, False, 0
    if any(squeezed in _squeezed(text) for text in sent):
        return ""
    if not whole:
        return None
    for text in sent:
        if text.strip() and _squeezed(text) in squeezed:
            squeezed, ours = squeezed.replace(_squeezed(text), "", 1), True
            rest = rest.replace(text, "", 1)
        else:
            hidden += 1
    if len(blocks) > hidden:
        return None  # one of them is a person's
    for block in blocks:
        squeezed, ours = squeezed.replace(_squeezed(block), "", 1), True
        rest = rest.replace(block, "", 1)
    if not ours:
        return None
    if not squeezed:
        return ""
    return rest.strip() if _squeezed(rest) == squeezed else None


def is_of(draft: str, sent: Sequence[str]) -> bool:
    """Whether a draft is one of the texts that were ``sent``, or several of them one behind the other, and nothing
    else."""
    left = _squeezed(draft)
    found = False
    for text in sorted((_squeezed(one) for one in sent), key=len, reverse=True):
        if text and text in left:
            left, found = left.replace(text, "", 1), True
    return found and not left


def _squeezed(text: str) -> str:
    return "".join(text.split())


async def _put_back(typist: PaneTypist, sight: Sight) -> Sight:
    """The sight once words stand in the composer again, once the agent has gone on to others, or after a moment:
    it does either late."""
    deadline = asyncio.get_running_loop().time() + _BACK_S
    while not sight.draft and not _works(sight) and asyncio.get_running_loop().time() < deadline:
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
