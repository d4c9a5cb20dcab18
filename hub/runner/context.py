"""What a transport is given for one turn: the hub's side of :class:`hub.transport.TurnContext`."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import structlog
from msgspec import UNSET, UnsetType

from hub.asks import Answer, AskRequest, Settlement
from hub.digests import digest_of
from hub.errors import Fenced, PluginError, StoreReadOnly, StoreUnavailable
from hub.events import (
    AnyEvent,
    Distillate,
    MessageDelivered,
    Status,
    ToolFinished,
    TurnDistilled,
    Unknown,
    decode,
    line_of,
)
from hub.modeltext import CONTEXT_MOST, TYPED_MOST, context_text, with_context
from hub.modelview import View, model_view
from hub.runner.asking import Asking
from hub.runner.delivering import Delivering
from hub.runner.history import has_moved_on, has_taken, log_before
from hub.runner.keyboard import TYPED_THERE, keyboard_key
from hub.runner.resuming import Resuming
from hub.runner.silence import Silence
from hub.runner.sound import sound, sound_event
from hub.runner.writer import Writer
from hub.store.records import Taken
from hub.store.store import Store
from hub.transport import TRANSPORT_EVENTS, Message, SessionInfo, Verdict
from hub.turn import Failed
from hub.typist import Hold, Typist


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
        *,
        writer: Writer,
        asking: Asking,
        delivering: Delivering,
        resuming: Resuming,
        silence: Silence,
        adopted: bool,
    ) -> None:
        self.session = session
        self.cancelled = Cancel()
        self.adopted = adopted
        self.shown: Sequence[AnyEvent | Unknown] = ()
        self.message = taken.turn.message
        self.first_sign: Failed | None = None
        self._takes_context = False
        self._store = store
        self._taken = taken
        self._writer = writer
        self._asking = asking
        self._delivering = delivering
        self._resuming = resuming
        self._one_delivery = asyncio.Lock()
        self._silence = silence
        self._clock = asyncio.get_running_loop().time
        self._closed = False

    @property
    def turn_id(self) -> str:
        """The turn's id."""
        return self._taken.turn.id

    @property
    def attempt(self) -> int:
        """1 for a message's first turn; higher after a retry or a recovery."""
        return self._taken.turn.attempt

    async def memory(self) -> tuple[Distillate, ...]:
        """What was distilled from earlier turns of the session, oldest first."""
        entries = await self._writer.persist(lambda: self._store.memory_page(self.session.id))
        events = [decode(line_of(entry.frame)) for entry in entries]
        return tuple(event.distillate for event in events if isinstance(event, TurnDistilled))

    async def emit(self, event: AnyEvent) -> None:
        """Hand an event to the hub. Raises PluginError for events that are the hub's own or cannot be written,
        and after the end of the turn."""
        self._check_open("emitted an event")
        if isinstance(event, ToolFinished):
            event = await self._without_output(event)
        checked, size = sound_event(event, self.session.agent.transport)
        if self._silence.shown:
            await self._writer.put(Status(state="resumed"), 0)
        self._silence.broken(self._clock())
        await self._writer.put(checked, size)
        if isinstance(checked, MessageDelivered) and checked.message_id is None:
            await self._has_answer(checked)

    async def _has_answer(self, delivered: MessageDelivered) -> None:
        """The agent has been told what a person said of the calls that were cut off."""
        ask_id, self._resuming.told = self._resuming.told, None
        if ask_id is not None and delivered.verdict in ("submitted", "queued"):
            await self._asking.delivered(ask_id, None)

    async def _without_output(self, event: ToolFinished) -> ToolFinished:
        """The event as it is written. Its whole output is kept beside the log, if it can be: the turn does not
        depend on it."""
        text = event.output
        if isinstance(text, UnsetType):
            return event
        if not isinstance(text, str):
            raise PluginError(f"The output of a tool is text, not {type(text).__name__}.")
        digest = event.digest or digest_of(text)
        if digest.truncated:
            try:
                await self._store.keep_output(self._taken.claim, event.tool_id, text)
            except (StoreUnavailable, StoreReadOnly, Fenced) as error:
                structlog.get_logger("hub.turn").warning(
                    "a tool's whole output is not kept", turn_id=self.turn_id, error=error.detail
                )
        return msgspec.structs.replace(event, output=UNSET, digest=digest)

    async def ask(self, request: AskRequest, elsewhere: asyncio.Future[Settlement] | None = None) -> Answer:
        """Put a permission or a question to policies, grants and people."""
        self._check_open("asked")
        try:
            return await self._asking.ask(request, elsewhere)
        finally:
            self._silence.broken(self._clock())

    async def sourced(self, seen: Mapping[str, Any]) -> tuple[AskRequest, ...]:
        """What plugins see waiting in ``seen``."""
        self._check_open("wanted questions sourced")
        return await self._asking.sourced(seen)

    async def ask_delivered(self, ask_id: str, *, input: Mapping[str, Any] | None = None) -> None:
        """Say that the agent really took the settlement of ``ask_id``, and with which input its call runs."""
        self._check_open("reported an ask's delivery")
        if input is not None and not isinstance(input, Mapping):
            raise PluginError(f"The input of a call is an object, not {type(input).__name__}.")
        await self._asking.delivered(ask_id, input)

    @property
    def delivered(self) -> Verdict | None:
        """What is known about the delivery of the turn's message, also from before this runner took the turn."""
        return self._delivering.known

    async def history(self, last_turns: int | None = None) -> View:
        """The conversation before this turn, as a model is to see it."""
        self._check_open("wanted the history")
        return model_view(await self._before(), last_turns)

    async def context(self) -> str:
        """What has to stand before the message, because the agent cannot know it."""
        self._check_open("wanted the context")
        return await self._told(CONTEXT_MOST) if self._takes_context else ""

    async def prepare(self, capabilities: Collection[str]) -> None:
        """Before a transport with these capabilities gets the turn: know what its agent has to be told, and
        whether the memory that it would fork is still what it was. A turn that resumes may wait for a person."""
        origin = self._taken.session.forked_from
        if self.session.inherited and origin is not None:
            store = self._store
            if await self._writer.persist(lambda: has_moved_on(store, origin)):
                self.session = msgspec.structs.replace(self.session, inherited={})
        if self._taken.turn.resumes and self.delivered is None:
            began = self._delivering.begun or any(isinstance(event, TRANSPORT_EVENTS) for event in self.shown)
            self.adopted = self.adopted and began  # it may have come no further than the question
            self.message = await self._resuming.message(await self._before(), self._taken.turn.message)
        self._takes_context = "context" in capabilities
        if not self._takes_context:
            self.message = with_context(await self._told(TYPED_MOST), self.message)

    async def _told(self, most: int) -> str:
        copied = self._taken.session.copied
        if not copied:
            return ""
        before = await self._before()
        return "" if has_taken(before, copied) else context_text(model_view(before), most)

    async def _before(self) -> list[AnyEvent | Unknown]:
        taken, store = self._taken, self._store
        return await self._writer.persist(lambda: log_before(store, taken.session.id, taken.turn.first))

    async def deliver(self, typist: Typist, message: Message | None = None) -> Verdict:
        """Type the turn's message, once, and say what is known of it; or further words for the running turn."""
        self._check_open("delivered")
        try:
            if message is not None:
                return await self._delivering.words(typist, message)
            async with self._one_delivery:
                if (known := self.delivered) is not None:
                    return known
                verdict = await self._delivering.message(typist, self.message)
                told = MessageDelivered(verdict=verdict.verdict, proof=verdict.proof, detail=verdict.detail)
                await self.emit(told)
                return verdict
        finally:
            self._silence.broken(self._clock())

    async def joined(self, text: str, key: str) -> None:
        """Words of the agent's own keyboard that it took into this turn are a user message of it."""
        self._check_open("told of words that were typed")
        verdict = Verdict(verdict="submitted", proof="transcript", detail=TYPED_THERE)
        await self._writer.flush()
        await self._writer.persist(lambda: self._store.joined(self._taken.claim, text, keyboard_key(key), verdict))

    def exclusive(self, place: str) -> AbstractAsyncContextManager[Hold]:
        """The lock of a terminal, across all processes."""
        return self._delivering.exclusive(place)

    async def remember(self, **values: str) -> None:
        """Keep small values with the session. Raises PluginError for values that are no text."""
        self._check_open("wanted something remembered")
        if wrong := [name for name, value in values.items() if not isinstance(value, str)]:
            raise PluginError(f"Only text is remembered; {wrong[0]!r} is none.")
        if values:
            await self._writer.persist(lambda: self._store.remember(self._taken.claim, values))

    def sign(self, failed: Failed) -> None:
        """Report an abnormal sign. The first one sticks. Raises PluginError for what is no failure."""
        if self.first_sign is None and not self._closed:
            if not isinstance(failed, Failed):
                raise PluginError(f"A sign is a Failed, not {type(failed).__name__}.")
            self.first_sign = sound(failed, "A sign")

    @property
    def closed(self) -> bool:
        """Whether the transport has had its say."""
        return self._closed

    def close(self) -> None:
        """The turn ends: the transport has had its say."""
        self._closed = True

    def _check_open(self, did: str) -> None:
        if self._closed:
            transport = self.session.agent.transport
            raise PluginError(f"Transport {transport!r} {did} after the end of {self.turn_id}; it is ignored.")
