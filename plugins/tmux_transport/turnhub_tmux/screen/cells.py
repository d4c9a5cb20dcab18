"""``capture-pane -e`` to rows of characters, each with the graphic state in which it was written.

The state is carried from escape to escape, and over line ends, as a terminal does: what a character looks like
is what all escapes before it add up to, never what the last one says. Anything else that a terminal would act
on (other control sequences, titles, links) is left out. Nothing here raises, whatever the input.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

Colour: TypeAlias = int | tuple[int, int, int] | None

# What a terminal in its line drawing set shows for a letter; tmux writes borders so between SO and SI.
_ACS: Final = str.maketrans("jklmnopqrstuvwx`afg~", "┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│◆▒°±·")
_CONTROL: Final = {code: None for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if code not in (0x09, 0x0A)}
_TAB: Final = 8
_LONGEST_STRING: Final = 4096  # an OSC that is not closed within this is a stray escape, not a title


class Style(NamedTuple):
    """How a character is drawn. Colours: None is the default, 0-255 the palette, a triple is true colour."""

    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    inverse: bool = False
    hidden: bool = False
    strike: bool = False
    fg: Colour = None
    bg: Colour = None


PLAIN: Final = Style()
_CURSOR: Final = Style(inverse=True)

_ON: Final = {
    1: "bold",
    2: "dim",
    3: "italic",
    4: "underline",
    7: "inverse",
    8: "hidden",
    9: "strike",
    21: "underline",
}
_OFF: Final = {
    22: ("bold", "dim"),
    23: ("italic",),
    24: ("underline",),
    27: ("inverse",),
    28: ("hidden",),
    29: ("strike",),
    39: ("fg",),
    49: ("bg",),
}


class Row(NamedTuple):
    """One line: its characters and, for each, its style."""

    text: str
    styles: Sequence[Style]

    def part(self, start: int, stop: int | None = None) -> Row:
        """The characters from ``start`` up to ``stop``."""
        return Row(self.text[start:stop], self.styles[start:stop])

    def stripped(self) -> Row:
        """Without blanks at both ends."""
        start = len(self.text) - len(self.text.lstrip())
        return self.part(start, max(start, len(self.text.rstrip())))


def parse(screen: bytes | str) -> tuple[Row, ...]:
    """The rows of a capture, from the top. Bytes that are no UTF-8 become U+FFFD."""
    text = screen.decode("utf-8", "replace") if isinstance(screen, bytes) else screen
    return _Reader().read(text)


def plain(rows: Sequence[Row]) -> bool:
    """Whether nothing is styled, but for a cursor: then looks say nothing about ghosts. So are captures without
    escapes, and the screens of agents that do without colours (``NO_COLOR``, ``CI``): they draw nothing dim."""
    return all(style is PLAIN or style in (PLAIN, _CURSOR) for row in rows for style in row.styles)


def width(text: str) -> int:
    """How many columns the text takes: two for wide characters, none for those that join the one before."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if character < "\u0300":
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


class _Reader:
    def __init__(self) -> None:
        self._style = PLAIN
        self._drawing = False
        self._known: dict[tuple[Style, str], Style] = {}
        self._text: list[str] = []
        self._styles: list[Style] = []
        self._rows: list[Row] = []

    def read(self, text: str) -> tuple[Row, ...]:
        place = 0
        while True:
            escape = text.find("\x1b", place)
            self._write(text[place:] if escape < 0 else text[place:escape])
            if escape < 0:
                break
            place = self._escape(text, escape + 1)
        if self._text:
            self._end_row()
        return tuple(self._rows)

    def _write(self, run: str) -> None:
        lines = run.split("\n")
        for number, line in enumerate(lines):
            if number:
                self._end_row()
            if line:
                self._put(line)

    def _put(self, line: str) -> None:
        if not line.isprintable():
            line = self._printable(line)
        elif self._drawing:
            line = line.translate(_ACS)
        if line:
            self._text.append(line)
            self._styles.extend([self._style] * len(line))

    def _printable(self, line: str) -> str:
        out: list[str] = []
        for character in line:
            if character == "\t":
                out.append(" " * (_TAB - (len(self._styles) + sum(map(len, out))) % _TAB))
            elif character in "\x0e\x0f":
                self._drawing = character == "\x0e"
            else:
                out.append(character.translate(_ACS) if self._drawing else character)
        return "".join(out).translate(_CONTROL)

    def _end_row(self) -> None:
        self._rows.append(Row("".join(self._text), tuple(self._styles)))
        self._text, self._styles = [], []

    def _escape(self, text: str, place: int) -> int:
        """Act on the escape whose second character is at ``place``; where the text goes on."""
        kind = text[place : place + 1]
        if kind == "[":
            return self._control(text, place + 1)
        if kind in {"]", "P", "X", "^", "_"} and kind:
            return _after_string(text, place + 1)
        if kind in {"(", ")", "*", "+"} and kind:
            self._drawing = kind == "(" and text[place + 1 : place + 2] == "0"
            return place + (2 if text[place + 1 : place + 2] not in ("\x1b", "\n", "") else 1)
        return place + (kind not in ("\x1b", "\n", "") and kind.isascii())

    def _control(self, text: str, place: int) -> int:
        end = place
        while end < len(text) and " " <= text[end] <= "?":
            end += 1
        if end < len(text) and "@" <= text[end] <= "~":
            if text[end] == "m":
                self._style = self._after(text[place:end])
            return end + 1
        return end

    def _after(self, parameters: str) -> Style:
        """The style after one SGR sequence; a screen has few different ones and many of each."""
        change = (self._style, parameters)
        found = self._known.get(change)
        if found is None:
            found = self._known[change] = _with(*change)
        return found


def _after_string(text: str, place: int) -> int:
    """Where the text goes on behind a title or link: after BEL or ESC backslash, on the same line."""
    line_end = text.find("\n", place, place + _LONGEST_STRING)
    stop = line_end if line_end >= 0 else place + _LONGEST_STRING
    for end, length in ((text.find("\x07", place, stop), 1), (text.find("\x1b\\", place, stop), 2)):
        if end >= 0:
            return end + length
    return place


def _with(style: Style, parameters: str) -> Style:
    """``style`` after one SGR sequence. A sequence with private marks is none."""
    if any(character not in "0123456789;:" for character in parameters):
        return style
    fields = parameters.split(";")
    place = 0
    while place < len(fields):
        field = fields[place]
        place += 1
        if ":" in field:
            style = _with_sub(style, field.split(":"))
            continue
        code = _number(field)
        if code in (38, 48):
            colour, used = _colour([_number(f) for f in fields[place : place + 4]])
            place += used
            style = style if colour is None else _coloured(style, code, colour)
        else:
            style = _plain_code(style, code)
    return style


def _plain_code(style: Style, code: int) -> Style:
    if code == 0:
        return PLAIN
    if code in _ON:
        return style._replace(**{_ON[code]: True})
    if code in _OFF:
        return style._replace(**{name: getattr(PLAIN, name) for name in _OFF[code]})
    for start, which, base in ((30, 38, 0), (40, 48, 0), (90, 38, 8), (100, 48, 8)):
        if start <= code < start + 8:
            return _coloured(style, which, code - start + base)
    return style


def _coloured(style: Style, which: int, colour: Colour) -> Style:
    return style._replace(fg=colour) if which == 38 else style._replace(bg=colour)


def _with_sub(style: Style, parts: list[str]) -> Style:
    """One parameter with colons: ``4:3`` (a kind of underline), ``38:5:n``, ``38:2::r:g:b``, ``38:2:r:g:b``."""
    codes = [_number(part) for part in parts]
    if codes[0] == 4:
        return style._replace(underline=codes[1] != 0)
    if codes[0] not in (38, 48):
        return style
    rest = codes[1:]
    if rest[:1] == [2] and len(rest) >= 5:
        rest = [2, *rest[-3:]] if len(rest) == 5 else [2, *rest[2:5]]
    colour, _ = _colour(rest)
    return style if colour is None else _coloured(style, codes[0], colour)


def _colour(codes: list[int]) -> tuple[Colour, int]:
    """The colour that stands behind 38 or 48, and how many parameters it took."""
    match codes:
        case [5, index, *_]:
            return min(index, 255), 2
        case [2, red, green, blue, *_]:
            return (min(red, 255), min(green, 255), min(blue, 255)), 4
    return None, len(codes[:1])


def _number(field: str) -> int:
    return int(field) if 0 < len(field) <= 6 else 0 if not field else 999_999
