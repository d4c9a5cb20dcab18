"""Writers of one turn's events: as a runner does, and as the naive form does, the same JSON either way.

Each event's text begins with the monotonic clock at the time of writing (nanoseconds, the same clock in all
processes of a machine): readers tell from it how long the event was on its way.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

import msgspec
from redis.asyncio import Redis

from hub import ids
from hub.events import AnyEvent, TextDelta, encode, now, stamp
from hub.store.connect import Connections
from hub.store.records import Claim, SessionRecord
from hub.store.store import Store

BATCH = 32
LEASE_MS = 600_000
_WORDS = "a few words, as a model says them "


def naive_key(session_id: str) -> str:
    """The stream that the naive form keeps a turn in."""
    return f"naive:{session_id}"


class Writer(Protocol):
    """Writes events of one turn."""

    async def write(self, count: int) -> None:
        """Write ``count`` events at once."""


class TurnWriter:
    """Writes as a runner: batches through the fenced transaction."""

    def __init__(self, store: Store, claim: Claim) -> None:
        self.claim = claim
        self._store = store
        self._batch = 0

    @classmethod
    async def begin(cls, store: Store) -> TurnWriter:
        """Begin a turn to write."""
        return cls(store, await begin(store))

    async def write(self, count: int) -> None:
        self._batch += 1
        events = [delta(self.claim) for _ in range(count)]
        await self._store.append(self.claim, self._batch, events, LEASE_MS)


class PlainWriter:
    """Writes one XADD an event, a batch in one round trip."""

    def __init__(self, redis: Redis, claim: Claim) -> None:
        self._redis = redis
        self._claim = claim
        self._key = naive_key(claim.session_id)
        self._seq = 0

    async def write(self, count: int) -> None:
        async with self._redis.pipeline(transaction=False) as pipe:
            for _ in range(count):
                pipe.xadd(self._key, self._next())  # type: ignore[arg-type]
            await pipe.execute()

    def _next(self) -> dict[str, str | bytes | int]:
        self._seq += 1
        event = msgspec.structs.replace(delta(self._claim), seq=self._seq)
        return {"id": self._seq, "event": "text_delta", "data": encode(event)}


async def paced(writer: Writer, events: int, per_second: float) -> None:
    """Write one event at a time, at a steady rate."""
    begun = time.monotonic()
    for number in range(events):
        await asyncio.sleep(max(0.0, begun + number / per_second - time.monotonic()))
        await writer.write(1)


async def flood(writer: Writer, events: int) -> None:
    """Write in batches, as fast as the store takes them."""
    for start in range(0, events, BATCH):
        await writer.write(min(BATCH, events - start))


def connect(url: str) -> tuple[Connections, Store]:
    """The store, and the connections to close."""
    connections = Connections(url)
    return connections, Store(connections.commands)


async def begin(store: Store) -> Claim:
    """A new session with a running turn."""
    record = SessionRecord(id=ids.session_id(), agent="bench", transport="scripted")
    await store.create_session(record)
    begun = await store.begin(record.id, "hello")
    taken = await store.take(record.id, begun.turn_id, "run_bench", LEASE_MS)
    assert taken is not None
    return taken.claim


def delta(claim: Claim) -> AnyEvent:
    """An event of the claimed turn, which says when it was made."""
    text = f"{time.monotonic_ns()} {_WORDS}"
    return stamp(TextDelta(block=0, text=text), claim.session_id, claim.turn_id, now())
