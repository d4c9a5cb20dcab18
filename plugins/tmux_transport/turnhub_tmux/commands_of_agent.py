"""Turns of the agent's own commands (``/cost``), in which its model has no part: what they showed, and what they
left open."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from hub import HubError, Message, Sight, TurnContext
from turnhub_tmux.reading import answer_on
from turnhub_tmux.traces import is_for_agent
from turnhub_tmux.transcript.facts import CommandSaid
from turnhub_tmux.typist import PaneTypist, Seen, seen_in

_CLOSES_S: Final = 5.0
_LOOK_S: Final = 0.1
_BACK_S: Final = 0.8
_EAVES: Final = "▔"
_NOTHING: Final = "(The command showed nothing.)"
_FAREWELLS: Final = ("/exit", "/quit")
_LEFT: Final = "(The agent has left. The next message starts it anew.)"


def is_command(message: Message) -> bool:
    """Whether the agent may act on the message by itself: as at its own keyboard, and begun as a command is."""
    return not message.literal and is_for_agent(message.text)


def leaves(message: Message) -> bool:
    """Whether the agent leaves upon this message, and does not die of it."""
    return is_command(message) and message.text.strip() in _FAREWELLS


class Shown:
    """What one command shows: what it opens on the screen, and what the transcript says that it printed."""

    def __init__(self) -> None:
        self._opened = ""
        self._printed: list[str] = []

    def read(self, fact: CommandSaid) -> None:
        """It has printed something."""
        self._printed.append(fact.text)

    def look(self, sight: Sight | None, words: str, *, written: bool) -> None:
        """The screen once the command has come to rest. ``written``: a transcript tells what it prints; where
        none does, what stands below ``words`` (the command) on the screen counts as printed."""
        seen = None if sight is None else seen_in(sight)
        if seen is None:
            return
        if seen.screen.panel:
            self._opened = _opened(seen)
        elif not written and (text := answer_on(seen.screen, words, seen.manifest.prompts)):
            self._printed.append(text)

    def text(self, *, gone: bool) -> str:
        """All of it, for the person who gave the command; ``gone``: the agent has left with it."""
        parts = [part for part in (self._opened, *self._printed) if part] or [_NOTHING]
        return "\n\n".join([*parts, _LEFT] if gone else parts)


async def close_panel(turn: TurnContext, typist: PaneTypist, words: str) -> None:
    """Close what the command has opened, and see it go; ``words`` are the command's own. The key is pressed once:
    a second one, heard after the panel has gone, would be a key for the composer. It is the agent's key for "stop"
    as well, upon which it may put what it was at into its composer again: that is taken away."""
    with suppress(HubError, TimeoutError):  # whoever has the pane sees what is open there
        async with asyncio.timeout(_CLOSES_S), turn.exclusive(typist.place) as hold:
            pressed = False
            while _absent(sight := await typist.look()):
                if not pressed and _holds(sight):  # or it is just being drawn, or has moved under the key
                    hold.check()
                    pressed = await typist.press("Escape", sight=sight)
                await asyncio.sleep(_LOOK_S)
            if pressed and _is(sight := await _put_back(typist, sight), words):
                hold.check()
                await typist.clear(sight)


async def _put_back(typist: PaneTypist, sight: Sight) -> Sight:
    """The sight once something stands in the composer, or after a moment."""
    deadline = asyncio.get_running_loop().time() + _BACK_S
    while not sight.draft and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(_LOOK_S)
        sight = await typist.look()
    return sight


def _is(sight: Sight, words: str) -> bool:
    return sight.draft_whole and "".join(sight.draft.split()) == "".join(words.split())


def _absent(sight: Sight) -> bool:
    seen = seen_in(sight)
    return seen is not None and sight.holder == "agent" and sight.composer == "absent"


def _holds(sight: Sight) -> bool:
    seen = seen_in(sight)
    return seen is not None and seen.screen.panel


def _opened(seen: Seen) -> str:
    """What is open, without what stands above it."""
    eaves = [n for n, row in enumerate(seen.screen.rows) if row.startswith(_EAVES)]
    rows = seen.screen.rows[eaves[-1] + 1 if eaves else 0 :]
    return "\n".join(row.rstrip() for row in rows).strip("\n")
