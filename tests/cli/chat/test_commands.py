"""What is typed, as what is to be done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.cli.chat.commands import (
    Command,
    Edit,
    Help,
    Interrupt,
    Mistake,
    Next,
    Queue,
    Quit,
    Remove,
    Retry,
    Send,
    Steer,
    parse,
)


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
        ("/resume", Retry("resume")),
        ("/steer use the other", Steer(Send("use the other"))),
        ("/steer //etc", Steer(Send("/etc"))),
        ("/edit 1 and then?", Edit(1, Send("and then?"))),
        ("/edit 12\ntwo\nlines", Edit(12, Send("two\nlines"))),
        ("/edit 2 /agent /clear", Edit(2, Send("/clear", literal=False))),
        ("/remove 3", Remove(3)),
        ("/next", Next()),
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
    [
        "/steer",
        "/steer /help",
        "/edit",
        "/edit 1",
        "/edit one more",
        "/edit -1 more",
        "/edit \u0661 more",
        "/edit 1 /quit",
        "/remove",
        "/remove 1 2",
        "/remove all",
        "/next 2",
        "/resume now",
        "/model opus",
        "/",
        "/clear",
        "/etc/passwd is open",
        "/queue /clear",
        "/queue /help",
        "/retry now",
        "/agent",
        "/quit it",
    ],
)
def test_what_is_no_command_is_said_to_be_none(typed: str) -> None:
    """In a sentence that says what is."""
    with pytest.raises(Mistake, match=r"\w"):
        parse(typed)


@given(st.text().filter(lambda text: text.strip()))
def test_every_text_can_be_sent(text: str) -> None:
    """As it is, or with one more slash before it."""
    assert parse(f"/{text}" if text.startswith("/") else text) == Send(text)
