"""Patterns as manifests write them: text in which ``*`` stands for anything, ``{n}`` for a number, ``{*}`` for a
star.

No regular expressions: whoever writes a manifest cannot write one that takes for ever.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnhub_tmux.screen.text import folded

_LONGEST_ROW: Final = 600
MOST_STARS: Final = 4
_TOKEN: Final = re.compile(r"(\{\*\}|\*|\{n\})")


class Patterns:
    """Some patterns, each of which has to match a whole text, whatever its case and blanks."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.sources = tuple(patterns)
        self._one = re.compile("|".join(map(_expression, patterns))) if patterns else None

    def match(self, text: str) -> bool:
        """Whether one of them matches ``text``."""
        return self._one is not None and self._one.fullmatch(folded(text[:_LONGEST_ROW])) is not None

    def first(self, texts: Sequence[str]) -> str | None:
        """The first of ``texts`` that one of them matches."""
        return next((text for text in texts if self.match(text)), None)

    def found(self, text: str) -> tuple[str, ...]:
        """All places in ``text`` that match, as they stand there. For patterns without ``*``."""
        if self._one is None:
            return ()
        return tuple(hit.group() for hit in re.finditer(self._one.pattern, text, re.IGNORECASE))


def fault(pattern: str) -> str | None:
    """What is wrong with a pattern, or None."""
    if not pattern.strip():
        return "a pattern is empty"
    if not folded(pattern).strip("* "):
        return f"the pattern {pattern!r} matches everything"
    if pattern.replace("{*}", "").count("*") > MOST_STARS:
        return f"the pattern {pattern!r} has more than {MOST_STARS} stars"
    return None


def _expression(pattern: str) -> str:
    meanings = {"*": ".*?", "{n}": r"\d{1,9}", "{*}": r"\*"}
    return "".join(meanings.get(part) or re.escape(part) for part in _TOKEN.split(folded(pattern)))
