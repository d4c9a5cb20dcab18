"""A way to the hub that can go silent: it keeps connections open, takes new ones, and passes nothing on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from urllib.parse import urlsplit

_CHUNK: Final = 65_536


class Way:
    """``url`` leads to the hub while the way is open."""

    def __init__(self, target: str) -> None:
        there = urlsplit(target)
        self._target = (there.hostname or "", there.port or 0)
        self._open = threading.Event()
        self._open.set()
        self._ends = False
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def swallow(self) -> None:
        """From now on nothing gets through, and nobody is told."""
        self._open.clear()

    def restore(self) -> None:
        """What comes now gets through. What was under way is lost with its connections."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open.set()

    def start(self) -> None:
        """Take connections."""
        self._run(self._accept)

    def end(self) -> None:
        """Close everything."""
        self._ends = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self.restore()
        for thread in self._threads:
            thread.join(10)
        for one in [self._listener, *self._sockets]:
            one.close()

    def _run(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(near)
            self._run(self._carry_both, near)

    def _carry_both(self, near: socket.socket) -> None:
        self._open.wait()
        try:
            far = socket.create_connection(self._target)
        except OSError:
            return
        self._sockets.append(far)
        self._run(self._carry, far, near)
        self._carry(near, far)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(_CHUNK):
                self._open.wait()
                target.sendall(part)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def way_to(target: str) -> Iterator[Way]:
    """An open way to the server at ``target``."""
    way = Way(target)
    way.start()
    try:
        yield way
    finally:
        way.end()
