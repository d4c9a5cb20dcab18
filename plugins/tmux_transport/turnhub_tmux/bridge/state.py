"""What the listener keeps on disk: its port, so that a restarted one listens where running agents still post, and
the hashes of the secrets that it gave out. Files 0600, directories 0700."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import hmac
import os
import re
import secrets
import tempfile
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_SLOTS: Final = 64
_NONE: Final = "-" * 64


class _Note(Struct, frozen=True):
    port: int


class _Secret(Struct, frozen=True):
    sha256: str


def checked(key: str) -> str:
    """``key``, if it can name a file. Raises ValueError."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is no name for a session: letters, digits, - and _, 80 at most.")
    return key


def private_folder(path: Path) -> Path:
    """The directory ``path``, 0700, made where it is missing. Raises OSError."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_mode & 0o077:
        path.chmod(0o700)
    return path


def write_private(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write ``path`` whole or not at all, for its owner only. Raises OSError."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


class Slot:
    """A port that this process alone may listen on, as far as the state directory goes. Further processes on the
    same directory have ports of their own; a process that died, however, leaves its slot to the next."""

    def __init__(self, folder: Path) -> None:
        """Take the first free slot. Raises OSError."""
        self._folder = private_folder(folder)
        for number in range(_SLOTS):
            self._lock = os.open(folder / f"listener-{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._lock)
                continue
            self._file = folder / f"listener-{number}.json"
            return
        raise OSError(f"{_SLOTS} runners use {folder} already")

    @property
    def port(self) -> int:
        """The port of whoever had this slot before; 0 where that is not known."""
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_Note).port
        except (OSError, msgspec.DecodeError):
            return 0

    def keep(self, port: int) -> None:
        """Remember the port. Raises OSError."""
        write_private(self._file, msgspec.json.encode(_Note(port)))

    def leave(self) -> None:
        """Let another process have it."""
        os.close(self._lock)


def ports(folder: Path) -> list[int]:
    """The ports that are remembered in a state directory, the first runner's first."""
    found: list[int] = []
    for number in range(_SLOTS):
        try:
            data = (folder / f"listener-{number}.json").read_bytes()
            found.append(msgspec.json.decode(data, type=_Note).port)
        except (OSError, msgspec.DecodeError):
            continue
    return found


class Secrets:
    """The secrets of all sessions of a state directory. Only their hashes are kept; a secret itself is random, and
    known to the settings file of its agent alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "secrets"
        self._kept: dict[str, str] = {}

    async def new(self, key: str) -> str:
        """A new secret for ``key``; an older one is not good any more. Raises OSError, ValueError."""
        token = secrets.token_urlsafe(32)
        await asyncio.to_thread(self._write, checked(key), _hash(token))
        self._kept[key] = _hash(token)
        return token

    async def forget(self, key: str) -> None:
        """No secret is good for ``key`` any more. Raises OSError, ValueError."""
        self._kept.pop(key, None)
        await asyncio.to_thread((self._folder / checked(key)).unlink, missing_ok=True)

    async def good(self, key: str, token: str) -> bool:
        """Whether ``token`` is the secret of ``key``, compared in constant time."""
        given = _hash(token)
        if hmac.compare_digest(self._kept.get(key, _NONE), given):
            return True
        kept = await asyncio.to_thread(self._read, key)
        good = hmac.compare_digest(kept, given)
        if good:
            self._kept[key] = kept
        return good

    def _write(self, key: str, kept: str) -> None:
        private_folder(self._folder)
        write_private(self._folder / key, msgspec.json.encode(_Secret(kept)))

    def _read(self, key: str) -> str:
        try:
            data = (self._folder / checked(key)).read_bytes()
            return msgspec.json.decode(data, type=_Secret).sha256
        except (OSError, ValueError, msgspec.DecodeError):
            return _NONE


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
