"""A screen as ``turnhub screen --json`` prints it."""

from __future__ import annotations

from typing import Any

import msgspec

from turnhub_tmux.screen.types import Dialog, Screen


def as_dict(screen: Screen) -> dict[str, Any]:
    """``{state, composer, dialog, why, ...}`` in plain types."""
    composer = screen.composer
    return {
        "state": screen.state,
        "composer": {
            "state": composer.state,
            "text": composer.text,
            "truncated": composer.truncated,
            "markers": list(composer.markers),
        },
        "dialog": None if screen.dialog is None else _dialog(screen.dialog),
        "queue": screen.queue_hint,
        "shell": screen.shell,
        "why": list(screen.why),
    }


def _dialog(dialog: Dialog) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(dialog)
    return shown
