"""Pure: an ask's states, what a valid answer is, and which asks are one.

``open -> settled(by, decision) -> delivered -> closed``, or ``open -> withdrawn(reason)``. An ask that was
delivered is closed when its turn ends; a settled one whose turn ends before the agent took it stays visible
as settled, never delivered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field

from hub import forms
from hub.errors import Invalid
from hub.events import Ask, AskKind, AskSettled, By, Decision, Question, Refusal, Scope, to_json
from hub.misfits import misfit

R = TypeVar("R", bound=Struct)
AskState = Literal["open", "settled", "delivered", "closed", "withdrawn"]


class AskRequest(Struct, frozen=True, kw_only=True):
    """What a transport asks for. ``tool_id`` is the tool call it is about, where there is one; ``source``: who
    saw it (``sdk``, ``hook``, ``transcript``, ``pane``, or a plugin's own word); ``refuses``: which answers cannot
    be conveyed."""

    kind: AskKind
    tool: str
    subject: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    danger: str | None = None
    rationale: str | None = None
    source: str = "sdk"
    tool_id: str | None = None
    refuses: tuple[Refusal, ...] = ()


class Settlement(Struct, frozen=True, kw_only=True):
    """The answer to an ask: a decision for a permission; answers or one response for a question."""

    by: By
    decision: Decision | None = None
    scope: Scope | None = None
    message: str | None = None
    input: dict[str, Any] | None = None
    answers: dict[str, str] | None = None
    response: str | None = None


class Answered(Struct, frozen=True, kw_only=True):
    """What the transport gets from ``turn.ask()``: the settlement of ask ``ask_id``. The transport calls
    ``turn.ask_delivered(ask_id)`` when the agent took it."""

    ask_id: str
    settlement: Settlement


class WithdrawnAsk(Struct, frozen=True, kw_only=True):
    """What the transport gets from ``turn.ask()`` when nobody may answer any more; ``reason`` says why."""

    ask_id: str
    reason: str


Answer: TypeAlias = Answered | WithdrawnAsk


class AskRecord(Struct, frozen=True, kw_only=True):
    """An ask as it is shown over HTTP: what was asked, where it stands, who did what when (RFC 3339). What was
    proposed is ``ask.input``, what was decided ``settlement.input``, and ``effective`` the input with which the
    call runs in fact, where the agent tells."""

    id: str
    session_id: str
    turn_id: str
    state: AskState
    ask: Ask
    opened_at: str
    settlement: Settlement | None = None
    settled_at: str | None = None
    delivered_at: str | None = None
    effective: dict[str, Any] | None = None
    reason: str | None = None


class Grant(Struct, frozen=True, kw_only=True):
    """Standing consent of a session to one literal call: ``tool`` with ``subject`` (None: whatever it is about, as
    only the configuration says). ``ask_id``: the ask in which it was given, None where the agent's configuration
    gave it; ``at`` is RFC 3339."""

    id: str
    tool: str
    subject: str | None
    ask_id: str | None
    by: By
    at: str


class PermissionReply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an answer to a permission."""

    decision: Decision
    scope: Scope = "once"
    message: str | None = None
    input: dict[str, Any] | None = None


class QuestionReply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of an answer to a question: ``answers`` by exact question text (a list of labels for
    multi-select is joined; null skips the question, and the agent is told so), or one ``response`` that answers
    no single question. Never both."""

    answers: dict[str, str | list[str] | None] | None = None
    response: str | None = None


def coalescing_key(request: AskRequest) -> str:
    """What makes two asks of one session the same decision: kind, tool and subject."""
    return "\0".join((request.kind, request.tool, request.subject))


def identical_key(request: AskRequest) -> str:
    """What makes two asks the very same call: their input too (SHA-256, hex)."""
    call = [request.kind, request.tool, request.subject, request.input]
    return hashlib.sha256(json.dumps(call, sort_keys=True).encode()).hexdigest()


SKIPPED: Final = "(skipped: no answer to this one)"
"""What the agent is told of a question that a person skipped."""
ELICITATION: Final = "Elicitation"
"""The tool of an ask in which a server of the agent (MCP) has a form filled in."""
_UNFILLED: Final = ("decline", "cancel")
_GRANT_DIGITS: Final = 32
_TRUST: Final = ("sdk", "hook", "transcript", "pane")
_MISSING: Final = ("subject", "input", "questions", "danger", "rationale", "tool_id")


def same_request(one: AskRequest, other: AskRequest) -> bool:
    """Whether two sources ask the same: about the same tool call; where not both name one, by kind, tool and
    subject."""
    if one.tool_id is not None and other.tool_id is not None:
        return one.tool_id == other.tool_id
    return coalescing_key(one) == coalescing_key(other)


def merged(requests: Iterable[AskRequest]) -> tuple[AskRequest, ...]:
    """Requests of several sources, each once, in order of how far its source can be trusted: the agent itself,
    its transcript, its screen, others. The most trusted word holds; a less trusted one only fills in what that one
    leaves empty."""
    found: list[AskRequest] = []
    for request in sorted(requests, key=_distrust):
        place = next((n for n, one in enumerate(found) if same_request(one, request)), None)
        if place is None:
            found.append(request)
        else:
            found[place] = _filled(found[place], request)
    return tuple(found)


def _distrust(request: AskRequest) -> int:
    return _TRUST.index(request.source) if request.source in _TRUST else len(_TRUST)


def _filled(one: AskRequest, other: AskRequest) -> AskRequest:
    missing = {name: getattr(other, name) for name in _MISSING if not getattr(one, name) and getattr(other, name)}
    return msgspec.structs.replace(one, **missing)


def grant_id(tool: str, subject: str | None) -> str:
    """The id of a session's grant of this tool with this literal subject, never a pattern: the same call has the
    same."""
    return f"grt_{hashlib.sha256(to_json([tool, subject])).hexdigest()[:_GRANT_DIGITS]}"


def grant_of(tool: str, subject: str | None, *, ask_id: str | None, by: By, at: str) -> Grant:
    """The grant of this call."""
    return Grant(id=grant_id(tool, subject), tool=tool, subject=subject, ask_id=ask_id, by=by, at=at)


def settle(ask: Ask, reply: Mapping[str, Any], by: By) -> Settlement:
    """The settlement that ``reply`` (a decoded JSON object) makes of ``ask``.

    Raises Invalid with a sentence that names what is wrong; the ask is open still.
    """
    if "answer" in ask.refuses:
        raise Invalid("This can only be answered where the agent itself asks, in its terminal.")
    if ask.kind == "permission":
        return _permission(ask, _reply(reply, PermissionReply, ask), by)
    return _question(ask, _reply(reply, QuestionReply, ask), by)


def _reply(reply: Mapping[str, Any], kind: type[R], ask: Ask) -> R:
    try:
        return msgspec.convert(reply, kind)
    except msgspec.ValidationError as error:
        field, why = misfit(error, kind)
        told = {"field": field} if field else {}
        raise Invalid(f"This answer does not fit the {ask.kind} it answers: {why}.", **told) from None


def _permission(ask: Ask, reply: PermissionReply, by: By) -> Settlement:
    if reply.decision == "deny" and reply.input is not None:
        raise Invalid("`input` goes with decision `allow`: a denied call has none.")
    if reply.decision == "deny" and reply.scope == "session":
        raise Invalid("A denial holds once: leave `scope` out.")
    if reply.input is not None and "input" in ask.refuses:
        raise Invalid(
            "Where the agent asks this, its call can be allowed as it is, not changed: leave `input` out."
        )
    _conveyable(ask, reply.message, "`message`")
    if reply.decision == "deny" and reply.message and "message" in ask.refuses:
        raise Invalid("Where the agent asks this, a denial takes no words: leave `message` out.")
    return Settlement(by=by, decision=reply.decision, scope=reply.scope, message=reply.message, input=reply.input)


def _question(ask: Ask, reply: QuestionReply, by: By) -> Settlement:
    if (reply.answers is None) == (reply.response is None):
        raise Invalid("Send either `answers` or `response`, and not both.")
    if reply.answers is not None and not ask.questions:
        raise Invalid("This question has no parts to answer one by one: send `response`.")
    if reply.response is not None:
        if not reply.response.strip():
            raise Invalid("`response` is empty.")
        if ask.tool == ELICITATION and reply.response.strip().casefold() not in _UNFILLED:
            raise Invalid("A form takes an answer to each field, or one of the responses `decline` and `cancel`.")
        if "response" in ask.refuses:
            raise Invalid("Where the agent asks this, each question wants its own answer: send `answers`.")
        for question in ask.questions:
            _own_words(ask, question, reply.response)
        return Settlement(by=by, response=reply.response)
    given = dict(reply.answers or {})
    wanted = [question.question for question in ask.questions]
    if unknown := [key for key in given if key not in wanted]:
        raise Invalid(f"No such question: {unknown[0]!r}. The questions are: {', '.join(map(repr, wanted))}.")
    answers = {question.question: _answer(ask, question, given) for question in ask.questions}
    if ask.tool == ELICITATION:
        filled = {text: words for text, words in answers.items() if words != SKIPPED}
        forms.values_of(ask.input.get("message", ""), ask.input.get("schema", {}), filled)
    if all(text == SKIPPED for text in answers.values()):
        raise Invalid("All questions are skipped: answer one of them, or send `response`.")
    return Settlement(by=by, answers=answers)


def _answer(ask: Ask, question: Question, given: Mapping[str, str | list[str] | None]) -> str:
    """The words that answer one question."""
    words = given.get(question.question, [])
    text = SKIPPED if words is None else _joined(question, words)
    if text is None:
        raise Invalid(f"Every question wants an answer (null skips one); there is none for {question.question!r}.")
    _own_words(ask, question, text)
    return text


def _own_words(ask: Ask, question: Question, text: str) -> None:
    """Raises Invalid where ``text`` is no option's and cannot be conveyed as words."""
    labels = {option.label.casefold() for option in question.options}
    parts = text.split(", ") if question.multi_select else [text]
    if text.casefold() in labels or all(part.casefold() in labels for part in parts):
        return
    if "words" in ask.refuses:
        offered = ", ".join(repr(option.label) for option in question.options)
        raise Invalid(f"Where the agent asks this, only one of its options can be taken: {offered}.")
    _conveyable(ask, text, f"The answer to {question.question!r}")


def _conveyable(ask: Ask, text: str | None, what: str) -> None:
    if text is not None and "lines" in ask.refuses and len(text.strip().splitlines()) > 1:
        raise Invalid(f"{what} has more than one line, which cannot be conveyed where the agent asks this.")


def _joined(question: Question, answer: str | list[str]) -> str | None:
    if isinstance(answer, str):
        return answer if answer.strip() else None
    if len(answer) > 1 and not question.multi_select:
        raise Invalid(f"{question.question!r} takes one answer, not {len(answer)}.")
    if not answer or not all(part.strip() for part in answer):
        return None
    return ", ".join(answer)


def settled_event(ask_id: str, settlement: Settlement) -> AskSettled:
    """The event that tells a settlement."""
    return AskSettled(
        ask_id=ask_id,
        by=settlement.by,
        decision=settlement.decision,
        scope=settlement.scope,
        message=settlement.message,
        input=settlement.input,
        answers=settlement.answers,
        response=settlement.response,
    )
