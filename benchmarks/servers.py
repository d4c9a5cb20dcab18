"""The servers that are measured, each in a process of its own under uvicorn, uvloop and httptools.

* ``ours``: the hub's front, whole: guard, authentication, routes, feed, streams.
* ``naive``: an EventSourceResponse for each subscriber, with a blocking XREAD of its own.
* ``bare``: one reader of the same pub/sub channel, and nothing but ``send`` of the same joined frames.

Says its port, the path and the headers that a subscriber sends, then serves until its parent goes away.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn
import uvloop
from redis.asyncio import Redis
from sse_starlette import EventSourceResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from benchmarks.processes import orders, raise_limits, say
from benchmarks.publisher import connect, naive_key
from hub import log
from hub.config import Config
from hub.front.app import create_app
from hub.front.server import FrontServer
from hub.front.services import Services
from hub.front.sse import undo_patch
from hub.metrics import Metrics
from hub.store import keys
from hub.store.doorbell import Doorbell
from hub.store.feed import Feed
from hub.store.overview import Overview
from hub.store.work import Work
from hub.tokens import Tokens

NAIVE_BLOCK_MS = 5_000


async def ours(url: str, session_id: str) -> None:
    """The hub's front, put together as the hub does it."""
    connections, store = connect(url)
    doorbell = Doorbell(connections)
    feed = Feed(store, doorbell)
    with tempfile.TemporaryDirectory(prefix="th-") as state:
        tokens = Tokens(Path(state))
        services = Services(
            config=Config(),
            store=store,
            feed=feed,
            overview=Overview(store),
            work=Work(connections),
            tokens=tokens,
            agents=tuple,
            metrics=Metrics(),
        )
        front = FrontServer(create_app(services), "127.0.0.1", 0)
        async with asyncio.TaskGroup() as group:
            chores = [group.create_task(one.run()) for one in (doorbell, feed, front)]
            await front.started.wait()
            _ready(front.port, f"/v1/sessions/{session_id}/live", f"Bearer {tokens.primary()}")
            await _parent_gone()
            for chore in chores:
                chore.cancel()


async def naive(url: str, session_id: str) -> None:
    """One EventSourceResponse a subscriber, each with its own XREAD, as tutorials have it."""
    key = naive_key(session_id)
    redis: Redis = Redis.from_url(url, socket_timeout=None, max_connections=100_000, decode_responses=True)

    async def events() -> AsyncIterator[dict[str, str]]:
        last = "0"
        while True:
            streams: Any = await redis.xread({key: last}, block=NAIVE_BLOCK_MS)
            for _, entries in streams:
                for last, fields in entries:  # noqa: B007 - the last one is where the next read begins
                    yield fields

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await EventSourceResponse(events())(scope, receive, send)

    await _serve(app)


class Bare:
    """The least that a server in Python can do: frames held once, joined once, and sent."""

    def __init__(self) -> None:
        self._frames: list[bytes] = []
        self._joined: dict[int, bytes] = {}
        self._rung = asyncio.get_running_loop().create_future()

    async def read(self, url: str, channel: str) -> None:
        """Take in what is published."""
        redis: Redis = Redis.from_url(url, socket_timeout=None)
        async with redis.pubsub() as pubsub:
            await pubsub.subscribe(channel)
            async for message in pubsub.listen():
                if message["type"] == "message":
                    self._take(message["data"])

    def _take(self, payload: bytes) -> None:
        # Each frame is published behind a line with its turn's id.
        self._frames += [part.partition(b"\n")[2] + b"\n\n" for part in payload.split(b"\n\n") if part]
        self._joined.clear()
        rung, self._rung = self._rung, asyncio.get_running_loop().create_future()
        rung.set_result(None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all frames from now on."""
        seen = len(self._frames)
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b":\n\n", "more_body": True})
        while True:
            if seen == len(self._frames):
                await self._rung
            body = self._joined.get(seen)
            if body is None:
                body = self._joined[seen] = b"".join(self._frames[seen:])
            seen = len(self._frames)
            await send({"type": "http.response.body", "body": body, "more_body": True})


async def bare(url: str, session_id: str) -> None:
    """One reader, and plain writers."""
    app = Bare()
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(app.read(url, keys.channel(session_id)))
        await _serve(app)
        reading.cancel()


async def _serve(app: ASGIApp) -> None:
    """Serve ``app`` until the parent goes away."""
    undo_patch()  # all three under the same uvicorn
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server.serve([listener]))
        _ready(listener.getsockname()[1], "/", "")
        await _parent_gone()
        serving.cancel()


def _ready(port: int, path: str, authorization: str) -> None:
    headers: dict[str, Any] = {"Authorization": authorization} if authorization else {}
    say({"port": port, "path": path, "headers": headers})


async def _parent_gone() -> None:
    async for _ in orders():
        pass


def main() -> None:
    """Serve the variant that is named, from a store, for a session."""
    name, url, session_id = sys.argv[1:]
    raise_limits()
    log.setup(level="warning")
    uvloop.run({"ours": ours, "naive": naive, "bare": bare}[name](url, session_id))


if __name__ == "__main__":
    main()
