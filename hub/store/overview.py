"""Things over all sessions: lists, open asks, overdue turns, the health of the store.

Every list is kept per bucket (64 of them), so one pipeline reads all and the result is merged here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from itertools import islice
from typing import Any, Literal, TypeAlias, cast

import structlog
from msgspec import Struct

from hub import ids
from hub.asks import AskRecord
from hub.errors import BadCursor, NotFound, StoreForeign
from hub.store import keys
from hub.store.connect import pipelined
from hub.store.records import SessionRecord, TurnRecord, fields_of, intact, session_record, turn_record
from hub.store.store import Store
from hub.store.transactions import clear_errors

Ended: TypeAlias = Literal["completed", "failed", "interrupted"]
_AT_ONCE = 50
_OLDEST = (6, 2)
_SCORE_DIGITS = 16  # Unix milliseconds have 13
_BAD_BEFORE = "`before` is the id of a session, or what the last page's Link names."


class SessionSummary(Struct, frozen=True, kw_only=True):
    """A session in a list: with its running turn, how many asks wait in it, and how its last turn ended (None
    before the first end); ``queued``: how many messages wait in it."""

    record: SessionRecord
    turn: TurnRecord | None
    open_asks: int
    queued: int = 0
    ended: Ended | None = None


class SessionPage(Struct, frozen=True, kw_only=True):
    """Some sessions, newest change first; ``next`` is the cursor of what follows, None at the end."""

    sessions: tuple[SessionSummary, ...]
    next: str | None


class StoreHealth(Struct, frozen=True, kw_only=True):
    """What the store says of itself; ``latency_ms`` is one round trip."""

    version: str
    latency_ms: float
    maxmemory_policy: str


def new_enough(version: str) -> bool:
    """Whether a store of ``version`` has what is needed: that of Redis 6.2. Unknown ones are believed."""
    parts = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return not parts or tuple(parts) >= _OLDEST


class Overdue(Struct, frozen=True, kw_only=True):
    """A turn whose lease has run out, since ``late_ms`` milliseconds."""

    session_id: str
    late_ms: int


class Overview:
    """Reads over all sessions. All methods raise StoreUnavailable."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unreadable: set[str] = set()  # told of once
        self._log = structlog.get_logger("hub.store")

    async def sessions(self, limit: int = 50, before: str | None = None) -> SessionPage:
        """Sessions by last change, newest first. ``before`` is a page's ``next`` or a session id. Raises
        BadCursor."""
        start = await self._position(before) if before else (float("inf"), "")
        top = "+inf" if start[0] == float("inf") else f"{start[0]:.0f}"
        commands = [
            ("ZREVRANGEBYSCORE", key, top, "-inf", "WITHSCORES", "LIMIT", "0", str(limit + _AT_ONCE))
            for key in keys.bucket_keys("sessions")
        ]
        found = [pair for answer in await self._pipeline(commands) for pair in _scored(answer)]
        ordered = sorted((pair for pair in found if pair < start or not before), reverse=True)
        page = ordered[:limit]
        summaries = await self._summaries([session_id for _, session_id in page])
        more = len(ordered) > limit
        return SessionPage(
            sessions=tuple(summaries), next=f"{page[-1][0]:.0f}.{page[-1][1]}" if more and page else None
        )

    async def open_asks(self) -> list[AskRecord]:
        """All open asks, oldest first."""
        commands = [("ZRANGE", key, "0", "-1", "WITHSCORES") for key in keys.bucket_keys("pending")]
        found = sorted(pair for answer in await self._pipeline(commands) for pair in _scored(answer))
        asks: list[AskRecord] = []
        names = (ask_id for _, ask_id in found)
        while part := list(islice(names, _AT_ONCE)):
            read = await asyncio.gather(*map(self._ask, part))
            asks += [ask for ask in read if ask is not None and ask.state == "open"]
        return asks

    async def overdue(self) -> list[Overdue]:
        """Sessions whose turn's lease has run out, by the store's own clock."""
        now_ms = await self.clock_ms()
        commands = [
            ("ZRANGEBYSCORE", key, "-inf", str(now_ms), "WITHSCORES") for key in keys.bucket_keys("leases")
        ]
        found = sorted(pair for answer in await self._pipeline(commands) for pair in _scored(answer))
        return [Overdue(session_id=session_id, late_ms=int(now_ms - deadline)) for deadline, session_id in found]

    async def bound_leases(self, most_ms: int) -> int:
        """Let no lease run for more than ``most_ms``: one that does was given before the store's clock was set
        back, and would keep a turn that nobody runs. How many there were."""
        end = await self.clock_ms() + most_ms
        names = list(keys.bucket_keys("leases"))
        found = await self._pipeline([("ZRANGEBYSCORE", key, f"({end}", "+inf") for key in names])
        beyond = [(key, member) for key, answer in zip(names, found, strict=True) for member in answer]
        await self._pipeline([("ZADD", key, "XX", "LT", str(end), member) for key, member in beyond])
        return len(beyond)

    async def undistilled(self, most: int) -> list[tuple[str, str]]:
        """Sessions and ended turns in them that wait for their distillation and that nobody works on, at most
        ``most``, those that wait longest first."""
        now_ms = await self.clock_ms()
        commands = [
            ("ZRANGEBYSCORE", key, "-inf", str(now_ms), "WITHSCORES", "LIMIT", "0", str(most))
            for key in keys.bucket_keys("undistilled")
        ]
        found = sorted(pair for answer in await self._pipeline(commands) for pair in _scored(answer))
        members = (member.partition(" ") for _, member in found[:most])
        return [(session_id, turn_id) for session_id, _, turn_id in members]

    async def backlog(self) -> int:
        """How many ended turns wait for their distillation, those that somebody works on included."""
        answers = await self._pipeline([("ZCARD", key) for key in keys.bucket_keys("undistilled")])
        return sum(map(int, answers))

    async def clock_ms(self) -> int:
        """The store's clock: Unix milliseconds."""
        with clear_errors():
            seconds, micros = await self._store.redis.execute_command("TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    async def ping(self) -> StoreHealth:
        """Whether the store answers, how fast, and which it is. Raises StoreUnavailable."""
        begin = time.perf_counter()
        with clear_errors():
            await self._store.redis.execute_command("TIME")
            latency = (time.perf_counter() - begin) * 1000
            info: Any = await self._store.redis.info()
        one = next(iter(info.values())) if info and isinstance(next(iter(info.values())), dict) else info
        return StoreHealth(
            version=str(one.get("valkey_version") or one.get("redis_version", "unknown")),
            latency_ms=latency,
            maxmemory_policy=str(one.get("maxmemory_policy", "unknown")),
        )

    async def take_write(self) -> None:
        """Return where the store takes writes. Raises StoreReadOnly, StoreUnavailable."""
        with clear_errors():
            await self._store.redis.execute_command("SET", keys.PROBE, "1", "PX", "1000")

    async def _position(self, before: str) -> tuple[float, str]:
        score, _, session_id = before.rpartition(".")
        if not ids.is_session_id(session_id):
            raise BadCursor(_BAD_BEFORE)
        if score:
            if not (score.isascii() and score.isdigit() and len(score) < _SCORE_DIGITS):
                raise BadCursor(_BAD_BEFORE)
            return float(score), session_id
        with clear_errors():
            key = keys.bucket_key("sessions", keys.bucket(before))
            found = await self._store.redis.execute_command("ZSCORE", key, before)
        if found is None:
            raise BadCursor(_BAD_BEFORE)
        return float(found), before

    async def _summaries(self, session_ids: list[str]) -> list[SessionSummary]:
        commands = [
            command
            for one in session_ids
            for command in (
                ("HGETALL", keys.session_key("session", one)),
                ("HGETALL", keys.session_key("turn", one)),
                ("HGET", keys.session_key("last", one), "ended"),
                ("LLEN", keys.session_key("queue", one)),
            )
        ]
        answers = await self._pipeline(commands, lenient=True)
        rows = zip(session_ids, *(answers[start::4] for start in range(4)), strict=True)
        return [found for row in rows if (found := self._summary(*row)) is not None]

    def _summary(self, session_id: str, *answers: Any) -> SessionSummary | None:
        """One session of a list; None where it was deleted in between, or cannot be read."""
        try:
            with intact(f"session {session_id}"):
                return _summary(session_id, *answers)
        except StoreForeign as error:
            self._leave_out(session_id, error)
            return None

    def _leave_out(self, name: str, error: StoreForeign) -> None:
        """What is damaged must not hide all the rest; it is told of once."""
        if name not in self._unreadable:
            self._unreadable.add(name)
            self._log.error("something cannot be read; lists go without it", name=name, error=error.detail)

    async def _ask(self, ask_id: str) -> AskRecord | None:
        try:
            return await self._store.ask(ask_id)
        except NotFound:
            return None  # its session was deleted in between
        except StoreForeign as error:
            self._leave_out(ask_id, error)
            return None

    async def _pipeline(self, commands: Iterable[tuple[str, ...]], *, lenient: bool = False) -> list[Any]:
        """The answers. Raises StoreForeign for a key that holds something else; ``lenient``: gives it."""
        with clear_errors():
            answers = await pipelined(self._store.redis, commands)
            if not lenient and (wrong := next((one for one in answers if isinstance(one, Exception)), None)):
                raise wrong
        return answers


def _summary(session_id: str, raw: Any, raw_turn: Any, ended: Any, queued: Any) -> SessionSummary | None:
    fields = fields_of(raw)
    if not fields:
        return None
    turn = fields_of(raw_turn)
    return SessionSummary(
        record=session_record(session_id, fields),
        turn=turn_record(turn),
        open_asks=len(turn.get("open", "").split()),
        queued=int(queued),
        ended=cast(Ended, ended.decode()) if ended else None,
    )


def _scored(answer: list[Any]) -> list[tuple[float, str]]:
    """Members with scores, from either form in which redis-py gives them."""
    if answer and isinstance(answer[0], bytes):
        answer = list(zip(answer[::2], answer[1::2], strict=True))
    return [(float(score), member.decode()) for member, score in answer]
