"""Pure: what the log keeps of a tool's output."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from hub import Digest

KEPT: Final = 2000


def digest_of(output: Any) -> Digest | None:
    """The digest of what a tool gave back: its first characters, its whole size, its hash. None of nothing."""
    if output is None:
        return None
    text = words(output)
    raw = text.encode("utf-8", "surrogatepass")
    return Digest(
        text=text[:KEPT], bytes=len(raw), sha256=hashlib.sha256(raw).hexdigest(), truncated=len(text) > KEPT
    )


def words(output: Any) -> str:
    """A tool's output as text: what hooks and transcripts hold of it has many forms."""
    match output:
        case None:
            return ""
        case str():
            return output
        case {"stdout": str(out), "stderr": str(err)}:
            return "\n".join(part for part in (out, err) if part)
        case {"type": "text", "text": str(text)}:
            return text
        case list():
            return "\n".join(words(part) for part in output)
        case _:
            return msgspec.json.encode(output).decode("utf-8", "replace")
