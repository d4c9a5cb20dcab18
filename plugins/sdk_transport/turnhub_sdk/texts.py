"""Pure: text from JavaScript made fit for UTF-8."""

from __future__ import annotations

from typing import Any


def clean(text: str) -> str:
    """``text`` with lone surrogates replaced: JSON may carry them, UTF-8 may not."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean_all(value: Any) -> Any:
    """A decoded JSON value with all its texts made clean, keys too."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(str(key)): clean_all(item) for key, item in value.items()}
        case list():
            return [clean_all(item) for item in value]
        case _:
            return value
