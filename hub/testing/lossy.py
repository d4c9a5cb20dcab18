"""A proxy in front of a store, for tests: what it is told is executed, then reply and connection are lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hub.testing.stores import short_folder, unix_url

_CHUNK = 1 << 20


class LossyProxy:
    """``lose`` is asked at each reply to a transaction (EVAL, EVALSHA) whether it is lost; ``lost`` counts
    those that were. ``meanwhile`` is done before the client can notice. That a script is unknown (NOSCRIPT:
    nothing was executed) is always passed on."""

    def __init__(self, upstream_url: str, path: Path) -> None:
        self.url = unix_url(path)
        self.lose: Callable[[], bool] = lambda: False
        self.lost = 0
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        self._upstream = unquote(urlsplit(upstream_url).path)
        self._tasks: set[asyncio.Task[None]] = set()

    def lose_next(self, count: int = 1) -> None:
        """Lose the replies to the next ``count`` transactions, and no others."""
        pending = [True] * count
        self.lose = lambda: bool(pending and pending.pop())

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection through, until it is cut."""
        task = asyncio.current_task()
        if task is None:  # pragma: no cover - start_unix_server makes a task of this
            return
        self._tasks.add(task)
        try:
            await self._pass(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_store, to_store = await asyncio.open_unix_connection(self._upstream)
        waiting: list[bool] = []  # one entry while a transaction's reply is awaited
        pumps = [
            asyncio.ensure_future(self._requests(reader, to_store, waiting)),
            asyncio.ensure_future(self._replies(from_store, writer, waiting)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            to_store.close()

    async def _requests(
        self, reader: asyncio.StreamReader, to_store: asyncio.StreamWriter, waiting: list[bool]
    ) -> None:
        with suppress(ConnectionError):
            while request := await reader.read(_CHUNK):
                if b"\r\nEVAL" in request[:64]:
                    waiting.append(True)
                to_store.write(request)
                await to_store.drain()

    async def _replies(
        self, from_store: asyncio.StreamReader, writer: asyncio.StreamWriter, waiting: list[bool]
    ) -> None:
        with suppress(ConnectionError):
            while reply := await from_store.read(_CHUNK):
                if waiting and waiting.pop() and not reply.startswith(b"-NOSCRIPT") and self.lose():
                    self.lost += 1
                    if self.meanwhile is not None:
                        await self.meanwhile()
                    return
                writer.write(reply)
                await writer.drain()

    async def cut(self) -> None:
        """Cut every connection."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def lossy_proxy(upstream_url: str) -> AsyncIterator[LossyProxy]:
    """A proxy in front of the store on this unix socket URL."""
    with short_folder() as folder:
        path = folder / "p"
        proxy = LossyProxy(upstream_url, path)
        listener = await asyncio.start_unix_server(proxy.serve, path)
        try:
            yield proxy
        finally:
            listener.close()
            await proxy.cut()
            await listener.wait_closed()
