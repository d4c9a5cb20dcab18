"""What a transport is and what it is given: the contract between the hub and whoever runs an agent.

A transport turns a session into a :class:`Connection`; a connection runs one turn at a time. The hub does
the rest: numbering, storing, fencing, streaming, asking people, ending honestly. Everything here is pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from msgspec import Struct, field

from hub.asks import Answer, AskRequest, Settlement
from hub.errors import AgentUnavailable, SteerUnsupported
from hub.events import (
    AnyEvent,
    Distillate,
    MessageDelivered,
    Origin,
    Proof,
    Reasoning,
    ReasoningDelta,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEvent,
    Unknown,
    VerdictName,
)
from hub.turn import Ending, Failed

if TYPE_CHECKING:
    from asyncio import Future

    from hub.modelview import View
    from hub.typist import Hold, Typist

TransportEvent: TypeAlias = (
    MessageDelivered | Status | TextDelta | ReasoningDelta | Text | Reasoning | ToolStarted | ToolFinished
)
TRANSPORT_EVENTS: Final[tuple[type[TurnEvent], ...]] = get_args(TransportEvent)

Capability = Literal[
    "interrupt", "steer", "resume", "adopt", "fork", "context", "questions", "permissions", "watch", "screen"
]
Prompted: TypeAlias = Literal["begun", "known", "busy"]


class AgentInfo(Struct, frozen=True, kw_only=True):
    """An agent of the configuration. ``options`` are the keys that the transport itself understands;
    ``cwd`` is absolute; ``state_dir`` is a private directory (0700) for the transport's own files about this
    agent, ``shared_dir`` one for those about all of its agents. They are named, not made."""

    name: str
    transport: str
    cwd: str
    policy: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    state_dir: str = ""
    shared_dir: str = ""


class SessionInfo(Struct, frozen=True, kw_only=True):
    """The session that a connection is opened for. ``memory`` is what earlier turns remembered
    (:meth:`TurnContext.remember`): an agent's own session id, say. ``inherited``: what the session remembered that
    this one was forked from, as long as both say the same up to here: for a transport with the capability
    ``fork``, which forks its agent's own memory then."""

    id: str
    agent: AgentInfo
    cwd: str
    title: str | None = None
    policy: str | None = None
    memory: Mapping[str, str] = field(default_factory=dict)
    inherited: Mapping[str, str] = field(default_factory=dict)


class Message(Struct, frozen=True, kw_only=True):
    """The message that a turn answers. ``literal``: it reaches the agent as words; when false, as a person
    at the keyboard would have sent it."""

    id: str
    text: str
    literal: bool = True
    origin: Origin = "api"


class Verdict(Struct, frozen=True, kw_only=True):
    """What is known about a delivered message, and what proves it. Only submitted and queued are success.
    ``draft``: a person's unsent text that was set aside for it, and could not be put back into the composer."""

    verdict: VerdictName
    proof: Proof | None = None
    detail: str | None = None
    draft: str | None = None


class Screen(Struct, frozen=True, kw_only=True):
    """An agent's terminal at one instant. ``rows``: from the top, as plain text; ``columns``: how wide it is;
    ``seen``: what is read from it, in a few words; ``attach``: the command with which a person on that machine
    sits down at it."""

    rows: tuple[str, ...]
    columns: int
    seen: str = ""
    attach: str = ""


class Cancellation(Protocol):
    """Tells that somebody wants the turn stopped."""

    @property
    def requested(self) -> bool:
        """Whether the turn is to be stopped."""

    @property
    def by(self) -> str | None:
        """Who asked for it."""

    async def wait(self) -> None:
        """Return when the turn is to be stopped."""


class TurnContext(Protocol):
    """What a connection is given for one turn."""

    @property
    def turn_id(self) -> str:
        """The turn's id."""

    @property
    def session(self) -> SessionInfo:
        """The session, with what it remembered when the turn was taken."""

    @property
    def message(self) -> Message:
        """The message to answer."""

    @property
    def attempt(self) -> int:
        """1 for a message's first turn; higher after a retry or a recovery."""

    @property
    def adopted(self) -> bool:
        """Whether this very turn ran under another runner before: go on, do not start over."""

    @property
    def shown(self) -> Sequence[AnyEvent | Unknown]:
        """What an adopted turn had shown before, of what is kept for good: its texts, tools and asks, in order.
        Empty otherwise."""

    async def history(self, last_turns: int | None = None) -> View:
        """The conversation before this turn, as a model is to see it: for agents that have no memory of their own.
        What an earlier attempt at the same message showed is in it, and how that ended. With ``last_turns`` only
        so many of the newest turns are told in full, each older one as its distillate. Waits while the store is
        away."""

    async def context(self) -> str:
        """What has to stand before the message, because the agent cannot know it: the conversation that this
        session was forked from or imported with, until the agent has taken a message of it; empty otherwise. Only
        for transports with the capability ``context``, which may pass it over where they fork their agent's own
        memory; for all others it stands in the message already (:func:`hub.with_context`)."""

    @property
    def cancelled(self) -> Cancellation:
        """Set when somebody interrupts. The hub calls :meth:`Connection.interrupt` at the same time; if ``run``
        has not returned within the configured grace, it is cancelled, and the turn ends as interrupted."""

    async def memory(self) -> tuple[Distillate, ...]:
        """What was distilled from earlier turns of the session, oldest first: for agents that have no memory of
        their own. Turns are distilled after they have ended, so the last one may not be among them yet."""

    async def emit(self, event: AnyEvent) -> None:
        """Hand an event to the hub. Returns when there is room; order is kept. Terminal events, ask events
        and ``user_message`` are the hub's own: emitting one raises PluginError."""

    async def ask(self, request: AskRequest, elsewhere: Future[Settlement] | None = None) -> Answer:
        """Put a permission or a question to policies, grants and people; returns when it is settled or
        withdrawn. Cancelling the caller withdraws it. ``elsewhere``: done (with a settlement by ``keyboard``)
        when somebody answers where the agent itself asks; it settles the ask unless somebody was faster."""

    async def sourced(self, seen: Mapping[str, Any]) -> tuple[AskRequest, ...]:
        """The questions and permissions that plugins (``source_questions``) see waiting in ``seen``, whatever that
        is: each once, the most trusted source's word. Ask when something has changed, then :meth:`ask` them. Does
        not raise for a plugin that fails."""

    async def ask_delivered(self, ask_id: str, *, input: Mapping[str, Any] | None = None) -> None:
        """Say that the agent really took the settlement of ``ask_id``. ``input``: with which its call runs in
        fact, where the agent tells."""

    @property
    def delivered(self) -> Verdict | None:
        """What is known about the delivery of the turn's message, also from before this runner took the turn."""

    async def deliver(self, typist: Typist, message: Message | None = None) -> Verdict:
        """Type the turn's message, once: deliver, verify, clear, retype. Emits ``message_delivered``, once a
        turn: when it is known already what became of the message, that is returned and nothing is typed. With
        other words (``message``) for the running turn nothing is emitted. Raises CannotConvey, with nothing
        typed: :func:`hub.undelivered` makes the ending of it, and of a verdict that is no success."""

    async def joined(self, text: str, key: str) -> None:
        """The agent took words into this turn that the hub did not give it: somebody typed them at its own
        keyboard while it was at work. They are a user message of this turn (``origin: keyboard``), and are
        answered in it. ``key`` as in :meth:`Idle.prompted`: the two together make it one message."""

    def exclusive(self, place: str) -> AbstractAsyncContextManager[Hold]:
        """The lock of a terminal, across all processes: hold it while keys are pressed outside of
        :meth:`deliver`, and ask :meth:`Hold.check` before each. Raises PlaceTaken where somebody has it for
        too long."""

    async def remember(self, **values: str) -> None:
        """Keep small values with the session, for later turns and other processes."""

    def sign(self, failed: Failed) -> None:
        """Report an abnormal sign. The first one sticks: a later completion cannot wash it off."""


class Idle(Protocol):
    """What a connection is given between turns (:meth:`Connection.watch`)."""

    @property
    def session(self) -> SessionInfo:
        """The session."""

    async def prompted(self, text: str, key: str) -> Prompted:
        """The agent took words that the hub did not give it: somebody typed them at its own keyboard. They are a
        user message (``origin: keyboard``), and the turn that answers it begins.

        ``key`` makes it one message, however often and by whomever it is told of: the agent's own id of the
        prompt. ``begun``: the turn is about to run on this connection, and ``watch`` has to return soon.
        ``known``: that message has had its turn. ``busy``: another turn runs; tell again when it is over. Raises
        StoreUnavailable, NotFound.
        """


@runtime_checkable
class Connection(Protocol):
    """One session's line to its agent. The hub never runs two turns of a connection at once."""

    async def run(self, turn: TurnContext) -> Ending:
        """Run one turn to its end and say how it ended. Cancellation of this coroutine means: stop now."""
        ...

    async def steer(self, message: Message) -> Verdict:
        """Give a message to the running turn. Only called where the transport has the capability ``steer``. When
        the agent does not have it for sure (the verdict says so, or CannotConvey, or any HubError is raised), the
        message waits for the turn's end. Of one that the agent has ``queued``, a later ``message_delivered`` with
        its ``message_id`` may tell that it went on to it."""
        told = len(message.text)
        raise SteerUnsupported(f"This transport takes no words into a running turn ({told} characters).")

    async def interrupt(self) -> None:
        """Stop the running turn, if there is one. Returns soon; ``run`` then ends by itself."""
        return  # a default, no abstract method

    async def watch(self, idle: Idle) -> None:
        """Notice, while no turn runs, what others have the agent do. Only called where the transport has the
        capability ``watch``: after each turn, and when a hub starts. Cancelled before a turn runs. Returning
        means that there is nothing to be noticed any more before the next turn."""
        return  # a default, no abstract method

    async def close(self) -> None:
        """Let go of everything. The session may be opened again later, also by another process."""
        return  # a default, no abstract method


@runtime_checkable
class Transport(Protocol):
    """A way to run turns against some kind of agent. Subclass it to get the defaults of the optional parts."""

    name: str
    capabilities: frozenset[Capability] = frozenset()

    async def open(self, session: SessionInfo) -> Connection:
        """A connection for ``session``. Raises AgentUnavailable, naming what mends it, where there can be
        none."""
        ...

    def check(self, agent: AgentInfo) -> str | None:
        """Why this agent cannot run here, with what mends it; None when nothing speaks against it. Raises
        ConfigError where ``agent.options`` are wrong."""
        return None

    async def forget(self, session: SessionInfo) -> None:
        """The session was deleted: end and remove what this transport keeps of it. May be called by another
        process than the one that served it, and more than once."""
        return  # a default, no abstract method

    async def screen(self, session: SessionInfo) -> Screen:
        """The terminal of the session's agent, as it is now. Only called where the transport has the capability
        ``screen``, while a turn runs and between turns. Raises AgentUnavailable, with why none can be seen."""
        raise AgentUnavailable(f"The agent of session {session.id} has no terminal.")

    async def close(self) -> None:
        """Let go of what all connections share."""
        return  # a default, no abstract method
