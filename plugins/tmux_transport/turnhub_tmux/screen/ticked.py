"""Check boxes without numbers: a cursor that walks over them, and a row below that takes what is ticked."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from turnhub_tmux.screen.frame import Frame
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.meaning import means
from turnhub_tmux.screen.rows import BOX, Choice, Lost, Menu, after, past_cursor, short
from turnhub_tmux.screen.text import unboxed

_MORE: Final = re.compile(r"\s*[↑↓▲▼] ")


class _Row(Struct, frozen=True):
    number: int
    column: int
    label: str
    checked: bool | None
    marked: bool


def ticked(frame: Frame, stop: int, manifest: Manifest) -> Menu | Lost | None:
    """The menu; Lost where more boxes are out of sight than those that show: they are ticked, or not, unseen."""
    for number in range(stop - 1, -1, -1):
        row = _row(frame, number, manifest)
        if row is not None and row.marked:
            return _around(frame, row, stop, manifest)
    return None


def _around(frame: Frame, row: _Row, stop: int, manifest: Manifest) -> Menu | Lost | None:
    rows = [row]
    while (above := _row(frame, rows[0].number - 1, manifest)) is not None:
        rows.insert(0, above)
    while rows[-1].number + 1 < stop and (below := _row(frame, rows[-1].number + 1, manifest)) is not None:
        rows.append(below)
    boxes = [one for one in rows if one.checked is not None]
    hint = after(frame, rows[-1].number + 1, stop, row.column, manifest)
    if not boxes or len(boxes) == len(rows) or not hint:
        return None
    if any(_MORE.match(unboxed(frame.texts[one.number])) for one in boxes):
        return Lost()
    choices = tuple(
        Choice(
            number=None,
            label=one.label,
            description="",
            checked=one.checked,
            selected=one is row,
            first=one.number,
            column=boxes[0].column,
        )
        for one in rows
    )
    return Menu(choices=choices, first=rows[0].number, last=rows[-1].number, hint=True, shape="ticked")


def _row(frame: Frame, number: int, manifest: Manifest) -> _Row | None:
    """A box, or the row that takes what is ticked; None for every other row."""
    if number < 0:
        return None
    text = unboxed(frame.texts[number])
    start, marked = past_cursor(text, manifest)
    if not marked and (more := _MORE.match(text)):
        start = more.end()
    box = BOX.match(text, start)
    label = short(text[box.end() if box else start :].strip())
    if box is not None:
        return _Row(number, start, label, bool(box[1].strip()), marked)
    return _Row(number, start, label, None, marked) if means(label, manifest) == "submit" else None
