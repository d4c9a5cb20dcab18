"""What a transport that types hands to the hub: its terminal's hands and eyes. The hub knows what proof is
(``runner/delivery.py``), the typist knows its terminal. Pure: protocols and records only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Protocol

from msgspec import Struct, field

from hub.errors import HubError
from hub.transport import Message, Verdict
from hub.turn import Failed

Holder = Literal["agent", "shell", "nothing", "unknown"]
ComposerState = Literal["empty", "ghost", "draft", "absent"]
Cleared = Literal["cleared", "gone", "kept"]


class CannotConvey(HubError):
    """This text cannot reach the agent as it was meant (as words, say): nothing was typed."""

    code: ClassVar[str] = "not_delivered"


class TerminalFailed(HubError):
    """The terminal did not say that it took a key or a paste: it may have, or not."""

    code: ClassVar[str] = "not_delivered"


class PlaceLost(HubError):
    """Somebody else may type into this terminal now."""

    code: ClassVar[str] = "not_delivered"


class PlaceTaken(HubError):
    """Somebody else has been typing into this terminal for longer than one waits."""

    code: ClassVar[str] = "not_delivered"


class Hold(Protocol):
    """A terminal that nobody else types into, as long as :meth:`check` does not raise."""

    def check(self) -> None:
        """Ask before every key. Raises PlaceLost."""


class Conveyed(Struct, frozen=True, kw_only=True):
    """A message in the form in which the agent will take it, and what had to be changed for that, each in a
    few words."""

    text: str
    changes: tuple[str, ...] = ()


class Sight(Struct, frozen=True, kw_only=True):
    """What the terminal shows at one moment.

    ``holder``: what runs in it; unknown when that could not be found out. ``draft``: the unsent text in the
    composer; ``draft_whole`` is false when the screen shows only a part of it. ``dialog``: the text of a dialog
    that holds the keyboard. ``scrolled``: keys do not reach the agent. ``starting``: the agent is not ready yet.
    ``seen``: whatever the typist and the transport's verifiers want to compare.
    """

    holder: Holder
    composer: ComposerState = "absent"
    draft: str = ""
    draft_whole: bool = True
    dialog: str | None = None
    scrolled: bool = False
    starting: bool = False
    seen: Mapping[str, Any] = field(default_factory=dict)


class Pace(Struct, frozen=True, kw_only=True):
    """Seconds: how long a starting agent is waited for; how long a paste may take to show; how long proof may
    take after the submit key; how long between looks when nothing tells of a change."""

    start_s: float = 30.0
    paste_s: float = 5.0
    proof_s: float = 10.0
    look_s: float = 0.1


class Typist(Protocol):
    """One terminal. Every call returns within 5 s, also when it is cancelled; what it has begun is done or
    undone then. Keys may raise TerminalFailed."""

    @property
    def place(self) -> str:
        """What is locked while somebody types here: the same for everybody who types into this terminal."""

    @property
    def pace(self) -> Pace:
        """How much patience this agent needs."""

    def convey(self, message: Message) -> Conveyed:
        """The message in the form in which the agent takes it. Raises CannotConvey."""

    async def look(self) -> Sight:
        """What the terminal shows now. Does not raise: what cannot be found out is ``unknown``."""

    async def change(self, within_s: float) -> None:
        """Return when something may have changed, or after ``within_s`` seconds."""

    async def unscroll(self) -> None:
        """Leave the terminal's own scrolling, in which keys do not reach the agent."""

    async def dismiss(self, sight: Sight) -> bool:
        """Put a dialog away that needs no decision (a survey); false for every other, with nothing done."""

    async def paste(self, sight: Sight, text: str) -> bool:
        """Put ``text`` into the composer, in one piece, without submitting it: only if what ``sight`` showed
        holds still, as far as the terminal itself can tell. Whether it was done."""

    async def submit(self, sight: Sight) -> bool:
        """Press the key that submits: only if what ``sight`` showed holds still, as far as the terminal itself
        can tell. Whether it was pressed."""

    async def clear(self, sight: Sight) -> Cleared:
        """Empty the composer, by what is seen. ``cleared``: the text was seen to yield to these keys, so no
        submit key from before is still on its way. ``gone``: it is not there any more, and the agent may have
        taken it just then. ``kept``: something still stands there, or the keyboard is not the composer's."""

    def staged(self, before: Sight, now: Sight, text: str) -> bool:
        """Whether ``text``, and nothing else, sits unsent in the composer of ``now``. Pure."""


def is_part(draft: str, whole: str) -> bool:
    """Whether ``draft`` is what is left of ``whole``, of which something was taken away, wherever that stood. How
    a terminal breaks lines does not count."""
    left = iter("".join(whole.split()))
    return all(character in left for character in "".join(draft.split()))


def undelivered(outcome: Verdict | HubError) -> Failed:
    """How a turn ends whose message was not delivered: what became of it, and what one can do.

    ``outcome``: a verdict that is no success, or what delivering raised (:class:`CannotConvey`).
    """
    if isinstance(outcome, HubError):
        again = False if isinstance(outcome, CannotConvey) else None
        return Failed(code="not_delivered", message=outcome.detail, retryable=again)
    detail = outcome.detail
    match outcome.verdict:
        case "dead":
            return Failed(code="agent_dead", message=_sentence(detail, "Start it, then send the message again."))
        case "blocked":
            words = f"A dialog on the agent's screen holds the keyboard. Answer it first. It says: {detail}"
            return Failed(code="blocked_by_dialog", message=words if detail else None)
        case _:
            return Failed(
                code="not_delivered", message=_sentence(detail, "Look at its terminal before you retry.")
            )


def _sentence(detail: str | None, advice: str) -> str | None:
    return f"{detail} {advice}" if detail else None
