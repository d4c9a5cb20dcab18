"""Finding panes that run already, and starting agents in sessions of their own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hub import AgentUnavailable, ConfigError
from turnhub_tmux.panes import launch, names, process
from turnhub_tmux.panes.pane import Gone, Pane, PaneRef, Unknown
from turnhub_tmux.panes.server import Answer, Server, off_the_loop

_PANE: Final = "#{pane_id} #{pid} #{pane_pid}"
_START_S: Final = 10.0
_SMALLEST: Final = (20, 5)
_LARGEST: Final = 1000


class Program(Struct, frozen=True, kw_only=True):
    """What is to run: its words, its whole environment, its working directory, and its terminal's size."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    width: int = 160
    height: int = 50


async def find(server: Server, text: str) -> Pane | Gone | Unknown:
    """The pane that a person means by ``text``. Raises ConfigError where it can mean none."""
    target = names.target(text)
    window = names.Target(target.session, target.window).exact
    answer = await server.run("list-panes", "-t", window, "-F", f"#{{pane_index}} #{{pane_active}} {_PANE}")
    if answer.outcome != "done":
        return _missing(answer)
    for line in answer.lines:
        index, active, rest = line.split(" ", 2)
        if active == "1" if target.pane is None else int(index) == int(target.pane):
            return await off_the_loop(partial(_pane, server, rest))
    return Gone("there is no such pane in that window")


async def start(server: Server, name: str, program: Program, folder: Path) -> Pane:
    """Start ``program`` in a session of its own, which keeps showing how it ended. ``folder``: a private
    directory. Raises AgentUnavailable where there is such a session already, or tmux cannot; ConfigError."""
    names.session_name(name)
    _check(program)
    spec = await off_the_loop(lambda: _written(program, folder))
    made = "new-session", "-d", "-P", "-F", _PANE, "-s", name, "-x", str(program.width), "-y", str(program.height)
    keep = (
        *(";", "set-option", "-w", "-t", f"={name}:", "remain-on-exit", "on"),
        *(";", "set-option", "-t", f"={name}:", "destroy-unattached", "off"),
    )
    words = (sys.executable, "-I", "-S", launch.__file__, str(spec))
    answer = await server.run(*made, "-c", "/", *words, *keep, within_s=_START_S)
    if answer.outcome != "done" or not answer.lines:
        await off_the_loop(lambda: spec.unlink(missing_ok=True))
        raise AgentUnavailable(f"tmux could not start session {name!r}: {answer.why or 'it said nothing'}.")
    return await off_the_loop(partial(_pane, server, answer.lines[0]))


def _check(program: Program) -> None:
    if not program.argv or any("\0" in word for word in (*program.argv, *program.env, *program.env.values())):
        raise ConfigError("A command needs at least one word, and no word may hold a zero byte.")
    width, height = program.width, program.height
    if not (_SMALLEST[0] <= width <= _LARGEST and _SMALLEST[1] <= height <= _LARGEST):
        raise ConfigError(f"A pane of {width} by {height} is not possible: 20 by 5 up to 1000 by 1000.")


def _written(program: Program, folder: Path) -> Path:
    """The program in a file that only we can read."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd, path = tempfile.mkstemp(prefix="start-", suffix=".json", dir=folder)
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.encode({"argv": program.argv, "env": program.env, "cwd": program.cwd}))
    return Path(path)


def _missing(answer: Answer) -> Gone | Unknown:
    """No server, or no such session: gone. Anything else says nothing."""
    return Unknown(answer.why) if answer.outcome == "unknown" else Gone(answer.why)


def _pane(server: Server, ids: str) -> Pane:
    pane, server_pid, pid = ids.split()
    running = process.process(int(pid))
    ref = PaneRef(
        pane_id=names.pane_id(pane),
        server_pid=int(server_pid),
        pane_pid=int(pid),
        started=running.started if running else None,
    )
    return Pane(server, ref)
