"""One tmux server, by its socket: commands that end in time, off the event loop.

:mod:`libtmux` knows the server; its own way of running tmux has no bound and no standard input, so that is done
here. What tmux is told is never logged: it may be a person's words.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Final, Literal, TypeAlias, TypeVar

import libtmux
from msgspec import Struct

from hub import AgentUnavailable, TerminalFailed
from turnhub_tmux.panes.names import session_name

COMMAND_S: Final = 4.0
_GONE: Final = ("can't find pane", "can't find session", "can't find window")
_NO_SERVER: Final = ("no server running on", "No such file or directory", "Connection refused")

Outcome: TypeAlias = Literal["done", "gone", "no_server", "unknown"]
T = TypeVar("T")


class Answer(Struct, frozen=True):
    """What tmux said. ``gone``: what was asked about is not there. ``no_server``: nobody listens on the socket.
    ``unknown``: it could not be found out, and ``why``."""

    outcome: Outcome
    out: bytes = b""
    why: str = ""

    @property
    def lines(self) -> list[str]:
        """The output as text."""
        return self.out.decode("utf-8", "replace").splitlines()


class Server(libtmux.Server):
    """The server on socket ``socket`` (``tmux -L``; a path: ``tmux -S``; None: tmux's default). ``config``: the
    configuration that a server that is started here reads; None: the user's own. Raises ConfigError."""

    def __init__(self, socket: str | None = None, *, config: str | None = None, binary: str | None = None) -> None:
        path = socket if socket is not None and socket.startswith("/") else None
        name = session_name(socket) if socket is not None and path is None else None
        found = binary or shutil.which("tmux")
        if found is None:
            raise AgentUnavailable("tmux is not installed, or not in PATH. Install it, then try again.")
        super().__init__(socket_name=name, socket_path=path, config_file=config, tmux_bin=found)

    async def run(self, *command: str, given: bytes | None = None, within_s: float = COMMAND_S) -> Answer:
        """Run a tmux command (several, with ``";"`` between them). Never raises, but when cancelled; then it
        has ended all the same."""
        return await off_the_loop(lambda: self.ask(command, given, within_s))

    async def must(self, *command: str, given: bytes | None = None) -> Answer:
        """Run a command that types. Raises TerminalFailed where tmux did not say that it did."""
        answer = await self.run(*command, given=given)
        if answer.outcome != "done":
            raise TerminalFailed(f"tmux did not take a key ({answer.why}).")
        return answer

    def ask(self, command: tuple[str, ...], given: bytes | None = None, within_s: float = COMMAND_S) -> Answer:
        """Run a command here and now: blocks for ``within_s`` seconds at most."""
        process = subprocess.Popen(  # noqa: S603 - no shell; every word was validated or is our own
            [*self._words(), *command],
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment(),
        )
        with process:
            try:
                out, err = process.communicate(given, timeout=within_s)
            except subprocess.TimeoutExpired:
                process.kill()
                return Answer("unknown", why=f"tmux did not answer within {within_s:g} s")
        return _answer(process.returncode, out, err.decode("utf-8", "replace").strip())

    def _words(self) -> list[str]:
        words = [str(self.tmux_bin), "-u"]
        if self.socket_name:
            words += ["-L", str(self.socket_name)]
        if self.socket_path:
            words += ["-S", str(self.socket_path)]
        if self.config_file:
            words += ["-f", str(self.config_file)]
        return words

    def _environment(self) -> dict[str, str]:
        """Ours. With a socket of its own, the tmux that we may run in ourselves is none of its business."""
        own = bool(self.socket_name or self.socket_path)
        return {name: value for name, value in os.environ.items() if not (own and name in ("TMUX", "TMUX_PANE"))}


def _answer(code: int, out: bytes, err: str) -> Answer:
    if code == 0:
        return Answer("done", out)
    why = err[:200] or f"tmux ended with {code}"
    if any(sign in err for sign in _GONE):
        return Answer("gone", out, why)
    if any(sign in err for sign in _NO_SERVER) and "Permission" not in err:
        return Answer("no_server", out, why)
    return Answer("unknown", out, why)


async def off_the_loop(call: Callable[[], T]) -> T:
    """``call()`` in a thread. When cancelled, it is waited for first: whoever comes next finds it done."""
    task: asyncio.Future[T] = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                continue
        raise
