"""How things look, and that nothing in them steers the terminal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.cli.chat import render

COLOURS = re.compile(r"\x1b\[[\d;]*m")
STEERING = ("\x1b]0;t\x07", "\x1b[2J", "\x1b]8;;http://x\x1b\\", "\x9b1m", "\x07", "\r", "\x01", "\x02")
EVIL = (*STEERING, "\u202e", "\x1bP")
SPELT = ("&#27;[2J", "&#x1b;", "&#x9b;", "&#x202e;", "&#7;", "&#13;", "%1b", "\\x1b")
BLOCKS = ("```\n", "```ansi-html\n", "\n", "# ", "- ", "1. ", "| ", "|---|\n", "> ", "    ", "\t", "[a]: ")
WITHIN = (
    "[",
    "](",
    ")",
    "`",
    "**",
    "_",
    "~~",
    "<",
    "![",
    "https://x.y",
    "<https://x.y/",
    "<b>",
    "&",
    "\\",
    " ",
    "a",
)
MARKS = (*EVIL, *SPELT, *BLOCKS, *WITHIN)


def harmless(drawn: str) -> bool:
    """Whether nothing but colours and weights is in it that a terminal acts on."""
    return not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", COLOURS.sub("", drawn))


@given(st.lists(st.sampled_from(MARKS) | st.text(max_size=5), max_size=40).map("".join))
def test_no_mixture_steers_the_terminal(text: str) -> None:
    """As Markdown and as it is: colours that were put there here, and text."""
    assert harmless(render.words(text, 40))
    assert harmless(render.plain(text, "bold red"))


def bare(drawn: str) -> str:
    return COLOURS.sub("", drawn)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A *b* **c** `d`", "A b c d"),
        ("Vec<String> and <b>bold</b>", "Vec<String> and <b>bold</b>"),
        ("<div>\nhi\n</div>", "<div> hi </div>"),
        ("[here](https://a.example)", "here (https://a.example)"),
        ("[https://good.example](https://evil.example)", "https://good.example (https://evil.example)"),
        ("<https://a.example>", "https://a.example"),
        ("![a picture](https://a.example/p.png)", "a picture (https://a.example/p.png)"),
        ("[![pic](p.png)](https://a.example)", "pic (p.png) (https://a.example)"),
        ("[1]: https://a.example", "[1]: https://a.example"),
        ("```py\nx = '[red]'\n```", "x = '[red]'"),
        (":smile: [bold]no[/bold]", ":smile: [bold]no[/bold]"),
        ("- one\n- two", " • one\n • two"),
    ],
)
def test_markdown_is_shown_and_nothing_of_it_is_dropped(text: str, shown: str) -> None:
    """HTML is text, a link its words and where it leads, an image its description and where it lies."""
    lines = [line.rstrip() for line in bare(render.words(text, 70)).split("\n")]
    assert "\n".join(lines).strip("\n").strip() == shown.strip()


def test_what_is_too_much_for_markdown_is_shown_as_it_is() -> None:
    """Very long texts, and those that are all brackets: quickly."""
    for text in ("word **so** " * 10_000, "[" * 5_000):
        assert bare(render.words(text, 40)) == text.rstrip()


def test_lines_are_left_to_the_terminal_to_wrap() -> None:
    """So that they can be copied, and follow its width; words keep to the width they are given."""
    assert bare(render.plain("word " * 100)) == ("word " * 100).rstrip()
    assert max(map(len, bare(render.words("word " * 100, 40)).split("\n"))) <= 40


def test_lines_of_our_own_break_between_words() -> None:
    """Below the column that they are in; what fits stays as it is."""
    text = "One two three four five six seven eight.\n\n  /cmd TEXT     does what is said here in some words"
    assert render.wrapped(text, 32).split("\n") == [
        "One two three four five six",
        "seven eight.",
        "",
        "  /cmd TEXT     does what is",
        "                said here in",
        "                some words",
    ]
    assert render.wrapped(text, 100) == text
