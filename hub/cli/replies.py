"""Pure: what a person types, or gives as options, as the reply to an ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from hub.events import Ask, Question

Reply = dict[str, Any]
PERMISSION_HINT = "[a]llow once, allow for the [s]ession, [d]eny (d WORDS says why)"


class Unclear(Exception):
    """What was typed is no answer; the text says what would be one."""


def permission(typed: str) -> Reply:
    """The reply that ``typed`` is to a permission. Raises Unclear."""
    word, _, rest = typed.strip().partition(" ")
    match word.lower():
        case "a" | "allow" | "y" | "yes" if not rest:
            return {"decision": "allow"}
        case "s" | "session" if not rest:
            return {"decision": "allow", "scope": "session"}
        case "d" | "deny" | "n" | "no":
            return {"decision": "deny", "message": rest.strip()} if rest.strip() else {"decision": "deny"}
    raise Unclear(f"Type one of: {PERMISSION_HINT}.")


def choice(question: Question, typed: str) -> str | list[str]:
    """The answer that ``typed`` is to ``question``: option numbers (several where it takes several), or words
    of one's own. Raises Unclear."""
    words = typed.strip()
    numbers = [part.strip() for part in words.split(",")]
    if not words:
        raise Unclear("Type a number, or an answer in your own words.")
    if not question.options or not all(part.isascii() and part.isdigit() for part in numbers):
        return words
    labels = [_label(question, int(part)) for part in numbers]
    if len(labels) == 1:
        return labels[0]
    if not question.multi_select:
        raise Unclear("Only one option can be chosen here.")
    return labels


def _label(question: Question, number: int) -> str:
    if not 1 <= number <= len(question.options):
        raise Unclear(f"There is no option {number}; there are 1 to {len(question.options)}.")
    return question.options[number - 1].label


def from_options(
    ask: Ask,
    *,
    decision: str | None,
    scope: str | None = None,
    message: str | None = None,
    input_json: str | None = None,
    text: str | None = None,
    choose: Sequence[str] = (),
) -> Reply:
    """The reply that command line options are to ``ask``. Raises Unclear where they do not fit it."""
    if ask.kind == "permission":
        if decision is None or text is not None or choose:
            raise Unclear("This is a permission: answer it with --allow or --deny.")
        return _decision(decision, scope, message, input_json)
    if decision is not None or scope or message or input_json:
        raise Unclear("This is a question: answer it with --choose or --text.")
    if (text is None) == (not choose):
        raise Unclear("Answer with either --text or --choose.")
    if text is not None:
        return {"answers": {ask.questions[0].question: text}} if len(ask.questions) == 1 else {"response": text}
    return {"answers": _choices(ask.questions, choose)}


def _decision(decision: str, scope: str | None, message: str | None, input_json: str | None) -> Reply:
    reply: Reply = {"decision": decision}
    if scope:
        reply["scope"] = scope
    if message:
        reply["message"] = message
    if input_json is not None:
        try:
            reply["input"] = msgspec.json.decode(input_json, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise Unclear(f"--input wants a JSON object ({error}).") from None
    return reply


def _choices(questions: Sequence[Question], choose: Sequence[str]) -> dict[str, str | list[str]]:
    if len(questions) == 1:
        return {questions[0].question: choice(questions[0], ",".join(choose))}
    answers: dict[str, str | list[str]] = {}
    for one in choose:
        number, found, typed = one.partition("=")
        if not (found and number.isascii() and number.isdigit() and 1 <= int(number) <= len(questions)):
            raise Unclear(f"There are {len(questions)} questions: answer each with --choose NUMBER=CHOICE.")
        question = questions[int(number) - 1]
        answers[question.question] = choice(question, typed)
    return answers
