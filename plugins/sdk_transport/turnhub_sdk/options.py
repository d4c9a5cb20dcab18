"""The keys of an agent's configuration that this transport understands, and what they have to be."""

from __future__ import annotations

import difflib
import re
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from hub import AgentInfo, ConfigError

Seconds = Annotated[float, Meta(gt=0)]
Source = Literal["user", "project", "local"]
PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]

# Tools whose work is over when the turn is over. Claude Code has more (schedules, worktrees, monitors), which
# would go on, or begin, when no turn is there to tell of them: `tools = "all"` takes those too.
TOOLS: Final = (
    "AskUserQuestion",
    "Bash",
    "Edit",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "NotebookEdit",
    "Read",
    "Skill",
    "Task",
    "TaskCreate",
    "TaskList",
    "TaskUpdate",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
)


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent's options. All are optional; durations are seconds.

    ``tools``: names, or "all". ``system_prompt`` stands instead of Claude Code's own, ``append_system_prompt``
    behind it. ``setting_sources``: whose settings files (with their hooks and permission rules) are believed;
    none by default. ``stall_s``: how long the agent may show no sign of life while no tool runs and nobody is
    asked. ``idle_s``: how long an idle agent process is kept. ``api_timeout_s`` and ``max_retries`` bound what
    the agent itself tries. ``mcp_config``: a file of MCP servers, as ``claude --mcp-config`` takes it.
    ``rehearsal``: talk to the scripted model that shows a person around.
    """

    model: Annotated[str, Meta(min_length=1)] | None = None
    tools: tuple[str, ...] | Literal["all"] = TOOLS
    env: dict[str, str] = field(default_factory=dict)
    setting_sources: tuple[Source, ...] = ()
    permission_mode: PermissionMode = "default"
    config_dir: Annotated[str, Meta(min_length=1)] | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    cli_path: Annotated[str, Meta(min_length=1)] | None = None
    mcp_config: Annotated[str, Meta(min_length=1)] | None = None
    rehearsal: bool = False
    stall_s: Seconds = 240.0
    idle_s: Seconds = 300.0
    connect_s: Seconds = 60.0
    api_timeout_s: Seconds = 120.0
    max_retries: Annotated[int, Meta(ge=0)] = 6


_TEXT: Final = "a text in quotes"
_DURATION: Final = "a number of seconds above 0"
_EXPECTED: Final[dict[str, str]] = {
    "model": "a model's name in quotes",
    "tools": 'a list of tool names, or "all"',
    "env": "a table of texts",
    "setting_sources": 'a list with any of "user", "project", "local"',
    "permission_mode": '"default", "acceptEdits", "plan", "bypassPermissions", "dontAsk" or "auto"',
    "config_dir": "a folder in quotes",
    "system_prompt": _TEXT,
    "append_system_prompt": _TEXT,
    "cli_path": "the path of a Claude Code executable in quotes",
    "mcp_config": "the path of a JSON file with MCP servers, in quotes",
    "rehearsal": "true or false",
    "stall_s": _DURATION,
    "idle_s": _DURATION,
    "connect_s": _DURATION,
    "api_timeout_s": _DURATION,
    "max_retries": "a whole number, 0 or more",
}


def options_of(agent: AgentInfo) -> Options:
    """The agent's options. Raises ConfigError, naming the key and what was expected, where they are wrong."""
    where = f"[agents.{agent.name}]"
    given = dict(agent.options)
    for key in given:
        if key not in _EXPECTED:
            raise ConfigError(f"{where} `{key}`: the transport `sdk` has no such key.{_meant(key)}")
    try:
        options = msgspec.convert(given, Options)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where} {_mistake(str(error), given)}") from None
    if options.system_prompt is not None and options.append_system_prompt is not None:
        raise ConfigError(f"{where} `append_system_prompt`: expected only without `system_prompt`.")
    return options


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
