"""Small pure helpers for text as it stands on a screen."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

_QUOTES: Final = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "＇": "'", "“": '"', "”": '"', "\xa0": " "})
_MARKS: Final = frozenset({"Mn", "Me", "Cf"})
_SKIN_TONES: Final = "\U0001f3fb", "\U0001f3ff"
# What is joined to an emoji: of a long sequence terminals keep as much as fits into a cell.
_JOINED: Final = re.compile("(?:\u200d[\u2190-\u2bff\U0001f000-\U0001faff][\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*)+")
_BORDERS: Final = "│┃║|▌▐▏▎▍"
RULES: Final = "─━═▔▁"
_FENCES: Final = frozenset("╌┄┈╍┅┉")
_MORE: Final = re.compile(r"[↑↓] ?\d+ more")


def squeezed(text: str) -> str:
    """``text`` for comparing: without blanks, and without what takes no place of its own (marks that are not
    composed, joiners and the emoji behind them, skin tones): neither agents nor terminals draw it faithfully."""
    words = "".join(text.split())
    if words.isascii():
        return words
    return "".join(filter(_drawn, _JOINED.sub("", unicodedata.normalize("NFC", words))))


def _drawn(character: str) -> bool:
    if _SKIN_TONES[0] <= character <= _SKIN_TONES[1]:
        return False
    return character.isascii() or unicodedata.category(character) not in _MARKS


def of_words(marker: str) -> bool:
    """Whether a marker stands for pasted words, and not for a picture."""
    return not marker.lower().startswith("[image")


def folded(text: str) -> str:
    """``text`` for matching by words: lower case, straight quotes, single blanks."""
    return " ".join(text.translate(_QUOTES).lower().split())


def indent(text: str) -> int:
    """How many blanks stand in front; the length of a blank row."""
    return len(text) - len(text.lstrip())


def is_rule(text: str) -> bool:
    """Whether a row is a horizontal rule, perhaps with a name or a count set into it."""
    bare = text.strip()
    if len(bare) < 3 or bare[0] not in RULES:
        return False
    drawn = sum(character in RULES for character in bare)
    return drawn == len(bare) or (drawn >= 4 and bare.startswith(bare[0] * 2) and bare.endswith(bare[-1] * 1)
                                  and bare[-1] in RULES)  # fmt: skip


def is_fence(text: str) -> bool:
    """Whether a row is a broken line, as it stands around code inside a dialog."""
    bare = text.strip()
    return len(bare) >= 3 and set(bare) <= _FENCES


def hides_rows(rule: str) -> bool:
    """Whether a rule says that there are rows above it that are not shown."""
    return _MORE.search(rule) is not None


def is_top(text: str) -> bool:
    """Whether a row is the upper border of a box."""
    bare = text.strip()
    return len(bare) >= 2 and bare[0] in "╭┌┏╔" and (bare[1] in RULES)


def is_bottom(text: str) -> bool:
    """Whether a row is the lower border of a box."""
    bare = text.strip()
    return len(bare) >= 2 and bare[0] in "╰└┗╚" and (bare[1] in RULES)


def border(text: str) -> int:
    """How many characters the left border of a box takes on this row, blanks before it included; 0: none."""
    start = indent(text)
    return start + 1 if text[start : start + 1] in _BORDERS and text[start : start + 1] else 0


def unboxed(text: str) -> str:
    """The row without the borders of a box; what is inside keeps its column."""
    cut = border(text)
    if not cut:
        return text
    inner = " " * cut + text[cut:]
    bare = inner.rstrip()
    return bare[:-1].rstrip() if bare[-1:] in _BORDERS and bare[-1:] else bare


def joined(rows: Iterable[str]) -> str:
    """Rows as one line."""
    return " ".join(" ".join(rows).split())
