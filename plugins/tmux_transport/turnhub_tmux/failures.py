"""Pure: what went wrong with an agent's model, as the hub's failures, by the agent's own name for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hub import Failed

_LOGIN: Final = "Type /login in its terminal, or mend its key, then try again."
_TOO_LONG: Final = "Begin a new session, or send `/compact` as a command (`literal`: false)."
_HINTS: Final[Mapping[str, str]] = {
    "rate_limit": "Wait a while, then try again.",
    "billing_error": "Mend the account's billing, then try again.",
    "model_not_found": "Correct the model in the agent's configuration.",
}


def failure(kind: str, words: str) -> Failed:
    """The failure that an error means. ``kind``: the agent's name for it, "" where it gives none; ``words``: what
    it says of it. The names are those that Claude Code writes into its transcript and posts with its hook."""
    if kind == "authentication_failed":
        return Failed(code="agent_unavailable", message=f"{words.rstrip('.')}. {_LOGIN}")
    if kind == "max_output_tokens":
        return Failed(code="token_cap", message=words)
    hint = _TOO_LONG if words.lower().startswith("prompt is too long") else _HINTS.get(kind, "")
    return Failed(code="agent_error", message=f"{words} {hint}".strip())
