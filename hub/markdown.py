"""Pure: a conversation as Markdown, for people: turns in order, tools folded, failures and answers with who gave
them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import msgspec

from hub.archive import About
from hub.events import TurnFailed, TurnInterrupted
from hub.items import (
    AskItem,
    AssistantItem,
    Items,
    NoticeItem,
    ReasoningBlock,
    Stats,
    TextBlock,
    ToolBlock,
    UserItem,
)

MEDIA = "text/markdown; charset=utf-8"
_MARKS = re.compile(r"([\\`*_\[\]<>#|~])")
_FENCES = re.compile(r"`+")


def markdown(about: About, items: Items) -> str:
    """The whole conversation."""
    return "\n\n".join((*_head(about), *(part for item in items for part in _item(item)))) + "\n"


def _head(about: About) -> Iterator[str]:
    yield f"# {words(about.title or 'A conversation')}"
    facts = [("Agent", about.agent), ("Transport", about.transport), ("Policy", about.policy or "")]
    facts += [("Directory", about.cwd), ("Begun", about.created_at), ("Session", about.id)]
    if about.forked_from is not None:
        facts.append(("Forked from", f"{about.forked_from.session_id}, after event {about.forked_from.seq}"))
    yield "\n".join(f"* {name}: {code(value)}" for name, value in facts if value)


def _item(item: UserItem | AssistantItem | NoticeItem) -> Iterator[str]:
    match item:
        case UserItem():
            typed = " (typed at the agent's own keyboard)" if item.origin == "keyboard" else ""
            yield f"## User{typed}"
            yield quoted(item.text)
        case AssistantItem():
            yield from _turn(item)
        case NoticeItem():
            yield f"> Note ({words(item.code)}): {words(item.message)}"


def _turn(item: AssistantItem) -> Iterator[str]:
    yield f"## Agent{f', attempt {item.attempt}' if item.attempt > 1 else ''}"
    for block in item.blocks:
        match block:
            case TextBlock():
                yield block.text + ("\n\n*(cut off here)*" if block.partial or block.open else "")
            case ReasoningBlock():
                yield folded("Reasoning", [fenced(block.text)])
            case ToolBlock():
                yield folded(_tool_summary(block), list(_tool(block)))
    for ask in item.asks:
        yield _ask(ask)
    yield _ending(item)


def _tool_summary(block: ToolBlock) -> str:
    took = "" if block.duration_ms is None else f", {block.duration_ms / 1000:.1f} s"
    return f"{block.name}: {block.status}{took}"


def _tool(block: ToolBlock) -> Iterator[str]:
    yield fenced(msgspec.json.format(msgspec.json.encode(block.input), indent=2).decode(), "json")
    if block.digest is None:
        return
    yield fenced(block.digest.text)
    if block.digest.truncated:
        yield f"The beginning of {block.digest.bytes} bytes, SHA-256 `{block.digest.sha256}`."


def _ask(ask: AskItem) -> str:
    what = f"**Asked** for {code(ask.tool)}" if ask.kind == "permission" else "**Asked**"
    about = f" {code(ask.subject)}" if ask.subject else ""
    questions = "".join(f"\n  * {words(one.question)}" for one in ask.questions)
    return f"* {what}{about}: {_settled(ask)}{questions}"


def _settled(ask: AskItem) -> str:
    settled = ask.settlement
    if settled is None:
        return (
            f"withdrawn ({words(ask.reason or 'no reason given')})" if ask.state == "withdrawn" else "still open"
        )
    by = f"{settled.by.kind} {settled.by.name}" + (f", rule {settled.by.rule}" if settled.by.rule else "")
    how = {"allow": "allowed", "deny": "denied", None: "answered"}[settled.decision]
    scope = " for the session" if settled.scope == "session" else ""
    said = settled.message or settled.response or "; ".join((settled.answers or {}).values())
    late = f", but withdrawn ({words(ask.reason or '')})" if ask.state == "withdrawn" else ""
    return f"{how}{scope} by {words(by)}{f': {words(said)}' if said else ''}{late}"


def _ending(item: AssistantItem) -> str:
    figures = _figures(item.stats)
    match item.ending:
        case None:
            return "*Running still.*"
        case TurnFailed() as failed:
            return f"**Failed** (`{failed.code}`): {words(failed.message)} {figures}".rstrip()
        case TurnInterrupted() as stopped:
            return f"**Stopped** by {words(stopped.by)}. {figures}".rstrip()
        case _:
            return figures or "*Done.*"


def _figures(stats: Stats) -> str:
    parts = [] if stats.duration_ms is None else [f"{stats.duration_ms / 1000:.1f} s"]
    parts += [f"{stats.tools} tool{'s' if stats.tools > 1 else ''}"] if stats.tools else []
    if stats.usage is not None and stats.usage.output_tokens is not None:
        parts.append(f"{stats.usage.output_tokens} output tokens")
    parts += [] if stats.cost_usd is None else [f"{stats.cost_usd:.4f} USD"]
    return f"*{', '.join(parts)}*" if parts else ""


def words(text: str) -> str:
    """``text`` as one line of plain words."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """``text`` as one line of code."""
    line = " ".join(text.split())
    fence = "`" * (_longest(line) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"`{line}`"


def quoted(text: str) -> str:
    """``text`` as a quotation; it is somebody's own Markdown, or none."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines()) or ">"


def fenced(text: str, language: str = "") -> str:
    """``text`` as a block of code, whatever fences are in it."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def folded(summary: str, parts: list[str]) -> str:
    """Something that opens on demand."""
    inside = "\n\n".join(parts)
    line = html.escape(" ".join(summary.split()), quote=False)
    return f"<details>\n<summary>{line}</summary>\n\n{inside}\n\n</details>"


def _longest(text: str) -> int:
    return max((len(run) for run in _FENCES.findall(text)), default=0)
