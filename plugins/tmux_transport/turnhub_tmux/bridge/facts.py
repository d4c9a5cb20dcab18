"""What the agent itself says by its hooks, as typed facts. Pure data.

``agent_session`` is the agent's own session id, which changes when a person starts over (``/clear``);
``prompt_id`` names the prompt that the agent works on at that moment.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from hub import Question

Sign: TypeAlias = Literal["tool", "batch", "stop", "prompt", "end", "gone"]


class Fact(Struct, frozen=True, kw_only=True):
    """What every fact has. ``agent``: the helper (subagent) that it is about, None for the agent itself.
    ``late``: it belongs to a prompt before the one that the agent is at; a helper in the background may still
    ask, though."""

    agent_session: str = ""
    prompt_id: str | None = None
    agent: str | None = None
    late: bool = False


class SessionSeen(Fact, frozen=True, kw_only=True):
    """Where the agent writes its transcript, and where it works. Told when it is new or has changed."""

    transcript_path: str
    cwd: str


class PromptSubmitted(Fact, frozen=True, kw_only=True):
    """The agent took ``prompt``. ``queued``: while it works on another prompt, whose id the post carries; None
    where nobody knows, since this is the first that was heard. ``repeated``: the very same was told before; that
    is either the same post again, or the same words typed twice to a busy agent."""

    prompt: str
    queued: bool | None = False
    repeated: bool = False


class Displayed(Fact, frozen=True, kw_only=True):
    """Piece number ``index`` of the text of message ``message_id``; ``final``: the last one."""

    turn: str
    message_id: str
    index: int
    final: bool
    delta: str


class ToolStarting(Fact, frozen=True, kw_only=True):
    """The agent is about to use a tool; whether it may comes after."""

    tool_use_id: str
    name: str
    input: dict[str, Any]


class ToolDone(Fact, frozen=True, kw_only=True):
    """A tool has run. ``input`` is what it ran with."""

    tool_use_id: str
    name: str
    input: dict[str, Any]
    output: Any = None
    duration_ms: int | None = None


class ToolFailed(Fact, frozen=True, kw_only=True):
    """A tool has run and failed, or was interrupted."""

    tool_use_id: str
    name: str
    input: dict[str, Any]
    error: str = ""
    interrupted: bool = False
    duration_ms: int | None = None


class ToolResult(Struct, frozen=True, kw_only=True):
    """What the model is told of one tool call."""

    tool_use_id: str
    name: str
    output: Any = None


class BatchDone(Fact, frozen=True, kw_only=True):
    """All calls of one answer are over; of one that was not allowed to run this is the only trace."""

    results: tuple[ToolResult, ...]


class PermissionAsked(Fact, frozen=True, kw_only=True):
    """A dialog is on the agent's screen: may it use the tool, or what is the answer to its questions?

    ``ask_id`` is ours, and names the request that is held open for an answer. ``tool_use_id`` is the call that it
    is about, where that can be told. ``suggestions`` are the standing consents that the agent offers.
    """

    ask_id: str
    tool: str
    input: dict[str, Any]
    questions: tuple[Question, ...] = ()
    suggestions: tuple[dict[str, Any], ...] = ()
    tool_use_id: str | None = None


class Elicited(Fact, frozen=True, kw_only=True):
    """What an MCP server was told that had asked: ``action``, and what was filled in."""

    server: str
    action: str
    content: dict[str, Any] = field(default_factory=dict)


class AskOver(Fact, frozen=True, kw_only=True):
    """The dialog of ``ask_id`` is gone, as ``sign`` tells: its tool ran (or failed), the tools of that answer
    are all over, the agent stopped, began another prompt, ended, or hung up.

    ``ran``: the tool ran, with ``input``; else None, since nobody tells of a tool that does not run. ``output`` is
    what came out, or what the model was told instead. ``answered``: our answer had gone out before.
    """

    ask_id: str
    sign: Sign
    ran: Literal[True] | None = None
    input: dict[str, Any] | None = None
    output: Any = None
    answered: bool = False
    tool_use_id: str | None = None


class Unheld(Fact, frozen=True, kw_only=True):
    """The request of ``ask_id`` is not held open any more: the dialog stays, but only keys answer it."""

    ask_id: str
    reason: str


class Stopped(Fact, frozen=True, kw_only=True):
    """The agent's answer is complete. ``last_message`` is the text of its last message."""

    last_message: str = ""


class StopFailed(Fact, frozen=True, kw_only=True):
    """The agent gave up on an error of its model. ``error`` is its kind, ``detail`` what it says."""

    error: str = ""
    detail: str = ""
    last_message: str = ""


class Notified(Fact, frozen=True, kw_only=True):
    """The agent wants somebody's attention: a late hint, never proof."""

    kind: str = ""
    message: str = ""


class SessionOver(Fact, frozen=True, kw_only=True):
    """The agent's session ended: ``clear`` where a person started over, else the agent has left."""

    reason: str = ""


class Missed(Fact, frozen=True, kw_only=True):
    """So many facts were dropped here, since nobody fetched them: the transcript has them."""

    count: int = field(default=0)
