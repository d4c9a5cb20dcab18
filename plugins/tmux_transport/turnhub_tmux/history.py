"""What of an agent's conversation has been accounted for, over the turns of a session and what lies between."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hub import Proof
from turnhub_tmux import traces
from turnhub_tmux.bridge.facts import Fact

_KEPT: Final = 512
_SENT: Final = 32
_EARLY: Final = 4096


class Place(Struct, frozen=True):
    """A place in a transcript: everything before ``offset`` (bytes) has been accounted for."""

    path: str
    offset: int

    def remembered(self) -> str:
        """As text, to be remembered with the session."""
        return msgspec.json.encode(self).decode()


def place_of(remembered: str | None) -> Place | None:
    """What :meth:`Place.remembered` made; None where nothing, or nothing of ours, was."""
    try:
        return None if not remembered else msgspec.json.decode(remembered, type=Place)
    except msgspec.MsgspecError:
        return None


class Typed(Struct, frozen=True, kw_only=True):
    """A prompt that was typed at the agent's own keyboard. ``key``: the agent's own id of it, ``prompt_id`` where
    it is one that hooks tell too; ``proof``: who told; ``facts``: what the hooks have told of its turn so far;
    ``place``: where its row, or what follows, is read."""

    text: str
    key: str
    proof: Proof
    prompt_id: str | None = None
    facts: tuple[Fact, ...] = ()
    place: Place | None = None


class History:
    """Kept by one connection. ``unread``: where reading between turns goes on; ``early``: what the hooks told in a
    turn that was not of that turn; ``typed``: the prompt whose turn is about to run."""

    def __init__(self, unread: Place | None = None) -> None:
        self.unread = unread
        self.early: deque[Fact] = deque(maxlen=_EARLY)
        self.typed: Typed | None = None
        self._ours: OrderedDict[str, None] = OrderedDict()
        self._sent: deque[str] = deque(maxlen=_SENT)

    def own(self, *ids: str | None) -> None:
        """These prompts (the agent's ids of them, of posts and of rows) have their turns."""
        for one in ids:
            if one:
                self._ours[one] = None
                self._ours.move_to_end(one)
        while len(self._ours) > _KEPT:
            self._ours.popitem(last=False)

    def owns(self, *ids: str | None) -> bool:
        """Whether one of these prompts has its turn."""
        return any(one in self._ours for one in ids if one)

    def sending(self, conveyed: str) -> None:
        """The hub is about to type this: where it arrives without its turn being there to see it (which was given
        up), nobody else has typed it."""
        self._sent.append(conveyed)

    def arrived(self, prompt: str) -> bool:
        """Whether the hub has typed this prompt and it was not seen to arrive before: now it was. The agent goes
        on to prompts in the order in which it got them: what was typed before this one comes no more."""
        found = next((place for place, sent in enumerate(self._sent) if traces.same(prompt, sent)), None)
        for _ in range(0 if found is None else found + 1):
            self._sent.popleft()
        return found is not None

    def read_to(self, place: Place | None, *, since: Place | None) -> None:
        """A turn that read from ``since`` has accounted for all up to ``place``; unless something before it waits
        to be read still."""
        waits = self.unread is not None and since is not None and self.unread.path == since.path
        if place is not None and not (waits and self.unread is not None and self.unread.offset < _offset(since)):
            self.unread = place

    def leave(self, facts: Iterable[Fact]) -> None:
        """These are of no turn yet."""
        self.early.extend(facts)


def _offset(place: Place | None) -> int:
    return 0 if place is None else place.offset


def at(path: Path, offset: int) -> Place:
    """A place in a transcript."""
    return Place(str(path), offset)
