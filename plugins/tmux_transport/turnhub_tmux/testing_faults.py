"""Faults between the hub and its typist, and what the agent itself kept of it all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from hub import Cleared, Conveyed, Message, Pace, Sight, Typist, Verdict
from hub.testing import FakeTurn

Step: TypeAlias = Literal["paste", "pasted", "submit", "submitted"]
Act: TypeAlias = Callable[[], Awaitable[None]]
PACE: Final = Pace(start_s=20, paste_s=4, proof_s=5)


class Faults(Struct):
    """What goes wrong in one delivery. ``acts``: done once, ``paste`` and ``submit`` right before that step,
    ``pasted`` and ``submitted`` right after; ``swallowed``: how often a step is lost although it was taken."""

    acts: dict[Step, Act] = {}
    swallowed: dict[Step, int] = {}
    met: list[Step] = []

    async def meet(self, step: Step) -> None:
        """The delivery comes to ``step``."""
        self.met.append(step)
        act = self.acts.pop(step, None)
        if act is not None:
            await act()

    def swallows(self, step: Step) -> bool:
        """Whether ``step`` is lost this time."""
        left = self.swallowed.get(step, 0)
        self.swallowed[step] = left - 1
        return left > 0


class Saboteur:
    """A typist that meets ``faults`` on its way."""

    def __init__(self, typist: Typist, faults: Faults) -> None:
        self._typist = typist
        self._faults = faults

    @property
    def place(self) -> str:
        """As it is."""
        return self._typist.place

    @property
    def pace(self) -> Pace:
        """Less patience, for tests that wait in vain."""
        return PACE

    def convey(self, message: Message) -> Conveyed:
        """As it is."""
        return self._typist.convey(message)

    async def look(self) -> Sight:
        """As it is."""
        return await self._typist.look()

    async def change(self, within_s: float) -> None:
        """As it is."""
        await self._typist.change(within_s)

    async def unscroll(self) -> None:
        """As it is."""
        await self._typist.unscroll()

    async def dismiss(self, sight: Sight) -> bool:
        """As it is."""
        return await self._typist.dismiss(sight)

    async def paste(self, sight: Sight, text: str) -> bool:
        """Something happens before, after, or in its place."""
        await self._faults.meet("paste")
        done = self._faults.swallows("paste") or await self._typist.paste(sight, text)
        await self._faults.meet("pasted")
        return done

    async def submit(self, sight: Sight) -> bool:
        """Something happens before, after, or in its place."""
        await self._faults.meet("submit")
        done = self._faults.swallows("submit") or await self._typist.submit(sight)
        await self._faults.meet("submitted")
        return done

    async def clear(self, sight: Sight) -> Cleared:
        """As it is."""
        return await self._typist.clear(sight)

    def staged(self, before: Sight, now: Sight, text: str) -> bool:
        """As it is."""
        return self._typist.staged(before, now, text)


def sabotaged(faults: Faults) -> Callable[..., FakeTurn]:
    """A kind of turn whose delivery meets ``faults``."""

    class Sabotaged(FakeTurn):
        """Delivers by a saboteur."""

        async def deliver(self, typist: Typist, message: Message | None = None) -> Verdict:
            """As the hub does."""
            return await super().deliver(Saboteur(typist, faults), message)

    return Sabotaged


def taken(config: Path) -> Counter[str]:
    """The words of persons that agents with this configuration folder took, by their own transcripts."""
    rows: dict[str, Mapping[str, Any]] = {}
    for path in config.glob("projects/*/*.jsonl"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            rows[row.get("uuid", line)] = row  # a resumed session may have the same rows again
    return Counter(text for row in rows.values() if (text := _said(row)) is not None)


def _said(row: Mapping[str, Any]) -> str | None:
    if row.get("type") == "attachment":
        attached = row["attachment"]
        return str(attached["prompt"]) if attached.get("type") == "queued_command" else None
    if row.get("type") != "user" or row.get("isMeta"):
        return None
    content = row["message"]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    words = [block["text"] for block in blocks if block["type"] == "text"]
    text = "\n".join(words)
    return None if not words or text.startswith("[Request interrupted") else text
