"""Pure: forms of calls, as the tables name them: a program, its first words, and flags that have to be there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from turnhub_permissions.words import UNKNOWN, Word


class Form(Struct, frozen=True):
    """A form of a program's calls: all of what it names has to hold. ``words``: the first words, each one of
    several (with ``*``); ``flags``: groups, of each of which one flag is there;
    ``without``: flags that are not."""

    program: str
    words: tuple[tuple[str, ...], ...] = ()
    flags: tuple[tuple[str, ...], ...] = ()
    starts: tuple[str, ...] = ()
    why: str = ""
    unless: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """The form as people would type its beginning."""
        return " ".join(one[0] for one in self.words)


def listed(why: str, texts: Mapping[str, str]) -> Iterator[Form]:
    """The forms of a table: ``"docker podman" = "compose down -v|--volumes, volume prune|rm"``."""
    for programs, text in texts.items():
        for form in text.split(","):
            tokens = form.split()
            words = tuple(tuple(token.split("|")) for token in tokens if token[0] not in "-!")
            without = tuple(flag for token in tokens if token[0] == "!" for flag in token[1:].split("|"))
            flags = tuple(tuple(token.split("|")) for token in tokens if token[0] == "-")
            for program in programs.split():
                yield Form(program=program, words=words, flags=flags, why=why, without=without)


class Forms(Struct, frozen=True):
    """The forms of one program: all, by their first word, and those that any first word may have."""

    every: tuple[Form, ...] = ()
    first: Mapping[str, tuple[Form, ...]] = {}
    other: tuple[Form, ...] = ()

    def fitting(
        self, args: Sequence[Word], valued: frozenset[str] = frozenset(), *, perhaps: bool = False
    ) -> Iterator[Form]:
        """The forms that a call with ``args`` has. ``valued``: the program's flags that take a value; ``perhaps``:
        those that it could have, by words that are only known when it runs."""
        if not self.every:
            return
        plain = [word.shown.casefold() for word in args if not word.prefix.startswith("-")]
        ways = [plain]
        if valued and (stepped := [word.shown.casefold() for word in operands(args, valued)]) != plain:
            ways.append(stepped)  # both: not all flags take a value in all subcommands
        near = self.other
        if perhaps and any(way and UNKNOWN in way[0] for way in ways):
            near = self.every
        else:
            for head in {way[0] for way in ways if way}:
                near += self.first.get(head, ())
        yield from (form for form in near if any(_fits(form, args, way, perhaps=perhaps) for way in ways))


def by_program(forms: Iterable[Form]) -> dict[str, Forms]:
    """Forms by their program, in order."""
    found: dict[str, list[Form]] = {}
    for form in forms:
        found.setdefault(form.program, []).append(form)
    return {program: _indexed(tuple(listed)) for program, listed in found.items()}


def _indexed(forms: tuple[Form, ...]) -> Forms:
    first: dict[str, tuple[Form, ...]] = {}
    other: list[Form] = []
    for form in forms:
        heads = form.words[0] if form.words else ("*",)
        if any("*" in head for head in heads):
            other.append(form)
            continue
        for head in heads:
            first[head] = (*first.get(head, ()), form)
    return Forms(forms, first, tuple(other))


def operands(args: Sequence[Word], valued: frozenset[str]) -> list[Word]:
    """The words that are no flags, nor the values of the flags ``valued``."""
    found: list[Word] = []
    before = ""
    for word in args:
        if not word.prefix.startswith("-") and before not in valued:
            found.append(word)
        before = word.shown
    return found


def _fits(form: Form, args: Sequence[Word], plain: Sequence[str], *, perhaps: bool) -> bool:
    count = len(form.words)
    if len(plain) < count and not (perhaps and plain and UNKNOWN in plain[-1]):
        return False
    if not all(_is_one(text, one, perhaps=perhaps) for text, one in zip(plain, form.words, strict=False)):
        return False
    behind = args[count : count + 1]
    if form.unless and behind and behind[0].text in form.unless:
        return False
    if not all(_has(args, group, perhaps=perhaps) for group in form.flags):
        return False
    if form.without and _has(args, form.without, perhaps=False):
        return False
    rest = [*plain[count:], *(word.shown for word in args if word.shown == "--")]
    return not form.starts or any(
        text == start or (start in "+:" and text.startswith(start)) or (perhaps and text[:1] == UNKNOWN)
        for text in rest
        for start in form.starts
    )


def _is_one(text: str, wanted: Iterable[str], *, perhaps: bool) -> bool:
    return (perhaps and UNKNOWN in text) or any(
        text == one or ("*" in one and fnmatchcase(text, one)) for one in wanted
    )


def _has(args: Sequence[Word], group: Sequence[str], *, perhaps: bool) -> bool:
    return any(
        (perhaps and word.text is None and word.may_be_flag)
        or (_is_valued(word.shown, after, flag) if "=" in flag else is_flag(word.shown, flag))
        for word, after in zip(args, [*(one.shown for one in args[1:]), ""], strict=False)
        for flag in group
    )


def _is_valued(text: str, after: str, flag: str) -> bool:
    """Whether a word is a flag with that value, in it or behind it."""
    name, _, value = flag.partition("=")
    if len(name) == 2 and (found := re.match(rf"-[A-Za-z]*?{re.escape(name[1])}", text)):
        text = name + text[found.end() :]
    if text == name:
        return after.casefold() == value
    return text.startswith(name) and text[len(name) :].lstrip("=").casefold() == value


def is_flag(text: str, flag: str) -> bool:
    """Whether a word is that flag; long ones may be abbreviated, short ones stand among others."""
    if not text.startswith("-"):
        return False
    if flag.startswith("--"):
        name = text.partition("=")[0]
        return flag == name or (len(name) > 2 and flag.startswith(name))
    if len(flag) > 2:
        return text.partition("=")[0] == flag
    return not text.startswith("--") and flag[1] in text[1:]
