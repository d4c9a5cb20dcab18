"""Pure: whether a text, and nothing else, sits unsent in a composer."""

from __future__ import annotations

import re
from typing import Final

from turnhub_tmux import convey
from turnhub_tmux.screen.text import of_words, squeezed
from turnhub_tmux.screen.types import Composer

_LINES: Final = re.compile(r"\+(\d{1,9}) lines?")
_SHORTEST_PART: Final = 24


def alone(text: str, composer: Composer, kind: str) -> bool:
    """Whether ``text`` is all that stands in the composer: in its words, as a collapsed block, or as the end of it
    where the box shows no more."""
    if composer.state != "draft":
        return False
    if composer.markers:
        return _as_block(text, composer, kind)
    if kind == convey.CLAUDE and convey.needs_block(text) and convey.collapses(text):
        return False  # in its words it would be a command, and was not meant to be one
    shown, wanted = squeezed(composer.text), squeezed(text)
    if shown == wanted:
        return True
    end = shown.lstrip("….")
    return composer.truncated and len(end) >= _SHORTEST_PART and wanted.endswith(end)


def _as_block(text: str, composer: Composer, kind: str) -> bool:
    """One marker, with as many lines as the text has, and around it at most its own beginning and end."""
    if len(composer.markers) != 1 or (kind == convey.CLAUDE and not convey.collapses(text)):
        return False
    marker = composer.markers[0]
    if not of_words(marker):
        return False
    told = _LINES.search(marker)
    lines = text.count("\n")
    if told is not None and "runcated" not in marker and int(told.group(1)) not in (lines, lines + 1):
        return False
    head, _, tail = squeezed(composer.text).partition(squeezed(marker))
    wanted = squeezed(text)
    if not head and not tail:
        return True
    return "runcated" in marker and wanted.startswith(head) and wanted.endswith(tail)
