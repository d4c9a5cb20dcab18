"""What a person sees of a turn: the agent's words on stdout, as they come; everything about them on stderr."""

from __future__ import annotations

from textwrap import indent
from typing import Final

import msgspec

from hub.cli.clean import Cleaner, one_line
from hub.cli.output import Output
from hub.client import Received
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
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    Unknown,
    UserMessage,
)

_MARKS: Final = {"ok": "✓", "error": "✗", "denied": "⊘", "interrupted": "■", "unknown": "?"}


class View:
    """Shows events of one turn. With ``json`` every event is a line on stdout and nothing else is said."""

    def __init__(self, out: Output, *, own_message: bool = False) -> None:
        self._out = out
        self._own = own_message
        self._block: int | None = None
        self._cleaner = Cleaner()
        self._shown: dict[int, str] = {}

    def show(self, received: Received) -> None:
        """Show one event."""
        if self._out.json:
            self._out.json_lines(received.line)
        else:
            self._show(received.event)

    def _show(self, event: AnyEvent | Unknown) -> None:
        match event:
            case TextDelta(block=block, text=text):
                self._words(block, text)
            case Text(block=block, text=text, partial=partial):
                self._whole(block, text)
                if partial:
                    self._out.talk("(cut off here)", "dim")
            case Reasoning(text=text):
                self._say(f"· {one_line(text)}", "dim italic")
            case Status(state=state, detail=detail):
                self._status(state, detail)
            case ToolStarted(name=name, input=given):
                self._say(f"▸ {tool_line(name, given)}", "cyan")
            case ToolFinished():
                self._tool_finished(event)
            case AskOpened(ask=ask):
                self._say(ask_lines(ask), "bold yellow")
            case AskSettled() | AskWithdrawn() | MessageDelivered() | MessageQueued() | Gap() | UserMessage():
                self._notice(event)
            case TurnCompleted() | TurnFailed() | TurnInterrupted():
                self._ending(event)
            case _:
                pass  # bookkeeping, and what later versions may say

    def _say(self, text: str, style: str = "") -> None:
        self._block = None
        self._out.talk(text, style)

    def _words(self, block: int, text: str) -> None:
        if block != self._block:
            self._out.end_line()
            self._block, self._cleaner = block, Cleaner()
        self._shown[block] = self._shown.get(block, "") + text
        self._out.write(self._cleaner.feed(text))

    def _whole(self, block: int, text: str) -> None:
        """The block's text is known: show what is missing of it."""
        shown = self._shown.pop(block, "")
        if not text.startswith(shown):
            self._say("(what was written of this does not count; it says:)", "dim")
            shown = ""
        if rest := text[len(shown) :]:
            self._words(block, rest)
            self._shown.pop(block, None)
        self._out.end_line()
        self._block = None

    def _status(self, state: str, detail: str | None) -> None:
        told = f": {detail}" if detail else ""
        if state == "retrying":
            lost = bool(self._shown)
            self._shown.clear()
            again = " (what was written last does not count)" if lost else ""
            self._say(f"… trying again{told}{again}", "yellow")
        elif state == "stalled":
            self._say(f"… nothing comes{told}", "yellow")
        elif state == "resumed":
            self._say(f"… it goes on{told}", "dim")

    def _tool_finished(self, event: ToolFinished) -> None:
        took = f" {seconds(event.duration_ms)}" if event.duration_ms is not None else ""
        out = one_line(event.digest.text, 120) if event.digest is not None else ""
        shown = f" {out}" if out else ""
        self._say(
            f"  {_MARKS[event.status]} {event.status}{took}{shown}", "dim" if event.status == "ok" else "red"
        )

    def _notice(self, event: AnyEvent) -> None:
        match event:
            case UserMessage(text=text) if not self._own:
                self._say(f"> {text}", "bold")
            case MessageDelivered(verdict=verdict, proof=proof, detail=detail) if verdict != "submitted":
                proven = f" (by {proof})" if proof else ""
                self._say(f"! delivery: {verdict}{proven}{f': {detail}' if detail else ''}", "yellow")
            case AskSettled():
                self._say(f"  {settled_line(event)}", "dim")
            case AskWithdrawn(reason=reason):
                self._say(f"  no longer asked: {reason}", "dim")
            case MessageQueued(text=text):
                self._say(f"  waits: {one_line(text, 80)}", "dim")
            case Gap(after=after, before=before):
                self._say(f"… events {after + 1} to {before - 1} are no longer held", "yellow")
            case _:
                pass

    def _ending(self, event: TurnCompleted | TurnFailed | TurnInterrupted) -> None:
        parts = [seconds(event.duration_ms)]
        if event.tools:
            parts.append(f"{event.tools} tool{'s' if event.tools > 1 else ''}")
        if event.cost_usd:
            parts.append(f"${event.cost_usd:.2f}")
        figures = " · ".join(parts)
        match event:
            case TurnCompleted(stop_reason=reason):
                odd = "" if reason == "end_turn" else f" ({reason})"
                self._say(f"✓ done{odd} · {figures}", "dim")
            case TurnFailed(code=code, message=message, retryable=retryable):
                mend = f" Try again with: turnhub retry {event.session_id}" if retryable else ""
                self._say(f"✗ failed ({code}): {message}{mend} · {figures}", "bold red")
            case TurnInterrupted(by=by):
                self._say(f"■ interrupted by {by} · {figures}", "yellow")


def seconds(milliseconds: int) -> str:
    """A duration for people."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    whole = milliseconds // 1000
    return f"{milliseconds / 1000:.1f} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def tool_line(name: str, given: dict[str, object]) -> str:
    """A tool call in one line: its name and what it is about."""
    about = next((given[key] for key in ("command", "file_path", "path", "url", "pattern") if key in given), None)
    return one_line(f"{name} {given or '' if about is None else about}", 160)


def ask_lines(ask: Ask) -> str:
    """What an ask is about, and how to answer it from anywhere."""
    if ask.kind == "permission":
        about = ask.subject or msgspec.json.encode(ask.input).decode()
        lines = [f"? {one_line(ask.tool)} asks for permission:", indent(about, "    | ")]  # in full: it is judged
        lines += [f"  danger: {one_line(ask.danger)}"] if ask.danger else []
        lines += [f"  why: {one_line(ask.rationale)}"] if ask.rationale else []
        return "\n".join([*lines, f"  turnhub answer {ask.id} --allow | --deny"])
    lines = []
    for question in ask.questions:
        lines.append(f"? {one_line(question.question, 2000)}")
        for number, option in enumerate(question.options, 1):
            about = f": {one_line(option.description)}" if option.description else ""
            lines.append(f"  {number}. {one_line(option.label)}{about}")
    return "\n".join([*lines, f"  turnhub answer {ask.id} --choose N | --text WORDS"])


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
