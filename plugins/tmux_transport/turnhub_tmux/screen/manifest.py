"""Manifests: what the screen of one kind of agent looks like, as data (``docs/manifests.md``).

A kind is a name, looked for in the given folders and then among those that come along, or the path of a file. A
manifest may extend another one, and then says only what differs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from hub import ConfigError
from turnhub_tmux.screen.patterns import Patterns, fault
from turnhub_tmux.screen.types import DialogKind, Means

_BUILT_IN: Final = Path(__file__).parent.parent / "manifests"
_DEEPEST: Final = 4
_LARGEST: Final = 1 << 18

Frame: TypeAlias = Literal["rules", "box", "bar", "bare"]
Shape: TypeAlias = Literal["numbered", "radio", "ticked", "plain", "buttons", "inline"]
Ghostly: TypeAlias = Literal["dim", "grey"]


class ComposerLook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[composer]``: the place where one types."""

    frames: tuple[Frame, ...] = ("rules", "box", "bare")
    prompts: tuple[str, ...] = ("❯", ">")
    modes: tuple[str, ...] = ()
    placeholders: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    pastes: tuple[str, ...] = ()
    ghost: tuple[Ghostly, ...] = ("dim", "grey")


class ConversationLook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[conversation]``: how what was said is marked, at the left edge."""

    said: tuple[str, ...] = ("●",)


class BusyLook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[busy]``: how one sees that the agent works."""

    below: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    retrying: tuple[str, ...] = ()


class QueueLook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[queue]``: how one sees that messages wait in the agent's own queue."""

    hints: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


class KindRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[[dialog.kinds]]``: what makes a dialog of this kind; one match is enough."""

    kind: DialogKind
    title: tuple[str, ...] = ()
    option: tuple[str, ...] = ()


class MeansRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[[dialog.means]]``: labels that mean this."""

    means: Means
    label: tuple[str, ...]


class DialogLook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[dialog]``: what a dialog looks like."""

    shapes: tuple[Shape, ...] = ("numbered",)
    cursors: tuple[str, ...] = ("❯",)
    hints: tuple[str, ...] = ()
    needs_hint: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    panel: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    buttons: tuple[tuple[str, ...], ...] = ()
    key_hints: bool = False
    amend_hint: tuple[str, ...] = ()
    amend_empty: tuple[str, ...] = ()
    digits: Literal["choose", "move", "none"] = "choose"
    kinds: tuple[KindRule, ...] = ()
    means: tuple[MeansRule, ...] = ()


class KeyNames(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[keys]``: tmux's names of the keys that do something."""

    submit: str = "Enter"
    interrupt: str = "Escape"
    newline: str = "C-j"
    clear: str = "BSpace"
    next_tab: str = "Tab"
    down: str = "Down"
    up: str = "Up"
    cancel: str = "Escape"
    amend: str = "Tab"


class Look(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole manifest, as written."""

    name: str
    title: str = ""
    extends: str | None = None
    composer: ComposerLook = field(default_factory=ComposerLook)
    conversation: ConversationLook = field(default_factory=ConversationLook)
    busy: BusyLook = field(default_factory=BusyLook)
    queue: QueueLook = field(default_factory=QueueLook)
    dialog: DialogLook = field(default_factory=DialogLook)
    keys: KeyNames = field(default_factory=KeyNames)


class Manifest:
    """A manifest that is ready to be used: its patterns are compiled once."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.name = look.name
        self.prompts = look.composer.prompts
        self.said = look.conversation.said
        self.cursors = look.dialog.cursors
        self.keys = look.keys

    @cached_property
    def placeholders(self) -> Patterns:
        """Texts that stand in an empty composer."""
        return Patterns(self.look.composer.placeholders)

    @cached_property
    def arguments(self) -> Patterns:
        """What stands behind a command, of what it takes."""
        return Patterns(self.look.composer.arguments)

    @cached_property
    def pastes(self) -> Patterns:
        """Collapsed pastes."""
        return Patterns(self.look.composer.pastes)

    @cached_property
    def busy_below(self) -> Patterns:
        """Rows under the composer that say: working."""
        return Patterns(self.look.busy.below)

    @cached_property
    def retrying(self) -> Patterns:
        """The words behind a mark at the left edge that say: its model is tried again."""
        return Patterns(self.look.busy.retrying)

    @cached_property
    def busy_above(self) -> Patterns:
        """The last row at the left edge above the composer that says: working."""
        return Patterns(self.look.busy.above)

    @cached_property
    def queue_hints(self) -> Patterns:
        """What says that messages are queued, in the composer's place or a row."""
        return Patterns(self.look.queue.hints)

    @cached_property
    def queue_marks(self) -> Patterns:
        """The row under a queued message."""
        return Patterns(self.look.queue.marks)

    @cached_property
    def hints(self) -> Patterns:
        """Chrome under a dialog."""
        return Patterns((*self.look.dialog.hints, *self.look.dialog.needs_hint))

    @cached_property
    def needed_hints(self) -> Patterns:
        """Without one of these, a menu is none."""
        return Patterns(self.look.dialog.needs_hint)

    @cached_property
    def held(self) -> Patterns:
        """What holds the keyboard and is left to the person at the terminal."""
        return Patterns(self.look.dialog.held)

    @cached_property
    def panel(self) -> Patterns:
        """The last row of a panel of the agent's own, which Escape closes."""
        return Patterns(self.look.dialog.panel)

    @cached_property
    def unread(self) -> Patterns:
        """The last row of a panel in which no dialog is read, and which Escape closes."""
        return Patterns(self.look.dialog.unread)

    @cached_property
    def amend_hint(self) -> Patterns:
        """Rows below a dialog that say: a denial may carry words."""
        return Patterns(self.look.dialog.amend_hint)

    @cached_property
    def amend_empty(self) -> Patterns:
        """The row of a denial that waits for its words."""
        return Patterns(self.look.dialog.amend_empty)

    @cached_property
    def kinds(self) -> tuple[tuple[DialogKind, Patterns, Patterns], ...]:
        """The rules for kinds, in order: kind, its titles, its options."""
        return tuple((rule.kind, Patterns(rule.title), Patterns(rule.option)) for rule in self.look.dialog.kinds)

    @cached_property
    def means(self) -> tuple[tuple[Means, Patterns], ...]:
        """The rules for meanings, in order."""
        return tuple((rule.means, Patterns(rule.label)) for rule in self.look.dialog.means)


def load(kind: str, folders: Iterable[Path] = ()) -> Manifest:
    """The manifest of ``kind``: a name, or a path (with a slash or ``.toml`` in it).

    Raises ConfigError, one line that names the file and the key.
    """
    places = (*folders, _BUILT_IN)
    return Manifest(_look(_merged(_find(kind, places), places, ()), kind, places))


def names(folders: Iterable[Path] = ()) -> tuple[str, ...]:
    """The kinds that there are, by name."""
    return tuple(sorted({path.stem for folder in (*folders, _BUILT_IN) for path in folder.glob("*.toml")}))


def _find(kind: str, places: Sequence[Path]) -> Path:
    if "/" in kind or kind.endswith(".toml"):
        return Path(kind).expanduser()
    for place in places:
        path = place.expanduser() / f"{kind}.toml"
        if path.is_file():
            return path
    raise ConfigError(
        f"There is no screen manifest {kind!r}; there are: {', '.join(names(places))}; or name a file."
    )


def _merged(path: Path, places: Sequence[Path], seen: tuple[Path, ...]) -> dict[str, Any]:
    if path in seen or len(seen) > _DEEPEST:
        raise ConfigError(f"{path}: extends: it extends itself, over {' and '.join(map(str, seen))}.")
    table = _read(path)
    base = table.get("extends")
    if base is None:
        return table
    if not isinstance(base, str):
        raise ConfigError(f"{path}: extends: expected the name or path of another manifest.")
    # A file that has the name of what it extends overrides it: the next one of that name is meant.
    after = [place for place in places if (place.expanduser() / f"{base}.toml") not in (path, *seen)]
    return _over(_merged(_find(base, after), places, (*seen, path)), table)


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}.") from None
    if len(raw) > _LARGEST:
        raise ConfigError(f"{path}: is too large for a manifest.")
    try:
        return tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is no TOML: {error}.") from None


def _over(base: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in table.items():
        old = merged.get(key)
        merged[key] = _over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _look(table: dict[str, Any], kind: str, places: Sequence[Path]) -> Look:
    path = _find(kind, places)
    try:
        look = msgspec.convert(table, Look)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        key = where.strip("`").removeprefix("$").lstrip(".") or "(top)"
        raise ConfigError(f"{path}: {key}: {what}.") from None
    for key, patterns in _patterns(look):
        for pattern in patterns:
            wrong = fault(pattern)
            if wrong:
                raise ConfigError(f"{path}: {key}: {wrong}.")
    for key, marks in (("composer.prompts", look.composer.prompts), ("conversation.said", look.conversation.said)):
        if not marks or any(not mark.strip() for mark in marks):
            raise ConfigError(f"{path}: {key}: expected at least one mark, none of them blank.")
    return look


def _patterns(look: Look) -> Iterable[tuple[str, tuple[str, ...]]]:
    yield "composer.placeholders", look.composer.placeholders
    yield "composer.arguments", look.composer.arguments
    yield "composer.pastes", look.composer.pastes
    yield "busy.below", look.busy.below
    yield "busy.above", look.busy.above
    yield "queue.hints", look.queue.hints
    yield "queue.marks", look.queue.marks
    yield "dialog.hints", look.dialog.hints
    yield "dialog.needs_hint", look.dialog.needs_hint
    yield "dialog.held", look.dialog.held
    yield "dialog.panel", look.dialog.panel
    yield "dialog.unread", look.dialog.unread
    yield "dialog.amend_hint", look.dialog.amend_hint
    yield "dialog.amend_empty", look.dialog.amend_empty
    for rule in look.dialog.kinds:
        yield "dialog.kinds", (*rule.title, *rule.option)
    for means in look.dialog.means:
        yield "dialog.means", means.label
