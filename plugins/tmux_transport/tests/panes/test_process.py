"""What runs in a pane decides whether anything is typed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from turnhub_tmux.panes import process

SHELLS = [
    "bash",
    "zsh",
    "sh",
    "fish",
    "dash",
    "ksh",
    "tcsh",
    "csh",
    "ash",
    "-bash",
    "-zsh",
    "-sh",
    "login",
    "BASH",
    " zsh ",
]
OTHERS = ["node", "claude", "2.1.252", "python3", "codex", "nvim", "unknown", "", "error", "bashful"]


@pytest.mark.parametrize("command", SHELLS)
def test_bare_shells_are_known_by_name(command: str) -> None:
    """Login shells, whatever their case."""
    assert process.is_shell(command)


@pytest.mark.parametrize("command", OTHERS)
def test_other_programs_are_no_shells(command: str) -> None:
    """Claude Code's process is named after its version."""
    assert not process.is_shell(command)


@pytest.mark.parametrize(
    ("command", "carries"), [("ssh", True), ("sudo", True), ("tmux", True), ("claude", False)]
)
def test_programs_that_carry_a_foreign_screen_are_known(command: str, carries: bool) -> None:
    """What runs at the other end is out of sight."""
    assert process.is_carrier(command) is carries


def stat(proc: Path, pid: int, name: str, *, group: int, front: int, state: str = "S") -> None:
    """A process in a made-up /proc."""
    (proc / str(pid)).mkdir(parents=True)
    rest = [state, "1", str(group), "1", "34816", str(front), *["0"] * 13, str(1000 + pid), "0"]
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(rest)}")


def test_a_shell_that_runs_a_script_is_not_alone(tmp_path: Path) -> None:
    """The agent that the script started listens beside it; stopped (C-z), it does not."""
    stat(tmp_path, 10, "bash", group=20, front=20)
    stat(tmp_path, 20, "bash", group=20, front=20)
    stat(tmp_path, 21, "2.1.332 (x) y", group=20, front=20)
    assert not process.only_shells("bash", 10, tmp_path)
    stopped = tmp_path / "stopped"
    stat(stopped, 10, "bash", group=10, front=10)
    stat(stopped, 21, "claude", group=20, front=10)
    assert process.only_shells("bash", 10, stopped)
    assert [one.name for one in process.in_front(10, stopped)] == ["bash"]


def test_where_nobody_tells_of_processes_the_name_decides(tmp_path: Path) -> None:
    """No /proc (macOS): a shell's name is a shell."""
    assert process.only_shells("zsh", 10, tmp_path / "none")
    assert not process.only_shells("claude", 10, tmp_path / "none")
    assert process.lives(10, proc=tmp_path / "none") is None


def test_a_process_is_known_by_when_it_began() -> None:
    """A number that was given out again is another process."""
    own = process.process(os.getpid())
    assert own is not None
    assert process.lives(own.pid, own.started) is True
    assert process.lives(own.pid, own.started + 1) is False
    assert process.lives(2**22 + 1) is False


@pytest.mark.parametrize(("state", "lives"), [("S", True), ("R", True), ("T", True), ("Z", False), ("X", False)])
def test_a_process_that_has_ended_does_not_live_though_nobody_reaped_it(
    tmp_path: Path, state: str, lives: bool
) -> None:
    """A pane's process whose tmux server was killed may stay a zombie for ever."""
    stat(tmp_path, 10, "claude", group=10, front=10, state=state)
    assert process.lives(10, proc=tmp_path) is lives
    assert bool(process.in_front(10, tmp_path)) is lives
