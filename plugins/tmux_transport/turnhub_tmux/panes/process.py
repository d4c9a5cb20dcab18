"""What runs in a pane: the agent, a bare shell, or something of which one cannot tell."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec import Struct

_SHELLS: Final = frozenset({"bash", "zsh", "sh", "fish", "dash", "ksh", "tcsh", "csh", "ash", "login"})
# What runs here only carries another machine's or another user's screen: what runs there is out of sight.
_CARRIERS: Final = frozenset(
    {"ssh", "mosh", "mosh-client", "telnet", "docker", "podman", "kubectl", "tmux", "screen", "su", "sudo", "doas"}
)
_PROC: Final = Path("/proc")
_ENDED: Final = ("Z", "X", "x")


class Process(Struct, frozen=True):
    """A process as ``/proc`` tells of it. ``front``: the process group that its terminal listens to."""

    pid: int
    name: str
    group: int
    front: int
    started: int


def is_shell(command: str) -> bool:
    """Whether a program of this name is a bare shell; a name that is not known is none."""
    name = command.strip().lower().removeprefix("-")
    return name in _SHELLS


def is_carrier(command: str) -> bool:
    """Whether a program of this name only carries a screen from elsewhere."""
    return command.strip().lower() in _CARRIERS


def process(pid: int, proc: Path = _PROC) -> Process | None:
    """A process, or None where there is none, or nobody tells. One that has ended is none, also where nobody
    reaps it (a container's first process may not)."""
    try:
        line = (proc / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    head, _, rest = line.rpartition(")")
    name, fields = head.partition("(")[2], rest.split()
    if len(fields) < 20 or fields[0] in _ENDED:
        return None
    return Process(pid, name, group=int(fields[2]), front=int(fields[5]), started=int(fields[19]))


def lives(pid: int, started: int | None = None, proc: Path = _PROC) -> bool | None:
    """Whether that very process lives; None where nobody can tell."""
    if not proc.is_dir():
        return None
    found = process(pid, proc)
    return found is not None and (started is None or found.started == started)


def in_front(pane_pid: int, proc: Path = _PROC) -> tuple[Process, ...]:
    """The processes that the pane's terminal listens to; empty where nobody tells."""
    root = process(pane_pid, proc)
    if root is None or root.front <= 0:
        return ()
    try:
        pids = [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()]
    except OSError:
        return ()
    found = (process(pid, proc) for pid in pids)
    return tuple(one for one in found if one is not None and one.group == root.front)


def only_shells(command: str, pane_pid: int, proc: Path = _PROC) -> bool:
    """Whether nothing but a shell listens to the pane. A shell that runs a script has the script's programs
    beside it; an agent that was stopped (C-z) is not in front."""
    if not is_shell(command):
        return False
    return all(is_shell(one.name) for one in in_front(pane_pid, proc))
