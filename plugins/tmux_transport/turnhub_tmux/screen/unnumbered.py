"""Menus without numbered rows: a cursor only, buttons side by side, digits inline."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnhub_tmux.screen.composer import said
from turnhub_tmux.screen.frame import Frame
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.rows import BOX, NUMBER, Choice, Lost, Menu, after, key_hint, past_cursor, short
from turnhub_tmux.screen.text import RULES, indent, is_rule, unboxed

_MOST: Final = 60
_INLINE: Final = re.compile(r"(?<!\S)(\d): ?([^\W\d_][\w' ]{0,30}?)(?=\s{2,}|\s*$|\s+[·|│])")


def plain(frame: Frame, stop: int, manifest: Manifest) -> Menu | Lost | None:
    """Rows in one column, one of them with the cursor, and a hint below. Lost where they are check boxes: to take
    one of those is no choice yet."""
    for number in range(stop - 1, -1, -1):
        start, marked = past_cursor(unboxed(frame.texts[number]), manifest)
        if marked and start <= 8:
            return _plain_at(frame, number, start, stop, manifest)
        if said(frame.texts[number], manifest):
            return None
    return None


def _plain_at(frame: Frame, row: int, column: int, stop: int, manifest: Manifest) -> Menu | Lost | None:
    first = row
    while first and _plain_row(frame, first - 1, column):
        first -= 1
    last = row
    while last + 1 < stop and _plain_row(frame, last + 1, column):
        last += 1
    hint = after(frame, last + 1, stop, column, manifest)
    numbered = any(NUMBER.match(unboxed(frame.texts[n]), column) for n in range(first, last + 1))
    if not hint or numbered or last - first > _MOST or last == first:
        return None
    if any(BOX.match(unboxed(frame.texts[n]), column) for n in range(first, last + 1)):
        return Lost()
    choices = tuple(
        Choice(
            number=None,
            label=short(key_hint(unboxed(frame.texts[n])[column:].strip(), manifest)),
            description="",
            checked=None,
            selected=n == row,
            first=n,
            column=column,
        )
        for n in range(first, last + 1)
    )
    return Menu(choices=choices, first=first, last=last, hint=True, shape="plain")


def _plain_row(frame: Frame, number: int, column: int) -> bool:
    text = unboxed(frame.texts[number])
    return bool(text.strip()) and indent(text) == column and not is_rule(text) and text.strip()[0] not in RULES


def buttons(frame: Frame, stop: int, manifest: Manifest) -> Menu | None:
    """Labels side by side in one row; the one drawn unlike the others is the one that Enter takes."""
    for number in range(stop - 1, max(-1, stop - 12), -1):
        lower = frame.texts[number].lower()
        for labels in manifest.look.dialog.buttons:
            places = _side_by_side(lower, labels)
            if places:
                return _row_of_buttons(frame, number, labels, places)
    return None


def _side_by_side(text: str, labels: Sequence[str]) -> list[int]:
    places: list[int] = []
    start = 0
    for label in labels:
        place = text.find(label.lower(), start)
        if place < 0:
            return []
        places.append(place)
        start = place + len(label)
    return places


def _row_of_buttons(frame: Frame, number: int, labels: Sequence[str], places: Sequence[int]) -> Menu:
    row = frame.rows[number]
    looks = [row.styles[place]._replace(fg=None) for place in places]
    odd = [position for position, look in enumerate(looks) if looks.count(look) == 1]
    choices = tuple(
        Choice(
            number=None,
            label=row.text[place : place + len(label)],
            description="",
            checked=None,
            selected=len(labels) > 2 and odd == [position],
            first=number,
            column=place,
        )
        for position, (label, place) in enumerate(zip(labels, places, strict=True))
    )
    return Menu(choices=choices, first=number, last=number, hint=True, shape="buttons")


def inline(frame: Frame, stop: int, _: Manifest) -> Menu | None:
    """``1: Bad   2: Fine   3: Good   0: Dismiss`` as the last rows; a digit takes one."""
    first = stop
    found: list[Choice] = []
    while first:
        hits = list(_INLINE.finditer(unboxed(frame.texts[first - 1])))
        if not hits:
            break
        first -= 1
        found[:0] = [
            Choice(
                number=hit.group(1),
                label=hit.group(2).strip(),
                description="",
                checked=None,
                selected=False,
                first=first,
                column=hit.start(),
            )
            for hit in hits
        ]
    keys = [choice.number for choice in found]
    if len(found) < 3 or len(set(keys)) != len(keys) or "0" not in keys:  # 0 is the way out; a list has none
        return None
    return Menu(choices=tuple(found), first=first, last=stop - 1, hint=False, shape="inline")
