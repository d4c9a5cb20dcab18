"""Many at once: one wins, and the others leave no trace."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
import redis

from hub import ids
from hub.errors import TurnInFlight
from hub.store import keys
from hub.store.records import Begun
from hub.store.store import Store
from hub.testing.stores import ServerProcess
from tests.store.desk import ALLOW, LEASE_MS, Desk, connected, failed

pytestmark = pytest.mark.anyio


def _everything(look: redis.Redis) -> dict[Any, Any]:
    """All there is in the store, byte for byte, with the time that each key has left to the minute."""
    return {key: (look.dump(key), int(look.ttl(key)) // 60) for key in look.keys("*")}


async def test_a_hundred_claims_have_one_winner_and_the_losers_write_nothing(
    redis_desk: Desk, redis_look: redis.Redis, redis_server: ServerProcess
) -> None:
    """begin, 100 at once over 100 connections: one turn, one message; each loser is told the winner."""
    session_id = await redis_desk.session()
    async with AsyncExitStack() as doors:
        opened = [await doors.enter_async_context(connected(redis_server.url)) for _ in range(10)]
        stores = [Store(door.commands) for door in opened]
        results = await asyncio.gather(
            *(stores[n % 10].begin(session_id, f"message {n}") for n in range(100)), return_exceptions=True
        )
    (winner,) = [result for result in results if isinstance(result, Begun)]
    losers = [result for result in results if isinstance(result, TurnInFlight)]
    assert len(losers) == 99
    assert {loser.facts["turn_id"] for loser in losers} == {winner.turn_id}
    assert await redis_desk.kinds(session_id) == ["session_created", "user_message", "turn_started"]
    before = _everything(redis_look)
    for _ in range(3):
        with pytest.raises(TurnInFlight):
            await redis_desk.store.begin(session_id, "late", idempotency_key="k")
    assert _everything(redis_look) == before


async def test_a_hundred_claims_with_one_key_are_one_turn(redis_desk: Desk) -> None:
    """begin, 100 at once with one idempotency key: everybody gets the same turn."""
    session_id = await redis_desk.session()
    begun = await asyncio.gather(
        *(redis_desk.store.begin(session_id, "hello", idempotency_key="k") for _ in range(100))
    )
    assert len({(one.turn_id, one.message_id, one.first) for one in begun}) == 1
    assert [one.repeated for one in begun].count(False) == 1


async def test_a_hundred_retries_have_one_winner(redis_desk: Desk) -> None:
    """retry, 100 at once: one attempt."""
    taken = await redis_desk.taken()
    await redis_desk.finish(taken.claim, failed())
    results = await asyncio.gather(
        *(redis_desk.store.retry(taken.session.id) for _ in range(100)), return_exceptions=True
    )
    assert [result.attempt for result in results if isinstance(result, Begun)] == [2]
    assert sum(isinstance(result, TurnInFlight) for result in results) == 99


async def test_a_turn_has_one_taker_and_one_reaper(redis_desk: Desk) -> None:
    """take and reap, by 50 runners at once: one owner each, with fences that only rise."""
    session_id = await redis_desk.session()
    begun = await redis_desk.store.begin(session_id, "x")
    runners = [f"run_{n}" for n in range(50)]
    taken = await asyncio.gather(
        *(redis_desk.store.take(session_id, begun.turn_id, runner, LEASE_MS) for runner in runners)
    )
    (first,) = [one for one in taken if one]
    await redis_desk.overdue(first.claim)
    reaped = await asyncio.gather(
        *(redis_desk.store.reap(session_id, begun.turn_id, r, LEASE_MS, adopt=True) for r in runners)
    )
    (second,) = [one for one in reaped if one and one != "ring"]
    assert (first.claim.fence, second.claim.fence) == ("1", "2")


async def test_more_callers_than_connections_wait_for_their_turn(redis_server: ServerProcess) -> None:
    """200 calls over a pool of 4: all are answered, none is refused for want of a connection."""
    async with connected(redis_server.url, max_connections=4) as door:
        desk = Desk(Store(door.commands))
        session_id = await desk.session()
        turns = await asyncio.gather(*(desk.store.turn(session_id) for _ in range(200)))
    assert turns == [None] * 200


async def test_a_call_that_is_cancelled_leaves_its_reply_to_nobody(redis_server: ServerProcess) -> None:
    """Callers that give up in the middle of a call do not shift the replies of those that come after."""
    async with connected(redis_server.url, max_connections=2) as door:
        desk = Desk(Store(door.commands))
        taken = await desk.taken()
        for wait in range(30):
            call = asyncio.ensure_future(desk.store.snapshot(taken.session.id, whole=True))
            await asyncio.sleep(wait / 30_000)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            assert (await desk.store.append(taken.claim, 0, [], LEASE_MS)).cancel_by is None
            assert (await desk.store.session(taken.session.id)).id == taken.session.id


async def test_writers_and_readers_of_one_session_see_one_order(redis_desk: Desk) -> None:
    """What is published, read and kept while several write: the same bytes in the same order, no hole."""
    taken = await redis_desk.taken()
    session_id, claim, store = taken.session.id, taken.claim, redis_desk.store
    pubsub = store.redis.pubsub()
    await pubsub.subscribe(keys.channel(session_id))
    assert (await pubsub.get_message(timeout=5))["type"] == "subscribe"

    async def run() -> None:
        for batch in range(1, 40):
            await redis_desk.append(claim, batch, "a", "b")

    async def ask() -> None:
        for _ in range(10):
            await store.settle_ask(await store.ask(await redis_desk.opened(claim)), ALLOW)

    async def wait_in_line() -> None:
        for _ in range(10):
            await store.enqueue(session_id, "later")

    await asyncio.gather(run(), ask(), wait_in_line())
    await redis_desk.finish(claim, next_turn=ids.turn_id())
    snapshot = await store.snapshot(session_id, 3, also=(taken.turn.id,))
    wanted = b"".join(entry.turn_id.encode() + b"\n" + entry.frame for entry in snapshot.entries)
    published = b""
    async with asyncio.timeout(10):
        while len(published) < len(wanted):
            message = await pubsub.get_message(timeout=1)
            published += message["data"] if message else b""
    await pubsub.aclose()  # type: ignore[no-untyped-call]
    assert published == wanted
    assert [entry.seq for entry in snapshot.entries] == list(range(4, snapshot.cursor + 1))
