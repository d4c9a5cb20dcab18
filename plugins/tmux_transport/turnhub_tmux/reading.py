"""Pure: an agent's answer as it stands on its screen, where nothing else tells of it."""

from __future__ import annotations

from collections.abc import Sequence

from turnhub_tmux.screen.types import Screen


def answer_on(screen: Screen, message: str, prompts: Sequence[str]) -> str:
    """What stands below the last place of ``message``, which the agent marks with one of ``prompts``; where that
    has scrolled away, all that is to be seen but the end of the message. An agent that says the same words again
    has not said less."""
    wanted = _squeezed(message)
    rows = screen.above
    starts = [n for n, row in enumerate(rows) if (said := _said(row, prompts)) and wanted.startswith(said)]
    first = _below(rows, starts[-1], wanted, prompts) if starts else _below_the_end(rows, wanted)
    return "\n".join(row.rstrip() for row in rows[first:]).strip("\n").strip()


def _said(row: str, prompts: Sequence[str]) -> str:
    """What a row says behind a mark of the composer; empty for every other row."""
    bare = row.strip()
    mark = next((mark for mark in prompts if bare.startswith(f"{mark} ")), None)
    return "" if mark is None else _squeezed(bare.removeprefix(mark))


def _below(rows: Sequence[str], start: int, wanted: str, prompts: Sequence[str]) -> int:
    """The first row that is not of the message that begins in ``start``."""
    seen, end = _said(rows[start], prompts), start + 1
    while end < len(rows) and seen != wanted and wanted.startswith(seen + _squeezed(rows[end])):
        seen, end = seen + _squeezed(rows[end]), end + 1
    return end


def _below_the_end(rows: Sequence[str], wanted: str) -> int:
    """The first row below the end of the message, whose beginning has scrolled away."""
    seen, last = "", 0
    for n, row in enumerate(rows):
        seen += _squeezed(row)
        if seen and wanted.endswith(seen):
            last = n + 1
        if len(seen) > len(wanted):
            break
    return last


def _squeezed(text: str) -> str:
    return "".join(text.split())
