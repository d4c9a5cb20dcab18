"""An HTTP server inside the running event loop, on loopback only: no signal handlers, no logging of requests."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from turnhub_tmux.bridge.access import LOOPBACK

_GRACE_S: Final = 2


class _Config(uvicorn.Config):
    def configure_logging(self) -> None:
        """Logging is the hub's business."""


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the hub's business."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        self.up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests end within the grace, then cut off what is left."""
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()


class Server:
    """Serves ``app`` on ``port``."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        """Listen; 0 takes any free port. Raises OSError where the port is taken."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            # A port on which the last runner's connections linger is free; one that is listened on is not.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((LOOPBACK, port))
            self._socket.listen(128)
            self._socket.setblocking(False)
        except OSError:
            self._socket.close()
            raise
        config = _Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            proxy_headers=False,
            server_header=False,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        self._server = _Server(config)
        self._task: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port."""
        return int(self._socket.getsockname()[1])

    async def start(self) -> None:
        """Serve from now on."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        up = asyncio.create_task(self._server.up.wait())
        await asyncio.wait({self._task, up}, return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if self._task.done():
            self._task.result()

    async def stop(self) -> None:
        """Stop listening; requests have a moment to end."""
        self._server.should_exit = True
        try:
            if self._task is not None:
                await asyncio.wait({self._task})
                self._task.result()
        finally:
            self._socket.close()
