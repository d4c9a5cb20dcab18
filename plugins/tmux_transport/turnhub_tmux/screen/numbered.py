"""Menus whose rows begin with a number, and what belongs to them: check boxes, wrapped labels, descriptions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from turnhub_tmux.screen.cells import Row, width
from turnhub_tmux.screen.composer import said
from turnhub_tmux.screen.frame import Frame, grey, greyed
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.rows import NUMBER, Choice, Lost, Menu, after, is_hint, key_hint, past_cursor, short
from turnhub_tmux.screen.text import folded, indent, is_bottom, is_rule, is_top, joined, unboxed

_MOST: Final = 60
_NARROWEST: Final = 60
_RADIO: Final = re.compile(r"(\d{1,2}) +\(([○●◉◯• ])\) +(?=\S)")
_BOX: Final = re.compile(r"\[(.?)\] +(?=\S)|([☐☑☒✔✓]) +(?=\S)")
_BESIDE: Final = re.compile(r"\s{2,}[│┃┌└├╭╰╔╚].*$")
_LOOSE: Final = frozenset({"submit", "next", "back", "done", "continue", "cancel", "submit answers"})


class _Entry(Struct, frozen=True):
    row: int
    column: int
    dot: int
    number: int
    label: int
    marked: bool
    checked: bool | None
    radio: bool


def numbered(frame: Frame, stop: int, manifest: Manifest) -> Menu | Lost | None:
    return _of_entries(frame, stop, manifest, NUMBER)


def radio(frame: Frame, stop: int, manifest: Manifest) -> Menu | Lost | None:
    return _of_entries(frame, stop, manifest, _RADIO)


def _of_entries(frame: Frame, stop: int, manifest: Manifest, shape: re.Pattern[str]) -> Menu | Lost | None:
    """The menu; Lost where there is one that cannot be read."""
    entries = [e for n in range(stop) if (e := _entry(frame.texts[n], n, manifest, shape)) is not None]
    for group in _groups(entries):
        sound = _sound(frame, group, stop, manifest)
        if sound is not None:
            return sound
    return None


def _groups(entries: Sequence[_Entry]) -> list[list[_Entry]]:
    """The newest run of entries in each column, the marked ones first, then from the bottom up."""
    groups: list[list[_Entry]] = []
    for column in sorted({entry.dot for entry in entries}):
        aligned = [entry for entry in entries if entry.dot == column or entry.column == column - 1]
        run: list[_Entry] = []
        for entry in reversed(aligned):
            run.insert(0, entry)
            if entry.number == 1 or len(run) >= _MOST:
                break
        groups.append(run)
    return sorted(groups, key=lambda run: (any(e.marked for e in run), run[-1].row), reverse=True)


def _sound(frame: Frame, run: list[_Entry], stop: int, manifest: Manifest) -> Menu | Lost | None:
    """The menu; None where this is none; Lost where it is one that cannot be read, so that no other counts."""
    hint = after(frame, run[-1].row + 1, stop, run[-1].column, manifest)
    if hint is None:
        return None
    loose = _loose(frame, run, manifest)
    marked = any(entry.marked or entry.radio for entry in run) or any(choice.selected for choice in loose)
    whole = [entry.number for entry in run] == list(range(1, len(run) + 1))
    if not whole or not _unbroken(frame, run, manifest):
        return Lost() if marked or hint else None
    if not hint and (len(run) < 2 or not marked):
        return None
    choices = [_choice(frame, run, position, stop, manifest) for position in range(len(run))]
    ordered = sorted((*choices, *loose), key=lambda choice: choice.first)
    return Menu(choices=tuple(ordered), first=run[0].row, last=run[-1].row, hint=hint, shape="numbered")


def _entry(text: str, row: int, manifest: Manifest, shape: re.Pattern[str]) -> _Entry | None:
    text = unboxed(text)
    start, marked = past_cursor(text, manifest)
    hit = shape.match(text, start)
    if hit is None:
        return None
    label = hit.end()
    radio = shape is _RADIO
    checked = None
    box = _BOX.match(text, label)
    if box is not None:
        checked = bool((box.group(1) or "").strip()) or (box.group(2) or "") in tuple("☑☒✔✓")
        label = box.end()
    if radio:
        marked = marked or hit.group(2) in "●◉"
    return _Entry(row, start, hit.end(1), int(hit.group(1)), label, marked, checked, radio)


def _unbroken(frame: Frame, run: list[_Entry], manifest: Manifest) -> bool:
    """Whether nothing but what belongs to the options stands between them."""
    rows = {entry.row for entry in run}
    for number in range(run[0].row + 1, run[-1].row):
        text = unboxed(frame.texts[number])
        if number in rows or not text.strip() or is_rule(text) or is_top(text) or is_bottom(text):
            continue
        if said(frame.texts[number], manifest):
            return False
        start, marked = past_cursor(text, manifest)
        if not marked and start <= run[0].column:
            return False
    return True


def _loose(frame: Frame, run: list[_Entry], manifest: Manifest) -> list[Choice]:
    """Rows without a number that can be chosen too: Submit, Next; only where the options have check boxes."""
    if not any(entry.checked is not None for entry in run):
        return []
    found = []
    for number in range(run[0].row + 1, min(run[-1].row + 4, len(frame))):
        text = unboxed(frame.texts[number])
        start, marked = past_cursor(text, manifest)
        label = text[start:].strip()
        if folded(label) in _LOOSE and start >= run[0].column:
            found.append(_loose_choice(number, label, marked, run[0].column))
    return found


def _is_loose(text: str, manifest: Manifest) -> bool:
    return folded(text[past_cursor(text, manifest)[0] :]) in _LOOSE


def _loose_choice(row: int, label: str, marked: bool, column: int) -> Choice:
    return Choice(
        number=None, label=label, description="", checked=None, selected=marked, first=row, column=column
    )


def _choice(frame: Frame, run: list[_Entry], position: int, stop: int, manifest: Manifest) -> Choice:
    entry = run[position]
    end = run[position + 1].row if position + 1 < len(run) else _end_of_last(frame, entry, stop, manifest)
    label, description = _words(frame, entry, end, manifest)
    return Choice(
        number=str(entry.number),
        label=label,
        description=description,
        checked=entry.checked,
        selected=entry.marked,
        first=entry.row,
        column=entry.column,
    )


def _end_of_last(frame: Frame, entry: _Entry, stop: int, manifest: Manifest) -> int:
    end = entry.row + 1
    while end < stop:
        text = unboxed(frame.texts[end])
        if not text.strip() or is_rule(text) or indent(text) <= entry.column or is_hint(text, manifest):
            break
        end += 1
    return end


def _words(frame: Frame, entry: _Entry, end: int, manifest: Manifest) -> tuple[str, str]:
    """The label, with the rows that it was wrapped over, and the description below it."""
    label = [_beside(unboxed(frame.texts[entry.row])[entry.label :])]
    number = entry.row + 1
    while number < end and _goes_on(frame, entry, number, manifest):
        label.append(_beside(unboxed(frame.texts[number]).strip()))
        number += 1
    below = [unboxed(frame.texts[n]) for n in range(number, end)]
    rest = [_beside(t.strip()) for t in below if t.strip() and not is_rule(t) and not _is_loose(t, manifest)]
    return short(key_hint(joined(label), manifest)), joined(rest)


def _beside(text: str) -> str:
    """Without the preview that stands to the right of some options."""
    return _BESIDE.sub("", text).strip()


def _goes_on(frame: Frame, entry: _Entry, number: int, manifest: Manifest) -> bool:
    """Whether row ``number`` is the label going on: it has its look, and its first word had no room above."""
    text = unboxed(frame.texts[number])
    if not text.strip() or is_rule(text) or folded(text) in _LOOSE:
        return False
    if past_cursor(text, manifest)[1] or indent(text) < entry.column:
        return False
    before = unboxed(frame.texts[number - 1]).rstrip()
    room = _room(frame) - (2 if indent(frame.texts[number]) != indent(text) else 0)
    full = width(before) + 1 + width(text.split()[0]) > room - 2
    if frame.plain:
        return full
    head = frame.rows[entry.row].part(entry.label)
    return full and (_grey_tail(head) or not greyed(frame.rows[number].stripped()) or greyed(head))


def _room(frame: Frame) -> int:
    """How many columns a row has: as many as a rule; without one as many as the longest row, but no fewer than
    any pane has, lest the longest row of a narrow cut passes for a full one."""
    return frame.columns if frame.rules else max(frame.columns, _NARROWEST)


def _grey_tail(row: Row) -> bool:
    """Whether a label ends in a grey remark, which may go on in the next row."""
    stop = len(row.text.rstrip())
    return stop > 0 and (row.styles[stop - 1].dim or grey(row.styles[stop - 1].fg))
