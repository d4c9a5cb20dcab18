"""Where Claude Code is, and what can be told about it without starting it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from turnhub_sdk.options import Options

MINIMUM: Final = (2, 1, 248)
_INSTALL: Final = "Install it with `pip install claude-agent-sdk`, which brings it along, or set `cli_path`."
# Any of these can be how somebody is logged in: with one of them nothing can be said against the agent.
_CREDENTIALS: Final = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
    "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
)
_MANAGED: Final = Path("/etc/claude-code/managed-settings.json")


def bundled_cli() -> Path | None:
    """The executable that the SDK brings along, found without importing the SDK."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_bundled" / ("claude.exe" if sys.platform == "win32" else "claude")
    return path if path.is_file() else None


def find_cli(options: Options) -> str | None:
    """The executable that an agent runs: its ``cli_path``, else the SDK's own, else the one on PATH."""
    if options.cli_path is not None:
        return shutil.which(os.path.expanduser(options.cli_path))  # noqa: PTH111 - may be a bare name
    bundled = bundled_cli()
    return str(bundled) if bundled else shutil.which("claude")


def reason_against(options: Options) -> str | None:
    """Why the agent cannot run here, with what mends it; None when nothing speaks against it."""
    if importlib.util.find_spec("claude_agent_sdk") is None:
        return "The Claude Agent SDK is not installed. Install it with `pip install claude-agent-sdk`."
    cli = find_cli(options)
    if cli is None:
        if options.cli_path is not None:
            return f"There is no executable at `cli_path` = {options.cli_path!r}. Correct it or leave it out."
        return f"Claude Code is not installed. {_INSTALL}"
    if options.rehearsal or may_be_logged_in(options):
        return None
    return not_logged_in(options, cli)


def not_logged_in(options: Options, cli: str | None = None) -> str:
    """The sentence that says how to log in."""
    command = cli or find_cli(options) or "claude"
    if shutil.which("claude") == command:
        command = "claude"
    folder = f"CLAUDE_CONFIG_DIR={options.config_dir} " if options.config_dir else ""
    return (
        f"Claude Code is not logged in. Run `{folder}{command}` once in a terminal and type /login, "
        "or set ANTHROPIC_API_KEY."
    )


def may_be_logged_in(options: Options) -> bool:
    """Whether there is any trace of a login. False only where there certainly is none."""
    environment = {**os.environ, **options.env}
    if any(environment.get(name) for name in _CREDENTIALS) or sys.platform == "darwin":
        return True  # macOS keeps logins in the keychain, which is not ours to open
    return _MANAGED.exists() or _has_login(config_folder(options, environment))


def config_folder(options: Options, environment: Mapping[str, str]) -> Path:
    """The folder in which Claude Code keeps its configuration and its login."""
    told = options.config_dir or environment.get("CLAUDE_CONFIG_DIR")
    return Path(told).expanduser() if told else Path(environment.get("HOME") or Path.home()) / ".claude"


def _has_login(folder: Path) -> bool:
    # Where a login can be written down. A file that cannot be read may hold one.
    traces = (
        (folder / ".credentials.json", ("",)),
        (folder / "settings.json", ("apiKeyHelper", "ANTHROPIC_", "CLAUDE_CODE_")),
        (folder / ".claude.json", ("primaryApiKey",)),
        (folder.parent / ".claude.json", ("primaryApiKey",)),
    )
    return any(_mentions(path, words) for path, words in traces)


def _mentions(path: Path, words: tuple[str, ...]) -> bool:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        return any(word in text for word in words)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def too_old(version: str | None) -> bool:
    """Whether this Claude Code takes no prompts as plain words, which a literal message relies on."""
    numbers = tuple(int(part) for part in (version or "").split(".")[:3] if part.isdigit())
    return numbers < MINIMUM
