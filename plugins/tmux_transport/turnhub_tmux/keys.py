"""Answering a dialog by keys: one key at a time, each only if the dialog is still the one that is meant, and each
seen to work. The dialog's going is the proof."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, TypeAlias

from hub import Hold, Sight, TerminalFailed
from turnhub_tmux.screen import answers
from turnhub_tmux.screen.types import Dialog, Key, Paste, Stroke
from turnhub_tmux.typist import PaneTypist, seen_in

_LOOK_S: Final = 0.08
_SHOWS_S: Final = 2.0
"""Seconds in which a dialog of which something else told may come to the screen."""
_MOVE_S: Final = 1.0
_TAKE_S: Final = 3.0
_TRIES: Final = 4
_MOVES: Final = frozenset({"Up", "Down", "Tab", "BTab"})

Reply: TypeAlias = Callable[[Dialog], answers.Answer]
Lock: TypeAlias = Callable[[str], AbstractAsyncContextManager[Hold]]


class NotTaken(answers.CannotAnswerError):
    """The keys had no effect that could be seen."""


class Keys:
    """Answers one dialog, page by page. ``about``: whether what the screen shows is that dialog still."""

    def __init__(self, typist: PaneTypist, about: Callable[[Dialog], bool], reply: Reply) -> None:
        self._typist = typist
        self._about = about
        self._reply = reply
        self._pressed = False
        self._last: Stroke | None = None

    async def give(self, lock: Lock) -> bool:
        """Press until the dialog is gone; whether it was our keys that did it. Raises CannotAnswerError,
        PlaceTaken, PlaceLost, TerminalFailed."""
        tries = 0
        async with lock(self._typist.place) as hold:
            sight = await self._usable()
            while (dialog := self._dialog(sight)) is not None:
                stroke = self._next(dialog)
                hold.check()
                await self._stroke(stroke, sight)
                after = await self._change(sight, _MOVE_S if _is_move(stroke) else _TAKE_S)
                if _answers(stroke, dialog) and self._is_another(after, dialog):
                    break
                tries = 0 if _look_of(after) != _look_of(sight) else tries + 1
                if tries >= (_TRIES if _is_move(stroke) else 2):
                    raise NotTaken("The dialog does not react to keys. Answer it in the terminal.")
                sight = after
        return self._pressed

    async def take_back(self, lock: Lock) -> None:
        """What was pressed last is out of the composer, where it went since somebody else was faster to answer the
        dialog. Raises PlaceTaken, PlaceLost, TerminalFailed."""
        async with lock(self._typist.place) as hold:
            sight = await self._typist.look()
            if sight.holder != "agent" or sight.dialog is not None or not sight.draft_whole:
                return
            hold.check()
            match self._last:
                case Key(name=name) if len(name) == 1 and sight.draft.endswith(name):
                    await self._typist.press("BSpace", sight=sight)
                case Paste(text=text) if text.strip() and sight.draft.strip() == text.strip():
                    await self._typist.clear(sight)
                case _:
                    return

    def _is_another(self, sight: Sight, before: Dialog) -> bool:
        """Whether the dialog has made room for one like it, about the same: that one is not ours to answer."""
        now = self._dialog(sight)
        return now is not None and now.fingerprint != before.fingerprint

    async def _usable(self) -> Sight:
        """The sight of the dialog, as soon as it shows."""
        deadline = asyncio.get_running_loop().time() + _SHOWS_S
        while True:
            sight = await self._typist.look()
            if sight.scrolled:
                await self._typist.unscroll()
                sight = await self._typist.look()
            late = asyncio.get_running_loop().time() >= deadline
            if late or self._dialog(sight) is not None or sight.holder in ("shell", "nothing"):
                return sight
            await asyncio.sleep(_LOOK_S)

    def _dialog(self, sight: Sight) -> Dialog | None:
        """The dialog that is meant, while it is there and an agent shows it."""
        seen = seen_in(sight)
        dialog = seen.screen.dialog if seen is not None and sight.holder == "agent" else None
        return dialog if dialog is not None and self._about(dialog) else None

    def _next(self, dialog: Dialog) -> Stroke:
        return answers.strokes(dialog, self._reply(dialog), self._typist.manifest)[0]

    async def _stroke(self, stroke: Stroke, sight: Sight) -> None:
        try:
            if isinstance(stroke, Paste):
                done = await self._typist.paste(sight, stroke.text)
            else:
                done = await self._typist.press(stroke.name, sight=sight)
        except TerminalFailed:
            done = True  # it may have been: looking tells
        if done and not _is_move(stroke):
            self._pressed, self._last = True, stroke

    async def _change(self, before: Sight, within_s: float) -> Sight:
        """The sight once something has changed, and has come to rest."""
        deadline = asyncio.get_running_loop().time() + within_s
        last = before
        while True:
            await asyncio.sleep(_LOOK_S)
            sight = await self._typist.look()
            changed = _look_of(sight) != _look_of(before)
            if changed and _look_of(sight) == _look_of(last):
                return sight
            if asyncio.get_running_loop().time() >= deadline:
                return sight
            last = sight


def _is_move(stroke: Stroke) -> bool:
    return isinstance(stroke, Key) and stroke.name in _MOVES


def _answers(stroke: Stroke, dialog: Dialog) -> bool:
    """Whether this stroke is the last one for a dialog of one page."""
    return isinstance(stroke, Key) and not _is_move(stroke) and dialog.kind in ("permission", "plan")


def _look_of(sight: Sight) -> object:
    seen = seen_in(sight)
    dialog = seen.screen.dialog if seen else None
    return None if dialog is None else (dialog.fingerprint, dialog.options)
