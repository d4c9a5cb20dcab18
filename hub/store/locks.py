"""Locks between processes: ``flock`` on a file, freed by the kernel when the last process that has it ends."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from pathlib import Path

from msgspec import Struct


class FileLock:
    """A lock that is never waited for. It is given back by closing its file, never by unlocking it: a child
    that inherited :attr:`fd` keeps it then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd: int | None = None

    def acquire(self, *, shared: bool = False) -> bool:
        """Whether the lock is held now. Who holds it alone leaves its process id in the file. Raises OSError
        where the file cannot be used."""
        if self.fd is not None:
            return True
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            if not shared:
                os.ftruncate(fd, 0)
                os.pwrite(fd, b"%d" % os.getpid(), 0)
        except BaseException as error:
            os.close(fd)
            if isinstance(error, OSError) and error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
                return False
            raise
        self.fd = fd
        return True

    def release(self) -> None:
        """Give it back, if it is held."""
        if self.fd is not None:
            fd, self.fd = self.fd, None
            os.close(fd)

    def owner(self) -> str:
        """The process id that the last lone holder left; "?" without one."""
        try:
            return self.path.read_text() or "?"
        except OSError:
            return "?"


class Listener(Struct, frozen=True):
    """Who listens on a unix socket. -1 where the system does not say."""

    pid: int
    uid: int


def listener_of(path: str) -> Listener | None:
    """Who listens on a unix socket; None when nobody does. Raises OSError where it cannot be looked at."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        except BlockingIOError:  # its backlog is full: it is there, and does not answer
            return Listener(-1, -1)
        if not hasattr(socket, "SO_PEERCRED"):
            return Listener(-1, -1)
        size = struct.calcsize("3i")
        pid, uid, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        return Listener(pid, uid)
