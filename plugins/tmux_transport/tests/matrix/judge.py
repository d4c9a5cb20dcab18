"""Pure: what became of one message, judged by what the model was told and what the transcript holds. The hub's own
word is only what is judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from .messages import Case

Kind: TypeAlias = Literal["delivered", "refused", "not a success", "false failure", "false success", "acted"]
ORDER: Final[tuple[Kind, ...]] = (
    "delivered", "refused", "not a success", "false failure", "false success", "acted",
)  # fmt: skip
BLOCK: Final = "handed over as a block of pasted content"
SUCCESS: Final = ("submitted", "queued")

_PASTED: Final = re.compile(
    r"\n{0,2}<pasted_content id=\"(?P<id>[0-9a-f]{4,})\">\n(?P<text>.*\n)</pasted_content id=\"(?P=id)\">\n?",
    re.DOTALL,
)


class Told(Struct, frozen=True, kw_only=True):
    """What is known of one message when its turn is over.

    ``verdict``, ``proof``, ``detail``: the hub's word; ``reason``: why it refused, or how the turn failed.
    ``model`` and ``transcript``: the prompts that are new there. ``effects``: what no message may do.
    """

    verdict: str | None
    proof: str | None = None
    detail: str = ""
    reason: str = ""
    model: tuple[str, ...] = ()
    transcript: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    took_s: float = 0.0


class Outcome(Struct, frozen=True, kw_only=True):
    """What became of a message; ``why`` in words, where it is not what was expected."""

    case: Case
    told: Told
    kind: Kind
    why: str = ""

    @property
    def expected(self) -> bool:
        """Whether it is what has to become of this message."""
        return self.kind == ("delivered" if self.case.refused is None else "refused") and not self.why


def judge(case: Case, told: Told) -> Outcome:
    """The judgement."""
    kind, why = _judged(case, told)
    return Outcome(case=case, told=told, kind=kind, why=why)


def _judged(case: Case, told: Told) -> tuple[Kind, str]:
    if told.effects:
        return "acted", "; ".join(told.effects)
    if told.verdict in SUCCESS:
        wrong = _wrong(case, told)
        return ("false success", wrong) if wrong else ("delivered", "")
    if told.model or told.transcript:
        return "false failure", f"{told.verdict}, and it arrived: {told.detail or told.reason}"
    if told.verdict is not None:
        return "not a success", f"{told.verdict}: {told.detail}"
    if case.refused is None or case.refused not in told.reason:
        return "not a success", f"refused: {told.reason}"
    return "refused", ""


def _wrong(case: Case, told: Told) -> str:
    """Why a success is none; empty if it is one."""
    if case.refused is not None:
        return "it should have been refused"
    for witness, prompts in (("the model", told.model), ("the transcript", told.transcript)):
        if len(prompts) != 1:
            return f"{witness} has {len(prompts)} new prompts: {shortened(prompts)}"
        text, block = unwrapped(prompts[0], case.wanted)
        if text != case.wanted:
            return f"{witness} has {difference(case.wanted, text)}"
        if block and BLOCK not in told.detail:
            return f"{witness} has a block, of which the hub did not tell"
    named = told.detail.rpartition("Changed: ")[2] if "Changed: " in told.detail else ""
    unnamed = [change for change in case.changes if change not in named]
    if unnamed:
        return f"not named: {', '.join(unnamed)}"
    if not case.changes and named not in ("", BLOCK):
        return f"named, but nothing was changed: {named}"
    return ""


def unwrapped(prompt: str, wanted: str) -> tuple[str, bool]:
    """A prompt without the frame that the agent puts around long pastes, and whether there was one."""
    if prompt == wanted:
        return prompt, False
    found = _PASTED.fullmatch(prompt)
    if found is None:
        return prompt, False
    # The line end in front of the frame's own end is the text's where it has one.
    text = found["text"]
    return (text if text == wanted else text.removesuffix("\n")), True


def difference(wanted: str, got: str) -> str:
    """Where two texts part, in a few words."""
    place = next(
        (n for n, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b), min(len(wanted), len(got))
    )
    start = max(0, place - 10)
    return (
        f"{len(got)} characters for {len(wanted)}; from {place} on {got[start : place + 30]!r} "
        f"for {wanted[start : place + 30]!r}"
    )


def shortened(prompts: Sequence[str]) -> str:
    """Some prompts, so that a person can tell which they are."""
    return ", ".join(repr(prompt[:40]) for prompt in prompts) or "none"
