"""Who works: turns that want a runner, and runners that live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from hub.errors import StoreUnavailable
from hub.store import keys, work
from hub.store.connect import Connections, Lines
from hub.store.records import RunnerRecord
from hub.store.work import Wanted, Work
from hub.testing import stores
from hub.testing.hub import FakeLines
from tests.gates import GatedLines

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["fakeredis", "valkey", "redis", "cluster"])
async def lines(request: pytest.FixtureRequest) -> AsyncIterator[Lines]:
    """Connections to each kind of store in turn."""
    made: Lines
    if request.param == "fakeredis":
        import fakeredis

        made = FakeLines(fakeredis.FakeServer())
    elif request.param == "cluster":
        made = Connections(request.getfixturevalue("cluster_url"))
    else:
        process: stores.ServerProcess = request.getfixturevalue(f"{request.param}_server")
        with process.client() as client:
            client.flushall()
        made = Connections(process.url)
    await made.commands.execute_command("DEL", keys.RUNNERS)
    await made.commands.execute_command("DEL", keys.work_key("a"))
    yield made
    await made.close()


async def test_a_ring_reaches_one_runner(lines: Lines) -> None:
    """Three runners wait: each turn that wants one is handed to exactly one of them, in order, what was rung
    before anybody waited included."""
    desk = Work(lines)
    await desk.ring("a", "s0", "t0")
    await desk.prepare("a")
    await desk.prepare("a")
    waiting = [asyncio.create_task(desk.wait("a", most=10, block_ms=400)) for _ in range(3)]
    for number in range(1, 5):
        await desk.ring("a", f"s{number}", f"t{number}")
    got = [one for answer in await asyncio.gather(*waiting) for one in answer]
    got += await desk.wait("a", most=10, block_ms=1)
    assert sorted(got, key=lambda one: one.turn_id) == [Wanted(f"s{n}", f"t{n}") for n in range(5)]


async def test_nothing_wanted_is_nothing_after_a_while(lines: Lines) -> None:
    """An empty list, also when the group was flushed away meanwhile; then it works again."""
    if isinstance(lines, FakeLines):
        pytest.skip("fakeredis has other words for a group that is gone")
    desk = Work(lines)
    await desk.prepare("a")
    assert await desk.wait("a", most=1, block_ms=20) == []
    await lines.commands.execute_command("DEL", keys.work_key("a"))
    assert await desk.wait("a", most=1, block_ms=20) == []
    await desk.ring("a", "s", "t")
    assert await desk.wait("a", most=1, block_ms=500) == [Wanted("s", "t")]


async def test_entries_of_strangers_are_passed_over(lines: Lines) -> None:
    """What is no turn in a work stream does not stop the work."""
    desk = Work(lines)
    await desk.prepare("a")
    await lines.commands.execute_command("XADD", keys.work_key("a"), "*", "x", "y")
    await desk.ring("a", "s", "t")
    assert await desk.wait("a", most=10, block_ms=100) == [Wanted("s", "t")]


async def test_no_trace_is_left_of_runners_that_waited(lines: Lines) -> None:
    """However many runners come and go, the stream's group has one consumer."""
    desk = Work(lines)
    await desk.prepare("a")
    for _ in range(5):
        await Work(lines).wait("a", most=1, block_ms=1)
    consumers = await lines.commands.execute_command("XINFO", "CONSUMERS", keys.work_key("a"), "runners")
    assert len(consumers) <= 1


async def test_runners_that_were_heard_of_are_alive(lines: Lines) -> None:
    """By the store's clock: one that left or has been silent is not among them, one long dead is forgotten,
    and one of a version that is not understood does no harm."""
    desk = Work(lines)
    now = await desk.clock()

    def record(name: str, ago: float) -> RunnerRecord:
        return RunnerRecord(id=name, host="h", agents=("a",), seen=now - ago, version="1")

    for one in (record("alive", 1), record("left", 1), record("silent", 60), record("dead", 7200)):
        await desk.announce(one)
    await lines.commands.execute_command("HSET", keys.RUNNERS, "future", msgspec.json.encode({"of": "v9"}))
    await desk.leave("left")
    assert [runner.id for runner in await desk.runners()] == ["alive"]
    raw = await lines.commands.execute_command("HKEYS", keys.RUNNERS)
    assert sorted(raw) == [b"alive", b"future", b"silent"]


async def test_a_store_that_hangs_is_noticed_while_waiting(
    redis_server: stores.ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocking read has no timeout of its own; the wait has: StoreUnavailable."""
    monkeypatch.setattr(work, "_ANSWERS_S", 0.2)
    gated = GatedLines(Connections(redis_server.url))
    gated.gate.set("frozen")
    with pytest.raises(StoreUnavailable):
        await Work(gated).wait("a", most=1, block_ms=100)
    gated.gate.set("away")
    for call in (Work(gated).ring("a", "s", "t"), Work(gated).prepare("a"), Work(gated).runners()):
        with pytest.raises(StoreUnavailable):
            await call
    await gated.close()
