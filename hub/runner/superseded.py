"""Pure: which deltas of a turn nobody needs any more."""

from __future__ import annotations

from hub.events import AnyEvent, Reasoning, ReasoningDelta, Status, Text, TextDelta


class Superseded:
    """Collects the numbers of written deltas whose block's durable text is written, or which a retry made
    void. ``live``: how many events the live stream holds."""

    def __init__(self) -> None:
        self.live = 0
        self._droppable: list[int] = []
        self._deltas: dict[tuple[type, int], list[int]] = {}

    def wrote(self, event: AnyEvent, seq: int) -> None:
        """Event ``event`` was written with number ``seq``."""
        self.live += 1
        match event:
            case TextDelta() | ReasoningDelta():
                self._deltas.setdefault((type(event), event.block), []).append(seq)
            case Text():
                self._droppable += self._deltas.pop((TextDelta, event.block), [])
            case Reasoning():
                self._droppable += self._deltas.pop((ReasoningDelta, event.block), [])
            case Status(state="retrying"):
                for seqs in self._deltas.values():
                    self._droppable += seqs
                self._deltas.clear()
            case _:
                pass

    def droppable(self, most: int) -> list[int]:
        """The numbers that can go, in order, when more than ``most`` events are held."""
        return sorted(self._droppable) if self.live > most else []

    def dropped(self) -> None:
        """All that could go has gone."""
        self.live -= len(self._droppable)
        self._droppable = []
