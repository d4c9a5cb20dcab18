"""The keys of an agent's configuration that this transport understands, and what they have to be."""

from __future__ import annotations

import difflib
import re
import shlex
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct, field

from hub import AgentInfo, ConfigError
from turnhub_tmux.panes import names
from turnhub_tmux.screen.manifest import Manifest, load
from turnhub_tmux.screen.places import folders

Words = Annotated[str, Meta(min_length=1)]
CLAUDE: Final = "claude-code"


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent's options; durations are seconds, sizes are columns and rows.

    ``command``: what is started in a tmux session of its own; ``target``: a pane that runs already, in its place.
    ``kind``: a screen manifest, by name or path. ``socket``: the tmux server's (``-L`` name, or a path).
    ``hooks``: whether the agent's hooks are listened to, where its kind has them. ``stall_s``: how long neither
    hooks nor transcript nor screen may show a sign of life while nobody is asked.
    """

    command: Words = "claude"
    target: Words | None = None
    kind: Words = CLAUDE
    socket: Words | None = None
    hooks: bool = True
    env: dict[str, str] = field(default_factory=dict)
    width: Annotated[int, Meta(ge=20, le=1000)] = 160
    height: Annotated[int, Meta(ge=5, le=1000)] = 50
    config_dir: Words | None = None
    stall_s: Annotated[float, Meta(gt=0)] = 300.0

    @property
    def argv(self) -> list[str]:
        """The words of ``command``."""
        return shlex.split(self.command)

    @property
    def bridged(self) -> bool:
        """Whether the agent's hooks are listened to: those that it is started with, or that a person installed."""
        return self.hooks and self.kind == CLAUDE


_EXPECTED: Final[dict[str, str]] = {
    "command": "a command line in quotes",
    "target": 'a tmux pane: "session", "session:window" or "session:window.pane"',
    "kind": "the name or the path of a screen manifest",
    "socket": "the name (or the path) of a tmux socket",
    "hooks": "true or false",
    "env": "a table of texts",
    "width": "a number of columns from 20 to 1000",
    "height": "a number of rows from 5 to 1000",
    "config_dir": "a folder in quotes",
    "stall_s": "a number of seconds above 0",
}


def options_of(agent: AgentInfo) -> Options:
    """The agent's options. Raises ConfigError, naming the key and what was expected, where they are wrong."""
    where = f"[agents.{agent.name}]"
    given = dict(agent.options)
    for key in given:
        if key not in _EXPECTED:
            raise ConfigError(f"{where} `{key}`: the transport `tmux` has no such key.{_meant(key)}")
    try:
        options = msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where} {_mistake(str(error), given)}") from None
    if options.target is not None and "command" in given:
        raise ConfigError(f"{where} `target`: expected only without `command`.")
    for key, check in (("command", _command), ("target", _target), ("socket", _socket)):
        try:
            check(options)
        except ValueError as error:
            raise ConfigError(f"{where} `{key}`: expected {_EXPECTED[key]}: {error}.") from None
        except ConfigError as error:
            raise ConfigError(f"{where} `{key}`: {error.detail}") from None
    return options


def manifest_of(agent: AgentInfo, options: Options) -> Manifest:
    """The screen manifest of the agent's kind. Raises ConfigError."""
    try:
        return load(options.kind, folders())
    except ConfigError as error:
        raise ConfigError(f"[agents.{agent.name}] `kind`: {error.detail}") from None


def _command(options: Options) -> None:
    if not options.argv:
        raise ValueError("there is no word in it")


def _target(options: Options) -> None:
    if options.target is not None:
        names.target(options.target)


def _socket(options: Options) -> None:
    if options.socket is not None and not options.socket.startswith("/"):
        names.session_name(options.socket)


def _meant(key: str) -> str:
    close = difflib.get_close_matches(key, _EXPECTED, n=1)
    return f" Did you mean `{close[0]}`?" if close else f" It has: {', '.join(sorted(_EXPECTED))}."


def _mistake(words: str, given: dict[str, Any]) -> str:
    found = re.search(r"`\$\.(\w+)", words)
    key = found[1] if found else ""
    if key not in _EXPECTED:
        return words
    got = "" if key == "env" else f", not {given[key]!r}"  # an environment may hold secrets
    return f"`{key}`: expected {_EXPECTED[key]}{got}."
