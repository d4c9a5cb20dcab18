"""What a transport that types hands to the hub: its terminal's hands and eyes. The hub knows what proof is
(:mod:`hub.runner.delivery`), the typist knows its terminal. Pure: protocols and records only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from hub.errors import HubError
from hub.transport import Message

Holder = Literal["agent", "shell", "nothing", "unknown"]
ComposerState = Literal["empty", "ghost", "draft", "absent"]


class CannotConvey(HubError):
    """This text cannot reach the agent as it was meant (as words, say): nothing was typed."""

    code = "not_delivered"


class Conveyed(Struct, frozen=True, kw_only=True):
    """A message in the form in which the agent will take it, and what had to be changed for that, each in a
    few words."""

    text: str
    changes: tuple[str, ...] = ()


class Sight(Struct, frozen=True, kw_only=True):
    """What the terminal shows at one moment.

    ``holder``: what runs in it; unknown when that could not be found out. ``draft``: the unsent text in the
    composer; ``draft_whole`` is false when the screen shows only a part of it. ``dialog``: the text of a dialog
    that holds the keyboard. ``seen``: whatever the transport's verifiers want to compare.
    """

    holder: Holder
    composer: ComposerState = "absent"
    draft: str = ""
    draft_whole: bool = True
    dialog: str | None = None
    scrolled: bool = False
    starting: bool = False
    seen: Mapping[str, Any] = field(default_factory=dict)


class Typist(Protocol):
    """One terminal. Every call is bounded in time by whoever implements it."""

    @property
    def place(self) -> str:
        """What is locked while somebody types here: the same for everybody who types into this terminal."""

    def convey(self, message: Message) -> Conveyed:
        """The message in the form in which the agent takes it. Raises CannotConvey."""

    async def look(self) -> Sight:
        """What the terminal shows now."""

    async def change(self, within_s: float) -> None:
        """Return when something may have changed, or after ``within_s`` seconds."""

    async def unscroll(self) -> None:
        """Leave the terminal's own scrolling, in which keys do not reach the agent."""

    async def dismiss(self, sight: Sight) -> bool:
        """Put a dialog away that needs no decision (a survey); false for every other, with nothing done."""

    async def paste(self, text: str) -> None:
        """Put ``text`` into the composer, in one piece, without submitting it."""

    async def submit(self) -> None:
        """Press the key that submits."""

    async def clear(self) -> None:
        """Empty the composer, by what is seen."""

    def staged(self, before: Sight, now: Sight, text: str) -> bool:
        """Whether ``text``, and nothing else, sits unsent in the composer of ``now``. Pure."""
