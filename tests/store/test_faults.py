"""A store that is away, that hangs, that takes no writes: it is said clearly, and nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import re
import signal
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis

from hub import ids
from hub.errors import ConfigError, StoreReadOnly, StoreUnavailable
from hub.store.connect import Connections
from hub.store.records import SessionRecord, Taken
from hub.store.store import Store
from hub.testing import stores
from hub.testing.stores import ServerProcess
from tests.store.desk import ALLOW, LEASE_MS, Desk, connected, failed

pytestmark = pytest.mark.anyio

Write = Callable[[], Awaitable[Any]]


@pytest.fixture(params=["redis", "valkey"])
def server(request: pytest.FixtureRequest) -> Iterator[ServerProcess]:
    """A server of one's own, which may be hurt."""
    binary = stores.redis_binary() if request.param == "redis" else stores.valkey_binary()
    if binary is None:
        pytest.skip(f"{request.param} is not installed here")
    options = ("--appendonly", "yes", "--appendfsync", "always", "--enable-protected-configs", "yes")
    with stores.server(binary, *options) as process:
        yield process


@pytest.fixture
async def desk(server: ServerProcess) -> AsyncIterator[Desk]:
    """A desk at that server."""
    async with connected(server.url) as connections:
        yield Desk(Store(connections.commands))


async def _writes(desk: Desk) -> dict[str, Write]:
    """Every write that would succeed now."""
    store = desk.store
    taken = await desk.taken()
    claim, session_id = taken.claim, taken.session.id
    await desk.append(claim, 1, "a")
    queued = await store.enqueue(session_id, "later")
    assert queued is not None
    open_ask, settled = await desk.opened(claim), await desk.opened(claim)
    record = await store.ask(open_ask)
    await store.settle_ask(await store.ask(settled), ALLOW)
    idle = await desk.taken()
    await desk.finish(idle.claim, failed())
    waiting = await store.begin(await desk.session(), "x")
    lost = await desk.taken()
    await desk.overdue(lost.claim)
    new = SessionRecord(id=ids.session_id(), agent="a", transport="t")
    return {
        "create": lambda: store.create_session(new),
        "patch": lambda: store.patch_session(session_id, {"title": "x"}),
        "begin": lambda: store.begin(idle.session.id, "x"),
        "retry": lambda: store.retry(idle.session.id),
        "take": lambda: store.take(waiting.session_id, waiting.turn_id, "run_1", LEASE_MS),
        "append": lambda: desk.append(claim, 2, "b"),
        "renew": lambda: store.append(claim, 0, [], LEASE_MS),
        "finish": lambda: desk.finish(claim),
        "release": lambda: desk.store.release(claim),
        "reap": lambda: store.reap(lost.session.id, lost.turn.id, "run_2", LEASE_MS, adopt=True),
        "trim": lambda: store.trim(claim, [4]),
        "remember": lambda: store.remember(claim, {"a": "b"}),
        "cancel": lambda: store.cancel(session_id, "ann"),
        "enqueue": lambda: store.enqueue(session_id, "x"),
        "unqueue": lambda: store.unqueue(session_id, queued.id),
        "open_ask": lambda: desk.opened(claim),
        "settle_ask": lambda: store.settle_ask(record, ALLOW),
        "deliver_ask": lambda: store.deliver_ask(claim, settled),
        "withdraw_ask": lambda: store.withdraw_ask(claim, open_ask, "x"),
    }


def _dump(look: redis.Redis) -> dict[Any, Any]:
    return {key: look.dump(key) for key in look.keys("*")}


def _replica(look: redis.Redis, folder: Path) -> None:
    look.execute_command("REPLICAOF", "127.0.0.1", "1")  # type: ignore[no-untyped-call]


def _full(look: redis.Redis, folder: Path) -> None:
    look.config_set("maxmemory", "1")


def _no_disk(look: redis.Redis, folder: Path) -> None:
    gone = folder / "gone"
    gone.mkdir()
    look.config_set("save", "3600 1")
    look.config_set("dir", str(gone))
    gone.rmdir()
    look.bgsave()
    stores.wait_for(lambda: look.info("persistence")["rdb_last_bgsave_status"] == "err", 10)


def _no_replicas(look: redis.Redis, folder: Path) -> None:
    look.config_set("min-replicas-to-write", "1")


@pytest.mark.parametrize(
    ("hurt", "says"),
    [(_replica, "replica"), (_full, "memory"), (_no_disk, "(?i)disk|snapshot"), (_no_replicas, "(?i)replicas")],
)
async def test_a_store_that_takes_no_writes_says_so_and_changes_nothing(
    server: ServerProcess, desk: Desk, hurt: Callable[[redis.Redis, Path], None], says: str
) -> None:
    """A replica, memory or disk that is full, too few replicas: StoreReadOnly with the reason, by every write;
    not one byte changes; what was there can be read."""
    writes = await _writes(desk)
    with server.client() as look:
        hurt(look, server.folder)
        before = _dump(look)
        for name, write in writes.items():
            with pytest.raises(StoreReadOnly, match=says) as refused:
                await write()
            assert "store.url" in refused.value.detail, name
        assert _dump(look) == before
    session_id = before and next(iter(before)).decode().rpartition(":")[2]
    assert session_id


async def test_a_store_that_takes_writes_again_goes_on(server: ServerProcess, desk: Desk) -> None:
    """After the trouble, the same calls succeed: nothing was half done."""
    writes = await _writes(desk)
    with server.client() as look:
        _full(look, server.folder)
        for write in writes.values():
            with pytest.raises(StoreReadOnly):
                await write()
        look.config_set("maxmemory", "0")
    last = {name: writes.pop(name) for name in ("release", "finish")}
    writes.pop("retry")
    for name, write in {**writes, **last}.items():
        assert await write() is not False, name


async def test_a_store_without_memory_can_still_be_read_and_emptied(server: ServerProcess, desk: Desk) -> None:
    """Full memory: snapshots are given, and a session can be deleted, which makes room."""
    taken = await desk.taken()
    with server.client() as look:
        _full(look, server.folder)
    assert (await desk.store.snapshot(taken.session.id, whole=True)).cursor == 3
    await desk.store.delete_session(taken.session.id, force=True)


async def test_a_store_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    """Nobody listens: StoreUnavailable, in a sentence, soon."""
    (port,) = stores.free_ports(1)
    for url in (f"unix://{tmp_path}/nothing", f"redis://127.0.0.1:{port}", f"redis+cluster://127.0.0.1:{port}"):
        async with connected(url, timeout_s=0.2) as connections, asyncio.timeout(10):
            with pytest.raises(StoreUnavailable, match=r"does not answer.*Nothing acknowledged is lost"):
                await Store(connections.commands).session(ids.session_id())


async def test_a_store_that_hangs_is_unavailable_and_then_goes_on(server: ServerProcess, desk: Desk) -> None:
    """A stopped server: StoreUnavailable in bounded time; afterwards every batch is there at most once."""
    taken = await desk.taken()
    assert await desk.append(taken.claim, 1, "a") == 4
    async with connected(server.url, timeout_s=0.5) as connections:
        impatient = Desk(Store(connections.commands))
        server.signal(signal.SIGSTOP)
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable, match=r"does not answer \(no answer within 1\.0 s\)"):
            await impatient.append(taken.claim, 2, "b")
        assert time.monotonic() - begun < 5
        server.signal(signal.SIGCONT)
    assert await desk.append(taken.claim, 2, "b") == 5
    assert len(await desk.store.live_page(taken.session.id, taken.turn.id, 0)) == 4


async def test_a_store_that_is_killed_has_all_it_acknowledged(server: ServerProcess, desk: Desk) -> None:
    """kill -9 in the middle of a stream of appends, then a restart: every acknowledged event is there, once."""
    taken = await desk.taken()
    acknowledged = 0

    async def write() -> None:
        nonlocal acknowledged
        while True:
            await desk.append(taken.claim, acknowledged + 1, "x")
            acknowledged += 1

    writing = asyncio.create_task(write())
    while acknowledged < 50 and not writing.done():  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.005)
    server.signal(signal.SIGKILL)
    with pytest.raises(StoreUnavailable):
        await writing
    assert acknowledged >= 50
    server.start()
    live = await desk.store.live_page(taken.session.id, taken.turn.id, 3, 100_000)
    assert [entry.seq for entry in live] == list(range(4, len(live) + 4))
    assert acknowledged <= len(live) <= acknowledged + 1
    await desk.append(taken.claim, acknowledged + 1, "x")
    await desk.finish(taken.claim)


async def test_a_store_that_wants_a_password_says_so(server: ServerProcess) -> None:
    """No or a wrong password: StoreUnavailable that names the login."""
    with server.client() as look:
        look.config_set("requirepass", "secret")
        look.execute_command("ACL", "SETUSER", "weak", "on", ">weak", "+@read")
    for login in ("", "?password=wrong", "?username=weak&password=weak"):
        async with connected(server.url + login) as connections:
            with pytest.raises(StoreUnavailable, match=r"refuses this hub.*store\.url"):
                await Desk(Store(connections.commands)).session()
    async with connected(server.url + "?password=secret") as connections:
        await Desk(Store(connections.commands)).session()


async def test_a_store_that_forgot_the_scripts_gets_them_again(server: ServerProcess, desk: Desk) -> None:
    """SCRIPT FLUSH between calls: the next call loads what it needs."""
    taken = await desk.taken()
    with server.client() as look:
        look.script_flush()
    assert await desk.append(taken.claim, 1, "a") == 4


async def test_a_store_that_is_busy_is_unavailable(server: ServerProcess, desk: Desk) -> None:
    """Somebody else's endless script: StoreUnavailable, then all goes on."""
    session_id = await desk.session()
    with server.client() as look, server.client() as bad:
        look.config_set("busy-reply-threshold", "10")

        def spin() -> None:
            with pytest.raises(redis.RedisError):
                bad.eval("while true do end", 0)

        spinning = threading.Thread(target=spin)
        spinning.start()
        try:
            await asyncio.sleep(0.1)
            with pytest.raises(StoreUnavailable, match=r"does not answer"):
                await desk.store.begin(session_id, "x")
        finally:
            look.script_kill()
            await asyncio.to_thread(spinning.join)
    taken: Taken = await desk.take(await desk.store.begin(session_id, "x"))
    assert taken.turn.message.text == "x"


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("http://localhost", "store.url"),
        ("redis://localhost:x", "store.url"),
        ("redis+sentinel://localhost", "name of the service"),
        ("redis+sentinel://localhost:x/mymaster", "store.url"),
        ("", "store.url"),
    ],
)
def test_a_wrong_url_is_a_mistake_in_the_configuration(url: str, wrong: str) -> None:
    """Connections: ConfigError that names the key."""
    with pytest.raises(ConfigError, match=re.escape(wrong)):
        Connections(url)


async def test_pubsub_of_a_cluster_finds_its_node_and_says_when_there_is_none(cluster_url: str) -> None:
    """Connections.pubsub on a cluster: the first thing that is done with it; away is a ConnectionError."""
    async with connected(cluster_url) as connections:
        pubsub = connections.pubsub()
        await pubsub.subscribe("a", "b")
        assert (await pubsub.get_message(timeout=5))["type"] == "subscribe"
        await pubsub.aclose()  # type: ignore[no-untyped-call]
    (port,) = stores.free_ports(1)
    async with connected(f"redis+cluster://127.0.0.1:{port}", timeout_s=0.2) as connections:
        pubsub = connections.pubsub()
        with pytest.raises(redis.ConnectionError):
            await pubsub.subscribe("a")
        await pubsub.aclose()  # type: ignore[no-untyped-call]


async def test_a_sentinel_names_the_primary_also_after_a_failover() -> None:
    """redis+sentinel://: turns go on at the new primary, with what had been replicated."""
    binary = stores.redis_binary()
    if binary is None:
        pytest.skip("redis is not installed here")
    with stores.sentinel(binary) as url:
        async with connected(url, timeout_s=1) as connections:
            desk = Desk(Store(connections.commands))
            taken = await desk.taken()
            assert await desk.store.redis.execute_command("WAIT", 1, 5000) == 1
            address = urlsplit(url)
            with redis.Redis(host=str(address.hostname), port=address.port or 0) as watcher:
                before = watcher.sentinel_get_master_addr_by_name("main")
                watcher.sentinel_failover("main")
                async with asyncio.timeout(20):
                    while watcher.sentinel_get_master_addr_by_name("main") == before:  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
            async with asyncio.timeout(20):
                while True:
                    with suppress(StoreUnavailable, StoreReadOnly):
                        await desk.append(taken.claim, 1, "a")
                        break
            await desk.finish(taken.claim)
            kinds = await desk.kinds(taken.session.id)
    assert kinds == ["session_created", "user_message", "turn_started", "turn_completed"]
