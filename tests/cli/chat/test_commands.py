"""What is typed, as what is to be done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.cli.chat.commands import Command, Help, Interrupt, Mistake, Queue, Quit, Retry, Send, parse


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("", None),
        ("  \n ", None),
        ("hello", Send("hello")),
        (" /help with a space before it", Send(" /help with a space before it")),
        ("two\nlines", Send("two\nlines")),
        ("//etc is a folder", Send("/etc is a folder")),
        ("///", Send("//")),
        ("/agent /clear", Send("/clear", literal=False)),
        ("/agent  /model opus ", Send("/model opus", literal=False)),
        ("/queue", Queue()),
        ("/queue ", Queue()),
        ("/queue and then?", Queue(Send("and then?"))),
        ("/queue two\nlines", Queue(Send("two\nlines"))),
        ("/queue //etc", Queue(Send("/etc"))),
        ("/queue /agent /clear", Queue(Send("/clear", literal=False))),
        ("/retry", Retry()),
        ("/retry rerun", Retry()),
        ("/retry resume", Retry("resume")),
        ("/interrupt", Interrupt()),
        ("/help ", Help()),
        ("/quit", Quit()),
    ],
)
def test_commands(typed: str, command: Command | None) -> None:
    """Words are kept as they are."""
    assert parse(typed) == command


@pytest.mark.parametrize(
    "typed",
    ["/", "/clear", "/etc/passwd is open", "/queue /clear", "/queue /help", "/retry now", "/agent", "/quit it"],
)
def test_what_is_no_command_is_said_to_be_none(typed: str) -> None:
    """In a sentence that says what is."""
    with pytest.raises(Mistake, match=r"\w"):
        parse(typed)


@given(st.text().filter(lambda text: text.strip()))
def test_every_text_can_be_sent(text: str) -> None:
    """As it is, or with one more slash before it."""
    assert parse(f"/{text}" if text.startswith("/") else text) == Send(text)
