"""Closing what a command of the agent has opened, on sights that a test gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from types import SimpleNamespace
from typing import Any

import pytest
from turnhub_tmux.commands_of_agent import close_panel
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.typist import SEEN, Seen

from hub import Sight
from hub.testing import FakeTurn

pytestmark = pytest.mark.anyio

PANEL = "❯ /cost\n" + "▔" * 90 + "\n  Settings  Status\n\n  Total cost: $1\n\n  ←/→ to switch · Esc to close\n"
RULE = "─" * 90


class Typist:
    """Shows these screens one after another, the last one for ever; knows what was pressed and cleared."""

    place = "tmux:test:1:%1"

    def __init__(self, manifest: Manifest, *screens: str) -> None:
        self._manifest = manifest
        self._screens: Iterator[str] = iter(screens)
        self._now = ""
        self.did: list[str] = []

    async def look(self) -> Sight:
        self._now = next(self._screens, self._now)
        screen = read(self._now, self._manifest)
        seen: Any = Seen(look=SimpleNamespace(), screen=screen, manifest=self._manifest)  # type: ignore[arg-type]
        composer = screen.composer
        draft = composer.text if composer.state == "draft" else ""
        return Sight(holder="agent", composer=composer.state, draft=draft, draft_whole=True, seen={SEEN: seen})

    async def press(self, *keys: str, sight: Sight) -> bool:
        self.did += keys
        return True

    async def clear(self, sight: Sight) -> str:
        self.did.append(f"clear {sight.draft}")
        return "cleared"


def composer(draft: str = "") -> str:
    return f"● hello\n\n{RULE}\n❯ {draft}\n{RULE}\n  ? for shortcuts\n"


HALF = "● hello\n\n  Settings  Status\n"


@pytest.mark.parametrize(
    ("screens", "did"),
    [
        ([PANEL, PANEL, PANEL, composer()], ["Escape"]),
        ([HALF, PANEL, HALF, composer()], ["Escape"]),
        ([composer()], []),
        ([PANEL, composer(), composer("/cost")], ["Escape", "clear /cost"]),
        ([PANEL, composer(), composer("what a person types")], ["Escape"]),
        ([composer("/cost")], []),
    ],
    ids=["slow", "half drawn", "nothing open", "put back", "a person types", "not ours"],
)
async def test_a_panel_is_closed_by_one_key_and_what_comes_back_is_taken_away(
    claude: Manifest, screens: list[str], did: list[str]
) -> None:
    """Also while it is only half drawn; a person's words stay."""
    typist: Any = Typist(claude, *screens)
    lock: Callable[[str], AbstractAsyncContextManager[Any]] = FakeTurn("/cost").exclusive
    turn: Any = SimpleNamespace(exclusive=lock)
    await close_panel(turn, typist, "/cost")
    assert typist.did == did
