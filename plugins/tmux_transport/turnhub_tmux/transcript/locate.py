"""Where Claude Code keeps the transcript of a session."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9]")
_LONGEST: Final = 200  # a longer name is cut and gets a hash behind it


class _Note(Struct, frozen=True):
    """What a running agent notes of itself."""

    pid: int
    sessionId: str


def config_folder(environment: Mapping[str, str]) -> Path:
    """The agent's configuration folder, by the environment that it is started with."""
    told = environment.get("CLAUDE_CONFIG_DIR")
    return Path(told).expanduser() if told else Path(environment.get("HOME") or Path.home()) / ".claude"


def entered_lines(config: Path) -> Path:
    """The agent's own list of all lines that were submitted to it, of all its sessions."""
    return config / "history.jsonl"


def projects(config: Path) -> Path:
    """The folder of all transcripts: one folder in it a working directory."""
    return config / "projects"


def project_name(cwd: str) -> str:
    """The name of the folder that holds the transcripts of a working directory; of a very long one, its start."""
    return _NOT_PLAIN.sub("-", os.path.realpath(cwd))[:_LONGEST]


def transcript_path(config: Path, cwd: str, session: str) -> Path:
    """Where the transcript of an agent's session is, or will be once it has begun. One that is somewhere else
    already (the agent has another idea of its directory) is found. Raises ValueError for a name that is no id."""
    if not _ID.fullmatch(session):
        raise ValueError("This is no session id of Claude Code.")
    name = f"{session}.jsonl"
    expected = projects(config) / project_name(cwd) / name
    if expected.is_file():
        return expected
    return next(projects(config).glob(f"*/{name}"), expected)


def told_path(path: str) -> Path | None:
    """A transcript's path as a hook tells it; None where it cannot be one."""
    found = Path(path)
    return found if found.is_absolute() and found.suffix == ".jsonl" and ".." not in found.parts else None


def session_of(config: Path, pids: Iterable[int]) -> str | None:
    """The session that one of these processes is at, as it says itself (2.1.332 keeps a note for each process);
    None where the agent's version tells nothing."""
    for pid in pids:
        try:
            note = msgspec.json.decode((config / "sessions" / f"{pid}.json").read_bytes(), type=_Note)
        except (OSError, msgspec.MsgspecError):
            continue
        if note.pid == pid and _ID.fullmatch(note.sessionId):
            return note.sessionId
    return None


def sessions(config: Path, cwd: str) -> list[Path]:
    """The transcripts of a working directory, the one that changed last first."""
    name = project_name(cwd)
    folders = projects(config).glob(f"{name}*" if len(name) == _LONGEST else name)
    found = [path for folder in folders for path in folder.glob("*.jsonl")]
    return sorted(found, key=_changed, reverse=True)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
