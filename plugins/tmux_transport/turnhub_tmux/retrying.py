"""Pure: that an agent tries its model again, which only its screen tells."""

from __future__ import annotations

import re
from typing import Final

from hub import Status
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.types import Screen

_NEAR: Final = 8
_COUNTDOWN: Final = re.compile(r" in \d+ ?m?s\b|…")


class Retries:
    """Of one turn: each attempt is told once."""

    def __init__(self) -> None:
        self._told: str | None = None

    def look(self, screen: Screen, manifest: Manifest) -> Status | None:
        """The news in what the screen shows."""
        said = _said(screen, manifest) if screen.state == "busy" else None
        if said == self._told:
            return None
        self._told = said
        return None if said is None else Status(state="retrying", detail=said)


def _said(screen: Screen, manifest: Manifest) -> str | None:
    """The agent's words for it, without what counts down in them."""
    for row in reversed(screen.above[-_NEAR:]):
        mark, _, words = row.partition(" ")
        if manifest.retrying.match(words.strip()) and not mark.isalnum() and len(mark) == 1:
            return _COUNTDOWN.sub("", words.strip())
    return None
