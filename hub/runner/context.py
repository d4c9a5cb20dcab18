"""What a transport is given for one turn: the hub's side of :class:`hub.transport.TurnContext`."""

from __future__ import annotations

import asyncio

from hub.asks import Answer, AskRequest
from hub.errors import PluginError
from hub.events import (
    AnyEvent,
    AskDelivered,
    AskOpened,
    AskSettled,
    AskWithdrawn,
    DistillFailed,
    Event,
    Gap,
    MessageQueued,
    MessageUnqueued,
    SessionCreated,
    TurnCompleted,
    TurnDistilled,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
    Unknown,
    UserMessage,
    type_of,
)
from hub.runner.asking import Asking
from hub.runner.writer import Writer
from hub.store.records import Taken
from hub.store.store import Store
from hub.transport import Message, SessionInfo
from hub.turn import Failed

_OWN = (
    *(SessionCreated, UserMessage, TurnStarted, MessageQueued, MessageUnqueued, Gap, Unknown),
    *(AskOpened, AskSettled, AskDelivered, AskWithdrawn),
    *(TurnCompleted, TurnFailed, TurnInterrupted, TurnDistilled, DistillFailed),
)


class Cancel:
    """Tells that somebody wants the turn stopped; the first who asked is named."""

    def __init__(self) -> None:
        self.by: str | None = None
        self._event = asyncio.Event()

    @property
    def requested(self) -> bool:
        """Whether the turn is to be stopped."""
        return self._event.is_set()

    def request(self, by: str) -> None:
        """Ask for it."""
        if self.by is None:
            self.by = by
        self._event.set()

    async def wait(self) -> None:
        """Return when the turn is to be stopped."""
        await self._event.wait()


class LiveTurn:
    """The context of one running turn. Once :meth:`close` was called, nothing gets through any more."""

    def __init__(
        self,
        store: Store,
        taken: Taken,
        session: SessionInfo,
        writer: Writer,
        asking: Asking,
        *,
        adopted: bool,
    ) -> None:
        self.session = session
        self.cancelled = Cancel()
        self.adopted = adopted
        self.first_sign: Failed | None = None
        self._store = store
        self._taken = taken
        self._writer = writer
        self._asking = asking
        self._closed = False

    @property
    def turn_id(self) -> str:
        """The turn's id."""
        return self._taken.turn.id

    @property
    def message(self) -> Message:
        """The message to answer."""
        return self._taken.turn.message

    @property
    def attempt(self) -> int:
        """1 for a message's first turn; higher after a retry or a recovery."""
        return self._taken.turn.attempt

    async def emit(self, event: AnyEvent) -> None:
        """Hand an event to the hub. Raises PluginError for events that are the hub's own, and after the end
        of the turn."""
        self._check_open("emitted an event")
        if isinstance(event, _OWN) or not isinstance(event, Event):
            name = type_of(event) if isinstance(event, Event) else type(event).__name__
            raise PluginError(
                f"Transport {self.session.agent.transport!r} emitted {name}, which is the hub's own."
            )
        await self._writer.put(event)

    async def ask(self, request: AskRequest) -> Answer:
        """Put a permission or a question to policies, grants and people."""
        self._check_open("asked")
        return await self._asking.ask(request)

    async def ask_delivered(self, ask_id: str) -> None:
        """Say that the agent really took the settlement of ``ask_id``."""
        self._check_open("reported an ask's delivery")
        await self._asking.delivered(ask_id)

    async def remember(self, **values: str) -> None:
        """Keep small values with the session."""
        self._check_open("wanted something remembered")
        await self._store.remember(self._taken.claim, values)

    def sign(self, failed: Failed) -> None:
        """Report an abnormal sign. The first one sticks."""
        if self.first_sign is None:
            self.first_sign = failed

    def close(self) -> None:
        """The turn ends: the transport has had its say."""
        self._closed = True

    def _check_open(self, did: str) -> None:
        if self._closed:
            transport = self.session.agent.transport
            raise PluginError(f"Transport {transport!r} {did} after the end of {self.turn_id}; it is ignored.")
