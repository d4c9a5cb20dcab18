"""Panels of the agent's own: they hold the keyboard, and are never taken for a question."""

from __future__ import annotations

import pytest
from turnhub_tmux.screen.manifest import load
from turnhub_tmux.screen.reader import read

SETTINGS = """\
❯ /config
▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔
  Settings  Status   Config   Usage

  ❯ Auto-compact              on
    Show tips                 on
    Theme                     Dark mode ›

  {footer}
"""


@pytest.mark.parametrize(
    "footer",
    [
        "←/→ to switch · Esc to close",
        "↓ to navigate · ↑ to switch tabs · Esc to go back",
        "↓ to navigate · ↑ to switch tabs · Esc to clear",
    ],
)
def test_a_panel_holds_the_keyboard_and_is_no_dialog(footer: str) -> None:
    """Whatever looks like a menu in it: it is waiting, with no dialog to be answered, and named as a panel."""
    screen = read(SETTINGS.format(footer=footer), load("claude-code", ()))
    assert (screen.state, screen.dialog, screen.panel) == ("waiting", None, True)


def test_the_words_of_a_footer_inside_a_conversation_are_none() -> None:
    """Only as the last row, under which no composer stands."""
    text = "● Then it says:\n  ← · Esc to close\n──────────\n❯ \n──────────\n  ? for shortcuts\n"
    screen = read(text, load("claude-code", ()))
    assert (screen.state, screen.panel) == ("ready", False)


REWIND = """\
● Echo: hello

▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔
  Rewind

  Restore the code and/or conversation to the point before…

    hello
    No code changes

  ❯ (current)



  {footer}
"""


@pytest.mark.parametrize(
    "footer", ["Enter to continue · Esc to cancel", "Enter to select · Esc to cancel", "Esc to close"]
)
def test_a_panel_without_numbers_is_named_as_one_too(footer: str) -> None:
    """What can be rewound, themes, tasks: nothing in it can be answered from elsewhere, but Escape closes it."""
    screen = read(REWIND.format(footer=footer), load("claude-code", ()))
    assert (screen.state, screen.dialog, screen.panel) == ("waiting", None, True)


def test_a_dialog_with_such_a_footer_stays_a_dialog() -> None:
    """Its options are read: it is asked about."""
    text = "▔▔▔▔▔▔▔▔▔▔\n  Pick one?\n\n  ❯ 1. Yes\n    2. No\n\n  Enter to select · Esc to cancel\n"
    screen = read(text, load("claude-code", ()))
    assert screen.dialog is not None
    assert [option.label for option in screen.dialog.options] == ["Yes", "No"]
    assert not screen.panel
