"""Serving the front: uvicorn, started and stopped by the hub instead of by signals of its own.

Stopping is graceful: nobody new is let in, requests end, and what is left after the grace is cut off. Streams
end by draining the feed, which has to come first: uvicorn alone would wait for them for ever.
"""

from __future__ import annotations

import asyncio
import errno
import math
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from hub.errors import HubError
from hub.front.protocol import FAREWELL_S, Limits, bounded

SEND_BUFFER: Final = 128 * 1024
GRACE_S: Final = 3
_BACKLOG: Final = 1024
_ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what to tell clients on this machine


class CannotListen(HubError):
    """The address cannot be listened on: taken, not ours, not allowed."""

    code = "cannot_listen"


class FrontServer:
    """One front on one address. ``started`` is set once it listens; ``url`` says where."""

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """``port`` 0: any free one. ``tls`` None: plain HTTP."""
        self.started = asyncio.Event()
        self.url = ""
        self.port = port
        self._app = app
        self._host = host
        self._limits = limits or Limits()
        self._tls = tls
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Serve until :meth:`stop`, or until cancelled. Raises CannotListen."""
        with ExitStack() as stack:
            sockets = await listen(self._host, self.port)
            for one in sockets:
                stack.enter_context(one)
            self.port = sockets[0].getsockname()[1]
            server = _Server(self._config(), self._limits, self._tls, self._on_started)
            serving = asyncio.create_task(server.serve(sockets))
            stopped = asyncio.create_task(self._stop.wait())
            try:
                await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                stopped.cancel()
                server.should_exit = True
                await asyncio.wait({serving})
            serving.result()

    def stop(self) -> None:
        """End soon and cleanly: within the grace of 3 s."""
        self._stop.set()

    def _on_started(self) -> None:
        host = _ANY.get(self._host, self._host)
        scheme = "http" if self._tls is None else "https"
        self.url = f"{scheme}://[{host}]:{self.port}" if ":" in host else f"{scheme}://{host}:{self.port}"
        self.started.set()

    def _config(self) -> uvicorn.Config:
        return uvicorn.Config(
            self._app,
            http=bounded(self._limits),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,  # addresses can hold a token
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=math.ceil(self._limits.idle_s),
            timeout_graceful_shutdown=GRACE_S,
        )


class _Server(uvicorn.Server):
    """uvicorn without signal handlers, which says when it has started and leaves no connection behind."""

    def __init__(
        self, config: uvicorn.Config, limits: Limits, tls: ssl.SSLContext | None, on_started: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._limits = limits
        self._tls = tls
        self._on_started = on_started

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the hub's business."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so. Where uvicorn's own would wait a minute for a TLS handshake, and half of one for
        a farewell, this has bounds for both."""
        await self.lifespan.startup()
        loop = asyncio.get_running_loop()
        secured = self._tls is not None
        self.servers = [
            await loop.create_server(
                self._protocol,
                sock=one,
                ssl=self._tls,
                backlog=_BACKLOG,
                ssl_handshake_timeout=self._limits.head_s if secured else None,
                ssl_shutdown_timeout=FAREWELL_S if secured else None,
            )
            for one in sockets or ()
        ]
        self.started = True
        self._on_started()

    def _protocol(self) -> asyncio.Protocol:
        """A connection's protocol."""
        kind: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return kind(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests end within the grace, then cut off what is left."""
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()


async def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets on every address of ``host``, all on one port. Their send buffers are small, so that a client
    that reads slowly is noticed early. Raises CannotListen."""
    loop = asyncio.get_running_loop()
    try:
        found: list[Any] = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise CannotListen(f"server.host: {host!r} is no address of this machine ({error.strerror}).") from None
    sockets: list[socket.socket] = []
    try:
        for family, *_, address in dict.fromkeys(found):
            if sockets:
                port = sockets[0].getsockname()[1]
            sockets.append(_listener(family, (address[0], port, *address[2:])))
    except OSError as error:
        for one in sockets:
            one.close()
        raise CannotListen(_why(error, host, port)) from None
    return sockets


def _listener(family: socket.AddressFamily, address: tuple[Any, ...]) -> socket.socket:
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        if family == socket.AF_INET6:
            found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        found.bind(address)
        found.listen(_BACKLOG)
        found.setblocking(False)
    except BaseException:
        found.close()
        raise
    return found


def _why(error: OSError, host: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"Port {port} on {host} is taken. Stop what listens there, or choose another with --port (0: any)."
            )
        case errno.EACCES:
            return f"Port {port} on {host} is not yours to listen on. Choose one above 1023."
        case errno.EADDRNOTAVAIL:
            return f"server.host: {host} is no address of this machine."
        case _:
            return f"Nothing can listen on {host} port {port}: {error.strerror}."
