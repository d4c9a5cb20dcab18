"""The store's typed calls. Each call is one transaction or one read; nothing is cached here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn

import msgspec
from msgspec import Struct

from hub import ids
from hub.asks import AskRecord, Settlement, settled_event
from hub.errors import (
    AlreadySettled,
    Fenced,
    HubError,
    IdempotencyMismatch,
    MessageBegun,
    NoActiveTurn,
    NoRetryableTurn,
    NotFound,
    Overloaded,
    TurnInFlight,
    Withdrawn,
)
from hub.events import (
    AnyEvent,
    Ask,
    AskDelivered,
    AskOpened,
    Event,
    MessageQueued,
    Origin,
    SessionCreated,
    Terminal,
    UserMessage,
    encode_body,
    is_durable,
    now,
    stamp,
    to_json,
    type_of,
)
from hub.store import keys
from hub.store.connect import AnyRedis
from hub.store.records import (
    Appended,
    Begun,
    Claim,
    Entry,
    Finished,
    Hash,
    QueuedMessage,
    SessionRecord,
    Snapshot,
    Taken,
    TurnRecord,
    ask_record,
    ask_records,
    fields_of,
    merged,
    queued_messages,
    session_record,
    stream_entries,
    turn_record,
)
from hub.store.transactions import Argument, clear_errors, encode_text, flat, transact

_PAGE = 1000
_REPEATABLE_S = 60
_PATCHABLE = frozenset({"title", "policy", "archived"})


class Bounds(Struct, frozen=True, kw_only=True):
    """Times and sizes of the store. ``ring_ms``: how long a begun turn may wait for a runner before it is
    rung again; ``live_grace_ms``: how long a turn's live stream outlives it."""

    ring_ms: int = 2_000
    live_grace_ms: int = 300_000
    idem_ttl_s: int = 86_400
    idem_most: int = 1_000
    queue_most: int = 100


def fingerprint(text: str, literal: bool) -> str:
    """What makes two messages the same message: SHA-256 of the text and of how it is sent (hex)."""
    return hashlib.sha256(b"%d\0" % literal + encode_text(text)).hexdigest()


def _tail(event: Event, after: str) -> str:
    """The end of an event's body from field ``after`` on: for events that a transaction completes."""
    body = encode_body(event).decode()
    return body[body.index(f'"{after}":') :]


class Store:
    """Everything that is kept, over one Redis. All methods raise StoreUnavailable or StoreReadOnly."""

    def __init__(self, redis: AnyRedis, bounds: Bounds | None = None) -> None:
        self.redis = redis
        self.bounds = bounds or Bounds()

    # Sessions

    async def create_session(self, record: SessionRecord) -> tuple[SessionRecord, bool]:
        """Create ``record`` (its times are set here); and whether it is new. With an id that exists already
        (made from an idempotency key) the session that is there. Raises IdempotencyMismatch when that is a
        session of another agent."""
        at = now()
        fields = {
            "agent": record.agent,
            "transport": record.transport,
            "policy": record.policy or "",
            "title": record.title or "",
            "cwd": record.cwd,
            "created_at": at,
            "updated_at": at,
        }
        created = SessionCreated(agent=record.agent, transport=record.transport, policy=record.policy)
        body = encode_body(stamp(created, record.id, None, at))
        status, *_ = await transact(self.redis, "create", record.id, ids.request_id(), body, *flat(fields), at=at)
        stored = await self.session(record.id)
        if stored.agent != record.agent:
            raise IdempotencyMismatch("This Idempotency-Key made a session of another agent. Use a new key.")
        return stored, status == "ok"

    async def session(self, session_id: str) -> SessionRecord:
        """The session. Raises NotFound."""
        with clear_errors():
            raw: Hash = await self.redis.execute_command("HGETALL", keys.session_key("session", session_id))
        if not raw:
            _missing("session", session_id)
        return session_record(session_id, fields_of(raw))

    async def patch_session(self, session_id: str, changes: Mapping[str, str]) -> SessionRecord:
        """Change fields (title, policy, archived as "0" or "1"). Raises NotFound, ValueError for another
        field."""
        if foreign := changes.keys() - _PATCHABLE:
            raise ValueError(f"Not a field that can be changed: {sorted(foreign)}")
        status, *_ = await transact(self.redis, "patch", session_id, *flat(changes))
        if status == "missing":
            _missing("session", session_id)
        return await self.session(session_id)

    async def delete_session(self, session_id: str, *, force: bool = False) -> None:
        """Forget the session. Raises NotFound; TurnInFlight while one runs, unless by force."""
        request = ids.request_id()
        status, *facts = await transact(
            self.redis, "delete", session_id, "1" if force else "0", request, _REPEATABLE_S
        )
        if status == "missing":
            _missing("session", session_id)
        if status == "busy":
            turn_id, started_at, state = (fact.decode() for fact in facts)
            raise TurnInFlight(
                "A turn is running in this session. Interrupt it first, or delete with ?force=true.",
                turn_id=turn_id,
                started_at=started_at,
                state=state,
                live=_live_path(session_id),
                same_message=False,
            )

    # Turns, as seen by a front

    async def begin(
        self,
        session_id: str,
        text: str,
        *,
        literal: bool = True,
        origin: Origin = "api",
        idempotency_key: str | None = None,
    ) -> Begun:
        """Begin a turn for a new message. Raises NotFound; TurnInFlight, with nothing written;
        IdempotencyMismatch when the key belongs to another message."""
        message_id = ids.message_id()
        tail = _tail(UserMessage(message_id=message_id, text=text, origin=origin), "message_id")
        sent = [message_id, text, "1" if literal else "0", origin, fingerprint(text, literal), tail]
        return await self._begin("new", session_id, sent, idempotency_key)

    async def retry(self, session_id: str, *, idempotency_key: str | None = None) -> Begun:
        """Begin a new attempt for the last user message; check and claim are one. Raises NotFound,
        TurnInFlight, NoRetryableTurn."""
        return await self._begin("retry", session_id, ["", "", "", "", "retry", ""], idempotency_key)

    async def _begin(self, mode: str, session_id: str, sent: list[str], key: str | None) -> Begun:
        bounds = self.bounds
        rest: list[Argument] = [key or "", bounds.idem_ttl_s, bounds.idem_most, bounds.ring_ms]
        answer = await transact(self.redis, "begin", session_id, mode, ids.turn_id(), *sent, *rest)
        status, facts = answer[0], [fact.decode() for fact in answer[1:]]
        match status:
            case "missing":
                _missing("session", session_id)
            case "mismatch":
                raise IdempotencyMismatch(
                    "This Idempotency-Key came before with another message. Use a new key for a new message.",
                    turn_id=facts[0],
                )
            case "busy":
                raise _in_flight(session_id, facts)
            case "no_retry":
                raise NoRetryableTurn(
                    "There is nothing to retry: no message, or its turn completed. Send a message."
                )
        turn_id, message_id, attempt, first, how = facts
        return Begun(
            session_id=session_id,
            turn_id=turn_id,
            message_id=message_id,
            attempt=int(attempt),
            first=int(first),
            repeated=how == "repeated",
        )

    async def turn(self, session_id: str) -> TurnRecord | None:
        """The running turn, if there is one: presence of the entry is the fact."""
        with clear_errors():
            raw: Hash = await self.redis.execute_command("HGETALL", keys.session_key("turn", session_id))
        return turn_record(fields_of(raw))

    async def cancel(self, session_id: str, by: str) -> str:
        """Ask for the running turn to be stopped; its id. Raises NotFound, NoActiveTurn."""
        status, *facts = await transact(self.redis, "cancel", session_id, by, ids.request_id())
        if status == "missing":
            _missing("session", session_id)
        if status == "none":
            raise NoActiveTurn("No turn is running in this session.")
        return str(facts[0].decode())

    async def enqueue(self, session_id: str, text: str, *, literal: bool = True) -> QueuedMessage | None:
        """Let a message wait for the running turn to end; None when no turn runs (begin one instead).
        Raises NotFound, Overloaded when too many wait."""
        message_id = ids.message_id()
        user = UserMessage(message_id=message_id, text=text, origin="queue")
        queued = stamp(MessageQueued(message_id=message_id, text=text), session_id, None)
        message = QueuedMessage(
            id=message_id,
            text=text,
            literal=literal,
            fingerprint=fingerprint(text, literal),
            tail=_tail(user, "message_id"),
            event=_tail(queued, "message_id"),
        )
        bounds = self.bounds
        body, item = encode_body(queued), to_json(message)
        limits = [bounds.queue_most, bounds.idem_ttl_s, bounds.idem_most]
        status, *_ = await transact(self.redis, "enqueue", session_id, message_id, item, body, *limits)
        if status == "missing":
            _missing("session", session_id)
        if status == "full":
            raise Overloaded(
                f"{bounds.queue_most} messages wait already. Take one back, or wait for the turn to end."
            )
        return message if status == "ok" else None

    async def unqueue(self, session_id: str, message_id: str) -> None:
        """Take a waiting message back. Raises NotFound; MessageBegun when its turn has begun."""
        limits = [self.bounds.idem_ttl_s, self.bounds.idem_most]
        status, *_ = await transact(self.redis, "unqueue", session_id, message_id, ids.request_id(), *limits)
        if status == "missing":
            _missing("session", session_id)
        if status == "begun":
            raise MessageBegun("This message does not wait any more: its turn has begun.")
        if status == "unknown":
            _missing("queued message", message_id)

    # Turns, as owned by a runner

    async def take(self, session_id: str, turn_id: str, runner: str, lease_ms: int) -> Taken | None:
        """Own a turn that waits; None when it is gone or another runner has it."""
        answer = await transact(self.redis, "take", session_id, turn_id, runner, lease_ms)
        return _taken(session_id, answer) if answer[0] == "ok" else None

    async def append(self, claim: Claim, batch: int, events: Sequence[AnyEvent], lease_ms: int) -> Appended:
        """Write stamped events as batch number ``batch`` (1, 2, …; 0 with no events renews the lease only).
        Raises Fenced; HubError for a batch out of order; ValueError for events without a batch number, a batch
        without events, and for a terminal event, which only :meth:`finish` writes."""
        if bool(batch) != bool(events):
            raise ValueError(f"Batch {batch} of {len(events)} events: a batch has a number from 1, and events.")
        parts: list[str | bytes] = []
        for event in events:
            if isinstance(event, Terminal):
                raise ValueError("A terminal event is written by finish, never by append.")  # noqa: TRY004
            kind = type_of(event)
            parts += [kind, "d" if is_durable(kind) else "", encode_body(event)]
        answer = await transact(
            self.redis, "append", claim.session_id, claim.turn_id, claim.fence, batch, lease_ms, *parts
        )
        if answer[0] == "order":
            raise HubError(
                f"Batch {batch} of {claim.turn_id} came out of order, after batch {answer[1].decode()}."
            )
        _check_fence(claim, answer)
        last, cancel_by, answers = (fact.decode() for fact in answer[1:])
        return Appended(last=int(last), cancel_by=cancel_by or None, answers=tuple(answers.split()))

    async def finish(
        self,
        claim: Claim,
        closing: Sequence[AnyEvent],
        terminal: Terminal,
        *,
        next_turn: str,
        reason: str = "the turn ended",
        go_on: bool = True,
    ) -> Finished:
        """End the turn: closing events, withdrawal of open asks with ``reason``, the terminal event, the free
        slot and the next queued message (as ``next_turn``, if ``go_on``) are one. Raises Fenced."""
        parts: list[str | bytes] = []
        for event in (*closing, terminal):
            parts += [type_of(event), encode_body(event)]
        bounds = self.bounds
        head: list[Argument] = [
            bounds.live_grace_ms,
            next_turn,
            bounds.ring_ms,
            _inside(reason),
            "1" if go_on else "0",
        ]
        answer = await transact(self.redis, "finish", claim.session_id, claim.turn_id, claim.fence, *head, *parts)
        _check_fence(claim, answer)
        last, turn_id, message_id = (fact.decode() for fact in answer[1:])
        return Finished(last=int(last), next_turn=turn_id or None, next_message=message_id or None)

    async def reap(
        self, session_id: str, turn_id: str, runner: str, lease_ms: int, *, adopt: bool
    ) -> Taken | Literal["ring"] | None:
        """Take over an overdue turn; "ring" when it only waits for a runner still; None when there is
        nothing to take over. With ``adopt`` it goes on, one attempt higher."""
        facts: list[Argument] = [turn_id, runner, lease_ms, "1" if adopt else "0", self.bounds.ring_ms]
        answer = await transact(self.redis, "reap", session_id, *facts, ids.request_id())
        if answer[0] == "ring":
            return "ring"
        return _taken(session_id, answer) if answer[0] == "ok" else None

    async def release(self, claim: Claim) -> None:
        """Let go of a running turn without ending it: it is overdue at once, and whoever sweeps next takes it
        over. Raises Fenced."""
        _check_fence(claim, await transact(self.redis, "release", claim.session_id, claim.turn_id, claim.fence))

    async def trim(self, claim: Claim, seqs: Sequence[int]) -> None:
        """Drop these transient events from the live stream. Raises Fenced."""
        for start in range(0, len(seqs), _PAGE):
            part = seqs[start : start + _PAGE]
            _check_fence(
                claim, await transact(self.redis, "trim", claim.session_id, claim.turn_id, claim.fence, *part)
            )

    async def remember(self, claim: Claim, values: Mapping[str, str]) -> None:
        """Keep small values with the session. Raises Fenced."""
        answer = await transact(
            self.redis, "remember", claim.session_id, claim.turn_id, claim.fence, *flat(values)
        )
        _check_fence(claim, answer)

    # Asks

    async def open_ask(self, claim: Claim, ask: Ask) -> None:
        """Open ``ask`` in the running turn. Raises Fenced."""
        event = stamp(AskOpened(ask=ask), claim.session_id, claim.turn_id)
        facts: list[Argument] = [claim.turn_id, claim.fence, ask.id, to_json(ask), encode_body(event)]
        _check_fence(claim, await transact(self.redis, "open_ask", claim.session_id, *facts, at=event.at))

    async def ask(self, ask_id: str) -> AskRecord:
        """The ask. Raises NotFound."""
        session_id = ids.session_of_ask(ask_id)
        if session_id is None:
            _missing("ask", ask_id)
        names = ("state", "ask", "turn", "opened_at", "settlement", "settled_at", "delivered_at", "reason")
        with clear_errors():
            key = keys.session_key("asks", session_id)
            values: list[bytes | None] = await self.redis.execute_command(
                "HMGET", key, *(f"{ask_id}:{n}" for n in names)
            )
        fields = {f"{ask_id}:{n}": v.decode() for n, v in zip(names, values, strict=True) if v is not None}
        record = ask_record(session_id, ask_id, fields)
        if record is None:
            _missing("ask", ask_id)
        return record

    async def settle_ask(self, record: AskRecord, settlement: Settlement) -> AskRecord:
        """Settle an ask, once. Raises AlreadySettled with who and what, Withdrawn, NotFound."""
        event = stamp(settled_event(record.id, settlement), record.session_id, record.turn_id)
        facts: list[Argument] = [record.id, ids.request_id(), to_json(settlement), encode_body(event)]
        status, *said = await transact(self.redis, "settle_ask", record.session_id, *facts, at=event.at)
        if status == "missing":
            _missing("ask", record.id)
        if status == "withdrawn":
            reason = msgspec.json.decode(said[0], type=str)
            raise Withdrawn(f"This ask is over: {reason}.", reason=reason)
        stored = await self.ask(record.id)
        if status == "settled":
            by = stored.settlement.by.name if stored.settlement else "somebody"
            raise AlreadySettled(f"This ask was settled before, by {by}.", ask=stored)
        return stored

    async def deliver_ask(self, claim: Claim, ask_id: str) -> None:
        """Record that the agent took the settlement. Raises Fenced; HubError for an ask that is not settled
        or not of this turn."""
        event = stamp(AskDelivered(ask_id=ask_id), claim.session_id, claim.turn_id)
        facts: list[Argument] = [claim.turn_id, claim.fence, ask_id, encode_body(event)]
        answer = await transact(self.redis, "deliver_ask", claim.session_id, *facts, at=event.at)
        _check_fence(claim, answer)
        if answer[0] != "ok":
            raise HubError(f"{ask_id} cannot be delivered: it is {answer[0]}.")

    async def withdraw_ask(self, claim: Claim, ask_id: str, reason: str) -> None:
        """Withdraw an open ask of the turn; one that is settled stays so. Raises Fenced, NotFound."""
        facts = [claim.turn_id, claim.fence, ask_id, _inside(reason)]
        answer = await transact(self.redis, "withdraw_ask", claim.session_id, *facts)
        _check_fence(claim, answer)
        if answer[0] == "missing":
            _missing("ask", ask_id)

    # Reading

    async def snapshot(
        self,
        session_id: str,
        after: int = 0,
        *,
        whole: bool = False,
        also: Sequence[str] = (),
        most: int = 10 * _PAGE,
    ) -> Snapshot:
        """One instant: the turn, and what was written after a cursor. ``whole``: with session, asks and
        queue. ``also``: turns whose live streams count beside the running one's. Raises NotFound."""
        answer = await transact(self.redis, "snapshot", session_id, after, most, "1" if whole else "0", *also)
        if answer[0] == "missing":
            _missing("session", session_id)
        cursor, turn, log, lives, *rest = answer[1:]
        entries, complete = merged([stream_entries(log), *(stream_entries(live) for live in lives)], most)
        return Snapshot(
            cursor=int(cursor) if complete else entries[-1].seq,
            turn=turn_record(fields_of(turn)),
            entries=tuple(entries),
            complete=complete,
            session=session_record(session_id, fields_of(rest[0])) if rest else None,
            asks=ask_records(session_id, fields_of(rest[1])) if rest else (),
            queue=queued_messages(rest[2]) if rest else (),
        )

    async def log_page(self, session_id: str, after: int, most: int = _PAGE) -> list[Entry]:
        """Durable events after a cursor, at most ``most``. Empty for an unknown session too."""
        return await self._range(keys.session_key("log", session_id), after, most)

    async def live_page(self, session_id: str, turn_id: str, after: int, most: int = _PAGE) -> list[Entry]:
        """What a turn's live stream holds after a cursor, at most ``most``."""
        return await self._range(keys.live_key(session_id, turn_id), after, most)

    async def _range(self, key: str, after: int, most: int) -> list[Entry]:
        with clear_errors():
            raw: list[Any] = await self.redis.execute_command("XRANGE", key, f"({after}-0", "+", "COUNT", most)
        return stream_entries(raw)


def _taken(session_id: str, answer: list[Any]) -> Taken:
    turn = turn_record(fields_of(answer[1]))
    if turn is None:  # pragma: no cover - the transaction has just written it
        raise HubError(f"The turn of {session_id} vanished inside a transaction.")
    claim = Claim(session_id=session_id, turn_id=turn.id, runner=turn.runner, fence=turn.fence)
    return Taken(claim=claim, turn=turn, session=session_record(session_id, fields_of(answer[2])))


def _inside(text: str) -> str:
    """``text`` as the inside of a JSON string."""
    return to_json(text).decode()[1:-1]


def _check_fence(claim: Claim, answer: list[Any]) -> None:
    if answer[0] == "fenced":
        raise Fenced(f"{claim.runner} does not own {claim.turn_id} any more.")


def _live_path(session_id: str) -> str:
    return f"/v1/sessions/{session_id}/live"


def _in_flight(session_id: str, facts: list[str]) -> TurnInFlight:
    turn_id, started_at, state, same, _, attempt = facts
    return TurnInFlight(
        f"Turn {turn_id} is {state} in this session. Follow it at {_live_path(session_id)}.",
        turn_id=turn_id,
        started_at=started_at,
        state=state,
        attempt=int(attempt),
        live=_live_path(session_id),
        same_message=same == "1",
    )


def _missing(kind: str, name: str) -> NoReturn:
    raise NotFound(f"There is no {kind} {name!r}.")
