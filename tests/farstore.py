"""A store that is far away: a proxy in front of one, in which every byte takes its time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

_CHUNK = 1 << 16


@contextmanager
def far_away(upstream_url: str, round_trip_s: float) -> Iterator[str]:
    """The URL of the store on that unix socket, seen from ``round_trip_s`` away. It has a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    link = _Link(unquote(urlsplit(upstream_url).path), round_trip_s / 2)
    try:
        port = asyncio.run_coroutine_threadsafe(link.open(), loop).result(10)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        asyncio.run_coroutine_threadsafe(link.close(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class _Link:
    """Passes connections on; what is read is written ``late_s`` later, in its order."""

    def __init__(self, path: str, late_s: float) -> None:
        self._path = path
        self._late_s = late_s
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> int:
        """Listen; the port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Cut everything."""
        if self._server is not None:
            self._server.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        from_store, to_store = await asyncio.open_unix_connection(self._path)
        pumps = [
            asyncio.ensure_future(self._pump(reader, to_store)),
            asyncio.ensure_future(self._pump(from_store, writer)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            to_store.close()
            writer.close()
            self._tasks.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        delivering = asyncio.ensure_future(self._deliver(under_way, writer))
        try:
            while data := await reader.read(_CHUNK):
                under_way.put_nowait((loop.time() + self._late_s, data))
            await under_way.join()
        except ConnectionError:
            return
        finally:
            delivering.cancel()
            await asyncio.gather(delivering, return_exceptions=True)

    async def _deliver(self, under_way: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, data = await under_way.get()
            await asyncio.sleep(due - loop.time())
            writer.write(data)
            under_way.task_done()
