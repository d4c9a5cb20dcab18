"""Pure: a turn's states, what it has shown so far, and its honest ending.

A turn is ``queued`` (begun, no runner yet) or ``running``, and ends exactly once. The rules of an honest
ending: the first abnormal sign sticks, a later "done" cannot wash it off; a turn that shows neither a word
nor a tool has failed; what was produced before a failure is kept and marked as partial.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hub.events import (
    AnyEvent,
    FailureCode,
    MessageDelivered,
    Reasoning,
    ReasoningDelta,
    Status,
    Terminal,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    ToolStatus,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    Unknown,
    Usage,
)

TurnState = Literal["queued", "running"]


class Completed(Struct, frozen=True, kw_only=True):
    """The agent says that it is done."""

    stop_reason: str = "end_turn"
    usage: Usage | None = None
    cost_usd: float | None = None


class Failed(Struct, frozen=True, kw_only=True):
    """The turn failed. ``message`` and ``retryable`` default to those of :data:`FAILURES`."""

    code: FailureCode
    message: str | None = None
    retryable: bool | None = None
    usage: Usage | None = None
    cost_usd: float | None = None


class Interrupted(Struct, frozen=True, kw_only=True):
    """Somebody stopped the turn."""

    by: str = "person"
    usage: Usage | None = None
    cost_usd: float | None = None


Ending: TypeAlias = Completed | Failed | Interrupted


class FailureKind(Struct, frozen=True):
    """What a failure code means to a person, and whether trying again makes sense."""

    message: str
    retryable: bool


FAILURES: Final[dict[FailureCode, FailureKind]] = {
    "empty_response": FailureKind("The agent ended its turn without a word and without a tool. Try again.", True),
    "reasoning_only": FailureKind("The agent thought, but said nothing. Try again.", True),
    "incomplete": FailureKind("The answer was cut off before its end. What came is kept; try again.", True),
    "token_cap": FailureKind(
        "The agent used up its output tokens before it was done. Ask for less at once, or raise the cap.",
        True,
    ),
    "agent_error": FailureKind("The agent reported an error, and nothing more about it. Try again.", True),
    "agent_dead": FailureKind("The agent's process ended in the middle of the turn. Try again.", True),
    "agent_unavailable": FailureKind("The agent cannot run here. `turnhub doctor` says what is missing.", True),
    "not_delivered": FailureKind("The message did not reach the agent. Send it again.", True),
    "blocked_by_dialog": FailureKind("A dialog on the agent's screen holds the keyboard. Answer it first.", True),
    "stalled": FailureKind("Nothing came from the agent for too long. Try again.", True),
    "owner_lost": FailureKind("The runner of this turn went away. What came is kept; try again.", True),
    "cancelled_by_shutdown": FailureKind("The hub was stopped while the turn ran. Try again.", True),
}

_DELTA = TextDelta | ReasoningDelta
_BLOCK = Text | Reasoning


class TurnTally:
    """What a turn has shown so far, told by its events, in order. The runner keeps one while the turn runs;
    reaping builds one from the live stream. Both then write the same closing events."""

    def __init__(self) -> None:
        self.spoke = False
        self.reasoned = False
        self.delivered: MessageDelivered | None = None
        self.terminal: Terminal | None = None
        self._open_blocks: dict[tuple[type[_BLOCK], int], list[str]] = {}
        self._tools: set[str] = set()
        self._open_tools: dict[str, None] = {}

    @property
    def tools(self) -> int:
        """How many tools have started. One that is announced again (by a runner that took the turn over)
        counts once."""
        return len(self._tools)

    def feed(self, event: AnyEvent | Unknown) -> None:
        """Take the turn's next event into account."""
        match event:
            case MessageDelivered():
                self.delivered = event if event.message_id is None else self.delivered
            case TextDelta() | ReasoningDelta():
                kind = Text if isinstance(event, TextDelta) else Reasoning
                self._open_blocks.setdefault((kind, event.block), []).append(event.text)
            case Text() | Reasoning():
                self._open_blocks.pop((type(event), event.block), None)
                self._shown(event)
            case Status(state="retrying"):
                self._open_blocks.clear()
            case ToolStarted():
                self._tools.add(event.tool_id)
                self._open_tools[event.tool_id] = None
            case ToolFinished():
                self._open_tools.pop(event.tool_id, None)
            case TurnCompleted() | TurnFailed() | TurnInterrupted():
                self.terminal = event
            case _:
                pass

    def _shown(self, event: _BLOCK) -> None:
        if not any(sign.isprintable() and not sign.isspace() for sign in event.text):
            return
        if isinstance(event, Text):
            self.spoke = True
        else:
            self.reasoned = True

    @property
    def open_tools(self) -> tuple[str, ...]:
        """The ids of tools that have started and not finished, in order."""
        return tuple(self._open_tools)

    def closing(self, tool_status: ToolStatus = "unknown") -> tuple[AnyEvent, ...]:
        """What has to be written before the terminal event: partial blocks, then ends of open tools."""
        blocks = (
            kind(block=block, text=text, partial=True)
            for (kind, block), pieces in self._open_blocks.items()
            if (text := "".join(pieces))
        )
        tools = (ToolFinished(tool_id=tool_id, status=tool_status) for tool_id in self._open_tools)
        return (*blocks, *tools)


def judge(tally: TurnTally, ending: Ending, sign: Failed | None = None) -> Ending:
    """The ending that the turn really has.

    ``sign`` is the first abnormal sign that was seen, if any: it outranks a later claim of completion, but
    not a person's interruption. A completion that shows nothing is none. ``tally`` must have been fed the
    closing events too.
    """
    if isinstance(ending, Interrupted):
        return ending
    if sign is not None:
        # An ending that tells the same failure may know more about it than its first sign did.
        same = ending if isinstance(ending, Failed) and ending.code == sign.code else None
        return Failed(
            code=sign.code,
            message=sign.message or (same.message if same else None),
            retryable=same.retryable if same and sign.retryable is None else sign.retryable,
            usage=sign.usage or ending.usage,
            cost_usd=ending.cost_usd if sign.cost_usd is None else sign.cost_usd,
        )
    if isinstance(ending, Completed) and not tally.spoke and not tally.tools:
        code: FailureCode = "reasoning_only" if tally.reasoned else "empty_response"
        return Failed(code=code, usage=ending.usage, cost_usd=ending.cost_usd)
    return ending


def terminal_event(ending: Ending, *, duration_ms: int, tools: int) -> Terminal:
    """The terminal event of an ending. ``duration_ms``: wall clock, milliseconds, since the turn was taken."""
    match ending:
        case Completed():
            return TurnCompleted(
                stop_reason=ending.stop_reason,
                duration_ms=duration_ms,
                usage=ending.usage,
                cost_usd=ending.cost_usd,
                tools=tools,
            )
        case Failed():
            kind = FAILURES[ending.code]
            return TurnFailed(
                code=ending.code,
                message=ending.message or kind.message,
                retryable=kind.retryable if ending.retryable is None else ending.retryable,
                duration_ms=duration_ms,
                usage=ending.usage,
                cost_usd=ending.cost_usd,
                tools=tools,
            )
        case Interrupted():
            return TurnInterrupted(
                by=ending.by,
                duration_ms=duration_ms,
                usage=ending.usage,
                cost_usd=ending.cost_usd,
                tools=tools,
            )
