"""What the rows of a transcript say, as typed facts. Pure data."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from hub import Usage

Operation: TypeAlias = Literal["enqueue", "dequeue", "remove", "pop_all"]


class RowFact(Struct, frozen=True, kw_only=True):
    """What every fact has. ``uuid`` is the row's own id ("" where it has none), ``at`` its time (RFC 3339).
    ``aside``: it belongs to a helper (a sidechain), not to the conversation."""

    uuid: str = ""
    at: str = ""
    aside: bool = False


class Prompt(RowFact, frozen=True, kw_only=True):
    """A person's words have reached the model's conversation. ``source``: ``typed``; ``queued``, where they had
    waited in the agent's own queue; ``sdk``; None where this version of the agent does not tell."""

    text: str
    prompt_id: str | None = None
    source: str | None = None


class Queue(RowFact, frozen=True, kw_only=True):
    """The agent's own queue. ``text`` is what was put in or taken out, where the row tells it; ``reason`` why."""

    operation: Operation
    text: str | None = None
    reason: str | None = None


class Absorbed(RowFact, frozen=True, kw_only=True):
    """Queued words were taken into the running turn."""

    text: str


def key_of(words: Prompt | Absorbed) -> str:
    """The agent's own id of words that a person typed: that of the prompt, where it has one, else of its row."""
    return (words.prompt_id if isinstance(words, Prompt) else None) or words.uuid


class Said(RowFact, frozen=True, kw_only=True):
    """A block of the agent's text. ``message_id`` and ``block`` place it; ``cut``: it was broken off. ``error``:
    it is no answer but the agent's word for what went wrong with its model, and ``kind`` its name for that."""

    message_id: str
    block: int | None
    text: str
    cut: bool = False
    error: bool = False
    kind: str = ""


class Thought(RowFact, frozen=True, kw_only=True):
    """A block of reasoning."""

    message_id: str
    block: int | None
    text: str
    cut: bool = False


class Used(RowFact, frozen=True, kw_only=True):
    """A call of a tool."""

    message_id: str
    block: int | None
    tool_use_id: str
    name: str
    input: dict[str, Any]


class Result(RowFact, frozen=True, kw_only=True):
    """What the model is told about a call. ``content`` is as it came (text, or blocks). ``denied``: somebody, or
    a rule, did not let it run. ``rejected``: somebody at the keyboard did not, or stopped it while it ran: the
    agent tells both in the same words. ``detail`` is what the agent itself keeps of it, where it is more."""

    tool_use_id: str
    content: Any
    error: bool = False
    denied: bool = False
    rejected: bool = False
    detail: Any = None


class HookDecided(RowFact, frozen=True, kw_only=True):
    """A permission was settled by a hook's answer, not at the keyboard."""

    tool_use_id: str
    decision: str


class Spent(RowFact, frozen=True, kw_only=True):
    """The usage of message ``message_id``. Each row of the message tells it: the last one counts."""

    message_id: str
    usage: Usage
    stop_reason: str | None = None
    model: str | None = None


class Interrupted(RowFact, frozen=True, kw_only=True):
    """A person stopped the agent; ``tool``: by refusing a tool."""

    tool: bool = False


class TurnOver(RowFact, frozen=True, kw_only=True):
    """The agent's turn is over, after ``duration_ms`` milliseconds by its own clock."""

    duration_ms: int


class Entered(RowFact, frozen=True, kw_only=True):
    """A line was submitted in the composer, by the agent's own list of them (``history.jsonl``, one for all its
    sessions): the agent's own commands are in no transcript, or only once their panel is closed. ``session``: the
    agent's own id of the session; ``project``: where it works."""

    text: str
    session: str
    project: str = ""


class CommandSaid(RowFact, frozen=True, kw_only=True):
    """What a command of the agent's own printed, or what the agent says of one that it does not know."""

    text: str


class Blocked(RowFact, frozen=True, kw_only=True):
    """A hook in the agent's own settings kept a prompt from its model. ``text``: the agent's words for that;
    ``prompt``: the prompt, where it tells it: it puts that into its composer again. Else it ``kept`` the prompt in
    its conversation, unanswered."""

    text: str
    prompt: str | None = None
    kept: bool = False


class Compacted(RowFact, frozen=True, kw_only=True):
    """The conversation so far was replaced by a summary."""
