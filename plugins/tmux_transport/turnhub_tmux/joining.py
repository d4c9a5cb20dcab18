"""Pure: messages that were given to a running turn and wait in the agent's own queue to be taken into it."""

from __future__ import annotations

from msgspec import Struct

from turnhub_tmux.traces import same


class Joined(Struct, eq=False):
    """One message: its words in the agent's own form. ``told``: what became of it was told to the hub, so that
    news of it are an event of their own."""

    words: str
    message_id: str
    told: bool = False
    taken: bool = False


class Joining:
    """The messages of one turn that wait, oldest first."""

    def __init__(self) -> None:
        self._waiting: list[Joined] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of all that wait."""
        return tuple(one.words for one in self._waiting)

    def add(self, words: str, message_id: str) -> Joined:
        """One more is about to be typed."""
        one = Joined(words, message_id)
        self._waiting.append(one)
        return one

    def drop(self, one: Joined) -> None:
        """The agent does not have it."""
        self._waiting = [other for other in self._waiting if other is not one]

    def waits_for(self, prompt: str) -> bool:
        """Whether one of these words waits."""
        return any(same(prompt, one.words) for one in self._waiting)

    def take(self, prompt: str) -> Joined | None:
        """The agent goes on to this prompt: which of them it is."""
        found = next((one for one in self._waiting if same(prompt, one.words)), None)
        if found is not None:
            found.taken = True
            self.drop(found)
        return found

    def leave(self) -> list[Joined]:
        """They wait no more: all of them."""
        left, self._waiting = self._waiting, []
        return left
