"""The environment in which the real Claude Code talks to a scripted model, and to nobody else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

API_KEY: Final = "sk-ant-scripted-model-no-real-key"


def claude_environment(model_url: str, home: Path, *, key: str = API_KEY) -> dict[str, str]:
    """The environment in which Claude Code runs offline against the model at ``model_url``.

    ``home`` (made, 0700) becomes its HOME and, in ``home/.claude``, its configuration, with the onboarding
    done, so that it asks nothing and calls nobody but the model. Its runtime collects garbage when there is
    need, not by the clock, and compiles for a short life, which saves work. What it leaves behind in a folder for
    temporary files is in ``home/tmp``. Give the variables
    to the agent beside an otherwise empty environment, or as the option ``env`` of an agent.
    """
    config = home / ".claude"
    temporary = home / "tmp"
    for folder in (home, config, temporary):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
    settled = config / ".claude.json"
    if not settled.exists():
        settled.touch(mode=0o600)
        settled.write_text(json.dumps(_onboarded(key)), encoding="utf-8")
    return {
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": key,
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(config),
        "CLAUDE_CODE_TMPDIR": str(temporary),
        "TMPDIR": str(temporary),
        **dict.fromkeys(_QUIET, "1"),
        **_THRIFTY,
        "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
        "LANG": "C.UTF-8",
    }


_QUIET: Final[Sequence[str]] = (
    "DISABLE_AUTOUPDATER",
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
)
# Of Bun, in which it runs: measured on starts and turns, most is saved by the timer.
_THRIFTY: Final[Mapping[str, str]] = {"BUN_GC_TIMER_DISABLE": "1", "BUN_JSC_useFTLJIT": "0"}


def _onboarded(key: str) -> dict[str, object]:
    return {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
    }
