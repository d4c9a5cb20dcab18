"""The shapes of what goes over the wire, where they are not the records themselves."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hub.asks import AskRecord
from hub.events import AnyEvent, Distillate, ForkedFrom
from hub.items import Items
from hub.store.overview import SessionSummary, StoreHealth
from hub.store.records import QueuedMessage, RunnerRecord, SessionRecord, TurnRecord

TITLE_MOST = 500

Title = Annotated[str, Meta(max_length=TITLE_MOST)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Directory = Annotated[str, Meta(min_length=1, max_length=4096)]
Words = Annotated[str, Meta(description="Not blank.", extra_json_schema={"minLength": 1, "pattern": r"\S"})]
CursorParam = Annotated[
    str, Meta(description="The `seq` of the last event seen.", extra_json_schema={"type": "integer", "minimum": 0})
]
OnBusy = Literal["reject", "attach", "queue", "steer", "interrupt"]


# What comes in


class NewSession(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body that makes a session. ``cwd``: relative to the agent's own. ``policy`` wants scope approve.
    ``sensitive``: its turns go to no model elsewhere for distillation."""

    agent: Name
    title: Title | None = None
    cwd: Directory | None = None
    policy: Name | None = None
    sensitive: bool = False


class SessionChanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body that changes a session; null clears. ``policy`` wants scope approve, and so does to take
    ``sensitive`` away."""

    title: Title | UnsetType | None = UNSET
    policy: Name | UnsetType | None = UNSET
    archived: bool | UnsetType = UNSET
    sensitive: bool | UnsetType = UNSET


class NewMessage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body that sends a message. ``literal`` false: as a person at the agent's own keyboard would."""

    text: Words
    on_busy: OnBusy = "reject"
    literal: bool = True


class NewFork(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body that forks a session. ``after``: the number of the last event to take over, or the id of the last
    turn; without it all but a turn that runs. ``agent``: another one than the session's own."""

    after: Annotated[int, Meta(ge=0)] | Name | None = None
    title: Title | None = None
    agent: Name | None = None


class ExportQuery(Struct, frozen=True, kw_only=True):
    """``format``: lines of JSON that can be imported, or Markdown for people. ``mask`` false: with its secrets."""

    format: Literal["jsonl", "markdown"] = "jsonl"
    mask: bool = True


class ToolOutputQuery(Struct, frozen=True, kw_only=True):
    """``turn``: the turn of the tool, where its id is not the only one in the session; else the newest."""

    turn: str | None = None


class ToRender(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Texts that agents wrote, as Markdown."""

    texts: Annotated[tuple[str, ...], Meta(max_length=200)]


class QueuedChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body that changes a waiting message. Without ``literal`` it is sent as it was to be."""

    text: Words
    literal: bool | None = None


class Retry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body that tries the last message again."""

    mode: Literal["rerun", "resume"] = "rerun"


class SessionsQuery(Struct, frozen=True, kw_only=True):
    """Which sessions: at most ``limit``, those that changed before ``before``."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 50
    before: str | None = None


class DeleteQuery(Struct, frozen=True, kw_only=True):
    """``force``: also while a turn runs."""

    force: bool = False


class LiveQuery(Struct, frozen=True, kw_only=True):
    """Where to go on; header Last-Event-ID counts more."""

    last_event_id: CursorParam | None = None


class EventsQuery(Struct, frozen=True, kw_only=True):
    """Where to go on (header Last-Event-ID counts more); how many events a page has."""

    after: CursorParam | None = None
    limit: Annotated[int, Meta(ge=1, le=5000)] = 1000


class HubEventsQuery(Struct, frozen=True, kw_only=True):
    """``session``: a session whose every event comes over the same stream, those behind ``after``."""

    session: str | None = None
    after: CursorParam | None = None


class AsksQuery(Struct, frozen=True, kw_only=True):
    """Which asks."""

    state: Literal["open"] = "open"


# What goes out


class Health(Struct, frozen=True, kw_only=True):
    """The process answers."""

    status: Literal["ok"] = "ok"
    version: str = ""


class Readiness(Struct, frozen=True, kw_only=True):
    """The hub can do its work: with which store, and which runners."""

    status: Literal["ready"] = "ready"
    store: StoreHealth
    runners: tuple[RunnerRecord, ...]


class SessionView(Struct, frozen=True, kw_only=True):
    """A session. ``forked_from``: what it goes on from; ``imported_from``: the id that it had where it was
    exported."""

    id: str
    agent: str
    transport: str
    policy: str | None
    title: str | None
    cwd: str
    created_at: str
    updated_at: str
    archived: bool
    sensitive: bool
    forked_from: ForkedFrom | None
    imported_from: str | None


class ToolOutput(Struct, frozen=True, kw_only=True):
    """What a tool gave back. ``bytes`` and ``sha256`` are of the whole output, of which ``text`` is the beginning
    where it is ``truncated``."""

    tool_id: str
    turn_id: str
    text: str
    bytes: int
    sha256: str
    truncated: bool


class TurnView(Struct, frozen=True, kw_only=True):
    """A turn. It is queued until a runner takes it; a repeated request may find it ended."""

    id: str
    state: Literal["queued", "running", "completed", "failed", "interrupted"]
    started_at: str
    attempt: int


class ListedSession(SessionView, frozen=True, kw_only=True):
    """A session in the list: with its running turn, how many asks and messages wait in it, and how its last turn
    ended."""

    turn: TurnView | None
    open_asks: int
    queued: int
    ended: Literal["completed", "failed", "interrupted"] | None = None


class QueuedView(Struct, frozen=True, kw_only=True):
    """A message that waits for the running turn to end."""

    message_id: str
    text: str
    literal: bool


class SessionState(Struct, frozen=True, kw_only=True):
    """A session at one instant. ``asks``: those that wait, for a person or for the agent to take the answer.
    ``cursor``: the events behind it are not in here yet."""

    session: SessionView
    items: Items
    turn: TurnView | None
    asks: tuple[AskRecord, ...]
    queue: tuple[QueuedView, ...]
    cursor: int


class Rendered(Struct, frozen=True, kw_only=True):
    """The texts as HTML, in their order; null where one is too long."""

    html: tuple[str | None, ...]


class Accepted(Struct, frozen=True, kw_only=True):
    """A message that is taken. ``turn`` is null where it waits in the queue."""

    turn: TurnView | None
    message_id: str


class Stopping(Struct, frozen=True, kw_only=True):
    """The turn that is asked to stop."""

    turn_id: str


class EventsPage(Struct, frozen=True, kw_only=True):
    """Some durable events. ``next``: the cursor of the next page, null where this is all for now."""

    events: tuple[AnyEvent, ...]
    next: int | None


EventLine = Annotated[
    str,
    Meta(
        description="One line of JSON.",
        extra_json_schema={
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/AnyEvent"},
        },
    ),
]


class Frame(Struct, frozen=True, kw_only=True):
    """One frame of a stream. ``id`` is the event's seq, the cursor to come back with; hints and gaps have
    none. ``retry`` stands in the first frame."""

    event: str
    data: EventLine
    id: str | None = None
    retry: int | None = None


class DistillProblem(Struct, frozen=True, kw_only=True):
    """What a route to a turn's memory failed at."""

    code: str
    message: str


class Remembered(Struct, frozen=True, kw_only=True):
    """What was made of one turn: a memory, by which route and model; or a failure; or both, where a lesser route
    stood in for the one that failed."""

    turn_id: str
    at: str
    distillate: Distillate | None = None
    route: str | None = None
    model: str | None = None
    failure: DistillProblem | None = None


class SessionMemory(Struct, frozen=True, kw_only=True):
    """What is kept of a session's turns, newest last; and the turns that wait for their distillation."""

    memory: tuple[Remembered, ...]
    pending: tuple[str, ...]


class Problem(Struct, frozen=True, kw_only=True):
    """What went wrong (RFC 9457). Further members depend on ``code``."""

    type: str
    title: str
    status: int
    detail: str
    code: str


def session_view(record: SessionRecord) -> SessionView:
    """A session as it is shown."""
    return SessionView(**_shown(record))


def listed(summary: SessionSummary) -> ListedSession:
    """A session as the list shows it."""
    return ListedSession(
        **_shown(summary.record),
        turn=turn_view(summary.turn),
        open_asks=summary.open_asks,
        queued=summary.queued,
        ended=summary.ended,
    )


def turn_view(turn: TurnRecord | None) -> TurnView | None:
    """A running turn as it is shown."""
    if turn is None:
        return None
    return TurnView(id=turn.id, state=turn.state, started_at=turn.started_at, attempt=turn.attempt)


def queued_view(message: QueuedMessage) -> QueuedView:
    """A waiting message as it is shown."""
    return QueuedView(message_id=message.id, text=message.text, literal=message.literal)


def _shown(record: SessionRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in SessionView.__struct_fields__}
