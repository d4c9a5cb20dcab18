"""Pure: characters that take no room and mean nothing where they stand. Claude Code's composer drops them (and may
take Enter for a consent to that); where they join letters or emoji it keeps them.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Default_Ignorable_Code_Point of Unicode, and the interlinear annotations.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Scripts whose letters such characters join or turn: Hebrew to Arabic, Indic, Tibetan to Khmer, Mongolian.
_JOINING: Final = re.compile("[\u0590-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb1d-\ufdff\ufe70-\ufefc]")
_JOINERS: Final = frozenset("\u200c\u200d\u200e\u200f")
_ZWJ: Final = "\u200d"
_FLAG: Final = "\U0001f3f4"
_KEYCAPS: Final = frozenset("0123456789#*")


def without_invisible(text: str) -> str:
    """``text`` without the characters that join nothing."""
    return _INVISIBLE.sub(_kept, text)


def _kept(match: re.Match[str]) -> str:
    text, place = match.string, match.start()
    character, before, after = match.group(), text[place - 1 : place], text[place + 1 : place + 2]
    if character in _JOINERS and (_joining(before) or _joining(after)):
        return character
    if character == _ZWJ:
        return character if _emoji(before) and _emoji(after) else ""
    if character in "\ufe0e\ufe0f":
        return character if _emoji(before) or (before in _KEYCAPS and after == "\u20e3") else ""
    if "\u180b" <= character <= "\u180f":
        return character if "\u1800" <= before <= "\u18af" else ""
    if "\U000e0020" <= character <= "\U000e007f":
        return character if _in_flag(text, place) else ""
    return ""


def _joining(character: str) -> bool:
    return bool(character) and _JOINING.match(character) is not None and not _INVISIBLE.match(character)


def _emoji(character: str) -> bool:
    """Whether it may be part of an emoji: symbols, skin tones, and the marks that make text one."""
    if not character:
        return False
    return character in "\ufe0f\u203c\u2049\u200d" or unicodedata.category(character) in {"So", "Sk", "Sm"}


def _in_flag(text: str, place: int) -> bool:
    while place and "\U000e0020" <= text[place] <= "\U000e007f":
        place -= 1
    return text[place] == _FLAG
