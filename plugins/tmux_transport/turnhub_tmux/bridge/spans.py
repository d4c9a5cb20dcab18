"""Pure: where the values of a JSON text stand, so that a part of it can be put in or taken out and every other
character stays."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from msgspec import Struct

_BLANK: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


class Span(Struct, frozen=True):
    """A member of an object, or an element of an array (``key`` None): from ``start`` (its key) to ``end``; its
    value begins at ``value_at``."""

    key: str | None
    start: int
    value_at: int
    end: int
    value: Any


def parse(text: str) -> Any:
    """The value of a JSON text. Raises ValueError, which names the place."""
    return json.loads(text)


def value_at(text: str) -> int:
    """Where the value of a JSON text begins."""
    return _skip(text, 0)


def inside(text: str, at: int) -> list[Span]:
    """The members or elements of the object or array that begins at ``at``, in a text that parses."""
    closing = "}" if text[at] == "{" else "]"
    found: list[Span] = []
    place = _skip(text, at + 1)
    while text[place] != closing:
        start, key = place, None
        if closing == "}":
            key, place = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        value, end = _DECODER.raw_decode(text, place)
        found.append(Span(key, start, place, end, value))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return found


def end_of(text: str, at: int) -> int:
    """Where the value that begins at ``at`` ends."""
    return int(_DECODER.raw_decode(text, at)[1])


def put(text: str, at: int, item: str, key: str | None = None) -> str:
    """``text`` with ``item`` (JSON) as the last element of the array, or the last member of the object, that
    begins at ``at``; in the layout that stands there."""
    there = inside(text, at)
    outer = _indent(text, at)
    step = _step(text)
    if there:
        before, place = text[: there[-1].end], there[-1].end
        gap = text[_line_of(text, there[0].start, at + 1) : there[0].start]
        lead, tail = "," + (gap or " "), text[place:]
        inner = outer + step if "\n" in gap else ""
    else:
        before, tail = text[: at + 1], text[end_of(text, at) - 1 :]
        lead, inner = f"\n{outer}{step}", outer + step
        tail = f"\n{outer}{tail}"
    name = "" if key is None else f"{json.dumps(key)}: "
    return f"{before}{lead}{name}{_laid_out(item, inner, step)}{tail}"


def without(text: str, at: int, number: int) -> str:
    """``text`` without element or member ``number`` of the array or object that begins at ``at``."""
    there = inside(text, at)
    span = there[number]
    if len(there) == 1:
        return f"{text[: at + 1]}{text[end_of(text, at) - 1 :]}"
    if number:
        return f"{text[: there[number - 1].end]}{text[span.end :]}"
    return f"{text[: span.start]}{text[there[1].start :]}"


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _line_of(text: str, start: int, least: int) -> int:
    """Where the blanks in front of ``start`` begin."""
    while start > least and text[start - 1] in " \t\r\n":
        start -= 1
    return start


def _indent(text: str, at: int) -> str:
    """The blanks that the line of ``at`` begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step(text: str) -> str:
    """By how much this text indents."""
    found = re.search(r"\{\r?\n([ \t]+)", text)
    return found.group(1) if found else "  "


def _laid_out(item: str, indent: str, step: str) -> str:
    if not indent:
        return item
    lines = json.dumps(json.loads(item), indent=step, ensure_ascii=False).split("\n")
    return "\n".join([lines[0], *(indent + line for line in lines[1:])])
