"""A name has one holder, over all processes, and a holder that has lost it knows so in time."""

from __future__ import annotations

import asyncio

import pytest

from hub.errors import StoreUnavailable
from hub.store.connect import AnyRedis
from hub.store.exclusive import Exclusive, Held
from hub.testing import stores
from hub.testing.lossy import LossyProxy
from hub.typist import PlaceLost, PlaceTaken
from tests.store.desk import connected

pytestmark = pytest.mark.anyio

NAME = "tmux:host:/tmp/socket:%1"


async def lost(held: Held) -> None:
    """Return when the name is lost: it is the time that passes which takes it."""
    while not held.lost:  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def enter(exclusive: Exclusive, log: list[str], who: str, name: str = NAME) -> None:
    """Hold the name for a moment, and note when."""
    async with exclusive.hold(name):
        log.append(f"{who} in")
        await asyncio.sleep(0.01)
        log.append(f"{who} out")


async def test_holders_come_one_after_the_other_over_all_processes(client: AnyRedis) -> None:
    """Twelve at once, in three processes: nobody comes in before the one before is out."""
    processes = [Exclusive(client) for _ in range(3)]
    log: list[str] = []
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number in range(12):
            group.create_task(enter(processes[number % 3], log, str(number)))
    assert len(log) == 24
    assert all(a.split()[0] == b.split()[0] for a, b in zip(log[::2], log[1::2], strict=True))


async def test_different_names_do_not_wait_for_each_other(client: AnyRedis) -> None:
    """One terminal's lock is no other's."""
    exclusive = Exclusive(client)
    async with asyncio.timeout(10), exclusive.hold("a"), exclusive.hold("b"), Exclusive(client).hold("c"):
        pass


async def test_who_waits_too_long_is_told_and_holds_nothing(client: AnyRedis) -> None:
    """In the same process and in another one."""
    here = Exclusive(client)
    async with here.hold(NAME):
        for exclusive in (here, Exclusive(client)):
            with pytest.raises(PlaceTaken, match=r"0\.2 s"):
                async with exclusive.hold(NAME, within_s=0.2):
                    pytest.fail("two holders")
    async with asyncio.timeout(5), Exclusive(client).hold(NAME, within_s=5):
        pass


async def test_a_holder_renews_it_for_as_long_as_it_takes(client: AnyRedis) -> None:
    """Long after the time to live it is still held."""
    async with Exclusive(client, ttl_s=2.0).hold(NAME) as held:
        for _ in range(3):
            await asyncio.sleep(1.0)
            assert await client.execute_command("GET", held.key) == held.token.encode()
        held.check()


async def test_a_name_whose_holder_is_gone_is_free_after_its_time(client: AnyRedis) -> None:
    """A process that was killed releases nothing; its name runs out."""
    async with Exclusive(client).hold(NAME) as gone:
        pass
    await client.execute_command("SET", gone.key, "a process that was killed", "PX", 500)
    async with asyncio.timeout(10), Exclusive(client).hold(NAME) as held:
        held.check()


async def test_a_holder_whose_name_somebody_else_has_notices_and_leaves_it_alone(client: AnyRedis) -> None:
    """It was away for too long: its check raises, and its release takes nothing from the other."""
    async with asyncio.timeout(20), Exclusive(client, ttl_s=4.0).hold(NAME) as held:
        held.check()
        await client.execute_command("SET", held.key, "somebody else", "PX", 60_000)
        await lost(held)
        with pytest.raises(PlaceLost):
            held.check()
    assert await client.execute_command("GET", held.key) == b"somebody else"
    await client.execute_command("DEL", held.key)


async def test_cancelled_while_waiting_or_holding_it_leaves_nothing_behind(client: AnyRedis) -> None:
    """The next one comes in at once."""
    exclusive, other = Exclusive(client), Exclusive(client)
    async with exclusive.hold(NAME):
        waiting = [asyncio.create_task(enter(one, [], "w")) for one in (exclusive, other)]
        await asyncio.sleep(0.1)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
    inside = asyncio.Event()

    async def stay() -> None:
        async with other.hold(NAME):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(stay())
    await inside.wait()
    task.cancel()
    await asyncio.wait({task})
    async with asyncio.timeout(5), exclusive.hold(NAME, within_s=5) as held:
        held.check()
    assert await client.execute_command("GET", held.key) is None


async def test_a_lost_reply_does_not_lock_its_own_holder_out(lossy: LossyProxy) -> None:
    """The client repeats what it got no answer to: the name is then ours, not taken."""
    async with connected(lossy.url, timeout_s=1.0) as connections:
        exclusive = Exclusive(connections.commands)
        lossy.lose_next()
        async with asyncio.timeout(20), exclusive.hold(NAME, within_s=10) as held:
            held.check()


async def test_without_the_store_nobody_comes_in_and_who_is_in_notices() -> None:
    """The store dies while the name is held: the holder stops in time."""
    binary = stores.valkey_binary() or stores.redis_binary()
    if binary is None:
        pytest.skip("no store is installed here")
    with stores.server(binary) as process:
        async with connected(process.url, timeout_s=0.3) as connections:
            exclusive = Exclusive(connections.commands, ttl_s=1.0)
            async with asyncio.timeout(30), exclusive.hold(NAME) as held:
                process.stop()
                await lost(held)
                with pytest.raises(PlaceLost):
                    held.check()
            with pytest.raises(StoreUnavailable):
                async with exclusive.hold(NAME, within_s=20):
                    pytest.fail("held without a store")
