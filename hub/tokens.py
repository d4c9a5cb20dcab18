"""Who may do what: the primary token in plain text for clients on this machine, and further ones, of which
only the SHA-256 is kept.

All secrets here are made of 256 random bits, so a plain hash is enough: there is nothing to guess.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec
from msgspec import Struct

from hub.errors import HubError, Invalid, NotFound
from hub.events import now
from hub.statedir import private_dir, write_private

TokenScope = Literal["read", "send", "approve", "admin"]
SCOPES: Final[tuple[TokenScope, ...]] = get_args(TokenScope)
PRIMARY: Final = "primary"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class BadTokens(HubError):
    """The file of the tokens is damaged or cannot be read: nobody is let in by guesswork."""

    code = "bad_tokens"


class Token(Struct, frozen=True, kw_only=True):
    """Somebody who may do something. ``name`` is what events and logs call them."""

    name: str
    scopes: frozenset[TokenScope]

    def may(self, scope: TokenScope) -> bool:
        """Whether this token has ``scope``."""
        return scope in self.scopes


class StoredToken(Struct, frozen=True, kw_only=True):
    """One further token as it is kept: never its secret. ``created_at`` is RFC 3339, UTC."""

    name: str
    scopes: tuple[TokenScope, ...]
    sha256: str
    created_at: str


class _File(Struct, frozen=True, kw_only=True):
    tokens: tuple[StoredToken, ...] = ()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _new_secret() -> str:
    return f"th_{secrets.token_urlsafe(32)}"


class Tokens:
    """The tokens of one state directory. Every method touches the disk: call it in a thread from async code.

    Changes made by other processes count at once.
    """

    def __init__(self, state: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._state = state
        self._given = environ.get("TURNHUB_TOKEN") or None
        self._seen: tuple[int, int, int] | None = None
        self._stored: tuple[StoredToken, ...] = ()
        self._primary: str | None = None

    @property
    def primary_path(self) -> Path:
        """The file that holds the primary token, unless TURNHUB_TOKEN gives one."""
        return self._state / "token"

    def primary(self) -> str:
        """The primary token: from TURNHUB_TOKEN, else from its file, which is made (0600) when it is missing.

        Of several processes that start at once all get the same one. Raises BadTokens where the file cannot be
        read or written, or is empty.
        """
        if self._given is not None:
            return self._given
        if self._primary is None:
            self._primary = self._read_primary()
        return self._primary

    def verify(self, secret: str) -> Token | None:
        """Whose secret this is, None when it is nobody's. Takes as long whichever token it is compared with."""
        digest = _digest(secret)
        found = None
        if hmac.compare_digest(digest, _digest(self.primary())):
            found = Token(name=PRIMARY, scopes=frozenset(SCOPES))
        for one in self.list():
            if hmac.compare_digest(digest, one.sha256) and found is None:
                found = Token(name=one.name, scopes=frozenset(one.scopes))
        return found

    def new(self, scopes: Collection[str], name: str) -> str:
        """Make a token and return its secret, which is kept nowhere.

        Raises Invalid for a scope that does not exist, no scope, a bad name or one that is taken.
        """
        wanted = tuple(scope for scope in SCOPES if scope in scopes)
        unknown = sorted(set(scopes) - set(SCOPES))
        if unknown or not wanted:
            what = f"{unknown[0]!r} is no scope" if unknown else "A token needs a scope"
            raise Invalid(f"{what}; there are {', '.join(SCOPES)}.")
        if not _NAME.fullmatch(name) or name == PRIMARY:
            raise Invalid(f"{name!r} is no name for a token: letters, digits, `.`, `_`, `-`, and not `{PRIMARY}`.")
        secret = _new_secret()
        with self._changing() as stored:
            if any(one.name == name for one in stored):
                raise Invalid(f"There is a token {name!r} already; revoke it, or choose another name.")
            self._write([*stored, StoredToken(name=name, scopes=wanted, sha256=_digest(secret), created_at=now())])
        return secret

    def revoke(self, name: str) -> None:
        """Make the token ``name`` worthless, at once. Raises NotFound where there is none."""
        with self._changing() as stored:
            rest = [one for one in stored if one.name != name]
            if len(rest) == len(stored):
                raise NotFound(f"There is no token {name!r} to revoke.")
            self._write(rest)

    def list(self) -> tuple[StoredToken, ...]:
        """All further tokens. Raises BadTokens where their file is damaged."""
        path = self._state / "tokens.json"
        try:
            stat = path.stat()
            seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if seen != self._seen:
                self._stored = msgspec.json.decode(path.read_bytes(), type=_File).tokens
                self._seen = seen
        except FileNotFoundError:
            self._seen, self._stored = None, ()
        except (OSError, msgspec.DecodeError) as error:
            raise BadTokens(f"{path} cannot be read ({error}); mend it, or remove it to revoke all.") from None
        return self._stored

    def _read_primary(self) -> str:
        path = self.primary_path
        try:
            if not path.exists():
                private_dir(self._state)
                write_private(path, f"{_new_secret()}\n".encode(), replace=False)
            secret = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadTokens(f"{path} cannot be read or made ({error}); check its owner and rights.") from None
        if not secret:
            raise BadTokens(f"{path} is empty; remove it, and the next start makes a new token.")
        return secret

    @contextmanager
    def _changing(self) -> Iterator[tuple[StoredToken, ...]]:
        """Hold the right to change the file, so that two changes at once both count."""
        lock = os.open(private_dir(self._state) / "tokens.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self.list()
        finally:
            os.close(lock)

    def _write(self, tokens: Collection[StoredToken]) -> None:
        write_private(self._state / "tokens.json", msgspec.json.encode(_File(tokens=tuple(tokens))) + b"\n")
