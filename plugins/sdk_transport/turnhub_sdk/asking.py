"""Pure: Claude Code's requests as asks of the hub, and the hub's answers as Claude Code takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec
from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

from hub import Answer, AskRequest, Question, Settlement, WithdrawnAsk, elicited
from turnhub_sdk.texts import clean, clean_all

QUESTION: Final = "AskUserQuestion"
Result: TypeAlias = PermissionResultAllow | PermissionResultDeny

NO_TURN: Final = "Nobody can be asked now: no turn is running. Do not do this; stop here."
UNABLE: Final = "No answer could be had. Take this as a no; do not try it another way."
_DENIED: Final = "The person said no. Do not try it another way; ask what they want instead."
_UNANSWERED: Final = "Nobody answered. Do not guess an answer: say what you would need to know, and stop."
_SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "Bash": ("command",),
    "Read": ("file_path",),
    "Write": ("file_path",),
    "Edit": ("file_path",),
    "NotebookEdit": ("notebook_path",),
    "WebFetch": ("url",),
    "WebSearch": ("query",),
    "Skill": ("skill", "command"),
}


def request_of(tool: str, given: dict[str, Any], context: ToolPermissionContext) -> AskRequest:
    """The ask that a call of ``can_use_tool`` makes."""
    given = clean_all(given)
    if tool == QUESTION:
        return AskRequest(
            kind="question",
            tool=tool,
            subject=" ".join(question.question for question in questions_of(given)),
            input=given,
            questions=questions_of(given),
            tool_id=context.tool_use_id,
        )
    return AskRequest(
        kind="permission",
        tool=tool,
        subject=subject_of(tool, given),
        input=given,
        rationale=_rationale(given, context),
        tool_id=context.tool_use_id,
    )


def elicitation_of(given: Mapping[str, Any]) -> AskRequest:
    """The ask that Claude Code's request ``elicitation`` makes. Its form is shown in the order of its server."""
    given = clean_all(dict(given))
    schema = given.get("requested_schema")
    schema = dict(schema) if isinstance(schema, Mapping) else {}
    fields, order = schema.get("properties"), given.get("property_order")
    if isinstance(fields, Mapping) and isinstance(order, list):
        known = [name for name in order if name in fields]
        schema["properties"] = {name: fields[name] for name in dict.fromkeys([*known, *fields])}
    return elicited(
        str(given.get("mcp_server_name") or ""),
        str(given.get("message") or ""),
        schema,
        source="sdk",
        url=given.get("url") if isinstance(given.get("url"), str) else None,
    )


def subject_of(tool: str, given: Mapping[str, Any]) -> str:
    """What a permission is about. Where that is not known it is the whole input: a consent to one call of an
    unknown tool must not be one to all."""
    for key in _SUBJECTS.get(tool, ()):
        if isinstance(given.get(key), str):
            return str(given[key])
    return json.dumps(given, sort_keys=True, ensure_ascii=False) if given else ""


def _rationale(given: Mapping[str, Any], context: ToolPermissionContext) -> str | None:
    told = context.decision_reason, given.get("description"), context.title
    return next((clean(text) for text in told if isinstance(text, str) and text), None)


def questions_of(given: Mapping[str, Any]) -> tuple[Question, ...]:
    """The questions of AskUserQuestion. What is malformed is left out: the tool itself will refuse it."""
    try:
        return msgspec.convert(given.get("questions", ()), tuple[Question, ...], strict=False)
    except msgspec.ValidationError:
        return ()


def result_of(request: AskRequest, original: dict[str, Any], answer: Answer) -> Result:
    """What Claude Code is told. ``original``: the input as it came. Never an empty refusal, never a question
    without an answer."""
    if isinstance(answer, WithdrawnAsk):
        return PermissionResultDeny(message=f"{_reason(request)} ({answer.reason})")
    settlement = answer.settlement
    if request.kind == "question":
        return _answered(request, original, settlement)
    if settlement.decision == "allow":
        return PermissionResultAllow(updated_input=original if settlement.input is None else settlement.input)
    return PermissionResultDeny(message=_said(settlement) or _DENIED)


def _reason(request: AskRequest) -> str:
    return _UNANSWERED if request.kind == "question" else UNABLE


def _said(settlement: Settlement) -> str:
    return (settlement.message or "").strip()


def _answered(request: AskRequest, original: dict[str, Any], settlement: Settlement) -> Result:
    questions = original.get("questions", [])
    response = (settlement.response or "").strip()
    answers = settlement.answers or {}
    wanted = {question.question for question in request.questions}
    if answers and answers.keys() == wanted and all(text.strip() for text in answers.values()):
        return PermissionResultAllow(updated_input={"questions": questions, "answers": answers})
    if response:
        return PermissionResultAllow(updated_input={"questions": questions, "response": response})
    return PermissionResultDeny(message=_said(settlement) or _UNANSWERED)
