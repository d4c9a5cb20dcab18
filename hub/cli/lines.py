"""Pure: what happens in a turn, in lines for a person. Nothing in them steers a terminal once it is cleaned."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent
from typing import Final

import msgspec
from msgspec import Struct

from hub.cli.clean import one_line
from hub.events import (
    AnyEvent,
    Ask,
    AskOpened,
    AskSettled,
    AskWithdrawn,
    Gap,
    MessageDelivered,
    MessageQueued,
    Reasoning,
    Status,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    Unknown,
    UserMessage,
)

_MARKS: Final = {"ok": "✓", "error": "✗", "denied": "⊘", "interrupted": "■", "unknown": "?"}
_CENT: Final = 0.01
Ending = TurnCompleted | TurnFailed | TurnInterrupted


class Line(Struct, frozen=True):
    """Lines of one look; ``style`` as rich names it."""

    text: str
    style: str = ""


def told(event: AnyEvent | Unknown, retry: str) -> Line | None:
    """What is said of an event that carries no words of the agent; None where nothing is. ``retry``: how a turn is
    tried again from where this is read."""
    match event:
        case Reasoning(text=text):
            line = Line(f"· {one_line(text)}", "dim italic")
        case ToolStarted(name=name, input=given):
            line = Line(f"▸ {tool_line(name, given)}", "cyan")
        case ToolFinished():
            line = tool_end(event)
        case UserMessage(text=text):
            line = Line(f"> {text}", "bold")
        case AskOpened(ask=ask):
            line = Line(ask_lines(ask), "bold yellow")
        case TurnCompleted() | TurnFailed() | TurnInterrupted():
            line = ending_line(event, retry)
        case _:
            return _notice(event)
    return line


def _notice(event: AnyEvent | Unknown) -> Line | None:
    match event:
        case MessageDelivered(verdict=verdict, proof=proof, detail=detail) if verdict != "submitted":
            proven = f" (by {proof})" if proof else ""
            return Line(f"! delivery: {verdict}{proven}{f': {detail}' if detail else ''}", "yellow")
        case AskSettled():
            return Line(f"  {settled_line(event)}", "dim")
        case AskWithdrawn(reason=reason):
            return Line(f"  no longer asked: {reason}", "dim")
        case MessageQueued(text=text):
            return Line(f"  waits: {one_line(text, 80)}", "dim")
        case Gap(after=after, before=before):
            return Line(f"… events {after + 1} to {before - 1} are no longer held", "yellow")
        case _:
            return None  # bookkeeping, and what later versions may say


def status_line(event: Status, *, lost: bool) -> Line | None:
    """What is said of a change in what the agent does. ``lost``: words were shown that do not count now."""
    about = f": {event.detail}" if event.detail else ""
    match event.state:
        case "retrying":
            again = " (what was written last does not count)" if lost else ""
            return Line(f"… trying again{about}{again}", "yellow")
        case "stalled":
            return Line(f"… nothing comes{about}", "yellow")
        case "resumed":
            return Line(f"… it goes on{about}", "dim")
        case _:
            return None


def tool_end(event: ToolFinished, name: str = "") -> Line:
    """How a tool ended; ``name`` where others run beside it."""
    took = f" {seconds(event.duration_ms)}" if event.duration_ms is not None else ""
    out = one_line(event.digest.text, 120) if event.digest is not None else ""
    whose = f"{one_line(name, 60)}: " if name else ""
    style = "dim" if event.status == "ok" else "red"
    return Line(f"  {_MARKS[event.status]} {whose}{event.status}{took}{f' {out}' if out else ''}", style)


def ending_line(event: Ending, retry: str) -> Line:
    """How a turn ended, with its figures; ``retry``: how it is tried again."""
    parts = [seconds(event.duration_ms)]
    if event.tools:
        parts.append(f"{event.tools} tool{'s' if event.tools > 1 else ''}")
    if event.cost_usd:
        parts.append(dollars(event.cost_usd))
    figures = " · ".join(parts)
    match event:
        case TurnCompleted(stop_reason=reason):
            odd = "" if reason == "end_turn" else f" ({reason})"
            return Line(f"✓ done{odd} · {figures}", "dim")
        case TurnFailed(code=code, message=message, retryable=retryable):
            mend = f" Try again with: {retry}" if retryable else ""
            return Line(f"✗ failed ({code}): {message}{mend} · {figures}", "bold red")
        case TurnInterrupted(by=by):
            return Line(f"■ interrupted by {by} · {figures}", "yellow")


def dollars(cost: float) -> str:
    """A cost for people; a very small one is not nothing."""
    return f"${cost:.2f}" if cost >= _CENT else f"${cost:.4f}"


def seconds(milliseconds: int) -> str:
    """A duration for people."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    whole = milliseconds // 1000
    return f"{milliseconds / 1000:.1f} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def tool_line(name: str, given: Mapping[str, object]) -> str:
    """A tool call in one line: its name and what it is about."""
    about = next((given[key] for key in ("command", "file_path", "path", "url", "pattern") if key in given), None)
    if about is None and given:
        about = _questions(given) or msgspec.json.encode(given, enc_hook=str).decode()
    return one_line(f"{name} {'' if about is None else about}", 160)


def _questions(given: Mapping[str, object]) -> str:
    """What a tool asks a person, where its input is questions."""
    asked = given.get("questions")
    found = [one.get("question") for one in asked if isinstance(one, dict)] if isinstance(asked, list) else []
    return " ".join(one for one in found if isinstance(one, str))


def ask_lines(ask: Ask, *, how: bool = True) -> str:
    """What an ask is about, and (``how``) how to answer it from anywhere."""
    if ask.kind == "permission":
        about = ask.subject or msgspec.json.encode(ask.input).decode()
        lines = [f"? {one_line(ask.tool)} asks for permission:", indent(about, "    | ")]  # in full: it is judged
        lines += [f"  danger: {one_line(ask.danger)}"] if ask.danger else []
        lines += [f"  why: {one_line(ask.rationale)}"] if ask.rationale else []
        lines += [f"  turnhub answer {ask.id} --allow | --deny"] if how else []
        return "\n".join(lines)
    lines = []
    for question in ask.questions:
        lines.append(f"? {one_line(question.question, 2000)}")
        for number, option in enumerate(question.options, 1):
            about = f": {one_line(option.description)}" if option.description else ""
            lines.append(f"  {number}. {one_line(option.label)}{about}")
    lines += [f"  turnhub answer {ask.id} --choose N | --text WORDS"] if how else []
    return "\n".join(lines)


def settled_line(event: AskSettled) -> str:
    """Who settled an ask, and how."""
    by = f"{event.by.kind} {event.by.name}" + (f" ({event.by.rule})" if event.by.rule else "")
    if event.decision:
        how = "allowed" if event.decision == "allow" else "denied"
        scope = " for the session" if event.scope == "session" else ""
        message = f": {event.message}" if event.message else ""
        return f"{how}{scope} by {by}{message}"
    said = event.response or "; ".join((event.answers or {}).values())
    return f"answered by {by}: {one_line(said, 120)}"
