"""Pure: what a call of a tool comes down to: things run, files read and written, each to be judged by itself."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from turnhub_permissions.paths import Place

Kind = Literal["run", "read", "write", "tool", "fetch", "note"]


class Act(Struct, frozen=True, kw_only=True):
    """One thing that is done.

    ``words`` is what is run; ``places`` are all places that are meant (none: not known); ``name`` the tool, the
    text or the host. ``hard``, ``danger`` and ``opaque`` say why it is never allowed, always asked, or asked
    unless the very call is allowed. ``free``: needs no rule. ``beyond``: why it is not known to only read, so that
    the rules of this plugin's own bundles do not cover it.
    """

    kind: Kind
    about: str
    name: str = ""
    words: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    path_tool: str = ""
    inside: bool = False
    hard: str | None = None
    danger: str | None = None
    opaque: str | None = None
    free: bool = False
    beyond: str | None = None
