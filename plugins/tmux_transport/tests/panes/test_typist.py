"""The typist on small programs that behave as agents do at their worst."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from turnhub_tmux.panes.pane import Pane
from turnhub_tmux.screen.manifest import load
from turnhub_tmux.typist import PaneTypist

from hub import Pace
from hub.testing import FakeTurn

from .conftest import Start, showing, until

pytestmark = pytest.mark.anyio

# Draws a box with what was typed; `0` puts a survey away, late. `slow`: seconds until a key is heard.
TUI = r"""
import os, sys, time, tty
survey, slow, deaf = sys.argv[1] == "survey", float(sys.argv[2]), sys.argv[3] == "deaf"
tty.setraw(0)
typed, sent = "", []
def draw():
    rows = ["❯ " + words for words in sent]
    if survey:
        rows += ["● How is Claude doing this session? (optional)", "  1: Bad   2: Fine   3: Good   0: Dismiss"]
    rows += ["", "─" * 60, "❯ " + typed.replace("\n", "\n  "), "─" * 60, "  ? for shortcuts"]
    screen = "\r\n".join("\r\n".join(rows).replace("\r\n", "\n").split("\n"))
    up, column = 2, 3 + len(typed)
    sys.stdout.write(f"\x1b[?2004h\x1b[2J\x1b[H{screen}\x1b[{up}A\x1b[{column}G")
    sys.stdout.flush()
draw()
while True:
    got = os.read(0, 65536).decode()
    time.sleep(slow)
    got = got.replace("\x1b[200~", "").replace("\x1b[201~", "").replace("\x1b[3~", "")
    for character in got:
        if survey:
            survey = character != "0"
        elif character == "\r":
            if typed: sent.append(typed)
            typed = ""
        elif character == "\x7f":
            typed = typed[:-1]
        elif character == "\x15":
            typed = typed if deaf else ""
        else:
            typed += character
    draw()
"""


@pytest.fixture
def tui(begin: Start, tmp_path: Path) -> Start:
    """Starts the program."""
    path = tmp_path / "tui.py"
    path.write_text(TUI)

    async def run(*, survey: bool = False, slow: float = 0.0, deaf: bool = False) -> Pane:
        words = ("survey" if survey else "-", str(slow), "deaf" if deaf else "-")
        pane = await begin(sys.executable, str(path), *words, width=80, height=24)
        await showing(pane, "shortcuts")
        return pane

    return run


def typist_of(pane: Pane) -> PaneTypist:
    """A typist with patience for busy machines."""
    return PaneTypist(pane, load("claude-code"), pace=Pace(start_s=30, paste_s=10, proof_s=3))


@pytest.mark.parametrize("slow", [0.0, 0.6])
async def test_a_survey_is_put_away_with_one_key_however_slow_it_is(tui: Start, slow: float) -> None:
    """No second digit lands in the composer; the message goes alone."""
    pane = await tui(survey=True, slow=slow)
    await FakeTurn("hello there").deliver(typist_of(pane))
    look = await until(pane, lambda look: "❯ hello there".encode() in look.capture)
    assert b"How is Claude" not in look.capture
    assert b"0" not in look.capture


@pytest.mark.parametrize("deaf", [False, True])
@pytest.mark.parametrize("draft", ["a draft of some length", "k"])
async def test_a_composer_is_cleared_by_what_is_seen(tui: Start, draft: str, deaf: bool) -> None:
    """Also where C-u does nothing; and it is known that these keys did it."""
    pane = await tui(deaf=deaf)
    typist = typist_of(pane)
    assert await typist.paste(await typist.look(), draft)
    await until(pane, lambda look: draft.encode() in look.capture)
    await showing(pane, draft)
    assert await typist.clear(await typist.look()) == "cleared"
    assert (await typist.look()).composer == "empty"


async def test_what_goes_at_an_enter_that_was_only_slow_is_not_called_cleared(tui: Start) -> None:
    """The key was on its way: the text went to the agent, not to our keys."""
    pane = await tui(slow=0.5)
    typist = typist_of(pane)
    assert await typist.paste(await typist.look(), "sent slowly")
    await showing(pane, "sent slowly")
    sight = await typist.look()
    assert await typist.submit(sight)
    assert await typist.clear(sight) != "cleared"
    look = await until(pane, lambda look: look.cursor[0] == 2)
    assert "❯ sent slowly".encode() in look.capture


async def test_without_proof_a_message_is_unverified_not_typed_again(tui: Start) -> None:
    """Nobody is asked here who could tell."""
    pane = await tui()
    verdict = await FakeTurn("hello there").deliver(typist_of(pane))
    assert verdict.verdict == "unverified"
    look = await showing(pane, "hello there")
    assert look.capture.count(b"hello there") == 1
