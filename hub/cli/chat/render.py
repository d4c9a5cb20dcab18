"""Pure: what the chat shows, as text with colours for a terminal.

Whatever the words hold, the only sequences in the result are the colours and weights that are put there here:
Markdown can spell characters that its source does not have (``&#x202e;``), so what it comes to is cleaned too.
Links are their words and their address, never a terminal's own hyperlinks; HTML is the text that it is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from textwrap import wrap
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from hub.cli.clean import clean

MOST: Final = 12_000
"""Longer blocks are shown as they are: while code is coloured nothing else happens here. So are those with more
brackets than prose has: what a parser does with them grows with the square of their number."""
_MOST_BRACKETS: Final = 2_000
_COLUMN: Final = re.compile(r"  \S.*?\s{2,}")


def wrapped(text: str, width: int) -> str:
    """Our own lines, broken between words where they are longer than ``width``, below the column they are in."""
    lines = []
    for line in text.split("\n"):
        column = _COLUMN.match(line)
        behind = " " * (column.end() if column else 0)
        lines += wrap(line, max(width, 30), subsequent_indent=behind, break_on_hyphens=False) or [""]
    return "\n".join(lines)


def words(text: str, width: int) -> str:
    """An agent's Markdown, ``width`` columns wide, without empty lines around it."""
    text = clean(text)
    if len(text) <= MOST and text.count("[") + text.count("]") <= _MOST_BRACKETS:
        try:
            return _drawn(_Harmless(_Words(text)), width).strip("\n")
        except Exception:  # noqa: BLE001 - whatever a text does to the renderer, its words are shown
            return plain(text)
    return plain(text)


def plain(text: str, style: str = "") -> str:
    """Lines as they are, for the terminal to wrap, in one style as rich names it; without line ends at their
    end."""
    return _drawn(_Harmless(Text(clean(text).rstrip("\n"), style=style)), 80, wrap=False).rstrip("\n")


def _drawn(shown: _Harmless, width: int, *, wrap: bool = True) -> str:
    page = io.StringIO()
    console = Console(file=page, width=max(width, 10), force_terminal=True, legacy_windows=False, emoji=False)
    console.print(shown, markup=False, highlight=False, soft_wrap=not wrap)
    return page.getvalue()


class _Words(Markdown):
    """Markdown of whom nobody knows: nothing of it is dropped."""

    def __init__(self, text: str) -> None:
        super().__init__("", code_theme="ansi_dark", hyperlinks=False)
        parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
        # A definition that nobody refers to (or whose referrer was shown before it) would not be seen at all.
        self.parsed = list(_told(parser.disable("reference").parse(text)))


def _told(tokens: Iterable[Token]) -> Iterable[Token]:
    """The tokens with links and images as words and their addresses."""
    for token in tokens:
        if token.children:
            token.children = list(_addressed(token.children))
        yield token


def _addressed(tokens: Iterable[Token]) -> Iterable[Token]:
    address, said = "", ""
    for token in tokens:
        match token.type:
            case "link_open":
                address, said = str(token.attrs.get("href", "")), ""
            case "link_close":
                if said != address:
                    yield Token("text", "", 0, content=f" ({address})")
            case "image":
                about = "".join(child.content for child in token.children or ())
                said += about
                yield Token("text", "", 0, content=f"{about} ({token.attrs.get('src', '')})")
            case _:
                said += token.content
                yield token


class _Harmless:
    """What it wraps, with every piece of text cleaned, no links, no controls."""

    def __init__(self, inner: Markdown | Text) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = Segment.split_lines(_cleaned(console.render(self._inner, options)))
        for line in lines:
            while line and not line[-1].text.strip(" ") and _is_bare(line[-1].style):
                line.pop()  # what fills the line up would wrap when the terminal gets narrower
            if line and _is_bare(line[-1].style):
                line[-1] = Segment(line[-1].text.rstrip(" "), line[-1].style)
            yield from line
            yield Segment.line()


def _cleaned(segments: Iterable[Segment]) -> Iterable[Segment]:
    for text, style, control in segments:
        if not control:
            yield Segment(clean(text), None if style is None else style.update_link(None))


def _is_bare(style: Style | None) -> bool:
    return style is None or not (style.bgcolor or style.underline or style.reverse)
