"""What all shapes of menus share: their records, the cursor, the hints, and what may follow a live menu."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from turnhub_tmux.screen.composer import said
from turnhub_tmux.screen.frame import Frame
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.text import folded, indent, is_bottom, is_fence, is_rule, is_top, unboxed

LONGEST_LABEL: Final = 200
NUMBER: Final = re.compile(r"(\d{1,2})[.)] +(?=\S)")
BOX: Final = re.compile(r"\[([ ✔✓xX*])\] +(?=\S)")
_HINT: Final = re.compile(
    r"\b(esc|escape|enter|return|tab|ctrl|shift|space|arrows?|backspace|press|y/n|select|navigate|cancel|confirm)\b"
    r"|[↑↓←→⏎⇆]|ctrl\+|\^[a-z]\b"
)


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


def past_cursor(text: str, manifest: Manifest) -> tuple[int, bool]:
    """Where the row's words begin, and whether the cursor stands in front of them."""
    start = indent(text)
    for cursor in manifest.cursors:
        if text.startswith(cursor, start) and text[start + len(cursor) :][:1] in (" ", "\xa0"):
            rest = start + len(cursor)
            return rest + len(text[rest:]) - len(text[rest:].lstrip()), True
    return start, False


def key_hint(label: str, manifest: Manifest) -> str:
    """Without the key that some agents name behind a label: ``Yes, proceed (y)``."""
    if not manifest.look.dialog.key_hints:
        return label
    return re.sub(r"\s+\((?:[a-z0-9]|esc|enter|tab|space|shift\+tab|ctrl\+[a-z])\)$", "", label)


def short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1].rstrip() + "…"


def is_hint(text: str, manifest: Manifest) -> bool:
    """Whether a row says which keys do what."""
    return manifest.hints.match(text.strip()) or _HINT.search(folded(text)) is not None


def after(frame: Frame, first: int, stop: int, column: int, manifest: Manifest) -> bool | None:
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
        start, marked = past_cursor(text, manifest)
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
            return indent(rest) <= 1 and NUMBER.match(rest.strip()) is None
    return False
