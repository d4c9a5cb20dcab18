"""Pure: the rules that a transport's events keep, told as sentences about what was broken.

Numbers of blocks belong to one block of text or reasoning each. ``status: retrying`` takes back what was
streamed of unfinished blocks, so their numbers may come again.
"""

from __future__ import annotations

from typing import Final

from hub.events import (
    AnyEvent,
    Reasoning,
    ReasoningDelta,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    type_of,
)
from hub.transport import TRANSPORT_EVENTS

ALLOWED: Final = TRANSPORT_EVENTS

_SHOWN = 60


def forbidden(event: AnyEvent) -> str | None:
    """Why a transport may not emit ``event`` at all, or None where it may."""
    if isinstance(event, ALLOWED):
        return None
    return f"`{type_of(event)}` is the hub's own event: a transport does not emit it."


class EventRules:
    """Takes one turn's events in order and tells what each of them breaks."""

    def __init__(self) -> None:
        self._streamed: dict[int, tuple[str, str]] = {}
        self._written: dict[int, str] = {}
        self._started: dict[str, str] = {}
        self._finished: set[str] = set()

    @property
    def unwritten_blocks(self) -> tuple[int, ...]:
        """Numbers of blocks that were streamed and whose durable text never came."""
        return tuple(self._streamed)

    @property
    def unfinished_tools(self) -> tuple[str, ...]:
        """Ids of tools that started and did not finish."""
        return tuple(tool for tool in self._started if tool not in self._finished)

    def broken_by(self, event: AnyEvent) -> list[str]:
        """What ``event``, coming next, breaks; empty when all is well."""
        if (why := forbidden(event)) is not None:
            return [why]
        return [*self._stamped(event), *self._told(event)]

    @staticmethod
    def _stamped(event: AnyEvent) -> list[str]:
        turn = getattr(event, "turn_id", "")
        if event.seq or event.session_id or event.at or turn:
            return [f"`{type_of(event)}` has seq, session_id, at or turn_id set: the hub fills them in."]
        return []

    def _told(self, event: AnyEvent) -> list[str]:
        match event:
            case TextDelta() | ReasoningDelta():
                return self._delta("text" if isinstance(event, TextDelta) else "reasoning", event)
            case Text() | Reasoning():
                return self._block("text" if isinstance(event, Text) else "reasoning", event)
            case Status(state="retrying"):
                self._streamed.clear()
            case ToolStarted():
                return self._start(event)
            case ToolFinished():
                return self._finish(event)
            case _:
                pass
        return []

    def _delta(self, kind: str, event: TextDelta | ReasoningDelta) -> list[str]:
        if event.block in self._written:
            return [f"A delta came for block {event.block} after its durable {self._written[event.block]}."]
        before, text = self._streamed.get(event.block, (kind, ""))
        if before != kind:
            return [f"Block {event.block} streams both {before} and {kind}."]
        self._streamed[event.block] = (kind, text + event.text)
        return []

    def _block(self, kind: str, event: Text | Reasoning) -> list[str]:
        if event.block in self._written:
            return [f"Block {event.block} was used again after its durable {self._written[event.block]}."]
        self._written[event.block] = kind
        before, streamed = self._streamed.pop(event.block, (kind, event.text))
        if before != kind:
            return [f"Block {event.block} streams {before} and ends as {kind}."]
        if streamed != event.text:
            return [
                f"The deltas of block {event.block} ({_short(streamed)}) are not its durable {kind} "
                f"({_short(event.text)})."
            ]
        return []

    def _start(self, event: ToolStarted) -> list[str]:
        if event.tool_id in self._started:
            return [f"Tool id {event.tool_id!r} started twice."]
        self._started[event.tool_id] = event.name
        if event.parent_id is not None and event.parent_id not in self._started:
            return [f"Tool {event.tool_id!r} runs under {event.parent_id!r}, which never started."]
        return []

    def _finish(self, event: ToolFinished) -> list[str]:
        if event.tool_id not in self._started:
            return [f"Tool {event.tool_id!r} finished without having started."]
        if event.tool_id in self._finished:
            return [f"Tool {event.tool_id!r} finished twice."]
        self._finished.add(event.tool_id)
        return []


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
