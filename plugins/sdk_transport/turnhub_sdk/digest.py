"""Pure: a tool's output as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def text_of(content: str | Sequence[dict[str, Any]] | None) -> str:
    """A tool result's content as text; what is no text is named."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_part(part) for part in content)


def _part(part: dict[str, Any]) -> str:
    return str(part["text"]) if part.get("type") == "text" else f"[{part.get('type', 'something')}]"
