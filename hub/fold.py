"""Pure: events -> conversation items, the same for a turn watched live and one read back from the log.

Durable things stand in the order of the log. A block that is still streaming stands behind them, in the
order of the blocks' first deltas, until its durable text takes its own place in the log; what is left open
at the turn's end is gone (the runner writes cut-off text as durable, partial text before the terminal
event). So the log alone and the whole stream give the same items once a turn has ended.

Nothing here fails on what it does not know: unknown types, gaps, events of turns whose beginning was never
seen, events that were applied before.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from hub.events import (
    AnyEvent,
    DistillFailed,
    Gap,
    MessageDelivered,
    Status,
    TurnDistilled,
    TurnEvent,
    TurnStarted,
    Unknown,
    UserMessage,
)
from hub.items import AssistantItem, Delivery, Item, Items, NoticeItem, UserItem
from hub.turn_fold import TurnFold

_Slot = UserItem | NoticeItem | TurnFold


class Fold:
    """A projection that takes one event at a time. Applying is O(1); :meth:`items` renders only the turns
    that changed since the last call."""

    def __init__(self) -> None:
        self.cursor = 0
        self._slots: list[_Slot] = []
        self._turns: dict[str, TurnFold] = {}
        self._by_message: dict[str, int] = {}
        self._by_turn: dict[str, int] = {}

    @classmethod
    def resume(cls, items: Items, cursor: int) -> Fold:
        """A fold that goes on from ``items``, which hold everything up to seq ``cursor``."""
        fold = cls()
        fold.cursor = cursor
        for item in items:
            match item:
                case UserItem():
                    fold._add_message(item)
                case AssistantItem():
                    fold._add_turn(TurnFold.of(item))
                case NoticeItem():
                    fold._slots.append(item)
        return fold

    def items(self) -> Items:
        """The items as they stand now."""
        return tuple(slot.render() if isinstance(slot, TurnFold) else slot for slot in self._slots)

    def extend(self, events: Iterable[AnyEvent | Unknown]) -> Fold:
        """Apply ``events`` in order; returns the fold itself."""
        for event in events:
            self.apply(event)
        return self

    def apply(self, event: AnyEvent | Unknown) -> None:
        """Take the next event into account. Events up to the cursor, gaps and unknown ones change nothing."""
        if isinstance(event, Gap) or event.seq <= self.cursor:
            return
        self.cursor = event.seq
        match event:
            case UserMessage():
                self._on_message(event)
            case MessageDelivered():
                self._on_delivered(event)
            case TurnDistilled():
                if turn := self._turns.get(event.turn_id):
                    turn.remember(event.distillate)
            case DistillFailed():
                self._slots.append(
                    NoticeItem(code=event.code, message=event.message, turn_id=event.turn_id or None, at=event.at)
                )
            case TurnEvent():
                self._turn_of(event).apply(event)
            case _:
                return
        self._settle_activity(event)

    def _settle_activity(self, event: AnyEvent | Unknown) -> None:
        """An activity lasts until anything else of its turn happens."""
        if isinstance(event, TurnEvent) and not isinstance(event, Status):
            turn = self._turns.get(event.turn_id)
            if turn is not None:
                turn.quiet()

    def _on_message(self, event: UserMessage) -> None:
        self._add_message(
            UserItem(
                message_id=event.message_id,
                turn_id=event.turn_id,
                text=event.text,
                origin=event.origin,
                at=event.at,
                seq=event.seq,
            )
        )

    def _on_delivered(self, event: MessageDelivered) -> None:
        """The verdict belongs to the message that it names, else to the turn's own; a retry's turn has none of its
        own and answers an earlier one."""
        index = self._by_turn.get(event.turn_id)
        if event.message_id is not None:
            index = self._by_message.get(event.message_id)
        turn = self._turns.get(event.turn_id)
        if index is None and turn is not None and turn.message_id is not None:
            index = self._by_message.get(turn.message_id)
        if index is None:
            return
        item = self._slots[index]
        delivery = Delivery(verdict=event.verdict, proof=event.proof, detail=event.detail)
        if isinstance(item, UserItem):
            self._slots[index] = msgspec.structs.replace(item, delivery=delivery)

    def _turn_of(self, event: TurnEvent) -> TurnFold:
        turn = self._turns.get(event.turn_id)
        if turn is None:
            turn = self._add_turn(TurnFold(event.turn_id))
        if isinstance(event, TurnStarted) and turn.message_id is None and event.message_id is None:
            index = self._by_turn.get(event.turn_id)
            first = None if index is None else self._slots[index]
            turn.message_id = first.message_id if isinstance(first, UserItem) else None
        return turn

    def _add_turn(self, turn: TurnFold) -> TurnFold:
        self._turns[turn.turn_id] = turn
        self._slots.append(turn)
        return turn

    def _add_message(self, item: UserItem) -> None:
        self._by_message[item.message_id] = len(self._slots)
        self._by_turn.setdefault(item.turn_id, len(self._slots))
        self._slots.append(item)


def fold(events: Iterable[AnyEvent | Unknown]) -> Items:
    """The items of a run of events from a session's beginning."""
    return Fold().extend(events).items()


def apply(items: Items, event: AnyEvent | Unknown) -> Items:
    """``items`` and one event more. The caller sees to it that the event is newer than the items; for more
    than a few events :class:`Fold` is the faster way."""
    return Fold.resume(items, event.seq - 1).extend((event,)).items()


__all__ = ["Fold", "Item", "Items", "apply", "fold"]
