"""Asks of one running turn: judged by policies, parked until somebody settles them, or withdrawn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import structlog

from hub import ids
from hub.asks import Answer, Answered, AskRecord, AskRequest, Settlement, WithdrawnAsk, identical_key
from hub.errors import AlreadySettled, HubError, NotFound, Withdrawn
from hub.events import Ask, By, now
from hub.runner.gate import AS_BEFORE, Gate
from hub.runner.judging import Judgement, granted, judge
from hub.runner.observers import Observers
from hub.runner.services import Services
from hub.runner.sound import sound
from hub.runner.sourcing import sourced
from hub.runner.writer import Writer
from hub.store.records import Claim
from hub.transport import SessionInfo

_WITHDRAW_S = 1.0


class Asking:
    """The asks of one turn. What the turn has emitted is written before an ask is opened: order is kept."""

    def __init__(
        self, services: Services, claim: Claim, session: SessionInfo, writer: Writer, observers: Observers
    ) -> None:
        self.interrupted = False
        self._store = services.store
        self._plugins = services.plugins
        self._metrics = services.metrics
        self._timeout_s = services.ask_timeout_s(session.policy)
        self._unattended = services.unattended(session.policy)
        self._gate = Gate()
        self._claim = claim
        self._session = session
        self._writer = writer
        self._observers = observers
        self._waiting: dict[str, asyncio.Event] = {}
        self._inherited: dict[str, AskRecord] = {}
        self._closed = False

    @property
    def open(self) -> bool:
        """Whether somebody is being waited for."""
        return bool(self._waiting)

    def settled(self, ask_id: str) -> None:
        """Somebody settled an ask: its waiter looks."""
        if waiter := self._waiting.get(ask_id):
            waiter.set()

    def inherit(self, records: Iterable[AskRecord]) -> None:
        """Asks that this turn had before it was taken over: when its agent asks the same again, they count."""
        for record in records:
            if record.turn_id == self._claim.turn_id and record.state in ("open", "settled"):
                self._inherited[identical_key(_request_of(record.ask))] = record

    def close(self) -> None:
        """The turn is over, or goes on elsewhere: who stops waiting from now on withdraws nothing."""
        self._closed = True

    async def ask(self, request: AskRequest, elsewhere: asyncio.Future[Settlement] | None = None) -> Answer:
        """Put ``request`` to policies, then to people; ``elsewhere`` is done when somebody answers in the agent's
        own place. When the caller is cancelled, it is withdrawn. Raises PluginError for a request that is no
        sound one, LeaseLost."""
        request = sound(request, f"What transport {self._session.agent.transport!r} asked")
        await self._writer.flush()
        async with self._gate.passing(request, elsewhere) as passage:
            answer = await self._asked(request, passage.same, elsewhere)
            passage.leave(answer)
            return answer

    async def _asked(
        self, request: AskRequest, same: Answered | None, elsewhere: asyncio.Future[Settlement] | None
    ) -> Answer:
        """``same``: what the very same call was told while this one waited."""
        if record := self._inherited.pop(identical_key(request), None):
            return await self._parked(record, None, elsewhere)
        judged = await self._judge(request) if request.kind == "permission" else None
        danger = request.danger or (judged.resolution.danger if judged else None)
        settlement = (judged.settlement if judged else None) or _as_before(same, danger)
        if settlement is None and self._unattended:
            settlement = _unattended(request, self._session.policy or "")
        return await self._parked(self._made(request, danger, parked=settlement is None), settlement, elsewhere)

    async def _judge(self, request: AskRequest) -> Judgement | None:
        """Denials first; what is dangerous always asks; then what a person granted this session; then the rest
        of what plugins say."""
        judged = await judge(self._plugins, self._session, request)
        verdict = judged.resolution.verdict if judged else "ask"
        dangerous = request.danger or (judged and judged.resolution.danger)
        if verdict == "deny":
            return judged
        if dangerous:
            return judged and judged.asking
        session_id = self._claim.session_id
        grant = await self._writer.persist(lambda: self._store.grant(session_id, request.tool, request.subject))
        return granted(grant) if grant else judged

    async def sourced(self, seen: Mapping[str, Any]) -> tuple[AskRequest, ...]:
        """What plugins see waiting in ``seen``."""
        return await sourced(self._plugins.manager, self._session, seen)

    async def delivered(self, ask_id: str, effective: Mapping[str, Any] | None) -> None:
        """The agent took the settlement, and runs its call with this input where it tells. Raises HubError where
        there is none."""
        await self._writer.flush()
        await self._writer.persist(lambda: self._store.deliver_ask(self._claim, ask_id, effective))

    async def _parked(
        self, record: AskRecord, settlement: Settlement | None, elsewhere: asyncio.Future[Settlement] | None
    ) -> Answer:
        """Open it; then settle it at once, or wait for who does."""
        waiter = self._waiting[record.id] = asyncio.Event()
        try:
            with self._metrics.ask(record.ask.kind):
                await self._writer.persist(lambda: self._store.open_ask(self._claim, record.ask, settlement))
                if settlement is not None:
                    return await self._told(record.id)
                self._observers.tell("ask_opened", session=self._session, ask=record)
                with _told_elsewhere(elsewhere, waiter):
                    return await self._wait(record, waiter, elsewhere)
        except asyncio.CancelledError:
            await self._withdraw(record.id)
            raise
        finally:
            del self._waiting[record.id]

    def _made(self, request: AskRequest, danger: str | None, *, parked: bool) -> AskRecord:
        expires = None
        if self._timeout_s is not None and parked:
            moment = datetime.now(UTC) + timedelta(seconds=self._timeout_s)
            expires = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        ask = Ask(
            id=ids.ask_id(self._claim.session_id),
            kind=request.kind,
            tool=request.tool,
            subject=request.subject,
            input=request.input,
            questions=request.questions,
            danger=danger,
            rationale=request.rationale,
            source=request.source,
            expires_at=expires,
            refuses=request.refuses,
            tool_id=request.tool_id,
        )
        return AskRecord(
            id=ask.id,
            session_id=self._claim.session_id,
            turn_id=self._claim.turn_id,
            state="open",
            ask=ask,
            opened_at=now(),
        )

    async def _wait(
        self, record: AskRecord, waiter: asyncio.Event, elsewhere: asyncio.Future[Settlement] | None
    ) -> Answer:
        if record.state != "open":
            return await self._told(record.id)
        # How long it waits is settled now: a wall clock that is set meanwhile changes nothing.
        left = _seconds_left(record.ask)
        deadline = None if left is None else asyncio.get_running_loop().time() + left
        while True:
            if elsewhere is not None and elsewhere.done() and not elsewhere.cancelled():
                return await self._settle(record, elsewhere.result())
            try:
                async with asyncio.timeout_at(deadline):
                    await waiter.wait()
            except TimeoutError:
                return await self._settle(record, _by_timeout(record.ask))
            waiter.clear()
            if (await self._record(record.id)).state != "open":
                return await self._told(record.id)

    async def _settle(self, record: AskRecord, settlement: Settlement) -> Answer:
        """Settle it ourselves, unless somebody was faster: then that one's word holds."""
        with suppress(AlreadySettled, Withdrawn):
            await self._writer.persist(lambda: self._store.settle_ask(record, settlement))
        return await self._told(record.id)

    async def _told(self, ask_id: str) -> Answer:
        record = await self._record(ask_id)
        if record.settlement is None:
            return WithdrawnAsk(ask_id=ask_id, reason=record.reason or "withdrawn")
        self._metrics.ask_settled(record.settlement.by.kind)
        self._observers.tell("ask_settled", session=self._session, ask=record)
        return Answered(ask_id=ask_id, settlement=record.settlement)

    async def _record(self, ask_id: str) -> AskRecord:
        return await self._writer.persist(lambda: self._store.ask(ask_id))

    async def _withdraw(self, ask_id: str) -> None:
        """The agent waits no more. What cannot be withdrawn now is withdrawn at the turn's end."""
        if self._closed:
            return
        reason = "the turn was interrupted" if self.interrupted else "the agent does not wait for it any more"
        log = structlog.get_logger("hub.asks")
        try:
            async with asyncio.timeout(_WITHDRAW_S):
                await self._store.withdraw_ask(self._claim, ask_id, reason)
        except NotFound:
            pass  # it was never opened
        except (HubError, TimeoutError) as error:
            log.warning("could not withdraw an ask yet", ask_id=ask_id, error=type(error).__name__)


@contextmanager
def _told_elsewhere(elsewhere: asyncio.Future[Settlement] | None, waiter: asyncio.Event) -> Iterator[None]:
    """Wake the waiter when the agent's own place has an answer."""
    if elsewhere is None:
        yield
        return

    def wake(_: asyncio.Future[Settlement]) -> None:
        waiter.set()

    elsewhere.add_done_callback(wake)
    try:
        yield
    finally:
        elsewhere.remove_done_callback(wake)


def _request_of(ask: Ask) -> AskRequest:
    return AskRequest(kind=ask.kind, tool=ask.tool, subject=ask.subject, input=ask.input)


def _seconds_left(ask: Ask) -> float | None:
    if ask.expires_at is None:
        return None
    return (datetime.fromisoformat(ask.expires_at) - datetime.now(UTC)).total_seconds()


def _as_before(same: Answered | None, danger: str | None) -> Settlement | None:
    """The one-time answer to the very same call, which waited beside; what is dangerous is allowed one by one."""
    if same is None or (danger and same.settlement.decision == "allow"):
        return None
    first = same.settlement.by
    followed = first.rule is not None and first.rule.startswith(AS_BEFORE)
    by = first if followed else msgspec.structs.replace(first, rule=f"{AS_BEFORE}{same.ask_id}")
    scope = same.settlement.scope and "once"
    return msgspec.structs.replace(same.settlement, by=by, scope=scope)


def _unattended(request: AskRequest, policy: str) -> Settlement:
    """The answer where nobody is there to give one."""
    by = By(kind="policy", name=policy, rule="unattended")
    if request.kind == "permission":
        message = "Nobody attends this session, so what wants a person's consent is denied."
        return Settlement(by=by, decision="deny", scope="once", message=message)
    return Settlement(by=by, response="Nobody attends this session: go on without an answer, or end.")


def _by_timeout(ask: Ask) -> Settlement:
    by = By(kind="timeout", name="timeout")
    if ask.kind == "permission":
        return Settlement(
            by=by, decision="deny", scope="once", message="Nobody answered in time, so this is a no."
        )
    return Settlement(by=by, response="Nobody answered in time.")
