"""Pure: what happened in a turn, as far as its memory is concerned."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct, field

from hub import (
    AskOpened,
    AskSettled,
    FinishedTurn,
    Text,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnInterrupted,
    UserMessage,
)

_SUBJECTS: Final = ("command", "file_path", "notebook_path", "path", "url", "pattern", "query", "description")
_WRITES: Final = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_COMPLAINT: Final = re.compile(
    r"error|exception|fail|fatal|denied|not found|no such|cannot|can't|unable|refused|panic|timed out",
    re.IGNORECASE,
)


class Call(Struct, frozen=True, kw_only=True):
    """A tool call: its name, what it was about, how it ended ("" where it did not), and the beginning of what it
    said. ``refusal``: why it was not allowed."""

    name: str
    subject: str = ""
    path: str | None = None
    status: str = ""
    output: str = ""
    refusal: str | None = None

    @property
    def what(self) -> str:
        """The call in one line."""
        return one_line(f"{self.name}: {self.subject}" if self.subject else self.name, 200)

    @property
    def failed(self) -> bool:
        """Whether it did not do what it was to do."""
        return self.status != "ok"

    @property
    def why(self) -> str:
        """The cause of its failure, in one line."""
        if self.status == "denied":
            return one_line(self.refusal or self.output or "It was not allowed.", 300)
        if self.status == "interrupted":
            return "It was interrupted."
        if self.status in ("unknown", ""):
            return "Nobody knows how it ended."
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        complaints = [line for line in lines if _COMPLAINT.search(line)]
        return one_line((complaints or lines or ["It said nothing."])[-1], 300)


class Account(Struct, frozen=True, kw_only=True):
    """A turn: what was asked, which tools ran, what was said, and how it ended ("" for well)."""

    asked: str = ""
    calls: tuple[Call, ...] = ()
    texts: tuple[str, ...] = ()
    trouble: str = ""
    outcome: str = "completed"

    @property
    def commands(self) -> tuple[str, ...]:
        """The shell commands that ran, each once."""
        ran = (
            one_line(call.subject, 80) for call in self.calls if call.name == "Bash" and call.status != "denied"
        )
        return tuple(dict.fromkeys(command for command in ran if command))

    @property
    def files_changed(self) -> tuple[str, ...]:
        """The files that were written, in order, each once."""
        return tuple(dict.fromkeys(call.path for call in self.calls if call.path and not call.failed))

    @property
    def failures(self) -> tuple[dict[str, str], ...]:
        """What failed, and why; each once."""
        found = {(call.what, call.why): None for call in self.calls if call.failed}
        if self.trouble:
            found[f"The turn {self.outcome}", one_line(self.trouble, 300)] = None
        return tuple({"what": what, "why": why} for what, why in found)


class _Reading(Struct):
    asked: list[str] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    asks: dict[str, tuple[str, str]] = field(default_factory=dict)
    refusals: dict[tuple[str, str], str] = field(default_factory=dict)


def account_of(turn: FinishedTurn) -> Account:
    """What happened in ``turn``."""
    reading = _Reading()
    first = turn.message
    if first is not None and first.text.strip():
        reading.asked.append(first.text.strip())
    for event in turn.events:
        match event:
            case ToolStarted():
                reading.calls[event.tool_id] = _call(event, turn.session.cwd)
            case ToolFinished():
                _finish(reading, event)
            case Text() if event.text.strip():
                reading.texts.append(event.text.strip())
            case UserMessage() if first is None or event.message_id != first.id:  # said while the turn ran
                reading.asked.append(event.text.strip())
            case AskOpened():
                reading.asks[event.ask.id] = (event.ask.tool, event.ask.subject)
            case AskSettled() if event.decision == "deny" and event.ask_id in reading.asks:
                by = (
                    "the hub, since nobody answered"
                    if event.by.kind == "timeout"
                    else f"{event.by.kind} {event.by.name}"
                )
                words = f": {event.message}" if event.message else "."
                reading.refusals[reading.asks[event.ask_id]] = f"Denied by {by}{words}"
    outcome, trouble = _ending(turn)
    return Account(
        asked="\n\n".join(reading.asked),
        calls=tuple(_refused(reading)),
        texts=tuple(reading.texts),
        trouble=trouble,
        outcome=outcome,
    )


def _call(event: ToolStarted, cwd: str) -> Call:
    given: Mapping[str, Any] = event.input
    subject = next((str(given[key]) for key in _SUBJECTS if isinstance(given.get(key), str)), "")
    path = given.get("file_path", given.get("notebook_path")) if event.name in _WRITES else None
    return Call(name=event.name, subject=subject, path=_shown(path, cwd) if isinstance(path, str) else None)


def _shown(path: str, cwd: str) -> str:
    """A path as a person in the working directory would write it."""
    inside = posixpath.relpath(path, cwd) if path.startswith("/") else posixpath.normpath(path)
    return path if inside.startswith("..") else inside


def _finish(reading: _Reading, event: ToolFinished) -> None:
    call = reading.calls.get(event.tool_id)
    if call is not None:
        output = event.digest.text if event.digest else ""
        reading.calls[event.tool_id] = Call(
            name=call.name, subject=call.subject, path=call.path, status=event.status, output=output
        )


def _refused(reading: _Reading) -> Iterator[Call]:
    for call in reading.calls.values():
        refusal = reading.refusals.get((call.name, call.subject)) if call.status == "denied" else None
        yield Call(
            name=call.name,
            subject=call.subject,
            path=call.path,
            status=call.status,
            output=call.output,
            refusal=refusal,
        )


def _ending(turn: FinishedTurn) -> tuple[str, str]:
    """How the turn ended, and what was wrong with that."""
    match turn.ending:
        case TurnFailed():
            return "failed", f"{turn.ending.code}: {turn.ending.message}"
        case TurnInterrupted():
            return "was interrupted", f"Stopped by {turn.ending.by}."
        case _:
            return "completed", ""


def one_line(text: str, most: int) -> str:
    """``text`` in one line of at most ``most`` characters, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    head = line[: most - 1]
    return (head[: head.rindex(" ")] if " " in head[most // 2 :] else head).rstrip() + "…"
