"""Pure: which turns are sensitive, by the paths that they mention and by what they say.

Rather too much counts as sensitive than too little: every word is looked at as if it were a path, and ``*`` goes
over slashes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from typing import Any, Final

import msgspec
from msgspec import Struct

from hub import AnyEvent, Message, SessionInfo

_WORDS: Final = re.compile(r"[^\s\"'`()\[\]{}<>,;|&=:]+")
_BOOKKEEPING: Final = frozenset({"type", "session_id", "turn_id", "at", "message_id", "tool_id", "id", "sha256"})
_PATH_MOST: Final = 4096
_PARTS_MOST: Final = 64


class Spot(Struct, frozen=True):
    """A pattern for paths, as shells have them; a folder stands for all that is in it. One without a slash is
    about names, of files and of folders; one that begins with a slash is about whole paths, any other about parts
    of them, too."""

    text: str
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> Spot:
        """The spot of a pattern."""
        folder = text.removesuffix("/**").removesuffix("/").removeprefix("./") or "/*"
        return cls(text, re.compile(translate(folder.replace("**/", "*"))))

    def covers(self, path: str, cwd: str) -> bool:
        """Whether a path, which may be relative to ``cwd``, is meant, or a folder that it is in."""
        whole = posixpath.normpath(posixpath.join(cwd, path))
        parts = [part for part in whole.split("/") if part][:_PARTS_MOST]
        ends = range(1, len(parts) + 1)
        if self.text.startswith("/"):
            return any(self.pattern.match("/" + "/".join(parts[:end])) for end in ends)
        if "/" not in self.text.removesuffix("/**").removesuffix("/").removeprefix("./"):
            return any(self.pattern.match(part) for part in parts)
        return any(self.pattern.match("/".join(parts[start:end])) for end in ends for start in range(end))


class Rules(Struct, frozen=True):
    """What makes a turn sensitive: a path that it mentions, or words that it holds."""

    paths: tuple[Spot, ...] = ()
    content: tuple[re.Pattern[str], ...] = ()

    def of_message(self, session: SessionInfo, message: Message) -> str | None:
        """Why a turn is sensitive that begins with this message in this session; None when nothing says so."""
        for spot in self.paths:
            if spot.covers(session.cwd, "/"):
                return f"it works in a place that {spot.text!r} covers"
        return self._of((message.text,), session.cwd)

    def of_events(self, session: SessionInfo, events: Iterable[AnyEvent]) -> str | None:
        """Why a turn is sensitive in which this happened."""
        if not self.paths and not self.content:
            return None
        return self._of((text for event in events for text in _texts(event)), session.cwd)

    def _of(self, texts: Iterable[str], cwd: str) -> str | None:
        seen: set[str] = set()
        for text in texts:
            for pattern in self.content:
                if pattern.search(text):
                    return f"it holds what {pattern.pattern!r} finds"
            for path in _paths(text) if self.paths else ():
                if path in seen:
                    continue
                seen.add(path)
                for spot in self.paths:
                    if spot.covers(path, cwd):
                        return f"it mentions a path that {spot.text!r} covers"
        return None


def _paths(text: str) -> Iterator[str]:
    """Whatever in a text may be a path: itself, and each of its words."""
    if len(text) < _PATH_MOST and "\n" not in text:
        yield text.strip()
    for word in _WORDS.findall(text):
        yield word.lstrip("@").rstrip(".!?")


def _texts(event: AnyEvent) -> Iterator[str]:
    """All words of an event; what the hub itself puts into each is left out."""
    fields: dict[str, Any] = msgspec.to_builtins(event)
    for name, value in fields.items():
        if name not in _BOOKKEEPING:
            yield from _strings(value)


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                yield key
                yield from _strings(item)
        case list() | tuple():
            for item in value:
                yield from _strings(item)
        case _:
            pass
