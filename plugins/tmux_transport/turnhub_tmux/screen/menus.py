"""Finding the rows that can be chosen: numbered ones, ones with a cursor only, buttons in a row, inline digits.

A menu counts only when it is complete (1, 2, 3 … without a gap) and when nothing but hints follows it.
"""

from __future__ import annotations

from typing import Final

from turnhub_tmux.screen.frame import Frame
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.numbered import numbered, radio
from turnhub_tmux.screen.rows import Lost, Menu
from turnhub_tmux.screen.text import joined, unboxed
from turnhub_tmux.screen.ticked import ticked
from turnhub_tmux.screen.unnumbered import buttons, inline, plain

_BY_SHAPE: Final = {
    "numbered": numbered,
    "radio": radio,
    "ticked": ticked,
    "plain": plain,
    "buttons": buttons,
    "inline": inline,
}


def find(frame: Frame, stop: int, manifest: Manifest, *, box_below: bool) -> Menu | Lost | None:
    """The menu that is the last thing above row ``stop``. ``box_below``: a composer stands there, in front of
    which a menu has to show both its cursor and its hint."""
    lost = False
    while stop and not frame.texts[stop - 1].strip():
        stop -= 1
    for shape in manifest.look.dialog.shapes:
        menu = _BY_SHAPE[shape](frame, stop, manifest)
        if menu is None or isinstance(menu, Lost):
            lost = lost or menu is not None
            continue
        if manifest.needed_hints.sources and not _has_needed(frame, menu, stop, manifest):
            continue
        if box_below and shape != "inline" and not (menu.hint and any(c.selected for c in menu.choices)):
            continue
        return menu
    return Lost() if lost and not box_below and not manifest.needed_hints.sources else None


def _has_needed(frame: Frame, menu: Menu, stop: int, manifest: Manifest) -> bool:
    below = [unboxed(text).strip() for text in frame.texts[menu.first : stop]]
    return manifest.needed_hints.first(below) is not None or manifest.needed_hints.match(joined(below[-3:]))
