"""Pure: a tool's output as text."""

from __future__ import annotations

from typing import Any

import msgspec


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
