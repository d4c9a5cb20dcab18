"""Pure: what wrappers and shells are told to run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from turnhub_permissions.programs import Program
from turnhub_permissions.scene import Scene
from turnhub_permissions.words import Word, literal, unknown

SHELLS: Final = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "fish", "csh", "tcsh", "rbash"))


def inner_of(scene: Scene, wrapper: Program, args: Sequence[Word]) -> tuple[Word, ...]:
    """What a wrapper runs; nothing where it runs nothing, or nobody can tell (which is noted)."""
    settings = wrapper.settings
    lookups = str(settings.get("lookups", "")).split()
    rest = list(args)
    while rest and (rest[0].may_be_flag or rest[0].text is None):
        text = rest[0].text
        if text is None:
            scene.opaque("what it runs is only known when it runs", wrapper.name)
            return ()
        if text == "--":
            rest.pop(0)
            break
        if text in lookups:
            return ()
        taken = _flag_words(wrapper, text)
        if any(word.text is None for word in rest[:taken]):
            scene.opaque("what it runs is only known when it runs", wrapper.name)
            return ()
        if not taken:
            scene.opaque(f"nothing is known of its flag {text}", wrapper.name)
            return ()
        del rest[:taken]
    rest = _behind(scene, wrapper, rest)
    if settings.get("appends"):
        marks = {mark for mark in _marks(args) if mark}
        rest = [unknown() if any(mark in word.shown for mark in marks) else word for word in rest]
    if not rest and "default" in settings:
        return (literal(str(settings["default"])),)
    return tuple(rest)


def _behind(scene: Scene, wrapper: Program, rest: list[Word]) -> list[Word]:
    """What stands behind a wrapper's own operands."""
    own = int(wrapper.settings.get("operands", 0))
    if wrapper.settings.get("assigns"):
        while rest and re.match(r"\w+=", rest[0].prefix):
            _variable(scene, rest.pop(0).prefix.partition("=")[0])
    if any(word.text is None or word.prefix.startswith("-") for word in rest[:own]):
        scene.opaque("its own arguments cannot be told", wrapper.name)
    if not rest[own:] and wrapper.settings.get("alone") == "opaque":
        scene.danger("shows the environment, with its secrets", wrapper.name)
    return rest[own:]


def _marks(args: Sequence[Word]) -> Iterator[str]:
    """The texts in whose place xargs puts what it reads."""
    yield "{}"
    for word, after in zip(args, [*args[1:], literal("")], strict=False):
        if word.shown in ("-I", "--replace"):
            yield after.shown
        elif word.shown.startswith(("-I", "-i")):
            yield word.shown[2:]
        elif word.shown.startswith("--replace="):
            yield word.shown.partition("=")[2]


def _variable(scene: Scene, name: str) -> None:
    if name not in scene.tables.safe_variables:
        scene.opaque(f"the variable {name} may change what is run")


def _flag_words(wrapper: Program, text: str) -> int:
    """How many words a flag of a wrapper takes, itself included; 0 where it is not known."""
    if wrapper.settings.get("digits") and re.fullmatch(r"-\d+", text):
        return 1
    name, equals, _ = text.partition("=")
    kind = wrapper.kinds.get(name if equals else text)
    if text.startswith("--") or kind is not None:
        if kind in ("optional", "either") or (kind == "flags" and not equals):
            return 1
        return (1 if equals else 2) if kind == "values" else 0
    for at in range(1, len(text)):
        kind = wrapper.kinds.get("-" + text[at])
        if kind in ("values", "optional"):
            return 1 if text[at + 1 :] or kind == "optional" else 2
        if kind not in ("flags", "either"):
            return 0
    return 1


class ShellCall(Struct, frozen=True):
    """What a shell is told to run: a script in its arguments, a file, or its input."""

    script: Word | None = None
    file: Word | None = None
    stdin: bool = False
    opaque: str | None = None


def shell_script(args: Sequence[Word]) -> ShellCall:
    """How a shell is called."""
    rest = list(args)
    command = stdin = False
    opaque: str | None = None
    while rest and rest[0].may_be_flag:
        word = rest.pop(0)
        text = word.text
        if text == "--":
            break
        if text == "-" or text is None:
            opaque = opaque or (None if text else "a word that is only known when it runs may be a flag")
            if text is None:
                return ShellCall(file=word, opaque=opaque)
            break
        if text in ("-o", "+o") and rest:
            rest.pop(0)
            continue
        if not re.fullmatch(r"-[euxvflcs]+", text) and text not in ("--norc", "--noprofile", "--posix", "-euo"):
            opaque = f"nothing is known of its flag {text}"
        if re.fullmatch(r"-[a-z]*o", text) and rest:
            rest.pop(0)
        command = command or ("c" in text and not text.startswith("--"))
        stdin = stdin or ("s" in text and not text.startswith("--"))
    if command:
        return ShellCall(script=rest[0] if rest else unknown(), opaque=opaque)
    if stdin or not rest:
        return ShellCall(stdin=stdin, opaque=opaque)
    return ShellCall(file=rest[0], opaque=opaque)
