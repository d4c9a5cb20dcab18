"""Pure: the pieces of displayed text in their order, also where they arrive out of it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from msgspec import Struct, field

from turnhub_tmux.bridge.facts import Displayed

_MESSAGES: Final = 64


class _Message(Struct):
    parts: list[str] = field(default_factory=list)
    waiting: dict[int, Displayed] = field(default_factory=dict)
    final: bool = False


class Display:
    """The texts of the last messages. Only the beginning of a text that has no gap is given out."""

    def __init__(self) -> None:
        self._messages: OrderedDict[str, _Message] = OrderedDict()

    def add(self, piece: Displayed) -> str:
        """What can be shown now beyond what could before: nothing, this piece, or more with it."""
        message = self._messages.setdefault(piece.message_id, _Message())
        self._messages.move_to_end(piece.message_id)
        while len(self._messages) > _MESSAGES:
            self._messages.popitem(last=False)
        if piece.index >= len(message.parts):
            message.waiting[piece.index] = piece
        new: list[str] = []
        while (following := message.waiting.pop(len(message.parts), None)) is not None:
            message.parts.append(following.delta)
            new.append(following.delta)
            message.final |= following.final
        return "".join(new)

    def text(self, message_id: str) -> str:
        """The text of a message as far as it has no gap."""
        message = self._messages.get(message_id)
        return "" if message is None else "".join(message.parts)

    def whole(self, message_id: str) -> bool:
        """Whether that is the whole text."""
        message = self._messages.get(message_id)
        return message is not None and message.final
