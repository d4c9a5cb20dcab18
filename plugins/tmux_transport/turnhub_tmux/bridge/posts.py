"""Pure: the body of a hook's post -> what it says. Unknown events and fields are passed over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from hub import ELICITATION, Question
from turnhub_tmux.bridge.facts import (
    BatchDone,
    Displayed,
    Elicited,
    Fact,
    Notified,
    PermissionAsked,
    PromptSubmitted,
    SessionOver,
    StopFailed,
    Stopped,
    ToolDone,
    ToolFailed,
    ToolResult,
    ToolStarting,
)

Body = Mapping[str, Any]


class Post(Struct, frozen=True, kw_only=True):
    """One post. ``fact`` is None where the event is none that matters here."""

    event: str
    agent_session: str
    transcript_path: str
    cwd: str
    prompt_id: str | None
    fact: Fact | None


def read(body: bytes, post_id: str = "") -> Post | None:
    """What a post says; None where it is no hook's post. ``post_id`` becomes the id of an ask in it."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    if not isinstance(found, dict):
        return None
    event, session = _text(found, "hook_event_name"), _text(found, "session_id")
    if not event or not session:
        return None
    maker = _MAKERS.get(event)
    fact = None if maker is None else maker(found)
    if isinstance(fact, PermissionAsked):
        fact = msgspec.structs.replace(fact, ask_id=post_id)
    prompt_id = _text(found, "prompt_id") or None
    if fact is not None:
        agent = _text(found, "agent_id") or None
        fact = msgspec.structs.replace(fact, agent_session=session, prompt_id=prompt_id, agent=agent)
    return Post(
        event=event,
        agent_session=session,
        transcript_path=_text(found, "transcript_path"),
        cwd=_text(found, "cwd"),
        prompt_id=prompt_id,
        fact=fact,
    )


def questions_of(given: Body) -> tuple[Question, ...]:
    """The questions of AskUserQuestion; none where they are malformed, which the tool itself refuses."""
    try:
        return msgspec.convert(given.get("questions", ()), tuple[Question, ...], strict=False)
    except msgspec.ValidationError:
        return ()


def _prompt(body: Body) -> Fact | None:
    prompt = body.get("prompt")
    return PromptSubmitted(prompt=prompt) if isinstance(prompt, str) else None


def _displayed(body: Body) -> Fact | None:
    message, index, delta = _text(body, "message_id"), body.get("index"), body.get("delta")
    if not message or not isinstance(index, int) or index < 0 or not isinstance(delta, str):
        return None
    return Displayed(
        turn=_text(body, "turn_id"),
        message_id=message,
        index=index,
        final=body.get("final") is True,
        delta=delta,
    )


def _starting(body: Body) -> Fact | None:
    call = _call(body)
    return None if call is None else ToolStarting(**call)


def _done(body: Body) -> Fact | None:
    call = _call(body)
    if call is None:
        return None
    return ToolDone(**call, output=body.get("tool_response"), duration_ms=_number(body, "duration_ms"))


def _failed(body: Body) -> Fact | None:
    call = _call(body)
    if call is None:
        return None
    return ToolFailed(
        **call,
        error=_text(body, "error"),
        interrupted=body.get("is_interrupt") is True,
        duration_ms=_number(body, "duration_ms"),
    )


def _batch(body: Body) -> Fact | None:
    calls = body.get("tool_calls")
    results = [
        ToolResult(
            tool_use_id=_text(call, "tool_use_id"), name=_text(call, "tool_name"), output=call.get("tool_response")
        )
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict) and _text(call, "tool_use_id")
    ]
    return BatchDone(results=tuple(results)) if results else None


def _asked(body: Body) -> Fact | None:
    tool = _text(body, "tool_name")
    if not tool:
        return None
    given = _object(body, "tool_input")
    suggestions = body.get("permission_suggestions")
    return PermissionAsked(
        ask_id="",
        tool=tool,
        input=given,
        questions=questions_of(given) if tool == "AskUserQuestion" else (),
        suggestions=tuple(s for s in suggestions if isinstance(s, dict)) if isinstance(suggestions, list) else (),
        tool_use_id=_text(body, "tool_use_id") or None,
    )


def _elicitation(body: Body) -> Fact | None:
    """An MCP server asks: the form is its input."""
    server = _text(body, "mcp_server_name")
    given: dict[str, Any] = {
        "server": server,
        "message": _text(body, "message"),
        "url": _text(body, "url") or None,
    }
    given["schema"] = _object(body, "requested_schema")
    return PermissionAsked(ask_id="", tool=ELICITATION, input=given) if server else None


def _elicited(body: Body) -> Fact | None:
    server, action = _text(body, "mcp_server_name"), _text(body, "action")
    return Elicited(server=server, action=action, content=_object(body, "content")) if server and action else None


def _stopped(body: Body) -> Fact:
    return Stopped(last_message=_text(body, "last_assistant_message"))


def _stop_failed(body: Body) -> Fact:
    return StopFailed(
        error=_text(body, "error"),
        detail=_text(body, "error_details"),
        last_message=_text(body, "last_assistant_message"),
    )


def _notified(body: Body) -> Fact:
    return Notified(kind=_text(body, "notification_type"), message=_text(body, "message"))


def _over(body: Body) -> Fact:
    return SessionOver(reason=_text(body, "reason"))


_MAKERS: Final[Mapping[str, Callable[[Body], Fact | None]]] = {
    "UserPromptSubmit": _prompt,
    "MessageDisplay": _displayed,
    "PreToolUse": _starting,
    "PostToolUse": _done,
    "PostToolUseFailure": _failed,
    "PostToolBatch": _batch,
    "PermissionRequest": _asked,
    "Elicitation": _elicitation,
    "ElicitationResult": _elicited,
    "Stop": _stopped,
    "StopFailure": _stop_failed,
    "Notification": _notified,
    "SessionEnd": _over,
}
EVENTS: Final = tuple(_MAKERS)
"""The hooks that tell something, by the agent's names for them."""


def _call(body: Body) -> dict[str, Any] | None:
    tool_use_id, name = _text(body, "tool_use_id"), _text(body, "tool_name")
    if not tool_use_id or not name:
        return None
    return {"tool_use_id": tool_use_id, "name": name, "input": _object(body, "tool_input")}


def _text(body: Body, key: str) -> str:
    found = body.get(key)
    return found if isinstance(found, str) else ""


def _number(body: Body, key: str) -> int | None:
    found = body.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _object(body: Body, key: str) -> dict[str, Any]:
    found = body.get(key)
    return found if isinstance(found, dict) else {}
