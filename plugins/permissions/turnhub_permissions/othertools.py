"""Pure: calls of other agents' tools, as calls of the tools by whose names rules are written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from posixpath import isabs, join
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from turnhub_permissions.paths import Ground
from turnhub_permissions.tables import Tables

_PATCHED: Final = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): *(.+?) *$", re.MULTILINE)
_DIFFED: Final = re.compile(r"^(?:---|\+\+\+) (?:[ab]/)?([^\t\n]+)", re.MULTILINE)
_URL: Final = re.compile(r"https?://[^\s\"'<>]+")
_MOST: Final = 64


class Told(Struct, frozen=True):
    """A call under the name by which it is judged, and where it is made."""

    tool: str
    given: Mapping[str, Any]
    ground: Ground


def told_as(tool: str, given: Mapping[str, Any], ground: Ground, tables: Tables) -> list[Told]:
    """What a call comes down to; itself where the tool is none of another agent."""
    name = tables.tools.get(tool.casefold())
    if name is None or tool == name:
        return [Told(tool, given, ground)]
    if isinstance(given.get("action"), Mapping):
        given = given["action"]
    if name == "Bash":
        return [_command(given, ground, tables)]
    if name == "PATCH":
        return list(_patch(given, ground, tables))
    if name == "Edit" and given.get("command") == "view":
        name = "Read"
    if name in ("Read", "Write", "Edit"):
        found = _input(given, "file_path", tables)
        files = found if isinstance(found, list) and 0 < len(found) < _MOST else [found]
        return [Told(name, {"file_path": one}, ground) for one in files]
    if name == "WebFetch":
        text = str(_input(given, "url", tables) or "")
        return [Told(name, {"url": one}, ground) for one in (_URL.findall(text) or [text])[:_MOST]]
    wanted = {key: _input(given, key, tables) for key in ("path", "pattern", "glob", "query")}
    return [Told(name, {key: value for key, value in wanted.items() if value is not None}, ground)]


def _input(given: Mapping[str, Any], key: str, tables: Tables) -> Any:
    return next((given[name] for name in tables.inputs[key] if given.get(name) is not None), None)


def _command(given: Mapping[str, Any], ground: Ground, tables: Tables) -> Told:
    command = _input(given, "command", tables)
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        command = shlex.join(command)
    where = _input(given, "directory", tables)
    if isinstance(where, str) and where:
        ground = replace(ground, cwds=(where if isabs(where) else join(ground.cwd, where),))
    said = {"command", "directory", "harmless"}
    rest = {name: value for name, value in given.items() if not any(name in tables.inputs[key] for key in said)}
    return Told("Bash", {**rest, "command": command}, ground)


def _patch(given: Mapping[str, Any], ground: Ground, tables: Tables) -> Iterator[Told]:
    text = _input(given, "patch", tables)
    text = text if isinstance(text, str) else ""
    files = _PATCHED.findall(text) or [one for one in _DIFFED.findall(text) if one != "/dev/null"]
    if not files or len(files) > _MOST:
        files = [None]
    yield from (Told("Edit", {"file_path": one}, ground) for one in dict.fromkeys(files))
