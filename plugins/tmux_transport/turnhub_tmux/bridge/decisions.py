"""Pure: an answer to a permission or a question, as the agent's hook takes it, and whether it was taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct, field

from turnhub_tmux.bridge.facts import AskOver, PermissionAsked

NO_OPINION: Final = b""
"""The response that leaves it to the dialog."""


class Allow(Struct, frozen=True, kw_only=True):
    """Let the tool run; with ``input`` instead of its own, where that is given. ``mode``: how the agent asks for
    permissions from then on, where this call would change that. ``same``: ``input`` is the call's own, which some
    tools want said."""

    input: dict[str, Any] | None = None
    mode: str | None = None
    same: bool = False


class Deny(Struct, frozen=True, kw_only=True):
    """Do not let it run; the model is told ``message``."""

    message: str


class Fill(Struct, frozen=True, kw_only=True):
    """What an MCP server is told that asked: ``accept`` with the ``content`` of its form, ``decline``, or
    ``cancel``."""

    action: str
    content: dict[str, Any] = field(default_factory=dict)


Decision: TypeAlias = Allow | Deny | Fill


def answered(asked: PermissionAsked, answers: Mapping[str, str]) -> Allow:
    """The answers to an agent's questions, by the exact text of each question; free words are fine."""
    return Allow(input={"questions": asked.input.get("questions", []), "answers": dict(answers)})


def respond(decision: Decision) -> bytes:
    """The body of the response that settles the dialog.

    Half a surrogate pair, which no JSON can carry, becomes U+FFFD.
    """
    if isinstance(decision, Fill):
        filled = {"hookEventName": "Elicitation", "action": decision.action, "content": decision.content}
        return msgspec.json.encode(_sound({"hookSpecificOutput": filled}))
    behaviour: dict[str, Any] = (
        {"behavior": "deny", "message": decision.message}
        if isinstance(decision, Deny)
        else {"behavior": "allow"}
        | ({} if decision.input is None else {"updatedInput": decision.input})
        | ({} if decision.mode is None else {"updatedPermissions": [_in_mode(decision.mode)]})
    )
    said = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": behaviour}}
    return msgspec.json.encode(_sound(said))


def _in_mode(mode: str) -> dict[str, str]:
    return {"type": "setMode", "mode": mode, "destination": "session"}


def took(decision: Decision, over: AskOver) -> bool | None:
    """Whether the agent took this decision, as the end of the ask tells. False: somebody else's came first.
    None: it does not tell."""
    if isinstance(decision, Fill):
        return _filled(decision, over)
    if isinstance(decision, Deny):
        if over.ran:
            return False
        words = over.output if over.sign == "batch" and isinstance(over.output, str) else ""
        return True if words.strip() and words.strip() == _sound(decision.message).strip() else None
    if not over.ran:
        return None
    wanted, ran_with = {} if decision.same else _sound(decision.input or {}), over.input or {}
    return all(ran_with.get(name) == value for name, value in wanted.items())


def _filled(decision: Fill, over: AskOver) -> bool | None:
    if not isinstance(over.output, dict):  # nobody else can have answered while the hook was held
        return True if over.sign == "tool" else None
    content = over.output.get("content") if decision.action != "accept" else _sound(decision.content)
    return bool(over.output == {"action": decision.action, "content": content})


def _sound(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_sound(key): _sound(item) for key, item in value.items()}
        case list() | tuple():
            return [_sound(item) for item in value]
        case _:
            return value
