"""Pure: words of a shell command, and what they are once the shell has taken their quotes off."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

UNKNOWN: Final = "\x1e"  # stands for what is only known when it runs; no command can hold it
_META: Final = frozenset(" \t\n;&|<>()`$'\"")
_GLOB: Final = frozenset("*?[")
_CLOSED: Final = re.compile(r"\{[^{},.]*\}")
_SIMPLE_ESCAPES: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ESCAPE: Final = re.compile(
    r"\\(?:x(?P<x>[0-9a-fA-F]{1,2})|u(?P<u>[0-9a-fA-F]{1,4})|U(?P<U>[0-9a-fA-F]{1,8})|(?P<o>[0-7]{1,3})|(?P<c>.))",
    re.DOTALL,
)


class Opaque(Exception):
    """It cannot be told what the shell makes of this; the words say why."""


class Word(Struct, frozen=True):
    """One word. ``text``: its value, None where it is only known when it runs; ``prefix``: what it surely begins
    with. ``pattern``: for a word with wildcards, the same with its quoted special characters in brackets.
    ``tilde``: it begins with a ``~`` that the shell expands; ``feeds``: some of it is what a command prints;
    ``stream``: all of it is a process substitution; ``splits``: it may become several words; ``found``: it is what
    find has found; ``number``: it is one, which nobody knows. ``shown``: for
    messages and rules, with :data:`UNKNOWN` for unknown parts."""

    text: str | None
    prefix: str
    shown: str
    pattern: str | None = None
    tilde: bool = False
    feeds: bool = False
    stream: bool = False
    splits: bool = False
    found: bool = False
    number: bool = False

    @property
    def may_be_flag(self) -> bool:
        """Whether it, or a word that comes of it, could turn out to begin with a dash."""
        if self.splits or not self.prefix:
            return self.text is None or self.prefix.startswith("-")
        return self.prefix.startswith("-")


def literal(text: str) -> Word:
    """A word that is what it says."""
    return Word(text, text, text)


def unknown(prefix: str = "", *, feeds: bool = False) -> Word:
    """A word of which only the beginning is known. ``feeds``: it names the output of a command."""
    return Word(None, prefix, prefix + UNKNOWN, feeds=feeds, splits=True)


class Part(Struct, frozen=True):
    """A piece of a word: its value (None: unknown), and whether it was quoted."""

    text: str | None
    quoted: bool
    feeds: bool = False
    stream: bool = False
    number: bool = False


def joined(parts: list[Part]) -> Word:
    """The word that pieces make."""
    bare = "".join(part.text or "" for part in parts if not part.quoted)
    open_ = _CLOSED.sub("", bare)  # what stands in braces alone is no list: `@{u}..`
    braced = "{" in open_ and ("," in open_ or ".." in open_)
    prefix, shown = "", ""
    known = not braced
    sure = True
    for part in parts:
        if part.text is None:
            known = sure = False
            shown += UNKNOWN
            continue
        shown += part.text
        if sure and not part.quoted and "{" in part.text and braced:
            prefix += part.text.partition("{")[0]
            sure = False
        elif sure:
            prefix += part.text
    first = parts[0] if parts else Part("", True)
    tilde = not first.quoted and (first.text or "").startswith("~")
    globs = any(not part.quoted and part.text and _GLOB & set(part.text) for part in parts)
    feeds = any(part.feeds for part in parts)
    if len(parts) == 1 and first.stream:
        return Word(None, "/dev/fd/", UNKNOWN, feeds=True, stream=True)
    if (some := [part for part in parts if part.text != ""]) and all(part.number for part in some):
        return Word(None, "0", UNKNOWN, number=True)
    if not known:
        shown = shown if UNKNOWN in shown else shown + UNKNOWN
        splits = braced or any(part.text is None and not part.quoted for part in parts)
        return Word(None, prefix, shown, tilde=tilde, feeds=feeds, splits=splits)
    if globs:
        pattern = "".join(_escaped(part) for part in parts)
        start = re.split(r"[*?\[]", shown, maxsplit=1)[0]
        return Word(shown, start, shown, pattern, tilde, feeds)
    return Word(shown, prefix, shown, None, tilde, feeds)


def _escaped(part: Part) -> str:
    text = part.text or ""
    return re.sub(r"([*?\[\]])", r"[\1]", text) if part.quoted else text


def bare_parts(raw: str) -> list[Part]:
    """The pieces of a word without quotes. Raises Opaque where a character stands in it that ends a word."""
    parts: list[Part] = []
    at = 0
    while at < len(raw):
        char = raw[at]
        if char == "\\":
            if at + 1 >= len(raw):
                raise Opaque("a backslash at its end")
            if raw[at + 1] != "\n":
                parts.append(Part(raw[at + 1], True))
            at += 2
            continue
        if char in _META:
            raise Opaque(f"{char!r} inside a word")
        end = at
        while end < len(raw) and raw[end] not in _META and raw[end] != "\\":
            end += 1
        parts.append(Part(raw[at:end], False))
        at = end
    return parts


def double_quoted(raw: str) -> str:
    """The value of text between double quotes in which nothing is expanded. Raises Opaque otherwise."""
    out: list[str] = []
    at = 0
    while at < len(raw):
        char = raw[at]
        if char == "\\" and at + 1 < len(raw):
            after = raw[at + 1]
            if after != "\n":
                out.append(after if after in '$`"\\' else char + after)
            at += 2
            continue
        if char == "`" or (char == "$" and raw[at + 1 : at + 2] and re.match(r"[\w({@*#?$!-]", raw[at + 1])):
            raise Opaque("an expansion that cannot be read")
        out.append(char)
        at += 1
    return "".join(out)


def ansi_c(raw: str) -> str:
    """The value of ``$'...'`` given with its quotes. Raises Opaque for bytes that are no character."""

    def value(match: re.Match[str]) -> str:
        for name, base in (("x", 16), ("u", 16), ("U", 16), ("o", 8)):
            digits = match[name]
            if digits:
                number = int(digits, base)
                if not 0 < number < 0x110000 or (name in "xo" and number > 0x7F):
                    raise Opaque("an escaped byte that is no character")
                return chr(number)
        char = match["c"]
        if char in _SIMPLE_ESCAPES:
            return _SIMPLE_ESCAPES[char]
        raise Opaque("an escape that shells read differently")

    return _ESCAPE.sub(value, raw[2:-1])
