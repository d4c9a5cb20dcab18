"""What a connection is given between turns, without a hub: everything it tells is written down."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from hub.transport import Prompted, SessionInfo


class FakeIdle:
    """A :class:`hub.Idle` for tests. ``prompts``: what was typed at the agent's keyboard, with its key. A key that
    was told of before is ``known``; otherwise ``answers`` are given in order, then ``begun``."""

    def __init__(self, session: SessionInfo, answers: Iterable[Prompted] = ()) -> None:
        self.session = session
        self.prompts: list[tuple[str, str]] = []
        self._answers = iter(tuple(answers))
        self._changed = asyncio.Condition()

    async def prompted(self, text: str, key: str) -> Prompted:
        """Note it."""
        known = any(key == before for _, before in self.prompts)
        answer: Prompted = "known" if known else next(self._answers, "begun")
        if answer == "begun":
            self.prompts.append((text, key))
        async with self._changed:
            self._changed.notify_all()
        return answer

    async def heard(self, count: int = 1, *, within: float = 60.0) -> list[str]:
        """Wait for so many prompts; their texts. ``within`` seconds or TimeoutError."""
        async with asyncio.timeout(within), self._changed:
            await self._changed.wait_for(lambda: len(self.prompts) >= count)
        return [text for text, _ in self.prompts]
