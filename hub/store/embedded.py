"""The embedded store: a Valkey of our own, started on demand in the state directory, shared by its hubs.

It listens on a unix socket only (mode 0700 in a directory of mode 0700), appends every write to a file and
syncs that file before it answers: what was acknowledged survives ``kill -9`` and a power cut. It costs one fsync
in each round of the server's loop. Measured on a busy machine of two cores: a writer that waits gets 1.3 to 1.8 ms
a transaction instead of 0.55 ms, thirty at once get 600 to 1000 a second instead of 1500; a batch of 32 events
costs as much as one event.

Three locks in ``<state>/store``, freed by the kernel however their processes end:

* ``server.lock`` is inherited by Valkey: while it is held Valkey lives, whoever started it;
* ``hubs.lock`` is shared by all hubs: the last one that leaves shuts Valkey down;
* ``start.lock`` is held while a hub joins or leaves: two that start at once make one server.

Valkey is in no hub's session and nobody's child: a hub that is killed leaves it running, and the next one joins.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import structlog

from hub.errors import StoreUnavailable
from hub.statedir import private_dir
from hub.store.locks import FileLock
from hub.store.valkey import LOG, POLL_S, SOCKET, Valkey, server_binary, unusable

_PATH_BYTES: Final = 107  # what fits in a unix socket's address
_BACKOFF_S: Final = 5.0
_STABLE_S: Final = 10.0


async def start(state: Path, *, patience_s: float = 20.0) -> EmbeddedStore:
    """Join the embedded store of a state directory, and start it where it does not run.

    ``patience_s``: how long it may be silent; while it says that it loads its file it is waited for. Raises
    StoreUnavailable, with who holds it and what to do, or why it does not start.
    """
    store = EmbeddedStore(_folder(state), server_binary(), patience_s)
    try:
        await store.join()
    except BaseException:
        store.leave()
        raise
    return store


def _folder(state: Path) -> Path:
    state = state.expanduser().absolute()
    try:
        folder = private_dir(private_dir(state) / "store")
        owner = folder.stat().st_uid
    except OSError as error:
        raise unusable(state, error) from error
    if owner != os.getuid():
        raise StoreUnavailable(f"{folder} belongs to user {owner}. Choose another directory as store.state.")
    return folder


class EmbeddedStore:
    """A hub's share in the embedded store. ``url``: where it answers, for this process."""

    def __init__(self, folder: Path, binary: Path, patience_s: float) -> None:
        self.folder = folder
        self._patience_s = patience_s
        self._hubs = FileLock(folder / "hubs.lock")
        self._start = FileLock(folder / "start.lock")
        self._log = structlog.get_logger("hub.store")
        self._folder_fd: int | None = None
        path = self._address()
        self.url = f"unix://{quote(path)}"
        self._valkey = Valkey(folder, path, binary, patience_s)

    def _address(self) -> str:
        path = str(self.folder / SOCKET)
        if len(os.fsencode(path)) <= _PATH_BYTES:
            return path
        if not Path("/proc/self/fd").exists():
            raise StoreUnavailable(
                f"{path} is too long for a socket: {_PATH_BYTES} bytes at most. Choose a shorter store.state."
            )
        # A deep directory is reached by a descriptor of this process, which makes a short path of it.
        self._folder_fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._folder_fd}/{SOCKET}"

    async def join(self) -> None:
        """Take part, and start the server where none runs. Raises StoreUnavailable."""
        async with self._alone():
            if not self._hubs.acquire(shared=True):
                raise StoreUnavailable(
                    f"Process {self._hubs.owner()} holds {self._hubs.path} for itself. End it, then start again."
                )
            await self._valkey.ensure()

    async def close(self) -> None:
        """Leave; the last hub shuts the server down, cleanly. A server that does not end is left and told of."""
        if self._hubs.fd is None:
            return
        try:
            async with self._alone():
                self._hubs.release()
                if self._hubs.acquire():
                    await self._valkey.shut_down()
        except StoreUnavailable as error:
            self._log.warning("the embedded store was left running", reason=error.detail)
        finally:
            self.leave()

    def leave(self) -> None:
        """Leave as a hub does that is killed: the server runs on."""
        self._hubs.release()
        if self._folder_fd is not None:
            fd, self._folder_fd = self._folder_fd, None
            os.close(fd)

    async def watch(self) -> None:
        """Start the server again whenever it dies. Runs until it is cancelled; raises nothing."""
        clock = asyncio.get_running_loop().time
        pause = 0.0
        while True:
            seen = clock()
            await self._until_it_goes()
            pause = 0.0 if clock() - seen > _STABLE_S else min(2 * pause + 0.05, _BACKOFF_S)
            await asyncio.sleep(pause)
            try:
                async with self._alone():
                    started = await self._valkey.ensure()
            except StoreUnavailable as error:
                self._log.error("the embedded store is away", reason=error.detail)
                continue
            if started:
                self._log.warning("the embedded store died and was started again", log=str(self.folder / LOG))

    async def _until_it_goes(self) -> None:
        """Hold a connection, which ends when the server does."""
        with suppress(OSError):
            reader, writer = await asyncio.open_unix_connection(self._valkey.path)
            try:
                await reader.read(1)
            finally:
                writer.close()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Nobody else joins, leaves or starts."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._patience_s
        try:
            while not self._start.acquire():
                if clock() > deadline:
                    raise StoreUnavailable(
                        f"Another hub (process {self._start.owner()}) is starting or stopping the store in "
                        f"{self.folder} and does not get done. Wait for it, or end it."
                    )
                await asyncio.sleep(POLL_S)
            yield
        except OSError as error:
            raise unusable(self.folder, error) from error
        finally:
            self._start.release()
