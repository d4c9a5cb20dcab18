"""tmux servers of their own, each on its own socket, always reaped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from turnhub_tmux.panes.pane import Look, Pane
from turnhub_tmux.panes.panes import Program, start
from turnhub_tmux.panes.server import Server

ENV = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8", "HOME": "/", "PS1": "$ "}
BOUND_S = 20.0
LAUNCHERS = ("", "tmux", Path(sys.executable).name)

Start = Callable[..., Awaitable[Pane]]


@pytest.fixture
def socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The path of a socket; whatever server listens there at the end is killed, its programs with it."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed here")
    folder = tmp_path_factory.mktemp("t")
    path = str(folder / "s")
    yield path
    asked = subprocess.run(
        ["tmux", "-S", path, "list-panes", "-a", "-F", "#{pid} #{pane_pid}"], capture_output=True, check=False
    )
    subprocess.run(["tmux", "-S", path, "kill-server"], capture_output=True, check=False)
    for pid in asked.stdout.split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


@pytest.fixture
def server(socket: str) -> Server:
    """A server that starts with its first session."""
    return Server(socket, config="/dev/null")


@pytest.fixture
def begin(server: Server, tmp_path: Path) -> Start:
    """Starts a program in a session of its own."""

    async def run(*argv: str, name: str = "agent", cwd: str = "/", settled: bool = True, **size: int) -> Pane:
        program = Program(argv=argv, env=ENV, cwd=cwd, **size)
        pane = await start(server, name, program, tmp_path / "state")
        if settled and argv[0] != sys.executable:
            await until(pane, lambda look: look.dead or look.command not in LAUNCHERS)
        return pane

    return run


async def until(pane: Pane, reached: Callable[[Look], bool]) -> Look:
    """The first look of which ``reached`` is true. Raises TimeoutError."""
    with anyio.fail_after(BOUND_S):
        while True:
            look = await pane.look()
            if isinstance(look, Look) and reached(look):
                return look
            await anyio.sleep(0.05)


async def showing(pane: Pane, text: str) -> Look:
    """A look that shows ``text``, whose cursor has come to rest."""
    last = await until(pane, lambda look: text.encode() in look.capture)
    with anyio.fail_after(BOUND_S):
        while True:
            await anyio.sleep(0.1)
            now = await until(pane, lambda look: text.encode() in look.capture)
            if now == last:
                return now
            last = now
