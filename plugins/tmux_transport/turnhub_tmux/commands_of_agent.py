"""Turns of the agent's own commands (``/cost``), in which its model has no part: what they showed, and what they
left open."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from hub import HubError, Message, Sight, TurnContext
from turnhub_tmux.reading import answer_on
from turnhub_tmux.typist import PaneTypist, seen_in

_CLOSES_S: Final = 5.0
_LOOK_S: Final = 0.1
_EAVES: Final = "▔"
_NOTHING: Final = "(The command showed nothing.)"


def is_command(message: Message) -> bool:
    """Whether the agent may act on the message by itself: as at its own keyboard, and begun as a command is."""
    return not message.literal and message.text.lstrip().startswith(("/", "!"))


def shown_by(sight: Sight | None, words: str) -> str:
    """What the command shows: its panel, or what stands below it."""
    seen = None if sight is None else seen_in(sight)
    if seen is None:
        return _NOTHING
    screen = seen.screen
    if not screen.panel:
        return answer_on(screen, words, seen.manifest.prompts) or _NOTHING
    first = next((n + 1 for n, row in reversed(list(enumerate(screen.rows))) if row.startswith(_EAVES)), 0)
    return "\n".join(row.rstrip() for row in screen.rows[first:]).strip("\n") or _NOTHING


async def close_panel(turn: TurnContext, typist: PaneTypist) -> None:
    """Close the panel that the command has opened, and see it go. The key is pressed once: a second one, heard
    after the panel has gone, would be a key for the composer."""
    with suppress(HubError, TimeoutError):  # whoever has the pane sees what is open there
        async with asyncio.timeout(_CLOSES_S), turn.exclusive(typist.place) as hold:
            pressed = False
            while _open(sight := await typist.look()):
                if not pressed:  # or the screen moved meanwhile, and nothing was pressed
                    hold.check()
                    pressed = await typist.press("Escape", sight=sight)
                await asyncio.sleep(_LOOK_S)


def _open(sight: Sight) -> bool:
    seen = seen_in(sight)
    return seen is not None and seen.screen.panel
