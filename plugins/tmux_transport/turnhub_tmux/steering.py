"""Messages for the running turn: typed into the agent's own queue, and told of when the agent goes on to them."""

from __future__ import annotations

from typing import Final

from hub import Message, MessageDelivered, TurnContext, Verdict
from turnhub_tmux.history import History
from turnhub_tmux.joining import Joined, Joining
from turnhub_tmux.transcript.facts import Absorbed, Prompt, Queue, RowFact
from turnhub_tmux.typist import PaneTypist

_HAS: Final = ("submitted", "queued", "unverified")


class Steering:
    """Of one turn. ``joining``: what waits in the agent's own queue."""

    def __init__(self, turn: TurnContext, typist: PaneTypist, history: History, joining: Joining) -> None:
        self._turn = turn
        self._typist = typist
        self._history = history
        self._joining = joining

    async def give(self, message: Message) -> Verdict:
        """Type a message while the agent is at work. Raises CannotConvey."""
        one = self._joining.add(self._typist.convey(message).text, message.id)
        try:
            verdict = await self._turn.deliver(self._typist, message)
        except BaseException:
            self._joining.drop(one)
            raise
        if verdict.verdict not in _HAS:
            self._joining.drop(one)
            return verdict
        one.told = True
        if not one.taken:
            self._history.sending(one.words)
        if one.taken and verdict.verdict == "queued":  # it was on to it before the key's effect was proven
            return Verdict(verdict="submitted", proof="transcript", detail=verdict.detail)
        return verdict

    async def read(self, fact: RowFact) -> bool:
        """Take a row into account: whether the agent goes on to one of the messages with it."""
        match fact:
            case Prompt() | Absorbed() if not fact.aside:
                one = self._joining.take(fact.text)
                if one is not None:
                    await self._tell(one, "submitted")
                return one is not None
            case Queue(operation="pop_all"):
                for left in self._joining.leave():  # somebody took them back into the composer
                    await self._tell(left, "staged")
                return False
            case _:
                return False

    async def _tell(self, one: Joined, verdict: str) -> None:
        if one.told:
            said = MessageDelivered(verdict="staged", proof="transcript", message_id=one.message_id)
            if verdict == "submitted":
                said = MessageDelivered(verdict="submitted", proof="transcript", message_id=one.message_id)
            await self._turn.emit(said)
