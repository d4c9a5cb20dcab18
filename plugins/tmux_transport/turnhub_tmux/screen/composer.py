"""Finding the place where one types, and what stands in it.

It is found by its structure: between two rules, in a box, behind a bar, or (where nothing is drawn around it) as
the last prompt of the pane. Never by a word in a footer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from turnhub_tmux.screen.cells import Row, width
from turnhub_tmux.screen.frame import Frame, ghostly
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.text import border, hides_rows, indent, is_bottom, is_top, joined, unboxed
from turnhub_tmux.screen.types import Composer

_CURSORS: Final = "█▌▋▍▎▏▊▉"
_DEEPEST_PROMPT: Final = 1  # columns in front of a prompt that belongs to no box
_COMMAND: Final = re.compile(r"(?P<command>/\S+)[ \xa0]{2,}(?P<rest>\S.*)")
_FOOTERS: Final = 4  # paragraphs that may stand below a prompt without a frame

ABSENT: Final = Composer(state="absent")


class Place(NamedTuple):
    """Where the composer is: its content from ``first`` up to ``last``, all of it ``top`` up to ``bottom``."""

    top: int
    first: int
    last: int
    bottom: int
    composer: Composer


def framed(frame: Frame, manifest: Manifest) -> Place | None:
    """The composer that has something drawn around it, the last one on the pane."""
    frames = manifest.look.composer.frames
    found = [
        place
        for name, find in (("rules", _between_rules), ("box", _in_box), ("bar", _behind_bar))
        if name in frames and (place := find(frame, manifest)) is not None
    ]
    return max(found, key=lambda place: place.bottom, default=None)


def bare(frame: Frame, manifest: Manifest) -> Place | None:
    """The last prompt of the pane, with nothing said below it and no frame (or half of one) around it."""
    if "bare" not in manifest.look.composer.frames:
        return None
    for number in range(len(frame) - 1, -1, -1):
        text = frame.texts[number]
        if _prompt(text, manifest) is not None:
            return _bare_at(frame, manifest, number)
        if said(text, manifest):
            return None
    return None


def said(text: str, manifest: Manifest) -> bool:
    """Whether a row begins with a mark of what was said or done (with a blank behind it, near the left edge)."""
    start = indent(text)
    rest = text[start:]
    return start <= 2 and any(rest.startswith(mark) and rest[len(mark) :][:1] in ("", " ", "\xa0")
                              for mark in manifest.said)  # fmt: skip


def _prompt(text: str, manifest: Manifest, deepest: int = _DEEPEST_PROMPT) -> str | None:
    """The prompt that a row begins with, or None."""
    start = indent(text)
    if start > deepest:
        return None
    for mark in (*manifest.prompts, *manifest.look.composer.modes):
        if text.startswith(mark, start) and text[start + len(mark) :][:1] in ("", " ", "\xa0"):
            return mark
    return None


def _between_rules(frame: Frame, manifest: Manifest) -> Place | None:
    rules = sorted(number for number in frame.rules if indent(frame.texts[number]) <= 1)
    for top, bottom in _pairs(rules):
        if bottom - top < 2 or any(_of_a_box(text) for text in frame.texts[top + 1 : bottom]):
            continue
        cut = hides_rows(frame.texts[top])
        if _prompt(frame.texts[top + 1], manifest) is None and not (cut and _indented(frame, top + 1, bottom)):
            continue
        composer = _read(
            frame, manifest, range(top + 1, bottom), cut=cut, columns=width(frame.texts[bottom]), boxed=False
        )
        return Place(top, top + 1, bottom, bottom + 1, composer)
    return None


def _of_a_box(text: str) -> bool:
    """Whether a row is the edge of a box that the agent has drawn; one that was typed is indented further."""
    return indent(text) <= 1 and (is_top(text) or is_bottom(text))


def _pairs(rules: Sequence[int]) -> Iterator[tuple[int, int]]:
    for position in range(len(rules) - 1, 0, -1):
        yield rules[position - 1], rules[position]


def _indented(frame: Frame, first: int, last: int) -> bool:
    return all(indent(text) >= 2 or not text for text in frame.texts[first:last])


def _in_box(frame: Frame, manifest: Manifest) -> Place | None:
    bottom = len(frame)
    for number in range(len(frame) - 1, -1, -1):
        if is_bottom(frame.texts[number]):
            bottom = number
        elif is_top(frame.texts[number]):
            place = _box_at(frame, manifest, number, bottom)
            if place is not None:
                return place
            bottom = number
    return None


def _box_at(frame: Frame, manifest: Manifest, top: int, bottom: int) -> Place | None:
    first = top + 1
    if first >= bottom or not all(border(text) for text in frame.texts[first:bottom]):
        return None
    inside = frame.texts[first][border(frame.texts[first]) :]
    if _prompt(inside, manifest, deepest=3) is None:
        return None
    composer = _read(
        frame,
        manifest,
        range(first, bottom),
        cut=hides_rows(frame.texts[top]),
        columns=width(frame.texts[top]) - 2,
    )
    return Place(top, first, bottom, min(bottom + 1, len(frame)), composer)


def _behind_bar(frame: Frame, manifest: Manifest) -> Place | None:
    """A block of rows behind a bar at their left, the last of the pane; it has no prompt of its own."""
    last = len(frame)
    while last and not border(frame.texts[last - 1]):
        last -= 1
    first = last
    while first and border(frame.texts[first - 1]):
        first -= 1
    if first == last or any(is_top(t) or is_bottom(t) for t in frame.texts[max(0, first - 1) : last + 1]):
        return None
    if any(said(text, manifest) for text in frame.texts[last:]):
        return None
    typed = _typed(frame, first, last)
    composer = (
        _read(frame, manifest, typed, cut=False, columns=frame.columns) if typed else Composer(state="empty")
    )
    return Place(first, first, last, last, composer)


def _typed(frame: Frame, first: int, last: int) -> range:
    """Of the rows behind a bar those that were typed: blank ones above, and what is told below, left out."""
    blank = [not unboxed(frame.texts[number]).strip() for number in range(first, last)]
    start = next((first + n for n, empty in enumerate(blank) if not empty), last)
    stop = next((first + n for n in range(len(blank) - 1, -1, -1) if blank[n] and first + n > start), last)
    return range(start, max(start, stop))


def _bare_at(frame: Frame, manifest: Manifest, first: int) -> Place | None:
    last = first + 1
    while last < len(frame) and frame.texts[last] and indent(frame.texts[last]) >= 2:
        if said(frame.texts[last], manifest) or manifest.busy_below.match(frame.texts[last].strip()):
            break
        last += 1
    below = frame.texts[last:]
    if any(said(text, manifest) or _prompt(text, manifest) is not None for text in below):
        return None
    paragraphs = sum(1 for before, text in zip(("", *below), below, strict=False) if text and not before)
    if paragraphs > _FOOTERS or any(indent(text) < 1 for text in below if text and not is_rule_like(text)):
        return None
    top = first - 1 if first - 1 in frame.rules else first
    return Place(
        top, first, last, last, _read(frame, manifest, range(first, last), cut=False, columns=frame.columns)
    )


def is_rule_like(text: str) -> bool:
    """A rule or the border of a box."""
    bare_text = text.strip()
    return bool(bare_text) and not any(character.isalnum() for character in bare_text)


def _read(
    frame: Frame, manifest: Manifest, rows_of: range, *, cut: bool, columns: int, boxed: bool = True
) -> Composer:
    """``boxed``: whether the rows may have borders of their own; what looks so elsewhere was typed."""
    first = rows_of.start
    rows = [_content(frame.rows[number], manifest, number == first, boxed=boxed) for number in rows_of]
    mode = next((m for m in manifest.look.composer.modes if _begins(frame.texts[first], m)), "")
    state, kept = _state(frame, manifest, rows)
    if state == "draft" and frame.plain:
        kept = _without_arguments(kept, manifest)
    text = mode + _joined(kept, columns)
    if mode:
        state = "draft"
    if state == "draft" and frame.plain and manifest.placeholders.match(joined([row.text for row in kept])):
        state = "ghost"
    if state == "ghost":
        text = text.strip()
    truncated = cut or text.startswith(("…", "..."))
    markers = manifest.pastes.found(" ".join(text.split())) if state == "draft" else ()
    return Composer(state=state, text=text if state != "empty" else "", truncated=truncated, markers=markers)  # type: ignore[arg-type]


def _begins(text: str, mark: str) -> bool:
    return text[border(text) :].lstrip().startswith(mark)


def _content(row: Row, manifest: Manifest, first: bool, *, boxed: bool) -> Row:
    """What was typed on this row: without border, prompt and the indent of further rows."""
    text = unboxed(row.text) if boxed else row.text
    bordered = border(row.text) if boxed else 0
    stop = len(text.rstrip())
    start = bordered
    if first:
        start = bordered + indent(text[bordered:])
        mark = _prompt(text[bordered:], manifest, deepest=3)
        if mark is not None:
            start += len(mark)
            start += text[start : start + 1] in (" ", "\xa0")
    else:
        blanks = indent(text[bordered:])
        start = bordered + min(blanks, 3 if bordered else 2)
    # An inverse blank behind the text is the cursor: it belongs to the row, not to what was typed.
    return row.part(min(start, stop), stop)


def _state(frame: Frame, manifest: Manifest, rows: list[Row]) -> tuple[str, list[Row]]:
    """empty, ghost or draft; and the rows that belong to it."""
    marks = manifest.look.composer.ghost
    looks = [
        (ghostly(style, marks), style.inverse)
        for row in rows
        for character, style in zip(row.text, row.styles, strict=True)
        if not character.isspace() and character not in _CURSORS
    ]
    if not looks:
        return "empty", []
    ghosts = [ghost for ghost, inverse in looks if not inverse]
    if all(ghosts) and (ghosts or looks[0][0]):
        return "ghost", rows
    if not frame.plain and manifest.placeholders.match(joined([row.text for row in rows])) and not any(
        style.bold for row in rows for style in row.styles
    ):  # fmt: skip
        # A placeholder in some colour of its own is one still; the same words typed have no colour.
        return ("ghost" if _all_tinted(rows) else "draft"), rows
    return "draft", _without_completion(rows, marks)


def _all_tinted(rows: list[Row]) -> bool:
    styles = [
        s for row in rows for c, s in zip(row.text, row.styles, strict=True) if not c.isspace() and not s.inverse
    ]
    return all(style.fg is not None for style in styles)


def _without_completion(rows: list[Row], marks: tuple[str, ...]) -> list[Row]:
    """The draft without the ghost text that completes it; a grey part with more typed behind it stays."""
    kept = list(rows)
    while kept:
        row = kept[-1]
        stop = len(row.text)
        while stop and (row.text[stop - 1].isspace() or ghostly(row.styles[stop - 1], marks)):  # type: ignore[arg-type]
            stop -= 1
        if stop or not row.text.strip():
            visible = row.text[stop:].strip()
            kept[-1] = row.part(0, stop) if visible else row
            if stop:
                return kept
        kept.pop()
    return kept


def _without_arguments(rows: list[Row], manifest: Manifest) -> list[Row]:
    """A command without what the agent says that it takes, on a screen where looks do not tell the two apart."""
    found = _COMMAND.match(rows[0].text) if len(rows) == 1 else None
    if found is None or not manifest.arguments.match(found["rest"]):
        return rows
    return [rows[0].part(0, found.end("command"))]


def _joined(rows: list[Row], columns: int) -> str:
    """The draft as it was typed: a row that was broken for want of room goes on in the next one."""
    texts = [row.text.rstrip(_CURSORS + " \xa0") if n == len(rows) - 1 else row.text.rstrip() for n, row in
             enumerate(rows)]  # fmt: skip
    out = texts[0] if texts else ""
    for before, text in pairwise(texts):
        word = text.split(" ", 1)[0]
        used = 2 + width(before)
        if before and word and used + 1 + width(word) > columns - 2 > 20:
            out += text if used >= columns - 2 and width(word) + 2 >= columns - 2 else f" {text}"
        else:
            out += f"\n{text}"
    return out.strip("\n")
