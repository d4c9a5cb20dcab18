"""Pure: names and targets that may be handed to tmux.

tmux's own target syntax reaches any pane (``%1``, ``{last}``, prefixes, patterns). What people configure is held
to ``session``, ``session:window`` and ``session:window.pane``, and looked up exactly.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from hub import ConfigError

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_PANE: Final = re.compile(r"[0-9]{1,4}")
_ID: Final = re.compile(r"%[0-9]{1,9}")
_COMMAND: Final = re.compile(r"[A-Za-z0-9._+-]{1,64}")
_KEYS: Final = re.compile(
    r"Enter|Escape|Tab|BTab|Space|BSpace|DC|Up|Down|Left|Right|Home|End|PPage|NPage|F[1-9]|[A-Za-z0-9]|C-[a-z]|S-Tab"
)
_SHOWN: Final = 40


class Target(Struct, frozen=True):
    """A pane as people name it. Without a window or a pane, tmux's current one is meant."""

    session: str
    window: str | None = None
    pane: str | None = None

    @property
    def exact(self) -> str:
        """For ``-t``: no prefixes, no patterns."""
        window = "" if self.window is None else self.window if self.window.isdigit() else f"={self.window}"
        return f"={self.session}:{window}" + ("" if self.pane is None else f".{self.pane}")


def session_name(name: str) -> str:
    """``name``, where it may name a session or a socket. Raises ConfigError."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{shown(name)} is no name for tmux: 1 to 128 of A-Z a-z 0-9 _ - are allowed.")
    return name


def target(text: str) -> Target:
    """The pane that a person means. Raises ConfigError."""
    session, colon, rest = text.partition(":")
    window, dot, pane = rest.partition(".")
    good = (
        _NAME.fullmatch(session) and (not colon or _NAME.fullmatch(window)) and (not dot or _PANE.fullmatch(pane))
    )
    if not good:
        raise ConfigError(f"{shown(text)} is no pane: expected SESSION, SESSION:WINDOW or SESSION:WINDOW.PANE.")
    return Target(session, window if colon else None, pane if dot else None)


def pane_id(text: str) -> str:
    """tmux's own id of a pane, as tmux gave it. Raises ValueError."""
    if not _ID.fullmatch(text):
        raise ValueError(f"{shown(text)} is no id of a pane")
    return text


def key(name: str) -> str:
    """A key that may be pressed. Raises ValueError."""
    if not _KEYS.fullmatch(name):
        raise ValueError(f"{shown(name)} is no key that may be pressed")
    return name


def plain_command(command: str) -> bool:
    """Whether the name of a program can stand in a format."""
    return _COMMAND.fullmatch(command) is not None


def shown(text: str) -> str:
    """Foreign text for a message: bounded, with nothing in it that a terminal would act on."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
