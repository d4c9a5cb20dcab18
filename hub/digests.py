"""Pure: what the log keeps of a tool's output."""

from __future__ import annotations

import hashlib
from typing import Final

from hub.events import Digest

KEPT: Final = 2000


def digest_of(text: str, runs: int | None = None) -> Digest:
    """The digest of an output: its first 2000 characters, its whole size in bytes, its SHA-256. ``runs``: how
    often the session ran this very call, where somebody counts."""
    whole = text.encode("utf-8", "surrogatepass")
    return Digest(
        text=text[:KEPT],
        bytes=len(whole),
        sha256=hashlib.sha256(whole).hexdigest(),
        truncated=len(text) > KEPT,
        runs=runs,
    )
