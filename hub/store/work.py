"""Who works: the agents' work streams ("this turn wants a runner", "this session was deleted", "what does its
terminal show?") and the runners' heartbeats."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct
from redis import exceptions

from hub.store import keys
from hub.store.connect import Lines
from hub.store.records import Hash, RunnerRecord, SessionRecord
from hub.store.transactions import clear_errors
from hub.transport import Screen

_GROUP = "runners"
_CONSUMER = "any"  # nothing is acknowledged, so one name does for all and none is left behind
_MOST = 10_000
_ANSWERS_S = 5.0
_FORGOTTEN_S = 3600
_LOOK_KEPT_S = 30
ALIVE_S = 15.0


class Wanted(Struct, frozen=True):
    """A turn that wants a runner; or, with ``deleted``, a session whose transport has to forget it; or, with
    ``looked_at`` and a look's id, a session whose terminal somebody wants to see."""

    session_id: str
    turn_id: str
    deleted: SessionRecord | None = None
    looked_at: SessionRecord | None = None
    look_id: str = ""


class Looked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a runner says of a terminal: what it shows, or why nothing can be seen."""

    screen: Screen | None = None
    why: str = ""


class Work:
    """The work streams. All methods raise StoreUnavailable or StoreReadOnly."""

    def __init__(self, lines: Lines) -> None:
        self._redis = lines.commands
        self._blocking = lines.blocking

    async def ring(self, agent: str, session_id: str, turn_id: str) -> None:
        """Say that a turn wants a runner. Saying it twice is harmless: only one can take it."""
        with clear_errors():
            await self._redis.execute_command(
                "XADD", keys.work_key(agent), "MAXLEN", "~", _MOST, "*", "s", session_id, "t", turn_id
            )

    async def ring_deleted(self, record: SessionRecord) -> None:
        """Say that a session was deleted: a runner of its agent lets its transport forget it."""
        with clear_errors():
            body = msgspec.json.encode(record)
            await self._redis.execute_command(
                "XADD", keys.work_key(record.agent), "MAXLEN", "~", _MOST, "*", "s", record.id, "d", body
            )

    async def look(self, record: SessionRecord, look_id: str, *, within_s: float) -> Looked | None:
        """Have a runner of its agent look at a session's terminal: what it says (:meth:`looked`), or None where
        nobody said anything in time."""
        key = keys.look_key(look_id)
        with clear_errors():
            await self._redis.execute_command(
                "XADD",
                keys.work_key(record.agent),
                "MAXLEN",
                "~",
                _MOST,
                "*",
                "s",
                record.id,
                "d",
                msgspec.json.encode(record),
                "l",
                look_id,
            )
            async with asyncio.timeout(within_s + _ANSWERS_S):
                answer: Any = await self._blocking.execute_command("BLPOP", key, within_s)
        return None if answer is None else msgspec.json.decode(answer[1], type=Looked)

    async def looked(self, look_id: str, told: Looked) -> None:
        """Leave the answer to a look. Nobody may be there any more to take it."""
        key = keys.look_key(look_id)
        with clear_errors():
            await self._redis.execute_command("RPUSH", key, msgspec.json.encode(told))
            await self._redis.execute_command("EXPIRE", key, _LOOK_KEPT_S)

    async def prepare(self, agent: str) -> None:
        """Make sure that the agent's stream has its group."""
        with clear_errors():
            try:
                await self._redis.execute_command(
                    "XGROUP", "CREATE", keys.work_key(agent), _GROUP, "0", "MKSTREAM"
                )
            except exceptions.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise

    async def wait(self, agent: str, *, most: int, block_ms: int) -> list[Wanted]:
        """The next turns of ``agent`` that want a runner; empty when none came in time. What is handed out
        is not handed out again: a turn that is then not taken is rung again by whoever reaps."""
        words = ("COUNT", most, "BLOCK", block_ms, "NOACK", "STREAMS", keys.work_key(agent), ">")
        with clear_errors():
            try:
                # This client has no read timeout of its own: a peer that is gone must be noticed here.
                async with asyncio.timeout(block_ms / 1000 + _ANSWERS_S):
                    answer: Any = await self._blocking.execute_command(
                        "XREADGROUP", "GROUP", _GROUP, _CONSUMER, *words
                    )
            except exceptions.ResponseError as error:
                if not any(sign in str(error) for sign in ("NOGROUP", "UNBLOCKED")):
                    raise
                await self.prepare(agent)  # the stream was flushed away under us
                return []
        return [wanted for fields in _messages(answer) if (wanted := _wanted(fields)) is not None]

    async def announce(self, runner: RunnerRecord) -> None:
        """A runner's heartbeat."""
        with clear_errors():
            await self._redis.execute_command("HSET", keys.RUNNERS, runner.id, msgspec.json.encode(runner))

    async def leave(self, runner_id: str) -> None:
        """A runner goes."""
        with clear_errors():
            await self._redis.execute_command("HDEL", keys.RUNNERS, runner_id)

    async def runners(self) -> list[RunnerRecord]:
        """The runners that were heard of within 15 s, by the store's clock. Forgets those long dead."""
        with clear_errors():
            raw: Hash = await self._redis.execute_command("HGETALL", keys.RUNNERS)
            now, _ = await self._redis.execute_command("TIME")
        known = _records(raw)
        if dead := [runner.id for runner in known if int(now) - runner.seen > _FORGOTTEN_S]:
            with clear_errors():
                await self._redis.execute_command("HDEL", keys.RUNNERS, *dead)
        # One whose last word is to come yet spoke before the store's clock was set back: who lives speaks again.
        return [runner for runner in known if abs(int(now) - runner.seen) <= ALIVE_S]

    async def clock(self) -> float:
        """The store's clock: Unix seconds."""
        with clear_errors():
            seconds, micros = await self._redis.execute_command("TIME")
        return int(seconds) + int(micros) / 1e6


def _wanted(fields: Mapping[bytes, bytes]) -> Wanted | None:
    """What an entry says; None where it is not understood (a hub of another version wrote it)."""
    if fields.keys() >= {b"s", b"t"}:
        return Wanted(fields[b"s"].decode(), fields[b"t"].decode())
    with suppress(msgspec.MsgspecError):
        if fields.keys() >= {b"s", b"d"}:
            record = msgspec.json.decode(fields[b"d"], type=SessionRecord)
            if look_id := fields.get(b"l"):
                return Wanted(record.id, "", looked_at=record, look_id=look_id.decode())
            return Wanted(record.id, "", deleted=record)
    return None


def _records(raw: Hash) -> list[RunnerRecord]:
    """What runners say of themselves. One of another version may say it in a way that is not understood."""
    records = []
    for value in raw.values() if isinstance(raw, Mapping) else raw[1::2]:
        with suppress(msgspec.MsgspecError):
            records.append(msgspec.json.decode(value, type=RunnerRecord))
    return records


def _messages(answer: Any) -> list[dict[bytes, bytes]]:
    """The fields of the messages in an XREADGROUP over one stream."""
    return [fields for _, entries in answer or () for _, fields in entries]
