"""Screens of the real Codex 0.171.0 (npm ``@openai/codex``) in a real tmux, at 80 and 160 columns, its model
scripted. What stands in the table is what a person saw on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from turnhub_tmux.reading import answer_on
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Screen

SAVED: Final = Path(__file__).parent / "data" / "codex"
WIDTHS: Final = (80, 160)
SEEN: Final = {
    "start": ("ready", "ghost"),
    "draft": ("ready", "draft"),
    "ready": ("ready", "ghost"),
    "busy": ("busy", "ghost"),
    "busy-draft": ("busy", "draft"),
    "paste": ("ready", "draft"),
    "approval": ("waiting", "absent"),
    "answered": ("ready", "ghost"),
    "refused": ("ready", "ghost"),
}


@pytest.fixture
def screen(manifest_of: Callable[[str], Manifest]) -> Callable[[str, int], Screen]:
    """A saved screen, read."""

    def load(name: str, width: int) -> Screen:
        return read((SAVED / f"codex-0.171.0-w{width}-{name}.ansi").read_bytes(), manifest_of("codex"))

    return load


def test_every_saved_screen_has_its_place_here() -> None:
    """None is forgotten."""
    names = {path.name for path in SAVED.iterdir()}
    assert names == {f"codex-0.171.0-w{width}-{name}.ansi" for name in SEEN for width in WIDTHS}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SEEN)
def test_what_a_person_sees(screen: Callable[[str, int], Screen], name: str, width: int) -> None:
    """Whether it works, waits, or is ready; what stands in the composer."""
    seen = screen(name, width)
    assert (seen.state, seen.composer.state) == SEEN[name]
    assert (seen.dialog is not None) == (name == "approval")


@pytest.mark.parametrize("width", WIDTHS)
def test_drafts_and_blocks_are_told_from_the_hint(screen: Callable[[str, int], Screen], width: int) -> None:
    """A draft while it works, too; a long paste is one block."""
    assert screen("draft", width).composer.text == "hello there friend"
    assert screen("busy-draft", width).composer.text == "another message"
    assert screen("paste", width).composer.markers == ("[Pasted Content 2631 chars]",)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_rows_of_an_approval_mean_what_they_say(screen: Callable[[str, int], Screen], width: int) -> None:
    """A "Yes, and don't ask again" is a yes, too."""
    dialog = screen("approval", width).dialog
    assert dialog is not None
    assert dialog.kind == "permission"
    assert "touch made" in dialog.text
    assert [option.means for option in dialog.options] == ["yes", "yes_always", "no"]


@pytest.mark.parametrize("width", WIDTHS)
def test_its_answer_stands_below_the_message(screen: Callable[[str, int], Screen], width: int) -> None:
    """Though it says the message again."""
    text = answer_on(screen("ready", width), "hello there friend", ["›"])
    assert text.startswith("• Echo: hello there friend")
