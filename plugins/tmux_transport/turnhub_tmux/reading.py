"""Pure: an agent's answer as it stands on its screen, where nothing else tells of it."""

from __future__ import annotations

from typing import Final

from turnhub_tmux.screen.types import Screen

_HEAD: Final = 24


def answer_on(screen: Screen, message: str) -> str:
    """What stands below the last place of ``message``; all that is to be seen where it has scrolled away."""
    wanted = "".join(message.split())[:_HEAD]
    rows = screen.above
    starts = [n for n, row in enumerate(rows) if wanted and wanted in "".join(row.split())]
    shown = rows[starts[-1] + 1 :] if starts else rows
    return "\n".join(row.rstrip() for row in shown).strip("\n").strip()
