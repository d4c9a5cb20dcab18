"""Captures to cells: checked against a parser that goes character by character."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnhub_tmux.screen.cells import PLAIN, Style, parse, width

CODES = st.integers(min_value=0, max_value=120)
SGR = st.lists(CODES, max_size=6).map(lambda codes: "\x1b[" + ";".join(map(str, codes)) + "m")
COLOUR = st.one_of(
    st.tuples(st.sampled_from([38, 48]), st.integers(0, 255)).map(lambda c: f"\x1b[{c[0]};5;{c[1]}m"),
    st.tuples(st.sampled_from([38, 48]), *[st.integers(0, 255)] * 3).map(
        lambda c: f"\x1b[{c[0]};2;{c[1]};{c[2]};{c[3]}m"
    ),
)
WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp", "Cn", "Co")), max_size=12)
PIECE = st.one_of(SGR, COLOUR, WORDS, st.just("\n"))


def reference(text: str) -> list[list[tuple[str, Style]]]:
    """The same by the book: one character after the other, one code after the other."""
    style = PLAIN
    rows: list[list[tuple[str, Style]]] = [[]]
    place = 0
    while place < len(text):
        if text[place] == "\x1b":
            end = text.index("m", place)
            codes = [int(code or 0) for code in text[place + 2 : end].split(";")]
            style = by_the_book(style, codes)
            place = end + 1
            continue
        if text[place] == "\n":
            rows.append([])
        else:
            rows[-1].append((text[place], style))
        place += 1
    return rows if rows[-1] else rows[:-1]


def by_the_book(style: Style, codes: list[int]) -> Style:
    """One SGR sequence."""
    todo = list(codes)
    while todo:
        code = todo.pop(0)
        match code:
            case 0:
                style = PLAIN
            case 1:
                style = style._replace(bold=True)
            case 2:
                style = style._replace(dim=True)
            case 3:
                style = style._replace(italic=True)
            case 4 | 21:
                style = style._replace(underline=True)
            case 7:
                style = style._replace(inverse=True)
            case 8:
                style = style._replace(hidden=True)
            case 9:
                style = style._replace(strike=True)
            case 22:
                style = style._replace(bold=False, dim=False)
            case 23:
                style = style._replace(italic=False)
            case 24:
                style = style._replace(underline=False)
            case 27:
                style = style._replace(inverse=False)
            case 28:
                style = style._replace(hidden=False)
            case 29:
                style = style._replace(strike=False)
            case 39:
                style = style._replace(fg=None)
            case 49:
                style = style._replace(bg=None)
            case _ if 30 <= code <= 37:
                style = style._replace(fg=code - 30)
            case _ if 90 <= code <= 97:
                style = style._replace(fg=code - 82)
            case _ if 40 <= code <= 47:
                style = style._replace(bg=code - 40)
            case _ if 100 <= code <= 107:
                style = style._replace(bg=code - 92)
            case 38 | 48:
                style = extended(style, code, todo)
    return style


def extended(style: Style, code: int, todo: list[int]) -> Style:
    """A colour of the palette or a true one; takes its parameters out of ``todo``."""
    kind = todo.pop(0) if todo else 0
    if kind == 5 and todo:
        index = todo.pop(0)
        return style._replace(fg=index) if code == 38 else style._replace(bg=index)
    if kind == 2 and len(todo) >= 3:
        rgb = (todo.pop(0), todo.pop(0), todo.pop(0))
        return style._replace(fg=rgb) if code == 38 else style._replace(bg=rgb)
    return style


@given(st.lists(PIECE, max_size=40).map("".join))
def test_any_styles_are_read_as_a_terminal_would(text: str) -> None:
    """Whatever escapes come in whatever order: each character has the state in which it was written."""
    got = [list(zip(row.text, row.styles, strict=True)) for row in parse(text)]
    assert got == reference(text)


@given(st.binary(max_size=600))
def test_any_bytes_are_read(data: bytes) -> None:
    """Garbage gives rows whose characters and styles go together; nothing raises."""
    for row in parse(data):
        assert len(row.text) == len(row.styles)
        assert "\x1b" not in row.text


@given(st.lists(st.one_of(PIECE, st.sampled_from(["\x1b", "\x1b[", "\x1b]8;;x\x1b\\", "\x1b(0", "\x0e", "\x9b"]))))
def test_broken_escapes_do_no_harm(pieces: list[str]) -> None:
    """Cut and foreign sequences are left out, at any place."""
    for row in parse("".join(pieces)):
        assert all(character.isprintable() or not character.isascii() for character in row.text)


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("\x1b[7mP\x1b[0;2mX", Style(dim=True)),
        ("\x1b[1m\x1b[0;2m\x1b[39mX", Style(dim=True)),
        ("\x1b[2m\n\n  X", Style(dim=True)),
        ("\x1b[2;1m\x1b[22mX", PLAIN),
        ("\x1b[mX", PLAIN),
        ("\x1b[38:5:244mX", Style(fg=244)),
        ("\x1b[38:2::1:2:3mX", Style(fg=(1, 2, 3))),
        ("\x1b[38:2:1:2:3mX", Style(fg=(1, 2, 3))),
        ("\x1b[4:3mX", Style(underline=True)),
        ("\x1b[4:0mX", PLAIN),
        ("\x1b[?25l\x1b[2K\x1b[5;5HX", PLAIN),
        ("\x1b]0;title\x07X", PLAIN),
        ("\x1b]8;;https://example.com\x1b\\X", PLAIN),
        ("\x1b[999999999999999mX", PLAIN),
        ("\x1b[38;5;999mX", Style(fg=255)),
    ],
)
def test_forms_in_which_terminals_write_a_style(text: str, style: Style) -> None:
    """Dim behind a reset in one sequence, carried over lines, colons, links, titles."""
    row = parse(text)[-1]
    assert row.text[-1] == "X"
    assert row.styles[-1] == style


def test_borders_in_the_line_drawing_set() -> None:
    """tmux writes borders between SO and SI where the client knows no UTF-8."""
    assert parse("\x0elqqk\x0f ok")[0].text == "┌──┐ ok"


def test_tabs_are_blanks_up_to_the_next_stop() -> None:
    """A raw frame may hold tabs; columns stay what they were on the screen."""
    assert parse("ab\tc")[0].text == "ab      c"


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("日本", 4), ("é", 1), ("e\u0301", 1), ("😀", 2), ("ｆ", 2)]
)
def test_columns(text: str, columns: int) -> None:
    """Wide characters take two columns, combining ones none."""
    assert width(text) == columns


def test_a_long_screen_takes_milliseconds() -> None:
    """No quadratic cost: a screen of 60 rows with an escape a word is parsed once over."""
    row = "".join(f"\x1b[38;5;{n}mword " for n in itertools.islice(itertools.cycle(range(256)), 40))
    assert len(parse("\n".join([row] * 60))) == 60
