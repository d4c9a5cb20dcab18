"""Pure: how a turn really ended, from its result and from what it showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from claude_agent_sdk import ResultMessage
from msgspec import Struct
from msgspec.structs import replace

from hub import Completed, Ending, Failed, Interrupted, Usage
from turnhub_sdk.texts import clean

_HINTS: Final[Mapping[str, str]] = {
    "rate_limit": "Wait a while, then try again.",
    "billing_error": "Mend the account's billing, then try again.",
    "model_not_found": "Correct `model` in the agent's configuration.",
}
_KINDS: Final[Mapping[int, str]] = {402: "billing_error"}  # which Claude Code tells as unknown
_FORBIDDEN: Final = "The login that Claude Code has may not do this: use another one, or have it allowed."
_UNFINISHED: Final = "The model paused in the middle of its answer. What came is kept; try again."
_STOPPED: Final = "A hook of the agent's settings stopped the turn. Change the hook, or what is asked for."
_TOO_LONG: Final = "Begin a new session, or send `/compact` as a command (`literal`: false)."


class Shown(Struct, frozen=True, kw_only=True):
    """What a turn showed: whether it spoke or reasoned since its last tool; whether the model's last message
    broke off; the kind and the words of the last error that the agent told; with which words a hook of the agent's
    settings ``refused`` the message."""

    spoke: bool = False
    reasoned: bool = False
    broken: bool = False
    error: str | None = None
    words: str | None = None
    refused: str | None = None


def usage_of(result: ResultMessage) -> Usage | None:
    """The tokens of a turn."""
    told: dict[str, Any] = result.usage or {}
    if not told:
        return None
    return Usage(
        input_tokens=told.get("input_tokens"),
        output_tokens=told.get("output_tokens"),
        cache_read_tokens=told.get("cache_read_input_tokens"),
        cache_creation_tokens=told.get("cache_creation_input_tokens"),
    )


def cost_of(result: ResultMessage, spent_before: float | None) -> float | None:
    """What a turn cost: results tell sums over the whole session, so it is a difference. US dollars; None where
    it is not known: no sum, none before, or a smaller one, which began anew."""
    total = result.total_cost_usd
    if total is None or spent_before is None or total < spent_before:
        return None
    return round(total - spent_before, 9)


def ending_of(result: ResultMessage, shown: Shown, login: str, spent_before: float | None = 0.0) -> Ending:
    """The ending that a result means. ``login`` is the sentence that says how to log in."""
    usage, cost = usage_of(result), cost_of(result, spent_before)
    if (result.terminal_reason or "").startswith("aborted"):
        return Interrupted(usage=usage, cost_usd=cost)
    failed = _failure(result, shown, login)
    if failed is not None:
        return replace(failed, usage=usage, cost_usd=cost)
    return Completed(stop_reason=result.stop_reason or "end_turn", usage=usage, cost_usd=cost)


def whole(endings: Sequence[Ending]) -> Ending:
    """The ending of a turn in which the agent came to an end several times: the first failure sticks, else the
    last one counts; its usage is all of it, its cost the last one's, which is a sum already."""
    found = next((one for one in endings if isinstance(one, Failed)), endings[-1])
    told = [one.usage for one in endings if one.usage is not None]
    return replace(found, usage=_sum(told), cost_usd=endings[-1].cost_usd)


def _sum(told: Sequence[Usage]) -> Usage | None:
    if not told:
        return None
    names = Usage.__struct_fields__
    columns = {name: [n for one in told if (n := getattr(one, name)) is not None] for name in names}
    return Usage(**{name: sum(numbers) if numbers else None for name, numbers in columns.items()})


def _failure(result: ResultMessage, shown: Shown, login: str) -> Failed | None:
    return _refusal(result, shown, login) or _reported(result, shown, login) or _blank(shown)


def _refusal(result: ResultMessage, shown: Shown, login: str) -> Failed | None:
    """What somebody does not want: to say the same again is of no use."""
    if shown.refused is not None:
        refused = f"A hook of the agent's settings refused the message: {shown.refused}"
        return Failed(code="agent_error", message=_sentence(refused), retryable=False)
    if result.terminal_reason == "hook_stopped":
        return Failed(code="agent_error", message=_STOPPED, retryable=False)
    if result.stop_reason == "refusal":  # the same words are refused again
        return replace(failure(shown, words_of(result, shown), None, None, login), retryable=False)
    return None


def _reported(result: ResultMessage, shown: Shown, login: str) -> Failed | None:
    if result.is_error or result.subtype != "success" or shown.error is not None:
        return failure(shown, words_of(result, shown), result.api_error_status, result.terminal_reason, login)
    if result.stop_reason == "max_tokens":
        return Failed(code="token_cap")
    if result.stop_reason == "pause_turn":
        return Failed(code="incomplete", message=_UNFINISHED)
    return None


def _blank(shown: Shown) -> Failed | None:
    if shown.spoke:
        return None
    return Failed(code="reasoning_only" if shown.reasoned else "empty_response")


def words_of(result: ResultMessage, shown: Shown) -> str:
    """The agent's own words about its failure."""
    told = "; ".join(error for error in result.errors or () if not error.startswith("[ede_diagnostic]"))
    return clean(shown.words or result.result or told or result.subtype.replace("_", " "))


def failure(shown: Shown, words: str, status: int | None, reason: str | None, login: str) -> Failed:
    """The failure that an error of the agent means. ``status``: the API's HTTP status, where it gave one."""
    if shown.error == "authentication_failed":
        hint = _FORBIDDEN if status == 403 else login
        return Failed(code="agent_unavailable", message=f"{_sentence(words)} {hint}")
    if shown.error == "max_output_tokens":
        return Failed(code="token_cap", message=words)
    if shown.broken and status is None:
        return Failed(code="incomplete", message=f"The answer was cut off before its end. {words}")
    if reason == "prompt_too_long":
        return Failed(code="agent_error", message=f"{_sentence(words)} {_TOO_LONG}", retryable=False)
    hint = _HINTS.get(_KINDS.get(status or 0, shown.error or ""), "")
    return Failed(code="agent_error", message=f"{_sentence(words)} {hint}" if hint else words)


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?")) else f"{words}."
