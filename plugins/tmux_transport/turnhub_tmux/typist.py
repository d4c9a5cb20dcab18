"""The hands and eyes for one pane (:class:`hub.Typist`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from hub import Cleared, Conveyed, Message, Pace, Sight, TerminalFailed
from turnhub_tmux import convey, staging
from turnhub_tmux.clearing import Clearing
from turnhub_tmux.panes.pane import Gone, Look, Pane
from turnhub_tmux.panes.server import off_the_loop
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Composer, Dialog, Screen

SEEN: Final = "tmux"
# An Enter right behind a burst of characters is taken for a part of it by some agents (codex: 120 ms).
_AFTER_PASTE_S: Final = 0.15
_GOES_S: Final = 3.0
_EDGE: Final = 2
"""The column behind a composer's prompt."""


class Seen(Struct, frozen=True, kw_only=True):
    """What one look found: the pane, what its screen says, and by which manifest. Under ``tmux`` in
    :attr:`hub.Sight.seen`, for verifiers."""

    look: Look
    screen: Screen
    manifest: Manifest


class PaneTypist:
    """Types into ``pane``, whose screen ``manifest`` describes. ``starting``: whether the agent is known not to be
    ready yet."""

    def __init__(
        self,
        pane: Pane,
        manifest: Manifest,
        *,
        pace: Pace | None = None,
        starting: Callable[[], bool] = lambda: False,
    ) -> None:
        self.pane = pane
        self.manifest = manifest
        self._pace = pace or Pace()
        self._starting = starting
        self._typed: list[str] = []

    @property
    def place(self) -> str:
        """The pane, whoever types."""
        return self.pane.place

    @property
    def pace(self) -> Pace:
        """How much patience the agent needs."""
        return self._pace

    def convey(self, message: Message) -> Conveyed:
        """The message in the form in which the agent takes it. Raises CannotConvey."""
        return convey.convey(message.text, self.manifest.name, literal=message.literal)

    async def look(self) -> Sight:
        """What the pane shows now."""
        look = await self.pane.look()
        if isinstance(look, Gone):
            return Sight(holder="nothing")
        if not isinstance(look, Look):
            return Sight(holder="unknown")
        screen = await off_the_loop(lambda: read(look.capture, self.manifest))
        return self._sight(look, screen)

    def _sight(self, look: Look, screen: Screen) -> Sight:
        carries_shell = look.holder == "agent" and screen.shell and screen.composer.state == "absent"
        composer = screen.composer
        return Sight(
            holder="shell" if carries_shell else look.holder,
            composer=composer.state,
            draft=composer.text if composer.state == "draft" else "",
            draft_whole=_whole(composer),
            dialog=_told(screen),
            scrolled=look.scrolled,
            starting=self._starting(),
            seen={SEEN: Seen(look=look, screen=screen, manifest=self.manifest)},
        )

    async def change(self, within_s: float) -> None:
        """tmux tells nobody of changes: so long is waited."""
        await asyncio.sleep(within_s)

    async def unscroll(self) -> None:
        """Leave copy mode, and whatever else keeps keys from the agent."""
        look = await self.pane.look()
        if isinstance(look, Look) and look.scrolled:
            try:
                await self.pane.unscroll(look)
            except TerminalFailed:
                return  # the next look tells

    async def dismiss(self, sight: Sight) -> bool:
        """Put a survey away: by the option that says so, never by where it stands. The key is pressed once, and
        the survey seen to go: a second one would be a digit in the composer."""
        seen = seen_in(sight)
        dialog = seen.screen.dialog if seen else None
        if seen is None or dialog is None or dialog.kind != "survey":
            return False
        option = dialog.option("cancel") or dialog.option("no")
        if option is None or option.key is None or not dialog.digits:
            return False
        try:
            return await self.press(option.key, sight=sight) and await self._went(dialog)
        except TerminalFailed:
            return False

    async def _went(self, dialog: Dialog) -> bool:
        deadline = asyncio.get_running_loop().time() + _GOES_S
        while asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(self._pace.look_s)
            seen = seen_in(await self.look())
            now = seen.screen.dialog if seen else dialog
            if now is None or now.fingerprint != dialog.fingerprint:
                return True
        return False

    async def paste(self, sight: Sight, text: str) -> bool:
        """Paste, if all is as it was."""
        seen = seen_in(sight)
        if seen is None:
            return False
        self._typed.append(text)
        done = await self.pane.paste(convey.as_typed(text, self.manifest.name), seen.look)
        if done:
            await asyncio.sleep(_AFTER_PASTE_S)
        return done

    def typed(self) -> tuple[str, ...]:
        """The texts that were pasted since this was asked last, in the agent's own form."""
        texts, self._typed = tuple(self._typed), []
        return texts

    async def submit(self, sight: Sight) -> bool:
        """Press the key that submits, if all is as it was."""
        return await self.press(self.manifest.keys.submit, sight=sight)

    async def press(self, *keys: str, sight: Sight, times: int = 1) -> bool:
        """Press keys, if all is as it was; whether it was done. Raises TerminalFailed, and ValueError for keys
        that may not be pressed."""
        seen = seen_in(sight)
        return seen is not None and await self.pane.press(*keys, look=seen.look, times=times)

    async def clear(self, sight: Sight) -> Cleared:
        """Empty the composer, by what is seen."""
        try:
            return await Clearing(self, sight).run()
        except TerminalFailed:
            return "kept"

    def at_edge(self, sight: Sight) -> bool:
        """Whether the cursor is where a line of the composer may begin."""
        seen = seen_in(sight)
        return seen is not None and seen.look.cursor[0] <= _EDGE

    def staged(self, before: Sight, now: Sight, text: str) -> bool:
        """Whether ``text``, and nothing else, sits unsent in the composer."""
        seen = seen_in(now)
        if seen is None or now.dialog is not None:
            return False
        return staging.alone(text, seen.screen.composer, self.manifest.name)


def seen_in(sight: Sight) -> Seen | None:
    """What a look of ours found; None in a sight of nothing."""
    seen = sight.seen.get(SEEN)
    return seen if isinstance(seen, Seen) else None


def _whole(composer: Composer) -> bool:
    return not (composer.truncated or composer.markers)


def _told(screen: Screen) -> str | None:
    """The words of what holds the keyboard, for a person; None when nothing does."""
    if screen.state != "waiting":
        return None
    if screen.dialog is None:
        return "; ".join(screen.why)
    return in_words(screen.dialog)


def in_words(dialog: Dialog) -> str:
    """A dialog in a few lines: its title, what it says, its question, its options."""
    parts = dict.fromkeys(part for part in (dialog.title, dialog.text, dialog.question) if part)
    options = " / ".join(option.label for option in dialog.options)
    return "\n".join([*parts, options] if options else parts)
