"""Asks of one running turn: judged by policies, parked until somebody settles them, or withdrawn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import structlog
from msgspec import Struct

from hub import hooks, ids
from hub.asks import Answer, Answered, AskRequest, Settlement, WithdrawnAsk
from hub.errors import AlreadySettled, Fenced, HubError, Withdrawn
from hub.events import Ask, By, Decision
from hub.hooks import HookFailed
from hub.hookspecs import Resolution
from hub.plugins import Plugins
from hub.store.records import Claim
from hub.store.store import Store
from hub.transport import SessionInfo

_RANK = {"deny": 0, "ask": 1, "allow": 2}


class Judgement(Struct, frozen=True):
    """A plugin's resolution, and the plugin's name."""

    plugin: str
    resolution: Resolution


class Asking:
    """The asks of one turn. ``flush`` writes what the turn has emitted, so that order is kept."""

    def __init__(
        self,
        store: Store,
        plugins: Plugins,
        claim: Claim,
        session: SessionInfo,
        *,
        timeout_s: float | None,
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._plugins = plugins
        self._claim = claim
        self._session = session
        self._timeout_s = timeout_s
        self._flush = flush
        self._waiting: dict[str, asyncio.Event] = {}

    @property
    def open(self) -> bool:
        """Whether somebody is being waited for."""
        return bool(self._waiting)

    def settled(self, ask_id: str) -> None:
        """Somebody settled an ask: its waiter looks."""
        if waiter := self._waiting.get(ask_id):
            waiter.set()

    async def ask(self, request: AskRequest) -> Answer:
        """Put ``request`` to policies, then to people. When the caller is cancelled, it is withdrawn."""
        await self._flush()
        judgement = await self._judge(request) if request.kind == "permission" else None
        ask = self._made(request, judgement, waits=judgement is None or judgement.resolution.verdict == "ask")
        waiter = self._waiting[ask.id] = asyncio.Event()
        try:
            await self._store.open_ask(self._claim, ask)
            await self._observe("ask_opened", ask.id)
            if judgement is not None and judgement.resolution.verdict != "ask":
                return await self._settle(ask.id, _by_policy(judgement))
            return await self._wait(ask, waiter)
        except asyncio.CancelledError:
            await asyncio.shield(self._withdraw(ask.id, "the agent does not wait for it any more"))
            raise
        finally:
            del self._waiting[ask.id]

    async def delivered(self, ask_id: str) -> None:
        """The agent took the settlement."""
        await self._flush()
        await self._store.deliver_ask(self._claim, ask_id)

    async def _judge(self, request: AskRequest) -> Judgement | None:
        """Any deny, then any ask, then any allow. A plugin that fails has not allowed anything."""
        manager = self._plugins.manager
        try:
            answers = await hooks.every(manager, "resolve_permission", session=self._session, request=request)
        except HookFailed as failed:
            structlog.get_logger("hub.asks").error("a policy plugin failed", error=failed.detail)
            broken = Resolution(verdict="ask", rule="plugin failed", danger=failed.detail)
            answers = [*failed.answers, hooks.Answer(failed.plugins[0], broken)]
        judged = [Judgement(answer.plugin, answer.value) for answer in answers]
        return min(judged, key=lambda one: _RANK[one.resolution.verdict], default=None)

    def _made(self, request: AskRequest, judgement: Judgement | None, *, waits: bool) -> Ask:
        expires = None
        if waits and self._timeout_s is not None:
            moment = datetime.now(UTC) + timedelta(seconds=self._timeout_s)
            expires = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return Ask(
            id=ids.ask_id(self._claim.session_id),
            kind=request.kind,
            tool=request.tool,
            subject=request.subject,
            input=request.input,
            questions=request.questions,
            danger=request.danger or (judgement.resolution.danger if judgement else None),
            rationale=request.rationale,
            source=request.source,
            expires_at=expires,
        )

    async def _wait(self, ask: Ask, waiter: asyncio.Event) -> Answer:
        try:
            async with asyncio.timeout(self._timeout_s):
                await waiter.wait()
        except TimeoutError:
            return await self._settle(ask.id, _by_timeout(ask))
        return await self._answer(ask.id)

    async def _settle(self, ask_id: str, settlement: Settlement) -> Answer:
        """Settle it ourselves, unless somebody was faster."""
        with suppress(AlreadySettled, Withdrawn):  # then the faster one's word holds: read it
            await self._store.settle_ask(await self._store.ask(ask_id), settlement)
        return await self._answer(ask_id)

    async def _answer(self, ask_id: str) -> Answer:
        record = await self._store.ask(ask_id)
        if record.settlement is None:
            return WithdrawnAsk(ask_id=ask_id, reason=record.reason or "withdrawn")
        await self._observe("ask_settled", ask_id)
        return Answered(ask_id=ask_id, settlement=record.settlement)

    async def _withdraw(self, ask_id: str, reason: str) -> None:
        try:
            await self._store.withdraw_ask(self._claim, ask_id, reason)
        except Fenced:
            pass  # who owns the turn now withdraws its asks
        except HubError as error:
            # It stays open until the turn's end withdraws it: nobody is told otherwise.
            structlog.get_logger("hub.asks").warning("could not withdraw", ask_id=ask_id, error=error.detail)

    async def _observe(self, hook: str, ask_id: str) -> None:
        manager = self._plugins.manager
        if getattr(manager.hook, hook).get_hookimpls():
            record = await self._store.ask(ask_id)
            await hooks.notify(manager, hook, session=self._session, ask=record)


def _by_policy(judgement: Judgement) -> Settlement:
    resolution = judgement.resolution
    by = By(kind="policy", name=judgement.plugin, rule=resolution.rule)
    decision: Decision = "allow" if resolution.verdict == "allow" else "deny"
    message = resolution.message or (f"Denied by rule {resolution.rule}." if decision == "deny" else None)
    return Settlement(by=by, decision=decision, scope="once", message=message)


def _by_timeout(ask: Ask) -> Settlement:
    by = By(kind="timeout", name="timeout")
    if ask.kind == "permission":
        return Settlement(
            by=by, decision="deny", scope="once", message="Nobody answered in time, so this is a no."
        )
    return Settlement(by=by, response="Nobody answered in time.")
