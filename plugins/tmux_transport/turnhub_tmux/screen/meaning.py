"""What an option means, by its label; never by where it stands."""

from __future__ import annotations

import re
from typing import Final

from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.text import folded
from turnhub_tmux.screen.types import Means

_NO: Final = re.compile(
    r"(no|nope|never|reject|deny|decline|disallow|block|don't|do not|not now|not this time|abort|exit|quit|skip|"
    r"maybe later|later|always (deny|reject)|keep planning|keep using|stay)\b"
)
_ALWAYS: Final = re.compile(
    r"always|don't ask|do not ask|never ask|(this|the|entire|whole|current) session|auto[- ]?(mode|accept|approve)"
    r"|accept edits|allow all|all edits|every time|from now on|permanently|bypass"
)
_YES: Final = re.compile(r"(yes|yep|ok|okay|allow|approve|accept|proceed|continue|confirm|run|trust|i trust|update)\b")
_TEXT: Final = re.compile(r"(type something|type your|something else|other\b|tell \w+ what|enter (your|a) )")


def means(label: str, manifest: Manifest, *, check: bool = False, choice: bool = False) -> Means:
    """What ``label`` means. ``check``: the row has a check box. ``choice``: it is an answer to a question, whose
    words are the answer itself, so that "Yes" is one more choice."""
    text = folded(label)
    for meaning, patterns in manifest.means:
        if patterns.match(text):
            return meaning
    if _TEXT.match(text):
        return "text"
    if text.startswith("chat about"):
        return "chat"
    if re.fullmatch(r"submit( answers?| all)?", text):
        return "submit"
    if check:
        return "toggle"
    if choice:
        return "choose"
    if re.fullmatch(r"cancel|dismiss|close|go back|back", text):
        return "cancel"
    return _consent(text)


def _consent(text: str) -> Means:
    if _NO.match(text):
        return "no"
    if _YES.match(text) or _ALWAYS.match(text):
        return "yes_always" if _ALWAYS.search(text) else "yes"
    return "choose"
