"""The reader on garbage, on cut captures, on hostile ones: it never raises, and it never takes long."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnhub_tmux.screen.manifest import load, names
from turnhub_tmux.screen.readback import readback
from turnhub_tmux.screen.reader import read

KINDS: Final = {kind: load(kind) for kind in names()}
FILES: Final = sorted((Path(__file__).parent / "data").glob("*/*.ansi"))
ALPHABET: Final = "❯›>●⎿✻─━╭╮╰╯│┃☐☒✔←→[] 12345.)(:abYesNo?…·\n\x1b[2m\x1b[0m日e\u0301↑$%"
PIECES: Final = st.sampled_from(
    [
        *("❯ 1. Yes", "  2. No", "❯ ", "────────", "● said", "  ⎿ x", "Esc to cancel", "\n", " ", "│ > x", "╭──╮"),
        *(
            "╰──╯",
            "\x1b[0;2m",
            "\x1b[m",
            "1 (○) Yes",
            "1: Bad   2: Fine   0: Dismiss",
            "☐ H",
            "←  ☐ A  ✔ Submit  →",
        ),
        *("[Pasted text #1]", "  ⎿ Queued", "✻ Working…", "$ ls"),
    ]
)
HOSTILE: Final = ("1. " * 3000, "─" * 6000, " " * 6000 + "x", "❯ " * 3000, "(" * 6000, "✻ " + "… (" * 2000)


@given(st.one_of(st.binary(max_size=400), st.text(ALPHABET, max_size=400)), st.sampled_from(sorted(KINDS)))
def test_anything_can_be_read(screen: bytes | str, kind: str) -> None:
    """Any bytes, any characters, any manifest."""
    seen = read(screen, KINDS[kind])
    assert (seen.dialog is None) or seen.state == "waiting"


@given(st.lists(PIECES, max_size=40).map("\n".join), st.text(ALPHABET, min_size=1, max_size=20))
def test_any_heap_of_parts_can_be_read_back(screen: str, needle: str) -> None:
    """Parts of dialogs and composers in any order; a needle and a baseline besides."""
    for kind in KINDS.values():
        found = readback(needle, screen[: len(screen) // 2], screen, kind)
        assert not (found.submitted and found.queued)


@given(st.sampled_from(FILES), st.integers(0, 60), st.integers(0, 60))
def test_a_partial_capture_can_be_read(path: Path, top: int, bottom: int) -> None:
    """Rows missing at the top or the bottom of real screens."""
    rows = path.read_bytes().split(b"\n")
    read(b"\n".join(rows[top : max(top, len(rows) - bottom)]), KINDS["claude-code"])


@given(st.sampled_from(FILES), st.integers(1, 40))
def test_a_menu_whose_first_rows_are_cut_off_is_no_dialog(path: Path, rows: int) -> None:
    """Whatever is left of a menu begins with option 1, or nobody is offered anything."""
    left = b"\n".join(path.read_bytes().rstrip(b"\n").split(b"\n")[-rows:])
    dialog = read(left, KINDS["claude-code"]).dialog
    if dialog is not None:
        keys = [option.key for option in dialog.options if option.key is not None]
        assert keys == [str(number) for number in range(1, len(keys) + 1)]


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("row", [*HOSTILE, "1:a  " * 1500, "\x1b[" * 4000], ids=range(8))
def test_hostile_rows_take_no_time(kind: str, row: str) -> None:
    """No pattern backtracks for ever: sixty such rows are read within a second."""
    start = time.process_time()
    read("\n".join([row] * 60), KINDS[kind])
    assert time.process_time() - start < 1.0


def test_a_large_screen_takes_milliseconds(pane: Callable[[str], bytes]) -> None:
    """200 columns, 60 rows, an escape a word."""
    rows = ["".join(f"\x1b[38;5;{n}mword{n} " for n in range(25)) for _ in range(56)]
    screen = "\n".join([*rows, "─" * 200, "❯ hello", "─" * 200, "  ? for shortcuts"])
    read(screen, KINDS["claude-code"])
    start = time.process_time()
    for _ in range(5):
        assert read(screen, KINDS["claude-code"]).composer.text == "hello"
    assert (time.process_time() - start) / 5 < 0.05
