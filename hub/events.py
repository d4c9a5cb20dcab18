"""The one event vocabulary: a tagged union (msgspec) and its codec.

An event is *durable* (kept in the session's log for good) or *transient* (kept in the turn's live stream
only). ``seq``, ``session_id``, ``at`` and ``turn_id`` are filled in by the hub: a transport sets none of
them. Readers skip types and fields that they do not know.

The store numbers events inside its transactions, so the codec splits an event in its type and everything
behind the number (:func:`encode_body`); the two are joined to a frame where the number is given out, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

Origin = Literal["api", "keyboard", "queue"]
VerdictName = Literal["submitted", "queued", "staged", "blocked", "dead", "unverified"]
Proof = Literal["sdk", "hook", "transcript", "pane"]
StatusState = Literal["starting", "thinking", "retrying", "stalled", "resumed"]
ToolStatus = Literal["ok", "error", "denied", "interrupted", "unknown"]
AskKind = Literal["permission", "question"]
Decision = Literal["allow", "deny"]
Scope = Literal["once", "session"]
FailureCode = Literal[
    "empty_response",
    "reasoning_only",
    "incomplete",
    "token_cap",
    "agent_error",
    "agent_dead",
    "agent_unavailable",
    "not_delivered",
    "blocked_by_dialog",
    "stalled",
    "owner_lost",
    "cancelled_by_shutdown",
]


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of one turn. None where the agent does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None


class Digest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the log keeps of a tool's output: its beginning, its whole size in bytes, its SHA-256 (hex).

    ``truncated`` is true when ``text`` is not the whole output. ``runs`` is how often the session ran this
    very call, where the transport counts it.
    """

    text: str
    bytes: int
    sha256: str
    truncated: bool = False
    runs: int | None = None


class QuestionOption(Struct, frozen=True, kw_only=True):
    """One choice of a question."""

    label: str
    description: str = ""


class Question(Struct, frozen=True, kw_only=True, rename={"multi_select": "multiSelect"}):
    """A question as AskUserQuestion has it. The exact ``question`` text is the key of its answer."""

    question: str
    header: str = ""
    options: tuple[QuestionOption, ...] = ()
    multi_select: bool = False


Refusal = Literal["answer", "input", "message", "response", "words", "lines"]
"""What the place that asks cannot take: any answer at all (it is to be answered where the agent itself asks); an
edited input; words with a denial; one response to several questions; own words instead of an option's; own words
of more than one line."""


class Ask(Struct, frozen=True, kw_only=True):
    """What a person is asked. ``subject`` is what a permission is about (a command, a path, an address);
    ``expires_at`` is RFC 3339 UTC, or None where it waits as long as its turn. ``refuses``: what cannot be
    conveyed to the agent, so that such an answer is refused instead of a wrong one delivered. ``tool_id``: the
    call that it is about, where that is known."""

    id: str
    kind: AskKind
    tool: str
    subject: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    danger: str | None = None
    rationale: str | None = None
    source: str = "sdk"
    expires_at: str | None = None
    refuses: tuple[Refusal, ...] = ()
    tool_id: str | None = None


class By(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who settled an ask: a person (token name), a policy (plugin, and the rule), keyboard, or timeout."""

    kind: Literal["person", "policy", "keyboard", "timeout"]
    name: str
    rule: str | None = None


class Distillate(Struct, frozen=True, kw_only=True):
    """The small structured memory of one finished turn."""

    summary: str
    files_changed: tuple[str, ...] = ()
    failures: tuple[dict[str, str], ...] = ()
    key_findings: tuple[str, ...] = ()


class ForkedFrom(Struct, frozen=True, kw_only=True):
    """Where a forked session comes from: another session, up to its event ``seq``."""

    session_id: str
    seq: int


class Event(Struct, frozen=True, kw_only=True, tag_field="type"):
    """What every event has. ``seq``: the session's rising number; ``at``: RFC 3339, UTC. ``copied`` stands only in
    events that a fork took over: the number that the event has in the session that it comes from."""

    seq: int = 0
    session_id: str = ""
    at: str = ""
    copied: int | UnsetType = UNSET


class TurnEvent(Event, frozen=True, kw_only=True):
    """An event that belongs to a turn."""

    turn_id: str = ""


class SessionCreated(Event, frozen=True, kw_only=True, tag="session_created"):
    """Durable. The session begins; ``forked_from`` stands there where it goes on from another one."""

    agent: str
    transport: str
    policy: str | None = None
    forked_from: ForkedFrom | UnsetType = UNSET


class UserMessage(TurnEvent, frozen=True, kw_only=True, tag="user_message"):
    """Durable. What a person said."""

    message_id: str
    text: str
    origin: Origin = "api"


class TurnStarted(TurnEvent, frozen=True, kw_only=True, tag="turn_started"):
    """Durable. ``attempt`` counts from 1; a retry or a recovery raises it. ``message_id`` is the message
    that the turn answers; ``resumes``: it goes on where the attempt before was cut off."""

    attempt: int
    message_id: str | None = None
    resumes: bool = False


class MessageDelivered(TurnEvent, frozen=True, kw_only=True, tag="message_delivered"):
    """Durable. What is known about the delivery of the turn's message, and what proves it; with a ``message_id``
    it is about that message, which was given to the turn while it ran."""

    verdict: VerdictName
    proof: Proof | None = None
    detail: str | None = None
    message_id: str | None = None


class Status(TurnEvent, frozen=True, kw_only=True, tag="status"):
    """Transient. ``retrying`` also says: what was streamed of unfinished blocks does not count any more."""

    state: StatusState
    detail: str | None = None


class TextDelta(TurnEvent, frozen=True, kw_only=True, tag="text_delta"):
    """Transient. More text of block number ``block`` (numbered within the turn by the transport)."""

    block: int
    text: str


class ReasoningDelta(TurnEvent, frozen=True, kw_only=True, tag="reasoning_delta"):
    """Transient. More reasoning of block number ``block``."""

    block: int
    text: str


class Text(TurnEvent, frozen=True, kw_only=True, tag="text"):
    """Durable. The whole text of a block; ``partial`` when it was cut off."""

    block: int
    text: str
    partial: bool = False


class Reasoning(TurnEvent, frozen=True, kw_only=True, tag="reasoning"):
    """Durable. The whole reasoning of a block; ``partial`` when it was cut off."""

    block: int
    text: str
    partial: bool = False


class ToolStarted(TurnEvent, frozen=True, kw_only=True, tag="tool_started"):
    """Durable. ``tool_id`` is unique within the turn; ``parent_id`` names the tool that it runs under."""

    tool_id: str
    name: str
    input: dict[str, Any] = field(default_factory=dict)
    parent_id: str | None = None


class ToolFinished(TurnEvent, frozen=True, kw_only=True, tag="tool_finished"):
    """Durable. ``duration_ms`` is wall-clock milliseconds since its start, None where nobody measured.

    ``output`` is for transports alone, and never written: with the whole output in it the hub keeps that for a
    while, and makes the digest where there is none."""

    tool_id: str
    status: ToolStatus
    digest: Digest | None = None
    duration_ms: int | None = None
    output: str | UnsetType = UNSET


class AskOpened(TurnEvent, frozen=True, kw_only=True, tag="ask_opened"):
    """Durable. A permission or a question waits for somebody."""

    ask: Ask


class AskSettled(TurnEvent, frozen=True, kw_only=True, tag="ask_settled"):
    """Durable. The one settlement of an ask. ``input`` is the edited input where the person changed it."""

    ask_id: str
    by: By
    decision: Decision | None = None
    scope: Scope | None = None
    message: str | None = None
    input: dict[str, Any] | None = None
    answers: dict[str, str] | None = None
    response: str | None = None


class AskDelivered(TurnEvent, frozen=True, kw_only=True, tag="ask_delivered"):
    """Durable. The agent really took the settlement. ``input``: with which the call runs in fact, where the agent
    tells."""

    ask_id: str
    input: dict[str, Any] | None = None


class AskWithdrawn(TurnEvent, frozen=True, kw_only=True, tag="ask_withdrawn"):
    """Durable. The ask is over without a settlement that counts; ``reason`` says why."""

    ask_id: str
    reason: str


class GrantRevoked(Event, frozen=True, kw_only=True, tag="grant_revoked"):
    """Durable. The session's standing consent to this call is taken back; ``subject`` None: to the whole tool."""

    grant_id: str
    tool: str
    subject: str | None
    by: By


class MessageQueued(Event, frozen=True, kw_only=True, tag="message_queued"):
    """Durable. The message waits for the running turn to end."""

    message_id: str
    text: str


class MessageUnqueued(Event, frozen=True, kw_only=True, tag="message_unqueued"):
    """Durable. A waiting message was taken back."""

    message_id: str
    text: str


class TurnCompleted(TurnEvent, frozen=True, kw_only=True, tag="turn_completed"):
    """Durable, terminal. ``duration_ms``: wall clock since the turn was taken; ``tools``: tools started."""

    stop_reason: str
    duration_ms: int
    usage: Usage | None = None
    cost_usd: float | None = None
    tools: int = 0


class TurnFailed(TurnEvent, frozen=True, kw_only=True, tag="turn_failed"):
    """Durable, terminal. ``message`` is a sentence that a person can act on."""

    code: FailureCode
    message: str
    retryable: bool
    duration_ms: int
    usage: Usage | None = None
    cost_usd: float | None = None
    tools: int = 0


class TurnInterrupted(TurnEvent, frozen=True, kw_only=True, tag="turn_interrupted"):
    """Durable, terminal. ``by``: who asked for it."""

    by: str
    duration_ms: int
    usage: Usage | None = None
    cost_usd: float | None = None
    tools: int = 0


class TurnDistilled(TurnEvent, frozen=True, kw_only=True, tag="turn_distilled"):
    """Durable. The memory of a finished turn."""

    distillate: Distillate
    route: str
    model: str | None = None


class DistillFailed(TurnEvent, frozen=True, kw_only=True, tag="distill_failed"):
    """Durable. No memory could be made of a finished turn, and why."""

    code: str
    message: str


class Gap(Event, frozen=True, kw_only=True, tag="gap"):
    """Transient. Some events with ``after`` < seq < ``before`` are no longer held."""

    after: int
    before: int


class Unknown(Event, frozen=True, kw_only=True, tag="unknown"):
    """Stands for an event of a type that this version does not know. Never written."""

    name: str


AnyEvent: TypeAlias = (
    SessionCreated
    | UserMessage
    | TurnStarted
    | MessageDelivered
    | Status
    | TextDelta
    | ReasoningDelta
    | Text
    | Reasoning
    | ToolStarted
    | ToolFinished
    | AskOpened
    | AskSettled
    | AskDelivered
    | AskWithdrawn
    | GrantRevoked
    | MessageQueued
    | MessageUnqueued
    | TurnCompleted
    | TurnFailed
    | TurnInterrupted
    | TurnDistilled
    | DistillFailed
    | Gap
)
Terminal: TypeAlias = TurnCompleted | TurnFailed | TurnInterrupted

EVENT_TYPES: Final[dict[str, type[Event]]] = {
    cast(str, kind.__struct_config__.tag): kind for kind in get_args(AnyEvent)
}
TRANSIENT: Final[frozenset[str]] = frozenset({"status", "text_delta", "reasoning_delta", "gap"})
TERMINAL: Final[frozenset[str]] = frozenset({"turn_completed", "turn_failed", "turn_interrupted"})

# What str.splitlines takes for the end of a line and JSON leaves as it is: some SSE clients split there.
_LINE_ENDS: Final = ((b"\xc2\x85", rb"\u0085"), (b"\xe2\x80\xa8", rb"\u2028"), (b"\xe2\x80\xa9", rb"\u2029"))

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


class _Head(Struct):
    type: str
    seq: int = 0
    session_id: str = ""
    at: str = ""


_head_decoder = msgspec.json.Decoder(_Head)
_PREFIX: Final[dict[str, int]] = {name: len(f'{{"type":"{name}","seq":0,') for name in EVENT_TYPES}


def type_of(event: Event) -> str:
    """The event's ``type`` on the wire."""
    return cast(str, event.__struct_config__.tag)


def is_durable(event_type: str) -> bool:
    """Whether events of this type are kept in the log. Unknown types count as durable: losing is worse."""
    return event_type not in TRANSIENT


def now() -> str:
    """The present as events carry it: RFC 3339, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def stamp(event: AnyEvent, session_id: str, turn_id: str | None, at: str | None = None) -> AnyEvent:
    """``event`` with its session, its turn (where it can belong to one) and its time."""
    changes: dict[str, Any] = {"session_id": session_id, "at": at or now()}
    if isinstance(event, TurnEvent):
        changes["turn_id"] = turn_id or event.turn_id
    return msgspec.structs.replace(event, **changes)


def encode(event: Event) -> bytes:
    """The event as one line of JSON. Raises TypeError as :func:`to_json` does."""
    return to_json(event)


def to_json(value: Any) -> bytes:
    """``value`` as one line of JSON, which no reader of lines can split (U+0085, U+2028, U+2029 are escaped).

    Half a surrogate pair, which an agent's own JSON can smuggle in, becomes U+FFFD. Raises TypeError where a
    tool's input or the like holds what JSON cannot.
    """
    try:
        line = _encoder.encode(value)
    except UnicodeEncodeError:
        line = _encoder.encode(_without_surrogates(msgspec.to_builtins(value)))
    if line.isascii():
        return line
    for raw, escaped in _LINE_ENDS:
        line = line.replace(raw, escaped)
    return line


def _without_surrogates(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
        case list() | tuple():
            return [_without_surrogates(item) for item in value]
        case _:
            return value


def encode_body(event: Event) -> bytes:
    """What stands behind ``"seq":<n>,`` in the event's JSON, closing brace included."""
    if event.seq:
        event = msgspec.structs.replace(event, seq=0)
    return to_json(event)[_PREFIX[type_of(event)] :]


def decode(line: bytes | str) -> AnyEvent | Unknown:
    """The event in one line of JSON; an :class:`Unknown` where its type is of a later version.

    Raises msgspec.DecodeError (ValidationError included) when ``line`` is no event at all.
    """
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        head = _head_decoder.decode(line)
        if head.type in EVENT_TYPES:
            raise
        return Unknown(seq=head.seq, session_id=head.session_id, at=head.at, name=head.type)


# An event's frame is made where its number is given out (store/lua/_lib.lua); here it is only taken apart.
_DATA = b"\ndata: "


def frame(event: Event) -> bytes:
    """The SSE frame of an event: id, event and data lines, and the empty line."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, type_of(event).encode(), encode(event))


def line_of(sse_frame: bytes) -> bytes:
    """The JSON line inside an SSE frame."""
    start = sse_frame.index(_DATA) + len(_DATA)
    return sse_frame[start:].rstrip(b"\n")


def decode_frames(frames: bytes) -> Iterator[AnyEvent | Unknown]:
    """The events in a run of joined SSE frames; comments and ``retry:`` lines are passed over."""
    for part in frames.split(b"\n\n"):
        if _DATA in b"\n" + part:
            yield decode(line_of(b"\n" + part))
