"""The doorbell: what is published arrives, what may have been missed is said, nobody is left subscribed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis
import structlog

from hub.errors import StoreUnavailable
from hub.store import doorbell
from hub.store.connect import Connections
from hub.store.doorbell import Doorbell
from hub.testing import stores

pytestmark = pytest.mark.anyio


class Ear:
    """A listener that writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self._changed = asyncio.Event()

    def rung(self, payload: bytes) -> None:
        """Write it down."""
        self.heard.append(payload)
        self._changed.set()

    def missed(self) -> None:
        """Write it down."""
        self.heard.append(None)
        self._changed.set()

    async def until(self, what: Any) -> None:
        """Return when that was heard."""
        async with asyncio.timeout(10):
            while what not in self.heard:
                self._changed.clear()
                await self._changed.wait()


class Deaf(Ear):
    """A listener that fails."""

    def rung(self, payload: bytes) -> None:
        """Fail."""
        raise ValueError(payload)

    missed = Ear.missed


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """What is logged, and nowhere else."""
    with structlog.testing.capture_logs() as entries:
        yield entries


@asynccontextmanager
async def running(url: str, **details: Any) -> AsyncIterator[Doorbell]:
    """A doorbell that rings."""
    connections = Connections(url, timeout_s=2)
    bell = Doorbell(connections, **details)
    task = asyncio.create_task(bell.run())
    try:
        yield bell
    finally:
        task.cancel()
        await asyncio.wait([task])
        await connections.close()


async def subscribed(look: redis.Redis, channel: str) -> int:
    """How many connections the server has for a channel."""
    answer: Any = await asyncio.to_thread(look.execute_command, "PUBSUB", "NUMSUB", channel)
    return int(answer[1] if isinstance(answer, list) else answer[channel.encode()])


async def until_subscribed(look: redis.Redis, channel: str, count: int) -> None:
    """Return when the server has so many connections for a channel."""
    async with asyncio.timeout(10):
        while await subscribed(look, channel) != count:  # noqa: ASYNC110 - it is the server that is looked at
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", ["redis", "valkey", "cluster"])
async def test_what_is_published_after_listen_arrives(request: pytest.FixtureRequest, kind: str) -> None:
    """On every kind of store: ``listen`` returns when the subscription stands, and each payload then comes
    once, in order; after ``leave`` nothing comes."""
    fixture = request.getfixturevalue("cluster_url" if kind == "cluster" else f"{kind}_server")
    url = fixture if kind == "cluster" else fixture.url
    sender = Connections(url)
    async with running(url) as bell:
        ears = {f"channel-{number}": Ear() for number in range(8)}
        for channel, ear in ears.items():
            await bell.listen(channel, ear)
        for number in range(20):
            for channel in ears:
                await sender.commands.execute_command("PUBLISH", channel, b"%d" % number)
        for ear in ears.values():
            await ear.until(b"19")
            assert [one for one in ear.heard if one is not None] == [b"%d" % number for number in range(20)]
        await bell.leave("channel-0", ears["channel-0"])
        await sender.commands.execute_command("PUBLISH", "channel-0", b"late")
        await sender.commands.execute_command("PUBLISH", "channel-1", b"late")
        await ears["channel-1"].until(b"late")
        assert b"late" not in ears["channel-0"].heard
    await sender.close()


async def test_a_lost_connection_is_made_anew_and_everybody_is_told(
    redis_server: stores.ServerProcess, redis_look: redis.Redis
) -> None:
    """The server kills the connection: every listener is told that it may have missed something, and hears
    what comes after; a first subscription is no reason to say so."""
    async with running(redis_server.url) as bell:
        ears = [Ear(), Ear()]
        for number, ear in enumerate(ears):
            await bell.listen(f"c{number}", ear)
        assert all(ear.heard == [] for ear in ears)
        for _ in range(3):
            await asyncio.to_thread(redis_look.execute_command, "CLIENT", "KILL", "TYPE", "pubsub")
            for ear in ears:
                await ear.until(None)
                ear.heard.clear()
        redis_look.publish("c0", b"after")
        await ears[0].until(b"after")


async def test_a_listener_that_fails_deafens_nobody(
    redis_server: stores.ServerProcess, redis_look: redis.Redis
) -> None:
    """What one listener raises is logged; the others hear on, and so does it."""
    async with running(redis_server.url) as bell:
        deaf, ear = Deaf(), Ear()
        await bell.listen("deaf", deaf)
        await bell.listen("ear", ear)
        for number in range(3):
            redis_look.publish("deaf", b"x")
            redis_look.publish("ear", b"%d" % number)
        await ear.until(b"2")


async def test_whoever_gives_up_listening_leaves_no_subscription(
    redis_server: stores.ServerProcess, redis_look: redis.Redis
) -> None:
    """Cancelled at any moment while it subscribes, or leaving at once: the server is left with none."""
    async with running(redis_server.url) as bell:
        await bell.listen("stays", Ear())
        for turns in range(10):
            ear = Ear()
            task = asyncio.create_task(bell.listen("given-up", ear))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                await bell.leave("given-up", ear)
            redis_look.publish("given-up", b"anybody?")
        await until_subscribed(redis_look, "given-up", 0)
        assert await subscribed(redis_look, "stays") == 1
        assert bell.channels == 1


async def test_listening_and_leaving_in_a_rush_ends_as_the_last_one_wanted(
    redis_server: stores.ServerProcess, redis_look: redis.Redis
) -> None:
    """Leaving and listening anew, interleaved in every way: the last listener hears, the ones before do not."""
    async with running(redis_server.url) as bell:
        for turns in range(8):
            old, new = Ear(), Ear()
            await bell.listen("c", old)
            leaving = asyncio.create_task(bell.leave("c", old))
            for _ in range(turns):
                await asyncio.sleep(0)
            await bell.listen("c", new)
            await leaving
            redis_look.publish("c", b"for the new")
            await new.until(b"for the new")
            assert b"for the new" not in old.heard
            await bell.leave("c", new)
        await until_subscribed(redis_look, "c", 0)


async def test_a_quiet_connection_is_asked_and_kept(
    redis_server: stores.ServerProcess, redis_look: redis.Redis
) -> None:
    """Nothing comes for many quiet times: the server answers pings, and the connection is the same."""
    async with running(redis_server.url, quiet_s=0.05) as bell:
        ear = Ear()
        await bell.listen("c", ear)
        await asyncio.sleep(0.6)
        redis_look.publish("c", b"still there")
        await ear.until(b"still there")
        assert ear.heard == [b"still there"]


async def test_a_server_that_hangs_is_noticed(request: pytest.FixtureRequest) -> None:
    """A server that answers nothing, not even a ping: the connection is given up, and when there is one again,
    everybody is told."""
    binary = stores.redis_binary()
    if binary is None:
        pytest.skip("redis-server is not installed here")
    with stores.server(binary) as process:
        async with running(process.url, quiet_s=0.3) as bell:
            ear = Ear()
            await bell.listen("c", ear)
            process.signal(19)
            await asyncio.sleep(1)
            process.signal(18)
            await ear.until(None)
            with process.client() as look:
                look.publish("c", b"again")
            await ear.until(b"again")


async def test_without_a_server_listening_fails_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """StoreUnavailable, and nothing is left; the doorbell goes on trying, and tells of the loss once."""
    monkeypatch.setattr(doorbell, "_SUBSCRIBE_S", 0.5)
    with stores.short_folder() as folder, structlog.testing.capture_logs() as entries:
        async with running(stores.unix_url(folder / "none")) as bell:
            with pytest.raises(StoreUnavailable):
                await bell.listen("c", Ear())
            assert bell.channels == 0
    assert len([entry for entry in entries if "doorbell lost" in entry["event"]]) == 1
