"""Pure: the blocks of text and reasoning of a turn, numbered, streamed and finished.

The SDK streams a block as events and tells it whole in a message of its own, *before* the event that ends it.
A whole block is therefore held back until the next sign says whether it ended or was cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

from hub import AnyEvent, Reasoning, ReasoningDelta, Status, Text, TextDelta
from turnhub_sdk.texts import clean

Kind = Literal["text", "thinking"]
_BROKEN: Final = "The stream broke off; the answer begins anew."


class Blocks:
    """Numbers the blocks of one turn. ``spoke`` and ``reasoned`` tell what was shown since :meth:`forget`;
    ``broken`` whether the model's last message has no end."""

    def __init__(self) -> None:
        self.spoke = False
        self.reasoned = False
        self.broken = False
        self._next = 0
        self._message: str | None = None
        self._open: dict[int, tuple[Kind, int]] = {}
        self._held: Text | Reasoning | None = None

    def forget(self) -> None:
        """What was shown so far does not count as an answer: a tool comes."""
        self.spoke = self.reasoned = False

    def event(self, event: dict[str, Any], *, stopping: bool) -> Iterator[AnyEvent]:
        """What a raw event of the model's stream becomes."""
        kind = event.get("type")
        if kind == "content_block_stop":
            yield from self.release(stopping=False)
            return
        yield from self.release(stopping=stopping)
        match kind:
            case "message_start":
                yield from self._start(event["message"].get("id"))
            case "content_block_delta":
                yield from self._delta(int(event["index"]), event["delta"])
            case "message_delta":
                self.broken = not event["delta"].get("stop_reason")

    def _start(self, message: str | None) -> Iterator[AnyEvent]:
        yield from self._discard()
        self._message = message
        self.broken = True

    def _discard(self) -> Iterator[AnyEvent]:
        if self._open:
            self._open.clear()
            yield Status(state="retrying", detail=_BROKEN)

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[AnyEvent]:
        match delta.get("type"):
            case "text_delta":
                kind, text = "text", clean(delta["text"])
            case "thinking_delta":
                kind, text = "thinking", clean(delta["thinking"])
            case _:
                return
        if not text:
            return
        number = self._numbered(index, "text" if kind == "text" else "thinking")
        yield TextDelta(block=number, text=text) if kind == "text" else ReasoningDelta(block=number, text=text)

    def _numbered(self, index: int, kind: Kind) -> int:
        if index not in self._open:
            self._open[index] = (kind, self._new())
        return self._open[index][1]

    def _new(self) -> int:
        self._next += 1
        return self._next - 1

    def whole(self, kind: Kind, text: str, message: str | None, *, stopping: bool) -> Iterator[AnyEvent]:
        """A block as the SDK tells it whole. ``message``: the id of the model's message it belongs to."""
        yield from self.release(stopping=stopping)
        if message != self._message:  # it came by another way than the stream: that one was given up
            yield from self._discard()
        text = clean(text)
        number = self._match(kind)
        if text:
            self._held = Text(block=number, text=text) if kind == "text" else Reasoning(block=number, text=text)
        if message != self._message:
            yield from self.release(stopping=False)

    def _match(self, kind: Kind) -> int:
        waiting = [number for open_kind, number in self._open.values() if open_kind == kind]
        return waiting[0] if waiting else self._new()

    def release(self, *, stopping: bool) -> Iterator[AnyEvent]:
        """The block that was held back; cut off where the turn is being stopped."""
        held, self._held = self._held, None
        if held is None:
            return
        self._open = {index: entry for index, entry in self._open.items() if entry[1] != held.block}
        shown = bool(held.text.strip())
        if isinstance(held, Text):
            self.spoke = self.spoke or shown
            yield Text(block=held.block, text=held.text, partial=stopping)
        else:
            self.reasoned = self.reasoned or shown
            yield Reasoning(block=held.block, text=held.text, partial=stopping)

    def say(self, text: str) -> Iterator[AnyEvent]:
        """A text of the agent itself, outside the model's stream."""
        text = clean(text)
        if text.strip():
            self.spoke = True
            yield Text(block=self._new(), text=text)

    def retry(self) -> None:
        """The agent tries again: what was streamed of unfinished blocks does not count."""
        self._open.clear()
        self.broken = False
