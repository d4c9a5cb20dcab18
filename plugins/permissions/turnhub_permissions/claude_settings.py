"""The permissions of Claude Code's own settings, as a policy of this hub."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from hub import ConfigError, PolicyBundle
from turnhub_permissions.rules import READ_TOOLS, WRITE_TOOLS, Effect, RuleError, rule

_EFFECTS: tuple[Effect, ...] = ("allow", "deny", "ask")


class Imported(Struct, frozen=True, kw_only=True):
    """A policy made of settings. ``left_out``: what could not be taken over, a sentence each."""

    bundle: PolicyBundle
    files: tuple[Path, ...]
    left_out: tuple[str, ...]


def settings_files(project: Path, config_dir: Path) -> tuple[Path, ...]:
    """The settings files of a user and a project that exist, the user's first."""
    names = ("settings.json", "settings.local.json")
    wanted = [config_dir / names[0], *(project / ".claude" / name for name in names)]
    return tuple(path for path in wanted if path.is_file())


def import_settings(files: Iterable[Path], name: str) -> Imported:
    """The ``permissions`` of these files as a policy called ``name``. Raises ConfigError for a file that cannot be
    read."""
    found: dict[Effect, dict[str, None]] = {effect: {} for effect in _EFFECTS}
    left: list[str] = []
    read = tuple(files)
    for file in read:
        permissions = _permissions(file)
        for effect in _EFFECTS:
            for text in _texts(file, permissions, effect, left):
                _take(file, effect, text, found[effect], left)
        if permissions.get("defaultMode") not in (None, "default"):
            left.append(f"{file}: defaultMode {permissions['defaultMode']!r}: a policy has no modes.")
        if permissions.get("additionalDirectories"):
            left.append(f"{file}: additionalDirectories: name them in rules, as in Read(/the/directory/**).")
    allow, deny, ask = (tuple(found[effect]) for effect in _EFFECTS)
    bundle = PolicyBundle(name=name, allow=allow, deny=deny, ask=ask)
    return Imported(bundle=bundle, files=read, left_out=tuple(left))


def _permissions(file: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: cannot be read as JSON ({error}).") from None
    permissions = content.get("permissions", {}) if isinstance(content, dict) else None
    if not isinstance(permissions, dict):
        raise ConfigError(f"{file}: permissions: expected an object.")
    return permissions


def _texts(file: Path, permissions: Mapping[str, Any], effect: Effect, left: list[str]) -> list[str]:
    given = permissions.get(effect, [])
    if not isinstance(given, list):
        raise ConfigError(f"{file}: permissions.{effect}: expected a list of rules.")
    left += [f"{file}: permissions.{effect}: {one!r} is no text." for one in given if not isinstance(one, str)]
    return [one for one in given if isinstance(one, str)]


def _take(file: Path, effect: Effect, text: str, found: dict[str, None], left: list[str]) -> None:
    ours = _translated(file, text)
    try:
        rule(ours, effect)
    except RuleError as error:
        left.append(f"{file}: permissions.{effect}: {text!r} is not taken over: {error}.")
    else:
        found[ours] = None


def _translated(file: Path, text: str) -> str:
    """A rule with its paths as this hub has them: there, ``/x`` is beside the settings and ``//x`` is ``/x``."""
    tool, opened, spec = text.partition("(")
    if not opened or tool not in READ_TOOLS | WRITE_TOOLS:
        return text
    if spec.startswith("//"):
        return f"{tool}({spec[1:]}"
    if spec.startswith("/"):
        base = file.parent.parent if file.parent.name == ".claude" else file.parent
        return f"{tool}({base.absolute()}{spec}"
    return text


def as_toml(bundle: PolicyBundle, comments: Iterable[str] = ()) -> str:
    """A policy as it is written in ``turnhub.toml``."""
    lines = [f"# {' '.join(comment.split())}" for comment in comments]
    lines.append(
        f"[policies.{bundle.name}]" if bundle.name.isidentifier() else f"[policies.{_quoted(bundle.name)}]"
    )
    if bundle.extends:
        lines.append(f"extends = [{', '.join(map(_quoted, bundle.extends))}]")
    for effect in _EFFECTS:
        rules: tuple[str, ...] = getattr(bundle, effect)
        if rules:
            lines += [f"{effect} = [", *(f"    {_quoted(text)}," for text in rules), "]"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
