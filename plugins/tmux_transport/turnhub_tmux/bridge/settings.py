"""The settings file that an agent is started with (``--settings``): its hooks post to the bridge. The user's own
settings stay as they are; Claude Code reads both."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from turnhub_tmux.bridge.access import Access
from turnhub_tmux.bridge.posts import EVENTS
from turnhub_tmux.bridge.state import private_folder, write_private

ASK_S: Final = 24 * 3600
"""Seconds for which an agent keeps the request of a permission open, whose dialog is there all the while, or of an
MCP server, for which there is a dialog only when the request is over."""
TELL_S: Final = 30
"""Seconds that an agent waits for a hook that only tells: the listener answers those at once, so that one which
does not is not there any more, and nobody should have to wait for it."""


def hooks(access: Access) -> dict[str, list[dict[str, Any]]]:
    """The hooks of all events that tell something, in the form of Claude Code's settings."""
    return {event: [{"hooks": [_hook(access, event)]}] for event in EVENTS}


def _hook(access: Access, event: str) -> dict[str, Any]:
    return {
        "type": "http",
        "url": access.url,
        "headers": {"Authorization": f"Bearer {access.token}"},
        "timeout": ASK_S if event in ("PermissionRequest", "Elicitation") else TELL_S,
    }


def write_settings(folder: Path, access: Access) -> Path:
    """Write the settings file for one session's agent into ``folder`` (made, 0700). Raises OSError."""
    path = private_folder(folder) / "hooks.json"
    write_private(path, msgspec.json.encode({"hooks": hooks(access)}))
    return path
