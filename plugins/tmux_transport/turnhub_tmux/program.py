"""Where an agent's program is, and the environment that it is started in."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from turnhub_tmux.options import Options

# What a hub that itself was started inside of an agent, or of tmux, has in its environment and no agent wants.
_INHERITED: Final = ("TMUX", "TMUX_PANE", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT")
_PROXIES: Final = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
_INSTALL: Final = "Install it, or `pip install claude-agent-sdk`, which brings it along, or correct `command`."


def bundled_cli() -> Path | None:
    """The Claude Code that comes with the SDK's wheel, found without importing the SDK."""
    spec = importlib.util.find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_bundled" / ("claude.exe" if sys.platform == "win32" else "claude")
    return path if path.is_file() else None


def environment(options: Options) -> dict[str, str]:
    """The whole environment of the agent: the hub's, without its secrets, and with the agent's own ``env``."""
    values = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TURNHUB_") and name not in _INHERITED
    }
    # The first of these that is set decides.
    says = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if values.get(name)), "LANG")
    if "UTF" not in values.get(says, "").upper():
        values[says] = "C.UTF-8"
    if any(values.get(name) for name in _PROXIES):  # the agent posts its hooks to this machine
        for name in ("NO_PROXY", "no_proxy"):
            values[name] = ",".join(filter(None, (values.get(name), "127.0.0.1", "localhost")))
    if options.config_dir is not None:
        values["CLAUDE_CONFIG_DIR"] = str(Path(options.config_dir).expanduser())
    return {**values, **options.env}


def executable(options: Options, env: Mapping[str, str] | None = None) -> str | None:
    """The program that ``command`` names; for ``claude`` the SDK's own where there is none in PATH."""
    name = options.argv[0]
    path = (environment(options) if env is None else env).get("PATH")
    found = shutil.which(os.path.expanduser(name), path=path)  # noqa: PTH111 - may be a bare name
    if found is None and name == "claude" and (bundled := bundled_cli()) is not None:
        return str(bundled)
    return found


def reason_against(options: Options) -> str | None:
    """Why the agent cannot run here, with what mends it; None when nothing speaks against it."""
    if shutil.which("tmux") is None:
        return "tmux is not installed, or not in PATH. Install it with your package manager, then try again."
    if options.target is not None or executable(options) is not None:
        return None
    name = options.argv[0]
    if name == "claude":
        return f"Claude Code is not installed. {_INSTALL}"
    return f"There is no program {name!r} in PATH. Install it, or correct `command`."
