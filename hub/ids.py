"""Identifiers: time-ordered, URL-safe, and telling what they name.

Every id is a prefix and a ULID in lower case (Crockford base32: 48 bits of Unix milliseconds, 80 random
bits). They sort by creation time as plain strings. An ask's id carries its session, so that an answer finds
its way in Redis without a second index.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_BODY = r"[0-9a-hjkmnp-tv-z]{26}"
_ASK = re.compile(rf"ask_({_BODY})_({_BODY})")
_SESSION = re.compile(rf"ses_{_BODY}")
_BITS = 130


def _base32(number: int) -> str:
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(_BITS - 5, -5, -5))


def ulid() -> str:
    """A new ULID in lower case: 26 characters, ordered by time."""
    return _base32((time.time_ns() // 1_000_000) << 80 | secrets.randbits(80))


def session_id(idempotency_key: str | None = None) -> str:
    """A new session id; with a key, always the same one for the same key (128 bits of its SHA-256)."""
    if idempotency_key is None:
        return f"ses_{ulid()}"
    digest = hashlib.sha256(b"session\0" + idempotency_key.encode()).digest()
    return f"ses_{_base32(int.from_bytes(digest[:16]))}"


def turn_id() -> str:
    """A new turn id."""
    return f"trn_{ulid()}"


def message_id() -> str:
    """A new message id."""
    return f"msg_{ulid()}"


def request_id() -> str:
    """A new id for one attempt to change something: what makes a repeated transaction recognisable."""
    return f"req_{ulid()}"


def runner_id() -> str:
    """A new runner id, one for the life of a process."""
    return f"run_{ulid()}"


def ask_id(session: str) -> str:
    """A new ask id inside ``session``."""
    return f"ask_{session.removeprefix('ses_')}_{ulid()}"


def is_session_id(text: str) -> bool:
    """Whether ``text`` has the form of a session id."""
    return _SESSION.fullmatch(text) is not None


def session_of_ask(ask: str) -> str | None:
    """The session that an ask's id names, or None where ``ask`` is no ask id."""
    found = _ASK.fullmatch(ask)
    return f"ses_{found[1]}" if found else None
