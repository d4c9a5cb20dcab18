"""Finding the rows that can be chosen: numbered ones, ones with a cursor only, buttons in a row, inline digits.

A menu counts only when it is complete (1, 2, 3 … without a gap) and when nothing but hints follows it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from turnhub_tmux.screen.cells import Row, width
from turnhub_tmux.screen.composer import said
from turnhub_tmux.screen.frame import Frame, grey, greyed
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.text import RULES, folded, indent, is_bottom, is_fence, is_rule, is_top, joined, unboxed

LONGEST_LABEL: Final = 200
_MOST: Final = 60
_NARROWEST: Final = 60
_NUMBER: Final = re.compile(r"(\d{1,2})[.)] +(?=\S)")
_RADIO: Final = re.compile(r"(\d{1,2}) +\(([○●◉◯• ])\) +(?=\S)")
_BOX: Final = re.compile(r"\[(.?)\] +(?=\S)|([☐☑☒✔✓]) +(?=\S)")
_BESIDE: Final = re.compile(r"\s{2,}[│┃┌└├╭╰╔╚].*$")
_HINT: Final = re.compile(
    r"\b(esc|escape|enter|return|tab|ctrl|shift|space|arrows?|backspace|press|y/n|select|navigate|cancel|confirm)\b"
    r"|[↑↓←→⏎⇆]|ctrl\+|\^[a-z]\b"
)
_INLINE: Final = re.compile(r"(?<!\S)(\d): ?([^\W\d_][\w' ]{0,30}?)(?=\s{2,}|\s*$|\s+[·|│])")
_LOOSE: Final = frozenset({"submit", "next", "back", "done", "continue", "cancel", "submit answers"})


class Choice(Struct, frozen=True, kw_only=True):
    """A row of a menu, before anybody has said what it means. ``rows`` are those it takes, from ``first``."""

    number: str | None
    label: str
    description: str
    checked: bool | None
    selected: bool
    first: int
    column: int


class Menu(Struct, frozen=True, kw_only=True):
    """The live menu of a pane: its choices, the rows it takes, whether a hint stands below it."""

    choices: tuple[Choice, ...]
    first: int
    last: int
    hint: bool
    shape: str


class Lost(Struct, frozen=True):
    """Options that hold the keyboard but cannot be read: the first is out of sight, or one is missing."""


class _Entry(Struct, frozen=True):
    row: int
    column: int
    dot: int
    number: int
    label: int
    marked: bool
    checked: bool | None
    radio: bool


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


# -- numbered ------------------------------------------------------------------------------------------------


def _numbered(frame: Frame, stop: int, manifest: Manifest) -> Menu | Lost | None:
    return _of_entries(frame, stop, manifest, _NUMBER)


def _radio(frame: Frame, stop: int, manifest: Manifest) -> Menu | Lost | None:
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
    marked = any(entry.marked or entry.radio for entry in run)
    whole = [entry.number for entry in run] == list(range(1, len(run) + 1))
    after = _after(frame, run[-1].row + 1, stop, run[-1].column, manifest)
    loose = _loose(frame, run, manifest)
    marked = marked or any(choice.selected for choice in loose)
    if after is None:
        return None
    if not whole or not _unbroken(frame, run, manifest):
        return Lost() if marked or after else None
    if not marked and not after:
        return None
    if len(run) < 2 and not after:
        return None
    choices = [_choice(frame, run, position, stop, manifest) for position in range(len(run))]
    ordered = sorted((*choices, *loose), key=lambda choice: choice.first)
    return Menu(choices=tuple(ordered), first=run[0].row, last=run[-1].row, hint=after, shape="numbered")


def _entry(text: str, row: int, manifest: Manifest, shape: re.Pattern[str]) -> _Entry | None:
    text = unboxed(text)
    start, marked = _past_cursor(text, manifest)
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


def _past_cursor(text: str, manifest: Manifest) -> tuple[int, bool]:
    """Where the row's words begin, and whether the cursor stands in front of them."""
    start = indent(text)
    for cursor in manifest.cursors:
        if text.startswith(cursor, start) and text[start + len(cursor) :][:1] in (" ", "\xa0"):
            rest = start + len(cursor)
            return rest + len(text[rest:]) - len(text[rest:].lstrip()), True
    return start, False


def _unbroken(frame: Frame, run: list[_Entry], manifest: Manifest) -> bool:
    """Whether nothing but what belongs to the options stands between them."""
    rows = {entry.row for entry in run}
    for number in range(run[0].row + 1, run[-1].row):
        text = unboxed(frame.texts[number])
        if number in rows or not text.strip() or is_rule(text) or is_top(text) or is_bottom(text):
            continue
        if said(frame.texts[number], manifest):
            return False
        start, marked = _past_cursor(text, manifest)
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
        start, marked = _past_cursor(text, manifest)
        label = text[start:].strip()
        if folded(label) in _LOOSE and start >= run[0].column:
            found.append(_loose_choice(number, label, marked, run[0].column))
    return found


def _is_loose(text: str, manifest: Manifest) -> bool:
    return folded(text[_past_cursor(text, manifest)[0] :]) in _LOOSE


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
    return _short(_key_hint(joined(label), manifest)), joined(rest)


def _beside(text: str) -> str:
    """Without the preview that stands to the right of some options."""
    return _BESIDE.sub("", text).strip()


def _goes_on(frame: Frame, entry: _Entry, number: int, manifest: Manifest) -> bool:
    """Whether row ``number`` is the label going on: it has its look, and its first word had no room above."""
    text = unboxed(frame.texts[number])
    if not text.strip() or is_rule(text) or folded(text) in _LOOSE:
        return False
    if _past_cursor(text, manifest)[1] or indent(text) < entry.column:
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


def _key_hint(label: str, manifest: Manifest) -> str:
    """Without the key that some agents name behind a label: ``Yes, proceed (y)``."""
    if not manifest.look.dialog.key_hints:
        return label
    return re.sub(r"\s+\((?:[a-z0-9]|esc|enter|tab|space|shift\+tab|ctrl\+[a-z])\)$", "", label)


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1].rstrip() + "…"


# -- what follows a menu ----------------------------------------------------------------------------------------


def is_hint(text: str, manifest: Manifest) -> bool:
    """Whether a row says which keys do what."""
    return manifest.hints.match(text.strip()) or _HINT.search(folded(text)) is not None


def _after(frame: Frame, first: int, stop: int, column: int, manifest: Manifest) -> bool | None:
    """Whether a hint follows the menu; None where something follows that ends it."""
    hint = False
    fenced = False
    paragraph = False  # inside a paragraph that began with a hint, which may be wrapped
    for number in range(first, stop):
        text = unboxed(frame.texts[number])
        if is_fence(text):
            fenced = not fenced
        if fenced or not text.strip() or _is_line(text):
            paragraph = paragraph and bool(text.strip())
            continue
        if _ends(frame.texts[number], manifest):
            return None
        if paragraph or is_hint(text, manifest):
            hint = paragraph = True
            continue
        start, marked = _past_cursor(text, manifest)
        if marked or (start > column and not hint):
            continue
        return None
    return hint


def _is_line(text: str) -> bool:
    return is_rule(text) or is_top(text) or is_bottom(text) or is_fence(text)


def _ends(text: str, manifest: Manifest) -> bool:
    """Whether a row says that things went on: something said, done, being done, or sent."""
    return said(text, manifest) or manifest.busy_above.match(text.strip()) or _submitted(unboxed(text), manifest)


def _submitted(text: str, manifest: Manifest) -> bool:
    """A prompt at the left edge with words behind it, which is no loose row of a menu."""
    for mark in manifest.prompts:
        if text.startswith(mark) and text[len(mark) :].strip():
            rest = text[len(mark) :]
            return indent(rest) <= 1 and _NUMBER.match(rest.strip()) is None
    return False


# -- without numbers ----------------------------------------------------------------------------------------------


def _plain(frame: Frame, stop: int, manifest: Manifest) -> Menu | Lost | None:
    """Rows in one column, one of them with the cursor, and a hint below."""
    for number in range(stop - 1, -1, -1):
        start, marked = _past_cursor(unboxed(frame.texts[number]), manifest)
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
    after = _after(frame, last + 1, stop, column, manifest)
    numbered = any(_NUMBER.match(unboxed(frame.texts[n]), column) for n in range(first, last + 1))
    if not after or numbered or last - first > _MOST or last == first:
        return None
    choices = tuple(
        Choice(
            number=None,
            label=_short(_key_hint(unboxed(frame.texts[n])[column:].strip(), manifest)),
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


def _buttons(frame: Frame, stop: int, manifest: Manifest) -> Menu | Lost | None:
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


def _inline(frame: Frame, stop: int, _: Manifest) -> Menu | Lost | None:
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
    if len(found) < 3 or len({choice.number for choice in found}) != len(found):
        return None
    return Menu(choices=tuple(found), first=first, last=stop - 1, hint=False, shape="inline")


_BY_SHAPE: Final = {
    "numbered": _numbered,
    "radio": _radio,
    "plain": _plain,
    "buttons": _buttons,
    "inline": _inline,
}
