"""Subscribers: many raw connections in one process of their own, which only count and take times.

``python -m benchmarks.clients`` reads orders: ``connect`` (port, paths, headers), ``expect`` (events more on
every connection, and whether to take times), ``wait`` (until they are there), ``close``.
"""

from __future__ import annotations

import asyncio
import re
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import uvloop

from benchmarks.processes import orders, raise_limits, say

_EVENT = b'"type":"text_delta"'
_SENT_AT = re.compile(rb'"text":"(\d+) ')
_AT_ONCE = 64
_PATIENCE_S = 120.0
_CONNECT_S = 30.0


class Connection(asyncio.Protocol):
    """One subscriber. ``seen``: how many events have come."""

    def __init__(self, request: bytes, reached: Callable[[], None]) -> None:
        self.seen = 0
        self.target: int | None = None
        self.times: list[tuple[int, bytes]] | None = None
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = request
        self._reached = reached
        self._carry = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if self.times is not None:
            self.times.append((time.monotonic_ns(), data))
        if not self.opened.done():
            self._open(data)
        both = self._carry + data
        self.seen += both.count(_EVENT)
        self._carry = both[1 - len(_EVENT) :]
        if self.target is not None and self.seen >= self.target:
            self.target = None
            self._reached()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(exc or ConnectionError("The server closed a connection at once."))

    def _open(self, data: bytes) -> None:
        if data.startswith(b"HTTP/1.1 200 "):
            self.opened.set_result(None)
        else:
            self.opened.set_exception(ConnectionError(f"The server answered: {data[:200]!r}"))

    def delays_ns(self) -> list[int]:
        """How long each event was on its way here."""
        times = self.times or []
        ends = list(accumulate(len(data) for _, data in times))
        found = _SENT_AT.finditer(b"".join(data for _, data in times))
        return [times[bisect_left(ends, one.end())][0] - int(one[1]) for one in found]


class Crowd:
    """All subscribers of this process."""

    def __init__(self) -> None:
        self._connections: list[Connection] = []
        self._behind = 0
        self._complete = asyncio.Event()

    async def connect(self, port: int, paths: Sequence[str], headers: Mapping[str, str], events: int) -> None:
        """Open a connection for each path, and wait until each is served. ``events``: expected on each."""
        room = asyncio.Semaphore(_AT_ONCE)
        self._await(len(paths) if events else 0)
        async with asyncio.timeout(_CONNECT_S), asyncio.TaskGroup() as group:
            for path in paths:
                group.create_task(self._open(port, _request(path, headers), events, room))

    async def _open(self, port: int, request: bytes, events: int, room: asyncio.Semaphore) -> None:
        async with room:
            made = Connection(request, self._one_reached)
            made.target = events or None
            self._connections.append(made)
            await asyncio.get_running_loop().create_connection(lambda: made, "127.0.0.1", port)
            await made.opened

    def expect(self, events: int, keep: bool) -> None:
        """Expect so many more on every connection; ``keep`` their times."""
        for one in self._connections:
            one.target, one.times = one.seen + events, [] if keep else None
        self._await(len(self._connections))

    async def wait(self) -> dict[str, Any]:
        """Return when everything has come: when that was, and, if times were kept, how long each event took
        and how many came at once.
        Raises TimeoutError, saying what is missing."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._complete.wait()
        except TimeoutError:
            missing = [one.target - one.seen for one in self._connections if one.target is not None]
            raise TimeoutError(f"{len(missing)} connections lack {sum(missing)} events.") from None
        at = time.monotonic_ns()
        delays = sorted(delay for one in self._connections for delay in one.delays_ns())
        if not delays:
            return {"at": at}
        reads = sum(len(one.times or ()) for one in self._connections)
        return {
            "at": at,
            "p50_ms": _part(delays, 0.50) / 1e6,
            "p99_ms": _part(delays, 0.99) / 1e6,
            "joined": len(delays) / reads,
        }

    def close(self) -> None:
        """Go away from everywhere."""
        for one in self._connections:
            one.transport.abort()
        self._connections.clear()

    def _await(self, connections: int) -> None:
        self._behind = connections
        self._complete.clear()
        if not connections:
            self._complete.set()

    def _one_reached(self) -> None:
        self._behind -= 1
        if not self._behind:
            self._complete.set()


def _request(path: str, headers: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n".encode()


def _part(ordered: Sequence[int], part: float) -> int:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


async def main() -> None:
    """Do as ordered."""
    crowd = Crowd()
    async for order in orders():
        answer: dict[str, Any] = {}
        match order:
            case {"order": "connect"}:
                await crowd.connect(order["port"], order["paths"], order["headers"], order["events"])
            case {"order": "expect"}:
                crowd.expect(order["events"], order["keep"])
            case {"order": "wait"}:
                answer = await crowd.wait()
            case {"order": "close"}:
                crowd.close()
        say(answer)


if __name__ == "__main__":
    raise_limits()
    uvloop.run(main())
