"""Pure: events -> the conversation as a model is to see it, for agents without a memory of their own and for
whoever looks back at a session.

Where :mod:`hub.fold` gives what a person is shown, this gives what was said and done: messages, texts, tool calls
with their results, and short notes on what a model could not tell from those (a turn that failed or was stopped,
a message that was tried again, what was remembered of a turn). What is only there to be shown (statuses, deltas,
reasoning, asks, grants, the queue) is passed over.

The view grows at its end: at every instant at which no turn runs, what it shows is the beginning of what it will
show later, so that a model's cache of it stays good. :func:`bounded` trades that for a bounded size.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from hub.events import (
    AnyEvent,
    Distillate,
    Gap,
    Text,
    ToolFinished,
    ToolStarted,
    ToolStatus,
    TurnCompleted,
    TurnDistilled,
    TurnEvent,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
    Unknown,
    UserMessage,
)

NoteAbout = Literal["again", "failed", "interrupted", "memory", "shortened"]


class UserTurn(Struct, frozen=True, kw_only=True, tag_field="role", tag="user"):
    """Words of a person."""

    turn_id: str
    message_id: str
    text: str


class AgentText(Struct, frozen=True, kw_only=True, tag_field="role", tag="assistant"):
    """Words of the agent. ``partial``: they were cut off."""

    turn_id: str
    text: str
    partial: bool = False


class ToolCall(Struct, frozen=True, kw_only=True, tag_field="role", tag="tool"):
    """A tool call and what came of it. ``result`` is the beginning of its output where it is ``truncated``;
    ``bytes`` and ``sha256`` are of the whole. ``status`` "unknown": nobody knows whether, or how far, it ran."""

    turn_id: str
    tool_id: str
    name: str
    input: dict[str, Any] = field(default_factory=dict)
    parent_id: str | None = None
    status: Literal["running"] | ToolStatus = "running"
    result: str | None = None
    truncated: bool = False
    bytes: int | None = None
    sha256: str | None = None


class Note(Struct, frozen=True, kw_only=True, tag_field="role", tag="note"):
    """What the hub has to tell: nobody said it."""

    turn_id: str
    about: NoteAbout
    text: str


Entry: TypeAlias = UserTurn | AgentText | ToolCall | Note
View: TypeAlias = tuple[Entry, ...]


class ModelView:
    """The projection, one event at a time. Events up to ``cursor`` change nothing."""

    def __init__(self) -> None:
        self.cursor = 0
        self._entries: list[Entry] = []
        self._tools: dict[str, dict[str, int]] = {}
        self._tried: set[str] = set()
        self._ended: set[str] = set()
        self._message_of: dict[str, str] = {}

    def extend(self, events: Iterable[AnyEvent | Unknown]) -> ModelView:
        """Apply ``events`` in order; returns the view itself."""
        for event in events:
            self.apply(event)
        return self

    def entries(self) -> View:
        """The conversation as it stands now."""
        return tuple(self._entries)

    def apply(self, event: AnyEvent | Unknown) -> None:
        """Take the next event into account."""
        if isinstance(event, Gap) or event.seq <= self.cursor:
            return
        self.cursor = event.seq
        match event:
            case UserMessage():
                self._message_of.setdefault(event.turn_id, event.message_id)
                self._entries.append(UserTurn(turn_id=event.turn_id, message_id=event.message_id, text=event.text))
            case TurnDistilled():
                self._note(event, "memory", memory_text(event.distillate))
            case TurnEvent() if event.turn_id not in self._ended:
                self._of_turn(event)

    def _of_turn(self, event: TurnEvent) -> None:
        match event:
            case TurnStarted():
                self._started(event)
            case Text() if event.text:
                self._entries.append(AgentText(turn_id=event.turn_id, text=event.text, partial=event.partial))
            case ToolStarted():
                self._tool_started(event)
            case ToolFinished():
                self._tool_finished(event)
            case TurnCompleted() | TurnFailed() | TurnInterrupted():
                self._end(event)

    def _started(self, event: TurnStarted) -> None:
        message = event.message_id or self._message_of.get(event.turn_id, "")
        if message and message in self._tried and message != self._message_of.get(event.turn_id):
            self._note(event, "again", f"The message is tried again (attempt {event.attempt}).")
        self._tried.add(message)

    def _tool_started(self, event: ToolStarted) -> None:
        call = ToolCall(
            turn_id=event.turn_id,
            tool_id=event.tool_id,
            name=event.name,
            input=event.input,
            parent_id=event.parent_id,
        )
        tools = self._tools.setdefault(event.turn_id, {})
        index = tools.get(event.tool_id)
        if index is not None:  # announced again, by a runner that took the turn over: it keeps its place
            self._entries[index] = call
            return
        tools[event.tool_id] = len(self._entries)
        self._entries.append(call)

    def _tool_finished(self, event: ToolFinished) -> None:
        index = self._tools.get(event.turn_id, {}).get(event.tool_id)
        if index is None:
            return
        digest = event.digest
        self._entries[index] = msgspec.structs.replace(
            self._entries[index],
            status=event.status,
            result=None if digest is None else digest.text,
            truncated=digest is not None and digest.truncated,
            bytes=None if digest is None else digest.bytes,
            sha256=None if digest is None else digest.sha256,
        )

    def _end(self, event: TurnCompleted | TurnFailed | TurnInterrupted) -> None:
        self._ended.add(event.turn_id)
        for index in self._tools.pop(event.turn_id, {}).values():
            call = self._entries[index]
            if isinstance(call, ToolCall) and call.status == "running":
                self._entries[index] = msgspec.structs.replace(call, status="unknown")
        match event:
            case TurnFailed():
                self._note(event, "failed", f"The turn failed ({event.code}): {event.message}")
            case TurnInterrupted():
                self._note(event, "interrupted", f"The turn was stopped by {event.by}.")

    def _note(self, event: TurnEvent, about: NoteAbout, text: str) -> None:
        self._entries.append(Note(turn_id=event.turn_id, about=about, text=text))


def model_view(events: Iterable[AnyEvent | Unknown], last_turns: int | None = None) -> View:
    """The conversation in ``events``, which begin where the session does. With ``last_turns`` only so many of the
    newest turns are told in full (:func:`bounded`)."""
    whole = ModelView().extend(events).entries()
    return whole if last_turns is None else bounded(whole, last_turns)


def bounded(view: View, last_turns: int) -> View:
    """``view`` with the newest ``last_turns`` turns as they are, and of each older turn one note: its distillate,
    else the beginnings of what was asked and of what was answered last. Raises ValueError for less than none."""
    if last_turns < 0:
        raise ValueError(f"The last {last_turns} turns: it takes 0 or more.")
    by_turn: dict[str, list[Entry]] = {}
    for entry in view:
        by_turn.setdefault(entry.turn_id, []).append(entry)
    turns = list(by_turn)
    old = dict.fromkeys(turns[: max(0, len(turns) - last_turns)])
    notes = tuple(_shortened(turn_id, by_turn[turn_id]) for turn_id in old)
    return (*notes, *(entry for entry in view if entry.turn_id not in old))


_ASKED = 500
_ANSWERED = 1000


def _shortened(turn_id: str, entries: list[Entry]) -> Note:
    memories = [entry for entry in entries if isinstance(entry, Note) and entry.about == "memory"]
    if memories:
        return memories[-1]
    asked = [clipped(entry.text, _ASKED) for entry in entries if isinstance(entry, UserTurn)]
    said = [entry.text for entry in entries if isinstance(entry, AgentText)]
    tools = dict.fromkeys(entry.name for entry in entries if isinstance(entry, ToolCall))
    ends = [
        entry.text for entry in entries if isinstance(entry, Note) and entry.about in ("failed", "interrupted")
    ]
    parts = [f"Asked: {text}" for text in asked]
    parts += [f"Tools used: {', '.join(tools)}."] if tools else []
    parts += [f"Answered: {clipped(said[-1], _ANSWERED)}"] if said else []
    return Note(turn_id=turn_id, about="shortened", text="\n".join([*parts, *ends]))


def clipped(text: str, most: int) -> str:
    """``text``, or its first ``most`` characters and how many are missing."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} more characters)"


def memory_text(distillate: Distillate) -> str:
    """A distillate in words."""
    lines = [distillate.summary]
    if distillate.files_changed:
        lines.append(f"Files changed: {', '.join(distillate.files_changed)}.")
    lines += [f"Failed: {one.get('what', '')} ({one.get('why', '')})" for one in distillate.failures]
    lines += [f"Found: {finding}" for finding in distillate.key_findings]
    return "\n".join(lines)
