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
_OURS: Final = "@turnhub"
"""What is noted on a pane that was started here, for whom: its session may be moved, renamed, or made anew."""
_TAKEN: Final = "duplicate session"
_NAMES: Final = 9
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


async def started(server: Server, name: str) -> Pane | Gone | Unknown:
    """The pane that was started here as ``name``, wherever it is by now."""
    answer = await server.run("list-panes", "-a", "-F", f"{_PANE} #{{{_OURS}}}")
    if answer.outcome != "done":
        return _missing(answer)
    for line in answer.lines:
        ids, _, noted = line.rpartition(" ")
        if noted == name:
            return await off_the_loop(partial(_pane, server, ids))
    return Gone("no pane of it is there")


async def start(server: Server, name: str, program: Program, folder: Path) -> Pane:
    """Start ``program`` in a session of its own, which keeps showing how it ended: ``name``, with a number behind
    it where somebody else has a session of that name. ``folder``: a private directory. Raises AgentUnavailable
    where it was started already, or tmux cannot; ConfigError."""
    names.session_name(name)
    _check(program)
    spec = await off_the_loop(lambda: _written(program, folder))
    answer = await _made(server, name, program, spec)
    for number in range(2, _NAMES + 1):
        if _TAKEN not in answer.why or await _is_started_here(server, name):
            break
        answer = await _made(server, f"{name}-{number}", program, spec)
    if answer.outcome != "done" or not answer.lines:
        await off_the_loop(lambda: spec.unlink(missing_ok=True))
        raise AgentUnavailable(f"tmux could not start session {name!r}: {answer.why or 'it said nothing'}.")
    pane = await off_the_loop(partial(_pane, server, answer.lines[0]))
    # By its id: a person's hook for new sessions may have made another pane the current one by now.
    await server.run("set-option", "-p", "-t", pane.ref.pane_id, _OURS, name)
    return pane


async def _is_started_here(server: Server, session: str) -> bool:
    """Whether a pane of that session runs what is started here, though it may not be noted yet; also where that
    cannot be told."""
    answer = await server.run("list-panes", "-s", "-t", f"={session}:", "-F", "#{pane_start_command}")
    return answer.outcome != "done" or any(launch.__file__ in line for line in answer.lines)


async def _made(server: Server, session: str, program: Program, spec: Path) -> Answer:
    size = "-x", str(program.width), "-y", str(program.height)
    keep = (
        *(";", "set-option", "-w", "-t", f"={session}:", "remain-on-exit", "on"),
        *(";", "set-option", "-t", f"={session}:", "destroy-unattached", "off"),
    )
    words = (sys.executable, "-I", "-S", launch.__file__, str(spec))
    made = "new-session", "-d", "-P", "-F", _PANE, "-s", session, *size, "-c", "/", *words
    return await server.run(*made, *keep, within_s=_START_S)


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
