"""Pure: text from elsewhere, made harmless for a terminal.

What agents, tools and their files say may hold sequences that move the cursor, rename the window, fill the
clipboard or turn text around. None of that reaches the terminal: sequences go as a whole, wherever a stream
cuts them, and so do single controls and the characters that reorder text.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

_SPECIAL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_IN_JSON: Final = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STRINGS: Final = frozenset("]PX^_\x90\x98\x9d\x9e\x9f")
_LONGEST_SEQUENCE: Final = 4096


class _State(Enum):
    TEXT = auto()
    ESCAPE = auto()
    CONTROL = auto()
    STRING = auto()
    STRING_ESCAPE = auto()


class Cleaner:
    """Cleans a stream of text. The result is the same wherever the stream is cut."""

    def __init__(self) -> None:
        self._state = _State.TEXT
        self._length = 0

    def feed(self, text: str) -> str:
        """``text`` without control sequences, control characters and reordering marks; tabs and line feeds
        stay."""
        if self._state is _State.TEXT and not _SPECIAL.search(text):
            return text
        return "".join(char for char in text if self._keeps(char))

    def _keeps(self, char: str) -> bool:
        if self._state is _State.TEXT:
            return self._text(char)
        self._length += 1
        if char == "\n" or self._length > _LONGEST_SEQUENCE:
            # No sequence goes over a line end: an unfinished one must not swallow what follows.
            self._state = _State.TEXT
            return self._text(char)
        if char == "\x1b":
            self._state = _State.STRING_ESCAPE if self._state is _State.STRING else _State.ESCAPE
        elif self._state is _State.ESCAPE:
            self._escape(char)
        elif self._state is _State.CONTROL:
            if "\x40" <= char <= "\x7e":
                self._state = _State.TEXT
        elif self._state is _State.STRING_ESCAPE:
            self._state = _State.TEXT if char == "\\" else _State.STRING
        elif char in "\x07\x9c":
            self._state = _State.TEXT
        return False

    def _text(self, char: str) -> bool:
        if not _SPECIAL.match(char):
            return True
        self._length = 0
        if char == "\x1b":
            self._state = _State.ESCAPE
        elif char == "\x9b":
            self._state = _State.CONTROL
        elif char in _STRINGS:
            self._state = _State.STRING
        return False

    def _escape(self, char: str) -> None:
        if char == "[":
            self._state = _State.CONTROL
        elif char in _STRINGS:
            self._state = _State.STRING
        elif not "\x20" <= char <= "\x2f":  # those are followed by one more
            self._state = _State.TEXT


def clean(text: str) -> str:
    """``text`` made harmless, as a whole."""
    return Cleaner().feed(text)


def one_line(text: str, most: int = 200) -> str:
    """``text`` made harmless, in one line of at most ``most`` characters."""
    line = " ".join(clean(text[: most * 8]).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def json_line(line: str) -> str:
    """A line of JSON made harmless: the same JSON, with what may steer a terminal as escapes."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", line)
