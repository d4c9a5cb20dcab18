"""The environment that Claude Code is started in."""

from __future__ import annotations

import os
from pathlib import Path

from turnhub_sdk.options import Options


def agent_environment(options: Options) -> dict[str, str]:
    """The variables set on top of the hub's own environment; the agent's ``env`` has the last word.

    An empty value stands for taking a variable away: the SDK can only add to what the hub itself has.
    """
    values = {
        # The hub's own secrets are not the agent's: with the token it could approve its own asks.
        **{name: "" for name in os.environ if name.startswith("TURNHUB_")},
        "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
        # What a turn begins, it ends: nothing goes on where no turn is there to tell of it.
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_DISABLE_CRON": "1",
        # A failing model is the hub's to tell, within known bounds.
        "CLAUDE_CODE_MAX_RETRIES": str(options.max_retries),
        "API_TIMEOUT_MS": str(round(options.api_timeout_s * 1000)),
        "DISABLE_AUTOUPDATER": "1",
    }
    if options.config_dir is not None:
        values["CLAUDE_CONFIG_DIR"] = str(Path(options.config_dir).expanduser())
    return {**values, **options.env}


def rehearsal_environment(offline: dict[str, str]) -> dict[str, str]:
    """What the rehearsal adds: the scripted model, and no trace of the person's own account or proxies."""
    own = ("ANTHROPIC_", "CLAUDE_", "AWS_", "GOOGLE_", "VERTEX_")
    proxies = ("http_proxy", "https_proxy", "all_proxy")
    blank = {name: "" for name in os.environ if name.startswith(own) or name.lower() in proxies}
    return {**blank, **offline, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
