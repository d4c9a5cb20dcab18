"""A real hub in a process of its own, for tests: started, killed, started again, always gone at the end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

from hub.client.discover import Address
from hub.client.tls import verification
from hub.statedir import read_note
from hub.testing.stores import wait_for

_START_S: Final = 60.0
_STOP_S: Final = 20.0
COMMAND: Final = (sys.executable, "-m", "hub")
_ECHO: Final = '[agents.echo]\ntransport = "scripted"\n'


class HubProcess:
    """One hub on one state directory. ``url`` and ``token`` are known once it serves."""

    def __init__(
        self,
        folder: Path,
        config: str,
        arguments: tuple[str, ...],
        environ: Mapping[str, str],
        command: tuple[str, ...] = COMMAND,
    ) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.url = ""
        self.log = folder / "hub.log"
        self._command = command
        self._arguments = arguments
        self._environ = {**_plain(os.environ), **environ}
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "turnhub.toml").write_text(config)

    @property
    def token(self) -> str:
        """The primary token."""
        return (self.state / "token").read_text().strip()

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self._process is not None, "the hub does not run"  # noqa: S101
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it is ready. Raises RuntimeError with its last words when it is not."""
        command = [*self._command, "serve", "--state", str(self.state)]
        command += ["--config", str(self.folder / "turnhub.toml"), *self._arguments]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the command is the test's own
                command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environ
            )
        try:
            wait_for(self._ready, _START_S)
        except (TimeoutError, RuntimeError):
            self.kill()
            raise RuntimeError(f"The hub did not start:\n{self.words()}") from None

    def _ready(self) -> bool:
        process = self._process
        if process is None or process.poll() is not None:
            raise RuntimeError("it ended")
        note = read_note(self.state)
        if note is None or note.pid != process.pid:
            return False
        self.url = note.url
        try:
            answer = httpx.get(
                f"{self.url}/readyz",
                headers={"Authorization": f"Bearer {self.token}"},
                verify=verification(Address(url=note.url, certificate=note.certificate)),
            )
        except httpx.TransportError:
            return False
        return answer.status_code == 200

    def words(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM, and wait for the end; the exit status."""
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(number)
        try:
            return process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def end_store(self) -> None:
        """The embedded store outlives a killed hub, for the next one. Here nobody comes: end it."""
        for pid_file in self.state.rglob("*.pid"):
            number = pid_file.read_text().strip()
            if number.isdigit():
                _kill(int(number))


@contextmanager
def hub_process(
    config: str = _ECHO,
    *arguments: str,
    environ: Mapping[str, str] | None = None,
    command: tuple[str, ...] = COMMAND,
) -> Iterator[HubProcess]:
    """A started hub with ``config`` as its turnhub.toml, on a free port, with a state directory of its own.
    ``command``: another ``turnhub`` than this environment's."""
    folder = Path(tempfile.mkdtemp(prefix="turnhub-"))
    given = arguments if "--port" in arguments else ("--port", "0", *arguments)
    hub = HubProcess(folder, config, given, environ or {}, command)
    try:
        hub.start()
        yield hub
    finally:
        hub.kill()
        hub.end_store()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def second_process(first: HubProcess, *arguments: str) -> Iterator[HubProcess]:
    """A further hub on the state directory, and so on the store, of ``first``."""
    folder = Path(tempfile.mkdtemp(prefix="turnhub-"))
    config = (first.folder / "turnhub.toml").read_text()
    hub = HubProcess(folder, config, ("--port", "0", *arguments), {})
    hub.state = first.state
    try:
        hub.start()
        yield hub
    finally:
        hub.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _plain(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would configure the hub or an agent from outside."""
    ours = ("TURNHUB_", "ANTHROPIC_", "CLAUDE")
    return {name: value for name, value in environ.items() if not name.startswith(ours)}
