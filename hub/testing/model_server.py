"""A loopback HTTP server inside the running event loop, one that can also misbehave at the socket.

uvicorn, with what an embedded server must not do taken out: no signal handlers, no changes to global logging.
Each request's ``scope["state"]["transport"]`` is its connection, so that an application can break it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any, Self

import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Send
from uvicorn.protocols.http.h11_impl import H11Protocol


class _Protocol(H11Protocol):
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.app_state = {**self.app_state, "transport": transport}
        super().connection_made(transport)


class _Config(uvicorn.Config):
    def configure_logging(self) -> None:
        """Leave logging as it is: the process may hold another server."""


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to whoever owns the process."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.up.set()


class LoopbackServer:
    """Serves ``app`` on 127.0.0.1; ``port`` 0 takes a free one. An asynchronous context manager."""

    def __init__(self, app: ASGIApp, port: int = 0) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._port = port
        config = _Config(
            app,
            http=_Protocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            proxy_headers=False,
            log_config=None,
            access_log=False,
            timeout_keep_alive=3600,
            timeout_graceful_shutdown=2,
        )
        self._server = _Server(config)
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where it is served, without a slash at the end. Known once it is started."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    async def start(self) -> Self:
        """Listen. Raises OSError where the port is taken."""
        try:
            self._socket.bind(("127.0.0.1", self._port))
        except OSError:
            self._socket.close()
            raise
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        await self._server.up.wait()
        return self

    async def close(self) -> None:
        """Stop listening and break what is still open. Harmless when it was never started."""
        self._server.should_exit = True
        if self._task is not None:
            await self._task
        self._socket.close()

    async def wait(self) -> None:
        """Return when the server has stopped."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def break_connection(request: Request) -> None:
    """Reset the request's connection, and wait until the server has noticed."""
    transport: asyncio.Transport = request.scope["state"]["transport"]
    transport.abort()
    await gone(request.receive)


async def gone(receive: Receive) -> None:
    """Return when the client has gone away (or the server is closing)."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def respond(send: Send, status: int, body: bytes, **headers: str) -> None:
    """Send one whole JSON response."""
    fields = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
    start: dict[str, Any] = {"type": "http.response.start", "status": status, "headers": raw}
    await send(start)
    await send({"type": "http.response.body", "body": body})
