"""Handing a turn's message to the agent: when there is a place to type, once, or not at all where the agent has
it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from hub import CannotConvey, Ending, Message, MessageDelivered, Sight, TurnContext, Verdict, undelivered
from turnhub_tmux.belonging import Belonging
from turnhub_tmux.history import History, Typed
from turnhub_tmux.senses import Item, Senses, Wanted
from turnhub_tmux.typist import PaneTypist
from turnhub_tmux.verdicts import Signs

_START_S: Final = 45.0
_GOOD: Final = ("submitted", "queued")
_MAY_HAVE: Final = (*_GOOD, "unverified")

Handed: TypeAlias = Ending | Literal["stop"] | None
"""None: the agent has the message; ``stop``: somebody wants the turn stopped."""


def words_of(typist: PaneTypist, message: Message) -> str:
    """The message in the form in which the agent tells of it."""
    try:
        return typist.convey(message).text
    except CannotConvey:
        return message.text


class Handing:
    """Of one turn. ``look`` takes a sight into account, ``asking``: whether somebody is being asked; ``leave``:
    what is noticed before the message is typed is for those who listen between turns. ``draft``: a person's, which
    is still to be put back."""

    def __init__(
        self,
        turn: TurnContext,
        typist: PaneTypist,
        senses: Senses,
        history: History,
        *,
        look: Callable[[Sight], None],
        asking: Callable[[], bool],
        leave: Callable[[Item], None],
    ) -> None:
        self._turn = turn
        self._typist = typist
        self._senses = senses
        self._history = history
        self._look = look
        self._asking = asking
        self._leave = leave
        self._clock = asyncio.get_running_loop().time
        self.draft: str | None = None

    async def was_typed(self, typed: Typed | None) -> None:
        """Somebody typed the message at the agent's own keyboard: the agent has it already."""
        proof = "transcript" if typed is None else typed.proof
        await self._turn.emit(MessageDelivered(verdict="submitted", proof=proof, detail="Typed at its keyboard."))

    async def hand(self, whose: Belonging, signs: Signs, wanted: asyncio.Event) -> Handed:
        """Wait for a place to type, asking about dialogs that stand in the way; then deliver."""
        if await self._ready() == "stop":
            return "stop"
        delivering = asyncio.create_task(self._turn.deliver(self._typist))
        stopping = asyncio.create_task(wanted.wait())
        verdict: Verdict | None = None
        try:
            await asyncio.wait({delivering, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not delivering.done():
                return "stop"
            verdict = delivering.result()
            self.draft = verdict.draft
        except CannotConvey as error:
            return undelivered(error)
        finally:
            delivering.cancel()
            stopping.cancel()
            await asyncio.gather(delivering, stopping, return_exceptions=True)
            for words in self._typist.typed()[:1]:  # what comes behind it is a person's draft, given back
                whose.words = words
                if verdict is None or verdict.verdict in _MAY_HAVE:
                    self._history.sending(words)
        return self._delivered(verdict, whose, signs)

    def _delivered(self, verdict: Verdict, whose: Belonging, signs: Signs) -> Ending | None:
        if verdict.verdict not in _GOOD:
            return undelivered(verdict)
        signs.queued = whose.queued = verdict.verdict == "queued"
        whose.loose = verdict.proof == "pane" or not self._turn.message.literal
        if whose.loose and not signs.queued:
            whose.told()
        return None

    async def _ready(self) -> Literal["stop"] | None:
        deadline = self._clock() + _START_S
        while True:
            item = await self._senses.items.get()
            match item:
                case Wanted():
                    return "stop"
                case Sight():
                    self._look(item)
                    if _can_be_typed_into(item) or item.holder in ("shell", "nothing"):
                        return None  # of an agent that is dead, delivering says so
                    if self._asking():
                        deadline = self._clock() + _START_S
                    if self._clock() >= deadline:
                        return None  # delivering says what stands in the way
                case _:
                    self._leave(item)  # of before


def _can_be_typed_into(sight: Sight) -> bool:
    return sight.holder == "agent" and sight.dialog is None and sight.composer != "absent" and not sight.starting
