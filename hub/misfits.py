"""Pure: in one sentence what is wrong with a value that does not fit its type, and what would fit."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec import Struct, inspect

_AT: Final = re.compile(r" - at `\$\.?(.*)`")
_MISSING: Final = re.compile(r"missing required field `(.+?)`")
_CHOICE: Final = "Invalid enum value"


def misfit(error: msgspec.ValidationError, kind: type[Struct]) -> tuple[str, str]:
    """The field ("" where it is none of them) and a sentence without its full stop, of what msgspec says about a
    value that was to be a ``kind``. Where a field takes a few words only, they are named."""
    sentence = str(error)
    place = _AT.search(sentence) or _MISSING.search(sentence)
    field = place[1] if place else ""
    reason = _AT.sub("", sentence)
    if reason.startswith(_CHOICE) and (words := _words(kind, field)):
        reason = f"{reason}. There are: {', '.join(words)}"
    return field, f"`{field}`: {reason}" if field and field not in reason else reason


def _words(kind: type[Struct], field: str) -> list[str]:
    """The words that a field of ``kind`` takes; none where it takes others too."""
    found = next((one for one in msgspec.structs.fields(kind) if one.encode_name == field), None)
    told = inspect.type_info(found.type) if found else None
    while isinstance(told, inspect.Metadata):
        told = told.type
    kinds: tuple[Any, ...] = told.types if isinstance(told, inspect.UnionType) else (told,)
    return [str(word) for one in kinds if isinstance(one, inspect.LiteralType) for word in one.values]
