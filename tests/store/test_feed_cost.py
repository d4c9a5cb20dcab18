"""What many subscribers cost: one reading for all who come at once, nothing for those who wait."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import redis

from hub import ids
from hub.store.channels import FeedBounds, HubChannel
from hub.store.connect import Connections
from hub.store.doorbell import Doorbell
from hub.store.feed import Feed
from hub.store.frames import Frames, View
from hub.store.records import Entry
from hub.store.store import Store
from hub.store.subscription import Subscription
from hub.testing import stores
from tests.store.desk import Desk

pytestmark = pytest.mark.anyio
MANY = 100


@asynccontextmanager
async def watching(url: str) -> AsyncIterator[Feed]:
    """A feed that runs."""
    connections = Connections(url)
    doorbell = Doorbell(connections)
    feed = Feed(Store(connections.commands), doorbell)
    async with asyncio.TaskGroup() as group:
        chores = [group.create_task(doorbell.run()), group.create_task(feed.run())]
        yield feed
        for chore in chores:
            chore.cancel()
    await connections.close()


async def attached(feed: Feed, session_id: str) -> Subscription:
    """A subscriber of the running turn that has read what there is."""
    subscription = await feed.turn(session_id)
    assert subscription is not None
    await subscription.read()
    return subscription


def calls(look: redis.Redis) -> int:
    """How many commands the store was sent since its statistics were reset."""
    stats = look.info("commandstats")
    assert isinstance(stats, dict)
    return sum(facts["calls"] for name, facts in stats.items() if name != "cmdstat_config|resetstat")


async def test_who_comes_at_once_shares_a_reading(
    redis_desk: Desk, redis_server: stores.ServerProcess, redis_look: redis.Redis
) -> None:
    """A hundred attaches at once read the store a few times, not a hundred times, and all see everything."""
    claim = (await redis_desk.taken()).claim
    last = await redis_desk.append(claim, 1, "a", "b")
    async with watching(redis_server.url) as feed:
        redis_look.config_resetstat()
        subscriptions = await asyncio.gather(*(attached(feed, claim.session_id) for _ in range(MANY)))
        stats = redis_look.info("commandstats")
        assert isinstance(stats, dict)
        assert stats["cmdstat_evalsha"]["calls"] <= 4
        assert {one.cursor for one in subscriptions} == {last}
        for one in subscriptions:
            await one.close()


async def test_a_reading_that_began_before_does_not_serve_who_comes_later(
    redis_desk: Desk, redis_server: stores.ServerProcess
) -> None:
    """Whoever attaches after an event was written has it within reach, even where the bell was not heard."""
    claim = (await redis_desk.taken()).claim
    async with watching(redis_server.url) as feed:
        first = await attached(feed, claim.session_id)
        for batch in range(1, 20):
            attaching = asyncio.gather(*(feed.turn(claim.session_id) for _ in range(3)))
            last = await redis_desk.append(claim, batch, "more")
            later = await feed.turn(claim.session_id, after=last)  # raises BadCursor where it is not known yet
            for one in (later, *await attaching):
                assert one is not None
                await one.close()
        await first.close()


async def test_attaching_wakes_nobody_who_waits(redis_desk: Desk, redis_server: stores.ServerProcess) -> None:
    """A newcomer's reading finds nothing new: those who wait sleep on."""
    claim = (await redis_desk.taken()).claim
    async with watching(redis_server.url) as feed:
        waiting = await attached(feed, claim.session_id)
        reading = asyncio.ensure_future(waiting.read())
        await asyncio.sleep(0)
        rung = feed._channels[waiting._channel.name].wait(math.inf)
        newcomer = await attached(feed, claim.session_id)
        assert not rung.done()
        await redis_desk.append(claim, 1, "now")
        await rung
        assert b'"now"' in (await reading or b"")
        await newcomer.close()
        await waiting.close()


async def test_who_waits_costs_the_store_nothing(
    redis_desk: Desk, redis_server: stores.ServerProcess, redis_look: redis.Redis
) -> None:
    """A hundred subscribers that wait cost exactly what one costs: no command of their own."""
    claim = (await redis_desk.taken()).claim
    async with watching(redis_server.url) as feed:
        costs: list[int] = []
        for count in (1, MANY):
            subscriptions = [await attached(feed, claim.session_id) for _ in range(count)]
            reading = [asyncio.ensure_future(one.read()) for one in subscriptions]
            redis_look.config_resetstat()
            await redis_desk.append(claim, len(costs) + 1, "wake")
            await asyncio.gather(*reading)
            costs.append(calls(redis_look))
            for one in subscriptions:
                await one.close()
        assert costs[0] == costs[1]


def test_a_cursor_reaches_the_newest_number_even_where_its_event_is_gone() -> None:
    """Otherwise a subscriber would look again and again, and never wait."""
    frames = Frames(0, most_bytes=1000)
    frames.append([Entry(1, "turn_a", "text_delta", b"x"), Entry(2, "turn_a", "text", b"y")], 4)
    assert frames.after(0, View(turn_id="turn_a")).cursor == 4
    assert frames.after(4, View(turn_id="turn_a")).cursor == 4
    assert frames.after(1, View()).frames == b"y"
    assert frames.after(0, View(turn_id=ids.turn_id())).cursor == 4


async def test_who_waits_is_woken_when_a_comment_is_due_and_not_before() -> None:
    """A pulse over thousands of quiet streams wakes those whose time has come, and nobody else."""
    channel = HubChannel("th:hub", FeedBounds())
    later = channel.wait(channel.clock() + 1000.0)
    await asyncio.sleep(0)
    channel.ring_if_due()
    await asyncio.sleep(0)
    assert not later.done()
    sooner = channel.wait(channel.clock())
    await asyncio.sleep(0)
    channel.ring_if_due()
    await asyncio.gather(later, sooner)
