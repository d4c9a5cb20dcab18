"""Pure: a call of any tool as the acts it comes down to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from turnhub_permissions.acts import Act
from turnhub_permissions.globs import alternatives, could_be_secret
from turnhub_permissions.hosts import gives_credentials
from turnhub_permissions.paths import Ground
from turnhub_permissions.rules import READ_TOOLS, WRITE_TOOLS
from turnhub_permissions.scene import Scene
from turnhub_permissions.tables import Tables
from turnhub_permissions.words import Word

_PATHS: Final = {
    "NotebookRead": "notebook_path",
    "NotebookEdit": "notebook_path",
    "Grep": "path",
    "Glob": "path",
    "LS": "path",
}
_NAMES: Final = {
    "Skill": ("skill", "command"),
    "SlashCommand": ("command",),
    "Task": ("subagent_type",),
    "Agent": ("subagent_type",),
    "WebSearch": ("query",),
}

_BASH: Final = frozenset(("command", "description", "timeout", "run_in_background"))
_UNLEASHED: Final = re.compile(
    r"(?i)dangerous|unsafe|bypass|escalat|elevat|no_?sandbox|disable_?sandbox|skip_?permissions|dont_?ask"
)
_MODE: Final = re.compile(r"(?i)(?:permission_?)?mode")


def acts_of(
    tool: str, given: Mapping[str, Any], ground: Ground, tables: Tables, shell: Callable[[str, Ground], list[Act]]
) -> list[Act]:
    """What a call of ``tool`` does; never nothing."""
    if tool == "Bash":
        command = given.get("command")
        if not isinstance(command, str):
            return [Act(kind="note", about="Bash", opaque="it has no command that is a text")]
        found = [
            replace(act, name="shell") if act.kind in ("read", "write") else act for act in shell(command, ground)
        ]
        found += _beside("Bash", given, _BASH)
        return found or [Act(kind="run", about="nothing but the shell", words=("true",), free=True)]
    if tool in READ_TOOLS | WRITE_TOOLS:
        return _file(tool, given, Scene(ground, tables))
    if tool == "WebFetch":
        return [_fetch(given)]
    keys = _NAMES.get(tool, ())
    names = tuple(str(given[key]) for key in keys if isinstance(given.get(key), str))[:1]
    return [
        Act(kind="tool", about=" ".join((tool, *names)), name=tool, words=names),
        *_beside(tool, given, frozenset(given)),
    ]


def _beside(tool: str, given: Mapping[str, Any], known: frozenset[str]) -> list[Act]:
    """What a call says beside what it is about: what takes its limits off is dangerous, what nobody knows has to
    be looked at."""
    found = []
    for name, value in given.items():
        if not value:
            continue
        if _UNLEASHED.search(name) or (_MODE.fullmatch(name) and _UNLEASHED.search(str(value))):
            found.append(Act(kind="note", about=f"{tool} with {name}", danger="it takes limits off"))
        elif name not in known:
            found.append(Act(kind="note", about=f"{tool} with {name}", opaque="nothing is known of that setting"))
    return found


def _file(tool: str, given: Mapping[str, Any], scene: Scene) -> list[Act]:
    path = given.get(_PATHS.get(tool, "file_path"))
    if path is None and tool in ("Grep", "Glob", "LS"):
        path = "."
    if not isinstance(path, str) or not path or "\0" in path:
        return [
            Act(kind="read" if tool in READ_TOOLS else "write", name=tool, about=tool, opaque="it names no file")
        ]
    word = Word(path, path, path, tilde=path == "~" or path.startswith("~/"))
    if tool in WRITE_TOOLS:
        scene.write(word)
    else:
        scene.read(word, listing=tool in ("Glob", "LS"))
        if tool == "Grep":
            _grep(given, word, scene)
        if tool == "Glob":
            _glob(given, path, scene)
    return [replace(act, name=tool) for act in scene.acts]


def _grep(given: Mapping[str, Any], word: Word, scene: Scene) -> None:
    pattern = given.get("glob")
    if isinstance(pattern, str) and any(
        could_be_secret(one, dotted=True) for one in alternatives(pattern) if one[0] != "!"
    ):
        scene.danger("it may read secrets", f"Grep {pattern}")
    if not all(scene.ground.within(one) for one in scene.places(word) or ()):
        scene.read_whole(word, hidden=False)


def _glob(given: Mapping[str, Any], path: str, scene: Scene) -> None:
    pattern = given.get("pattern")
    if not isinstance(pattern, str):
        return
    if ".." in pattern or re.match(r"[{(]", pattern):
        scene.opaque("where it looks cannot be told", f"Glob {pattern}")
        return
    start = re.split(r"[*?\[{(]", pattern, maxsplit=1)[0].rpartition("/")[0]
    if pattern.startswith(("/", "~/")):
        scene.read(Word(start or "/", start, start, tilde=start.startswith("~")), listing=True)
    elif start:
        scene.read(Word(f"{path}/{start}", path, start, tilde=path.startswith("~/")), listing=True)


def _fetch(given: Mapping[str, Any]) -> Act:
    url = given.get("url")
    about = f"fetches {url}"
    if not isinstance(url, str) or not re.fullmatch(r"[!-~]+", url) or "\\" in url:
        return Act(kind="fetch", about=about, opaque="its address cannot be read")
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        fine = (
            parts.scheme in ("http", "https") and parts.username is None and bool(host) and "@" not in parts.netloc
        )
    except ValueError:
        fine, host = False, ""
    if not fine:
        return Act(kind="fetch", about=about, name=host, opaque="its address cannot be read")
    danger = (
        "that address hands out credentials" if gives_credentials(f"[{host}]" if ":" in host else host) else None
    )
    return Act(kind="fetch", about=about, name=f"[{host}]" if ":" in host else host, danger=danger)
