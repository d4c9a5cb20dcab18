"""A turn without a hub: what a transport is given, with everything it does written down.

:class:`FakeTurn` keeps the events that a transport emits, answers its asks from a script or from the test,
and notes every rule that the transport breaks in :attr:`FakeTurn.problems`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from hub import hooks, ids
from hub.asks import Answer, Answered, AskRequest, Settlement, WithdrawnAsk
from hub.digests import digest_of
from hub.errors import PluginError
from hub.events import AnyEvent, By, Distillate, Event, MessageDelivered, Origin, Text, ToolFinished, Unknown
from hub.modelview import View, model_view
from hub.runner.delivering import asking_plugins
from hub.runner.delivery import Delivery
from hub.runner.sourcing import sourced
from hub.testing.rules import EventRules, forbidden
from hub.transport import AgentInfo, Connection, Message, SessionInfo, Verdict
from hub.turn import Ending, Failed, TurnTally, judge
from hub.typist import Hold, Typist

_PERSON = By(kind="person", name="test")
_BOUND_S = 60.0

E = TypeVar("E", bound=Event)


class Withdrawal(Struct, frozen=True):
    """A scripted withdrawal of an ask."""

    reason: str


Reply: TypeAlias = Settlement | Withdrawal


def allow(
    *, input: dict[str, Any] | None = None, scope: Literal["once", "session"] = "once", by: By = _PERSON
) -> Settlement:
    """A settlement that allows, with an edited input where one is given."""
    return Settlement(by=by, decision="allow", scope=scope, input=input)


def deny(message: str | None = None, *, by: By = _PERSON) -> Settlement:
    """A settlement that denies, with words for the agent."""
    return Settlement(by=by, decision="deny", scope="once", message=message)


def answer(answers: Mapping[str, str], *, by: By = _PERSON) -> Settlement:
    """A settlement of a question: an answer for each of its questions."""
    return Settlement(by=by, answers=dict(answers))


def respond(response: str, *, by: By = _PERSON) -> Settlement:
    """A settlement of a question in one's own words."""
    return Settlement(by=by, response=response)


def withdraw(reason: str = "nobody may answer any more") -> Withdrawal:
    """The end of an ask without an answer."""
    return Withdrawal(reason)


def make_session(
    transport: str = "scripted",
    *,
    cwd: str | Path = "/",
    state_dir: str | Path = "",
    memory: Mapping[str, str] | None = None,
    policy: str | None = None,
    id: str | None = None,
    agent: str = "agent",
    **options: Any,
) -> SessionInfo:
    """A session with an agent of ``transport``; ``options`` are the agent's own keys in the configuration."""
    info = AgentInfo(
        name=agent,
        transport=transport,
        cwd=str(cwd),
        policy=policy,
        options=options,
        state_dir=str(state_dir),
        shared_dir=str(Path(state_dir) / "shared") if state_dir else "",
    )
    return SessionInfo(
        id=id or ids.session_id(), agent=info, cwd=str(cwd), policy=policy, memory=dict(memory or {})
    )


class FakeCancellation:
    """Somebody's wish to stop the turn, made by :meth:`request`."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._by: str | None = None

    def request(self, by: str = "person") -> None:
        """Want the turn stopped."""
        self._by = self._by or by
        self._asked.set()

    @property
    def requested(self) -> bool:
        """Whether the turn is to be stopped."""
        return self._asked.is_set()

    @property
    def by(self) -> str | None:
        """Who asked for it."""
        return self._by

    async def wait(self) -> None:
        """Return when the turn is to be stopped."""
        await self._asked.wait()


class FakeAsk:
    """An ask that a transport opened, and what became of it."""

    def __init__(self, id: str, request: AskRequest) -> None:
        self.id = id
        self.request = request
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.delivered = False
        self.effective: dict[str, Any] | None = None
        self.withdrawn_by_caller = False

    @property
    def open(self) -> bool:
        """Whether it still waits for an answer."""
        return not self.answer.done()

    def settle(self, reply: Reply) -> None:
        """Answer or withdraw it. Raises InvalidStateError when it is over already."""
        if isinstance(reply, Withdrawal):
            self.answer.set_result(WithdrawnAsk(ask_id=self.id, reason=reply.reason))
        else:
            self.answer.set_result(Answered(ask_id=self.id, settlement=reply))

    def settled_elsewhere(self, settlement: asyncio.Future[Settlement]) -> None:
        """Somebody answered where the agent itself asks, unless it is over already."""
        if self.open and not settlement.cancelled():
            self.settle(settlement.result())


class _AlwaysHeld:
    def check(self) -> None:
        """Nobody else types."""


class FakeTurn:
    """A :class:`hub.TurnContext` for tests. ``replies`` answer the asks in the order in which they are opened
    (or a function of the request does); without one an ask waits for :meth:`settle`. ``verifiers`` are plugins
    with ``verify_delivery`` or ``source_questions``; ``shown``: what an adopted turn had shown before; ``past``:
    the session's log before this turn; ``context``: what the agent has to be told before the message."""

    def __init__(
        self,
        text: str = "hello",
        *,
        session: SessionInfo | None = None,
        replies: Iterable[Reply] | Callable[[AskRequest], Reply | None] = (),
        attempt: int = 1,
        adopted: bool = False,
        literal: bool = True,
        origin: Origin = "api",
        turn_id: str | None = None,
        verifiers: Iterable[object] = (),
        shown: Iterable[AnyEvent | Unknown] = (),
        memory: Iterable[Distillate] = (),
        past: Iterable[AnyEvent | Unknown] = (),
        context: str = "",
    ) -> None:
        self.turn_id = turn_id or ids.turn_id()
        self.session = session or make_session()
        self.message = Message(id=ids.message_id(), text=text, literal=literal, origin=origin)
        self.attempt = attempt
        self.adopted = adopted
        self.shown = tuple(shown)
        self._memory = tuple(memory)
        self.cancelled = FakeCancellation()
        self.events: list[AnyEvent] = []
        self.asks: list[FakeAsk] = []
        self.outputs: dict[str, str] = {}
        self.remembered: dict[str, str] = {}
        self.signs: list[Failed] = []
        self.problems: list[str] = []
        self.typed_along: list[str] = []
        self.ending: Ending | None = None
        self.over = False
        self.delivered: Verdict | None = None
        self.rules = EventRules()
        self._past = tuple(past)
        self._context = context
        self._joined: set[str] = set()
        self._replies = replies if callable(replies) else iter(tuple(replies))
        self._changed = asyncio.Condition()
        self._room = asyncio.Event()
        self._room.set()
        self._places: dict[str, asyncio.Lock] = {}
        self._verifiers = hooks.new_manager()
        for verifier in verifiers:
            self._verifiers.register(verifier)

    # What a transport uses.

    async def memory(self) -> tuple[Distillate, ...]:
        """What was distilled from earlier turns: the ``memory`` that this turn was made with."""
        self._alive("recalled")
        return self._memory

    async def emit(self, event: AnyEvent) -> None:
        """Keep ``event`` (a tool's whole output in :attr:`outputs`); return when there is room (:meth:`hold`).
        Raises PluginError for the hub's own events, and after the end of ``run``."""
        self._alive(f"emitted {type(event).__name__}")
        self.problems.extend(self.rules.broken_by(event))
        if (why := forbidden(event)) is not None:
            raise PluginError(why)
        if isinstance(event, ToolFinished) and isinstance(event.output, str):
            self.outputs[event.tool_id] = event.output
            digest = event.digest or digest_of(event.output)
            event = msgspec.structs.replace(event, output=msgspec.UNSET, digest=digest)
        self.events.append(event)
        await self._tell()
        await self._room.wait()

    async def ask(self, request: AskRequest, elsewhere: asyncio.Future[Settlement] | None = None) -> Answer:
        """Open an ask and wait for its answer, which may come from ``elsewhere``. Cancelling the caller withdraws
        it."""
        self._alive("asked")
        ask = FakeAsk(ids.ask_id(self.session.id), request)
        self.asks.append(ask)
        reply = self._replies(request) if callable(self._replies) else next(self._replies, None)
        if reply is not None:
            ask.settle(reply)
        if elsewhere is not None:
            elsewhere.add_done_callback(ask.settled_elsewhere)
        try:
            await self._tell()
            return await asyncio.shield(ask.answer)  # a cancelled future would cancel whoever looks at it
        except asyncio.CancelledError:
            ask.withdrawn_by_caller = True
            if ask.open:
                ask.settle(Withdrawal(reason="turn_ended"))
            raise

    async def sourced(self, seen: Mapping[str, Any]) -> tuple[AskRequest, ...]:
        """What ``verifiers`` see waiting in ``seen``, as the hub asks them."""
        self._alive("wanted questions sourced")
        return await sourced(self._verifiers, self.session, seen)

    async def ask_delivered(self, ask_id: str, *, input: Mapping[str, Any] | None = None) -> None:
        """Note that the agent took the settlement of ``ask_id``, and the input that its call runs with."""
        self._alive("delivered an ask")
        ask = next((ask for ask in self.asks if ask.id == ask_id), None)
        if ask is None or not isinstance(ask.answer.done() and ask.answer.result(), Answered):
            self.problems.append(f"Ask {ask_id!r} was called delivered, but it is not settled.")
            return
        if ask.delivered:
            self.problems.append(f"Ask {ask_id!r} was called delivered twice.")
        ask.delivered, ask.effective = True, None if input is None else dict(input)
        await self._tell()

    async def history(self, last_turns: int | None = None) -> View:
        """What ``past`` holds, as a model sees it."""
        self._alive("wanted the history")
        return model_view(self._past, last_turns)

    async def context(self) -> str:
        """What the test gives."""
        self._alive("wanted the context")
        return self._context

    async def deliver(self, typist: Typist, message: Message | None = None) -> Verdict:
        """Deliver as the hub does, with ``verifiers`` for the ladder; locks hold in this process only."""
        self._alive("delivered")
        words = message or self.message
        if message is None and self.delivered is not None:
            return self.delivered
        verify = asking_plugins(self._verifiers, self.session, words)
        verdict = await Delivery(typist, words, verify).run(self.exclusive)
        if message is None:
            self.delivered = verdict
            await self.emit(MessageDelivered(verdict=verdict.verdict, proof=verdict.proof, detail=verdict.detail))
        return verdict

    async def joined(self, text: str, key: str) -> None:
        """Keep words that were typed at the agent's own keyboard, once, in :attr:`typed_along`."""
        self._alive("told of words that were typed")
        if key in self._joined:
            return
        self._joined.add(key)
        self.typed_along.append(text)
        await self._tell()

    @asynccontextmanager
    async def exclusive(self, place: str) -> AsyncIterator[Hold]:
        """The lock of a terminal, among those who share this turn."""
        async with self._places.setdefault(place, asyncio.Lock()):
            yield _AlwaysHeld()

    async def remember(self, **values: str) -> None:
        """Keep small values for :meth:`next`."""
        self._alive("remembered")
        if wrong := [key for key, value in values.items() if not isinstance(value, str)]:
            self.problems.append(f"Only text is remembered; {wrong[0]!r} is none.")
        self.remembered.update(values)
        await self._tell()

    def sign(self, failed: Failed) -> None:
        """Note an abnormal sign."""
        self._alive("gave a sign")
        self.signs.append(failed)

    # What a test uses.

    async def play(self, connection: Connection, *, within: float = _BOUND_S) -> Ending:
        """Run this turn on ``connection`` to its end, as a runner would; ``within`` seconds or TimeoutError.

        From then on whatever the transport still does to the turn is a problem.
        """
        try:
            async with asyncio.timeout(within):
                self.ending = await connection.run(self)
        finally:
            self.over = True
            async with self._changed:
                self._changed.notify_all()
        return self.ending

    def hold(self) -> None:
        """From now on there is no room: ``emit`` keeps its event and does not return before :meth:`release`."""
        self._room.clear()

    def release(self) -> None:
        """There is room again."""
        self._room.set()

    def of(self, kind: type[E]) -> list[E]:
        """The events of one type, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def tools_finished(self) -> list[ToolFinished]:
        """The ends of tools, in order."""
        return self.of(ToolFinished)

    @property
    def text(self) -> str:
        """All durable text, blocks joined by an empty line."""
        return "\n\n".join(block.text for block in self.of(Text))

    @property
    def judged(self) -> Ending:
        """The ending that the hub would make of this turn. Raises AssertionError before its end."""
        assert self.ending is not None, "the turn has not ended"  # noqa: S101 - a test's own mistake
        tally = TurnTally()
        for event in self.events:
            tally.feed(event)
        for event in tuple(tally.closing()):
            tally.feed(event)
        return judge(tally, self.ending, self.signs[0] if self.signs else None)

    @property
    def open_asks(self) -> list[FakeAsk]:
        """The asks that still wait, oldest first."""
        return [ask for ask in self.asks if ask.open]

    def settle(self, reply: Reply, ask: FakeAsk | None = None) -> None:
        """Answer ``ask``, or the oldest one that is open. Raises LookupError when none is."""
        waiting = ask or next(iter(self.open_asks), None)
        if waiting is None:
            raise LookupError("no ask is open")
        waiting.settle(reply)

    async def until(self, reached: Callable[[], bool], *, within: float = _BOUND_S) -> None:
        """Wait until ``reached()`` holds; it is looked at whenever the transport has done something.
        ``within`` seconds or TimeoutError."""
        async with asyncio.timeout(within), self._changed:
            await self._changed.wait_for(reached)

    async def asked(self, *, within: float = _BOUND_S) -> FakeAsk:
        """Wait for an open ask and return it."""
        await self.until(lambda: bool(self.open_asks), within=within)
        return self.open_asks[0]

    async def seen(self, kind: type[E], *, count: int = 1, within: float = _BOUND_S) -> E:
        """Wait for the ``count``-th event of one type and return it."""
        await self.until(lambda: len(self.of(kind)) >= count, within=within)
        return self.of(kind)[count - 1]

    def next(self, text: str, **changes: Any) -> FakeTurn:
        """The session's next turn, with everything that was remembered so far."""
        memory = {**self.session.memory, **self.remembered}
        return FakeTurn(text, session=msgspec.structs.replace(self.session, memory=memory), **changes)

    def _alive(self, deed: str) -> None:
        if self.over:
            self.problems.append(f"The transport {deed} after the end of the turn.")
            raise PluginError(f"This turn is over: the transport {deed} after its end.")

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
        await asyncio.sleep(0)  # let others run: a real hub takes a moment too
