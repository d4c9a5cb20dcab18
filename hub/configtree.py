"""The raw configuration and where each of its values came from: file, environment or command line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from hub.errors import ConfigError

PREFIX: Final = "TURNHUB_"


class Leaf(Struct, frozen=True):
    """A value that is not from the file. ``candidates``: what it can be read as, the best reading first."""

    origin: str
    candidates: tuple[Any, ...]


class Tree(Struct, frozen=True):
    """Tables of tables; what is from the file stands plainly, everything else is a :class:`Leaf`."""

    where: str
    data: dict[str, Any]

    def origin(self, value: Any) -> str:
        """Where ``value`` came from; a table came from where its first foreign value did, else the file."""
        if isinstance(value, Leaf):
            return value.origin
        if isinstance(value, dict) and value and all(isinstance(one, Leaf | dict) for one in value.values()):
            return self.origin(next(iter(value.values())))
        return self.where


def plain(value: Any) -> Any:
    """``value`` without its origins."""
    if isinstance(value, Leaf):
        return value.candidates[0]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def from_environment(tree: Tree, environ: Mapping[str, str]) -> Tree:
    """``tree`` with every ``TURNHUB_<SECTION>__<KEY>`` of ``environ`` over it, shorter names first.

    Raises ConfigError for a name that leads nowhere.
    """
    for name in sorted(environ):
        if name.startswith(PREFIX) and "__" in name:
            path = name.removeprefix(PREFIX).split("__")
            if not all(path):
                raise ConfigError(f"environment variable {name}: expected TURNHUB_<SECTION>__<KEY>.")
            _put(tree.data, path, _leaf(f"environment variable {name}", environ[name]))
    return tree


def from_options(tree: Tree, options: Mapping[str, tuple[str, Any]]) -> Tree:
    """``tree`` with ``options`` (by name: dotted key and value) over it."""
    for option, (key, value) in options.items():
        _put(tree.data, key.split("."), _spread(option, value))
    return tree


def _leaf(origin: str, text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return Leaf(origin, (text,))
    # More than one key: the text broke out of its line and is no single TOML value.
    return _spread(origin, parsed["value"], text) if len(parsed) == 1 else Leaf(origin, (text,))


def _spread(origin: str, value: Any, text: str | None = None) -> Any:
    if isinstance(value, dict):
        return {key: _spread(origin, one) for key, one in value.items()}
    return Leaf(origin, (value,) if text is None or isinstance(value, str) else (value, text))


def _put(table: dict[str, Any], path: list[str], value: Any) -> None:
    for depth, part in enumerate(path[:-1]):
        inner = table.setdefault(_match(table, part, path[:depth]), {})
        if not isinstance(inner, dict):
            origin = value.origin if isinstance(value, Leaf) else "environment"
            key = ".".join(path[: depth + 1]).lower()
            raise ConfigError(f"{origin}: {key}: is a value, not a table; nothing can be set below it.")
        table = inner
    table[_match(table, path[-1], path[:-1])] = value


def _match(table: Mapping[str, Any], part: str, above: list[str]) -> str:
    """The key that ``part`` means: one that is there, whatever its case and dashes, else in lower case."""

    def folded(text: str) -> str:
        return text.lower().replace("-", "_")

    for key in table:
        if folded(key) == folded(part):
            return key
    # Names of an agent's own environment variables keep their case.
    is_env = len(above) == 3 and above[0].lower() == "agents" and above[2].lower() == "env"
    return part if is_env else part.lower()
