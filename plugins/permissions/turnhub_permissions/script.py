"""Pure: a shell script as what it would run, without its grammar."""

from __future__ import annotations

from msgspec import Struct

from turnhub_permissions.words import Word


class Redirect(Struct, frozen=True):
    """Input or output to or from a file. ``writes``: whether the file is written."""

    target: Word
    writes: bool


class Call(Struct, frozen=True):
    """One simple command. ``fed``: its input comes from a pipe, a file or the script itself. ``repeated``: it may
    run more than once, or later. ``inside``: the functions in whose body it stands."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    fed: bool = False
    repeated: bool = False
    spawned: bool = False
    inside: tuple[str, ...] = ()


class Script(Struct, frozen=True):
    """All commands of a script, in order. ``opaque``: why it cannot be told what else it does; ``variables``:
    those whose values it uses."""

    calls: tuple[Call, ...]
    opaque: tuple[str, ...] = ()
    variables: frozenset[str] = frozenset()
