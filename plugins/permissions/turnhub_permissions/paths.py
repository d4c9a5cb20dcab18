"""Pure: places in the file system as a command names them, and patterns of places."""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import isabs, join, normpath
from typing import Final, Literal, Protocol

from msgspec import Struct

Anchor = Literal["cwd", "home", "root", "any"]
_MOST_PLACES: Final = 512
_OWN: Final = re.compile(r"/dev/std(?:in|out|err)|/dev/fd(?:/.*)?|/proc/(?:self|thread-self)(?:/.*)?", re.DOTALL)


class Resolver(Protocol):
    """What is asked of the file system. All paths are absolute."""

    def real(self, path: str) -> str:
        """``path`` with symbolic links and ``..`` resolved; parts that do not exist are kept."""

    def expand(self, pattern: str) -> tuple[str, ...] | None:
        """The existing paths that a shell pattern names; None where there are too many."""

    def below(self, path: str) -> tuple[tuple[str, bool], ...] | None:
        """All that lies below a directory (links not followed, but not in packages of others), each with whether
        it is a link; None where it is too much."""

    def folds(self, path: str) -> bool:
        """Whether names near ``path`` are the same in upper and lower case."""


class Place(Struct, frozen=True):
    """A place: as named (absolute, ``..`` taken away by its letters), and where it really is."""

    named: str
    real: str
    folds: bool = False

    def spellings(self) -> tuple[str, ...]:
        """Both, once where they are the same."""
        return (self.named,) if self.named == self.real else (self.named, self.real)


class Ground(Struct, frozen=True):
    """Where a call stands: working directory and home (as given, and where they really are), and the file system.
    ``cwds``: the directories in which a command of the script may find itself."""

    cwd: str
    home: str
    resolver: Resolver
    real_cwd: str
    real_home: str
    named_cwd: str
    named_home: str
    cwds: tuple[str, ...]

    def place(self, path: str, cwd: str | None = None) -> Place:
        """The place that ``path`` names, from ``cwd``; a leading ``~/`` is the home."""
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        full = path if isabs(path) else join(cwd or self.cwd, path)
        if own := own_path(full):
            return Place(own, own)
        real = self.resolver.real(full)
        return Place(_normal(full), _normal(real), self.resolver.folds(real))

    def places(self, path: str, *, pattern: str | None = None) -> tuple[Place, ...] | None:
        """All places that a word may name, wildcards expanded; None where there are too many."""
        found: dict[Place, None] = {}
        for cwd in self.cwds:
            found[self.place(path, cwd)] = None
            if pattern is not None:
                matches = self.resolver.expand(self._full(pattern, cwd))
                if matches is None or len(matches) > _MOST_PLACES:
                    return None
                found.update((self.place(match), None) for match in matches)
        return tuple(found)

    def _full(self, pattern: str, cwd: str) -> str:
        if pattern == "~" or pattern.startswith("~/"):
            pattern = glob_escaped(self.home) + pattern[1:]
        return pattern if isabs(pattern) else join(glob_escaped(cwd), pattern)

    def within(self, place: Place) -> bool:
        """Whether ``place`` is really inside the session's working directory."""
        return _under(place.real, self.real_cwd)


def own_path(path: str) -> str | None:
    """An absolute path as it is written, where it means something else to every process that opens it: it cannot
    be resolved here. None for all others."""
    written = re.sub(r"/(?:\.?/)+", "/", path)
    return next((one for one in (written, _normal(path)) if _OWN.fullmatch(one)), None)


def is_own_input(path: str) -> bool:
    """Whether an absolute path is what a process has open: its input, mostly."""
    own = own_path(path)
    return own is not None and re.match(r"/dev/(?:stdin|fd/)|/proc/[\w-]+/fd/", own) is not None


def ground(cwd: str, home: str, resolver: Resolver) -> Ground:
    """Where a call in ``cwd`` stands."""
    real_cwd, real_home = _normal(resolver.real(cwd)), _normal(resolver.real(home))
    return Ground(cwd, home, resolver, real_cwd, real_home, _normal(cwd), _normal(home), (cwd,))


def heads(places: Iterable[Place], ground: Ground) -> frozenset[str] | None:
    """The names with which places begin below the working directory; None where letters may not be told apart."""
    found: set[str] = set()
    for place in places:
        if place.folds:
            return None
        for path in place.spellings():
            for top in (ground.named_cwd, ground.real_cwd):
                if _under(path, top):
                    found.add(path[len(top) :].lstrip("/").partition("/")[0])
    return frozenset(found)


def glob_escaped(text: str) -> str:
    """``text`` as a shell pattern that names only itself."""
    return re.sub(r"([*?\[\]])", r"[\1]", text)


def _normal(path: str) -> str:
    plain = normpath(path)
    return plain[1:] if plain.startswith("//") else plain


def _under(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


class PathPattern(Struct, frozen=True):
    """A pattern of places as in .gitignore: ``**`` any depth, ``*`` within a name, one without ``/`` at any
    depth. ``text`` as written; from the working directory, the home (``~/``) or the root (``/``); ``head``: the
    name with which every path begins that is meant, where that is known."""

    text: str
    anchor: Anchor
    exact: re.Pattern[str]
    below: re.Pattern[str]
    folded: re.Pattern[str]
    head: str | None = None

    def allows(self, place: Place, ground: Ground) -> bool:
        """Whether the place, where it really is, is meant."""
        return any(self._matches(self.exact, place, place.real, top) for top in self._tops(ground)[1:])

    def forbids(self, place: Place, ground: Ground) -> bool:
        """Whether the place is meant, however it is named, or lies below one that is."""
        return any(
            self._matches(self.below, place, path, top) for path in place.spellings() for top in self._tops(ground)
        )

    def _tops(self, ground: Ground) -> tuple[str, str]:
        match self.anchor:
            case "cwd":
                return ground.named_cwd, ground.real_cwd
            case "home":
                return ground.named_home, ground.real_home
        return "/", "/"

    def _matches(self, pattern: re.Pattern[str], place: Place, path: str, top: str) -> bool:
        if place.folds:
            pattern, path, top = self.folded, path.casefold(), top.casefold()
        if not _under(path, top):
            return False
        return pattern.fullmatch(path[len(top) :].lstrip("/")) is not None


def path_pattern(text: str) -> PathPattern:
    """The pattern that ``text`` is. Raises ValueError with a sentence where it is none."""
    if not text or "\0" in text or "\n" in text:
        raise ValueError("a path pattern cannot be empty or hold control characters")
    rest, anchor = text, "cwd"
    if text.startswith("~/") or text == "~":
        anchor, rest = "home", text[2:]
    elif text.startswith("~"):
        raise ValueError(f"{text!r} names another user's home; only `~/` is known")
    elif text.startswith("/"):
        anchor, rest = "root", text.lstrip("/")
    while rest.startswith("./"):
        rest = rest[2:]
    if ".." in rest.split("/"):
        raise ValueError(f"{text!r} holds `..`; name the place itself")
    rest = "" if rest == "." else rest.rstrip("/") if rest != "/" else ""
    if text in ("*", "**"):
        anchor = "root"
    floating = anchor == "cwd" and "/" not in rest and rest and not text.startswith("./")
    first = rest.partition("/")[0]
    body = ("(?:.*/)?" if floating else "") + _regex(rest)
    return PathPattern(
        text,
        anchor,  # type: ignore[arg-type]
        re.compile(body, re.DOTALL),
        re.compile(f"(?:{body})(?:/.*)?" if rest else ".*", re.DOTALL),
        re.compile(f"(?:{body})".casefold() + "(?:/.*)?", re.DOTALL),
        None if floating or re.search(r"[*?\[]", first) else first or None,
    )


def _regex(pattern: str) -> str:
    """A gitignore pattern as a regular expression over a relative path."""
    out: list[str] = []
    parts = pattern.split("/")
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            out.append(".*" if last else "(?:.*/)?")
            if last and number and out[-2] == "/":
                out[-2:] = ["(?:/.*)?"]
            continue
        out.append(_name(part))
        if not last:
            out.append("/")
    return "".join(out)


def _name(part: str) -> str:
    out = ""
    at = 0
    while at < len(part):
        char = part[at]
        if char == "*":
            out += "[^/]*"
        elif char == "?":
            out += "[^/]"
        elif char == "[" and (close := part.find("]", at + 2)) > 0:
            inner = part[at + 1 : close].replace("\\", r"\\").replace("[", r"\[")
            out += "[^" + inner[1:] + "]" if inner.startswith(("!", "^")) else f"[{inner}]"
            at = close
        else:
            out += re.escape(char)
        at += 1
    return out
