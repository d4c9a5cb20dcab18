"""One capture, made ready for reading, and the look of single characters."""

from __future__ import annotations

from functools import cached_property

from turnhub_tmux.screen.cells import Colour, Row, Style, parse, plain, width
from turnhub_tmux.screen.manifest import Ghostly
from turnhub_tmux.screen.text import is_rule

_GREYISH = 32  # how far apart the parts of a true colour may be for it to pass as grey
_LIGHTEST = 208  # lighter than this is white, darker than _DARKEST black: both are how text is written
_DARKEST = 40


class Frame:
    """The rows of a capture without the blank ones at its end."""

    def __init__(self, screen: bytes | str) -> None:
        rows = parse(screen)
        stop = len(rows)
        while stop and not rows[stop - 1].text.strip():
            stop -= 1
        self.rows: tuple[Row, ...] = rows[:stop]
        self.texts: tuple[str, ...] = tuple(row.text.rstrip() for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def plain(self) -> bool:
        """Whether no row is styled, but for a cursor: then looks prove nothing."""
        return plain(self.rows)

    @cached_property
    def columns(self) -> int:
        """How wide the pane is, as far as one can see."""
        return max((width(text) for text in self.texts), default=0)

    @cached_property
    def rules(self) -> frozenset[int]:
        """The rows that are horizontal rules."""
        return frozenset(number for number, text in enumerate(self.texts) if is_rule(text))


def ghostly(style: Style, marks: tuple[Ghostly, ...]) -> bool:
    """Whether a character drawn so is a suggestion, a placeholder or a side remark."""
    return ("dim" in marks and style.dim) or ("grey" in marks and grey(style.fg))


def grey(colour: Colour) -> bool:
    """Whether a colour is a grey: the palette's 8 and 232-255, or a true colour between black and white."""
    match colour:
        case int():
            return colour == 8 or colour >= 232
        case (red, green, blue):
            parts = (red, green, blue)
            return max(parts) - min(parts) <= _GREYISH and _DARKEST <= max(parts) <= _LIGHTEST
    return False


def greyed(row: Row) -> bool:
    """Whether all that is visible of a row is grey or dim."""
    looks = [style for character, style in zip(row.text, row.styles, strict=True) if not character.isspace()]
    return bool(looks) and all(ghostly(style, ("dim", "grey")) for style in looks)
