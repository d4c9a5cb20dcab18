"""Nothing that an agent says steers the terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hub.cli.clean import Cleaner, clean, json_line, one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nline", "plain\ttext\nline"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]52;c;cm0gLXJm\x1b\\x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\x", "x"),
        ("\x9b31mred", "red"),
        ("\x9d0;title\x9cx", "x"),
        ("\x1b(Bx\x1b=y\x1bcz", "xyz"),
        ("safe\rrm -rf", "saferm -rf"),
        ("a\r\nb", "a\nb"),
        ("a\x08\x00\x7f\x85b", "ab"),
        ("\u202eevil\u202c \u2066x\u2069", "evil x"),
        ("\x1b[31", ""),
        ("\x1b]0;never ends\nnext", "\nnext"),
        ("\x1b\x1b[31mx", "x"),
        ("\ud800x", "x"),
        ("grüße 日本 🎉", "grüße 日本 🎉"),
    ],
)
def test_sequences_go_as_a_whole_and_text_stays(text: str, shown: str) -> None:
    """Colours, titles, clipboard, links, charsets, lone controls, turned text."""
    assert clean(text) == shown


def test_an_endless_sequence_does_not_swallow_the_rest() -> None:
    """After a bound it is text again, also without a line end."""
    assert clean("\x1b]0;" + "x" * 10_000).endswith("xxx")


PIECES = st.sampled_from(
    ("\x1b", "[", "]", "31m", "\x07", "\\", "\n", "\r", "\x9b", "\x9d", "\x9c", "(", "P", "a b", "ä")
)


@settings(deadline=None)
@given(pieces=st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=30), data=st.data())
def test_the_result_is_harmless_and_the_same_wherever_the_stream_is_cut(
    pieces: list[str], data: st.DataObject
) -> None:
    """No control but tab and line feed comes out; cutting changes nothing; clean text stays as it is."""
    text = "".join(pieces)
    shown = clean(text)
    assert not [char for char in shown if char not in "\t\n" and (char < " " or "\x7f" <= char <= "\x9f")]
    assert clean(shown) == shown
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)))))
    cleaner = Cleaner()
    assert "".join(cleaner.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)) == shown


def test_one_line_is_one_line_of_bounded_length() -> None:
    """Line ends become spaces; what is too long says so."""
    assert one_line("a\n\n b\tc\x1b[1m") == "a b c"
    assert one_line("x" * 300, 10) == "xxxxxxxxx…"


@given(value=st.text())
def test_json_stays_the_same_json(value: str) -> None:
    """Machines read what they would have read; terminals see escapes."""
    line = json.dumps({"a": value}, ensure_ascii=False)
    shown = json_line(line)
    assert json.loads(shown) == {"a": value}
    assert not [char for char in shown if char < " " or "\x7f" <= char <= "\x9f" or char == "\u202e"]
