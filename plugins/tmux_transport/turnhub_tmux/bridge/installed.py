"""Pure: the bridge's hooks in a person's own ``settings.json``, put in and taken out again with nothing else
touched."""

from __future__ import annotations

import json
import re
from typing import Any, Final
from urllib.parse import urlsplit

from turnhub_tmux.bridge import spans
from turnhub_tmux.bridge.access import PREFIX, Access
from turnhub_tmux.bridge.settings import hooks

_OURS: Final = re.compile(re.escape(PREFIX) + r"[^/]+")
_LOOPBACK: Final = ("127.0.0.1", "localhost")


class NotSettings(ValueError):
    """The text is not what Claude Code reads as settings: says what is wrong, and where."""


def installed(text: str, access: Access) -> str:
    """``text`` with the hooks that post to ``access``, once; those of before are replaced. Raises NotSettings."""
    wanted = hooks(access)
    text = text if text.strip() else "{}\n"
    if _found(text) == wanted:
        return text
    text = _with_hooks(removed(text))
    for event, entries in wanted.items():
        at = _hooks_at(text)
        member = _member(text, at, event)
        entry = json.dumps(entries[0])
        text = spans.put(text, at, f"[{entry}]", event) if member is None else spans.put(text, member, entry)
    return text


def removed(text: str) -> str:
    """``text`` without the hooks that post to a bridge, and without what is empty then. Raises NotSettings."""
    settings = _settings(text)
    if "hooks" not in settings:
        return text
    for event in list(settings["hooks"]):
        text = _without_ours(text, event)
    if settings["hooks"] and not _settings(text)["hooks"]:
        root = spans.value_at(text)
        names = [span.key for span in spans.inside(text, root)]
        text = spans.without(text, root, names.index("hooks"))
    return text


def ours(text: str) -> list[str]:
    """The events whose hooks post to a bridge. Raises NotSettings."""
    return list(_found(text))


def _found(text: str) -> dict[str, list[Any]]:
    """The entries of ours by event."""
    events = _settings(text).get("hooks", {})
    found = {event: [entry for entry in entries if _is_ours(entry)] for event, entries in events.items()}
    return {event: entries for event, entries in found.items() if entries}


def _without_ours(text: str, event: str) -> str:
    at = _hooks_at(text)
    entries = _member(text, at, event)
    if entries is None:
        return text
    found = [number for number, span in enumerate(spans.inside(text, entries)) if _is_ours(span.value)]
    for number in reversed(found):
        text = spans.without(text, entries, number)
    if found and not spans.inside(text, entries):
        names = [span.key for span in spans.inside(text, at)]
        text = spans.without(text, at, names.index(event))
    return text


def _is_ours(entry: Any) -> bool:
    """Whether all that an entry does is to post to a bridge on this machine."""
    actions = entry.get("hooks") if isinstance(entry, dict) else None
    return isinstance(actions, list) and bool(actions) and all(_posts_to_us(action) for action in actions)


def _posts_to_us(action: Any) -> bool:
    if not isinstance(action, dict) or action.get("type") != "http" or not isinstance(action.get("url"), str):
        return False
    try:
        url = urlsplit(action["url"])
    except ValueError:
        return False
    return url.hostname in _LOOPBACK and _OURS.fullmatch(url.path) is not None


def _with_hooks(text: str) -> str:
    root = spans.value_at(text)
    there = [span for span in spans.inside(text, root) if span.key == "hooks"]
    return text if there else spans.put(text, root, "{}", "hooks")


def _hooks_at(text: str) -> int:
    found = _member(text, spans.value_at(text), "hooks")
    assert found is not None  # noqa: S101 - the caller has put it there, or seen it
    return found


def _member(text: str, at: int, key: str) -> int | None:
    return next((span.value_at for span in spans.inside(text, at) if span.key == key), None)


def _settings(text: str) -> dict[str, Any]:
    """The settings in a text. Raises NotSettings."""
    try:
        found = spans.parse(text)
    except (ValueError, RecursionError) as error:
        raise NotSettings(f"It is no valid JSON ({error}).") from None
    if not isinstance(found, dict):
        raise NotSettings("It does not hold a JSON object.")
    if sum(span.key == "hooks" for span in spans.inside(text, spans.value_at(text))) > 1:
        raise NotSettings('It has "hooks" twice.')
    hooks_there = found.get("hooks", {})
    if not isinstance(hooks_there, dict):
        raise NotSettings('Its "hooks" is no object.')
    for event, entries in hooks_there.items():
        if not isinstance(entries, list):
            raise NotSettings(f'Its "hooks" for {event!r} is no list.')
    return found
