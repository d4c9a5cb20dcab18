"""Which plugins are installed: entry points of the group ``turnhub``, looked at without importing anything."""

from __future__ import annotations

import importlib.metadata
import inspect
from importlib.metadata import EntryPoint
from typing import Final, Literal

from msgspec import Struct

GROUP: Final = "turnhub"
ALWAYS: Final = EntryPoint(name="scripted", value="hub.testing.scripted", group=GROUP)
_CORE: Final = "turnhub"
_OURS: Final = frozenset({"distiller", "permissions", "sdk", "tmux"})  # never advise what a stranger may publish

Status = Literal["loaded", "disabled", "unavailable", "broken"]


class Found(Struct, frozen=True, kw_only=True):
    """What is known about one plugin. ``reason`` says why it is not loaded, ``install`` is the command that
    mends it. ``hooks`` are those it implements, ``misspelt`` those that do not exist."""

    name: str
    status: Status
    distribution: str | None = None
    version: str | None = None
    reason: str | None = None
    install: str | None = None
    hooks: tuple[str, ...] = ()
    misspelt: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()


def entry_points() -> dict[str, list[EntryPoint]]:
    """The installed plugins by name; more than one where several distributions took the same name."""
    points: dict[str, list[EntryPoint]] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        same = points.setdefault(point.name, [])
        # One distribution may be seen twice: an editable install beside its source's own metadata.
        if all(distribution(other) != distribution(point) for other in same):
            same.append(point)
    points.setdefault(ALWAYS.name, [ALWAYS])
    return points


def imported(point: EntryPoint) -> object:
    """What the entry point names: a module, an object, or a class, of which it makes an instance.

    Raises whatever the plugin raises.
    """
    plugin = point.load()
    return plugin() if inspect.isclass(plugin) else plugin


def distribution(point: EntryPoint) -> str | None:
    """The distribution that a plugin comes from, where that is known."""
    return _CORE if point is ALWAYS else point.dist.name if point.dist else None


def described(point: EntryPoint, status: Status, reason: str | None = None, install: str | None = None) -> Found:
    """What is known about an installed plugin."""
    return Found(
        name=point.name,
        status=status,
        distribution=distribution(point),
        version=point.dist.version if point.dist else None,
        reason=reason,
        install=install,
    )


def missing(name: str) -> Found:
    """What is known about an enabled plugin that is not installed."""
    if name in _OURS:
        return Found(
            name=name, status="unavailable", reason="It is not installed.", install=f"pip install turnhub-{name}"
        )
    reason = "Nothing that is installed offers a plugin of this name: is it spelt right in plugins.enabled?"
    return Found(name=name, status="unavailable", reason=reason)


def disabled(point: EntryPoint) -> Found:
    """What is known about an installed plugin that is not enabled."""
    reason = f"The configuration does not enable it: add {point.name!r} to plugins.enabled."
    return described(point, "disabled", reason)


def unimportable(point: EntryPoint, error: BaseException) -> Found:
    """What is known about a plugin whose import raised ``error``."""
    reason = f"It cannot be imported: {type(error).__name__}: {error}."
    return described(point, "unavailable", reason, f"pip install {distribution(point) or point.name}")
