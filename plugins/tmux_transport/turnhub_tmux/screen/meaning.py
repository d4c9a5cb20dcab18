"""What an option means, by its label; never by where it stands."""

from __future__ import annotations

import re
from typing import Final

from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.text import folded
from turnhub_tmux.screen.types import Means

_NO: Final = re.compile(
    r"(no|nope|never|reject|deny|decline|disallow|block|don't|do not|not now|not this time|abort|exit|quit|skip|"
    r"maybe later|later|always (deny|reject)|keep planning|keep using|stay|"
    r"(continue|proceed|go on|start) without)\b"
)
_ALWAYS: Final = re.compile(
    r"always|don't ask|do not ask|never ask|(this|the|entire|whole|current) session|auto[- ]?(mode|accept|approve)"
    r"|accept edits|allow all|all edits|every time|from now on|permanently|bypass"
)
_YES: Final = re.compile(
    r"(yes|yep|ok|okay|allow|approve|accept|proceed|continue|confirm|run|trust|i trust|update)\b"
)
_CANCEL: Final = re.compile(r"cancel|dismiss|close|go back|back")
_CONSENT: Final[frozenset[Means]] = frozenset({"yes", "yes_always", "no"})
_ROWS: Final[tuple[tuple[re.Pattern[str], Means], ...]] = (
    (re.compile(r"type something|type your|something else|other$|tell \w+ what|enter (your|a) "), "text"),
    (re.compile(r"chat about"), "chat"),
    (re.compile(r"submit( answers?| all)?$"), "submit"),
)


def means(label: str, manifest: Manifest, *, check: bool = False, choice: bool = False) -> Means:
    """What ``label`` means. ``check``: the row has a check box. ``choice``: it is an answer to a question, whose
    words are the answer itself, so that "Yes" is one more choice."""
    text = folded(label)
    named = next((meaning for meaning, patterns in manifest.means if patterns.match(text)), None)
    if named is not None and not (choice and named in _CONSENT):
        return named
    moves = next((meaning for pattern, meaning in _ROWS if pattern.match(text)), None)
    if moves is not None:
        return moves
    if check:
        return "toggle"
    if choice:
        return "choose"
    return "cancel" if _CANCEL.fullmatch(text) else _consent(text)


def _consent(text: str) -> Means:
    if _NO.match(text):
        return "no"
    if _YES.match(text) or _ALWAYS.match(text):
        return "yes_always" if _ALWAYS.search(text) else "yes"
    return "choose"
