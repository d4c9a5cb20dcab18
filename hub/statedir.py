"""The state directory: private folders and files, written whole or not at all, and the note that a running
hub leaves there so that clients on this machine find it."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

HUB_FILE: Final = "hub.json"


class HubNote(Struct, frozen=True, kw_only=True):
    """Where the hub of this state directory listens, its process id and its version; ``certificate`` (PEM): the
    one that it shows, where it speaks TLS."""

    url: str
    pid: int
    version: str
    certificate: str | None = None


def private_dir(path: Path) -> Path:
    """``path`` as a directory that only its owner may enter (0700), made where it is missing.

    Raises OSError where it cannot be made.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_mode & 0o077:
        path.chmod(0o700)
    return path


def write_private(path: Path, data: bytes, *, replace: bool = True) -> bool:
    """Write ``path`` (0600) whole or not at all. With ``replace=False`` an existing file stays, and the answer
    is False. Raises OSError where it cannot be written."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            Path(name).replace(path)
            return True
        with suppress(FileExistsError):
            path.hardlink_to(name)
            return True
        return False
    finally:
        Path(name).unlink(missing_ok=True)


def write_note(state: Path, note: HubNote) -> None:
    """Say where the hub listens. Raises OSError where that cannot be written."""
    write_private(private_dir(state) / HUB_FILE, msgspec.json.encode(note))


def read_note(state: Path) -> HubNote | None:
    """Where the hub of ``state`` said that it listens; None without a readable note. It may have died since."""
    try:
        return msgspec.json.decode((state / HUB_FILE).read_bytes(), type=HubNote)
    except (OSError, msgspec.DecodeError):
        return None


def remove_note(state: Path, pid: int) -> None:
    """Take the note away, if it is still the one of process ``pid``."""
    note = read_note(state)
    if note is not None and note.pid == pid:
        (state / HUB_FILE).unlink(missing_ok=True)
