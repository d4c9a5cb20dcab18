"""Pure: what the log keeps of a tool's output."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from hub import Digest

KEPT: Final = 2000


def digest_of(content: str | Sequence[dict[str, Any]] | None) -> Digest:
    """The digest of a tool result's content: its first characters, its whole size, its hash."""
    text = _text(content)
    raw = text.encode("utf-8", "surrogatepass")
    return Digest(
        text=text[:KEPT],
        bytes=len(raw),
        sha256=hashlib.sha256(raw).hexdigest(),
        truncated=len(text) > KEPT,
    )


def _text(content: str | Sequence[dict[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_part(part) for part in content)


def _part(part: dict[str, Any]) -> str:
    return str(part["text"]) if part.get("type") == "text" else f"[{part.get('type', 'something')}]"
