"""Pure: what a program of which no table tells everything writes: behind flags, and in its operands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from turnhub_permissions.forms import Forms, operands
from turnhub_permissions.scene import Scene
from turnhub_permissions.words import Word, literal

_ATTACHED: Final = re.compile(r"(-[oOdDCPtw])(?!-)(.+)", re.DOTALL)
_REMOTE: Final = re.compile(r"[\w.@-]+:|[a-z0-9+]+://")


def note_outputs(scene: Scene, name: str, base: str, args: Sequence[Word]) -> None:
    """Note what a call writes, as far as its form says so: what lies elsewhere, or decides what is run, is
    dangerous."""
    for word, target in (*_flagged(scene, base, args), *_operands(scene, base, args)):
        scene.output(target)
        if why := scene.unsafe(target):
            scene.danger(why, f"{name} {word.shown}")


def _flagged(scene: Scene, base: str, args: Sequence[Word]) -> Iterator[tuple[Word, Word]]:
    own = scene.tables.outputs_of.get(base, frozenset())
    for word, after in zip(args, [*args[1:], None], strict=False):
        flag, equals, value = word.shown.partition("=")
        attached = _ATTACHED.fullmatch(word.shown) if flag not in own else None
        if attached and not flag.startswith("--"):
            flag, equals, value = attached[1], "=", attached[2].removeprefix("=")
        if not (flag in own or flag.lower() in scene.tables.output_flags or re.fullmatch(r"--?\w+[-_]out", flag)):
            continue
        target = _as_path(value) if equals else after
        if target is not None:
            yield word, target


def _as_path(text: str) -> Word:
    return replace(literal(text), tilde=text.startswith("~/") or text == "~")


def _operands(scene: Scene, base: str, args: Sequence[Word]) -> Iterator[tuple[Word, Word]]:
    valued = scene.tables.valued.get(base, frozenset())
    for which, forms in scene.tables.writing.items():
        for form in forms.get(base, Forms()).fitting(args, valued):
            given = operands(args, valued)[len(form.words) :]
            chosen = {"first": given[:1], "last": given[-1:], "rest": given[1:]}.get(which, given)
            yield from ((word, word) for word in chosen if not _REMOTE.match(word.shown))
