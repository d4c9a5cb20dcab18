"""Pure: a form that an agent's server wants filled in (a flat JSON schema, as MCP elicitations have it), as
questions; and the answers to them, as the values that the server takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hub.errors import Invalid
from hub.events import Question, QuestionOption

_YES: Final = "Yes"
_NO: Final = "No"
_CONSENT: Final = "Accept"
_FORMATS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "email": (re.compile(r"[^@\s]+@[^@\s]+"), "an e-mail address"),
    "uri": (re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"), "an address with its scheme, as https://example.org"),
    "date": (re.compile(r"\d{4}-\d{2}-\d{2}"), "a date, as 2030-12-31"),
    "date-time": (re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}\S*"), "a moment, as 2030-12-31T23:59:00Z"),
}

Schema = Mapping[str, Any]


def questions_of(message: str, schema: Schema) -> tuple[Question, ...]:
    """A question for each field, in order. A form without fields is one question: whether one agrees."""
    fields = _fields(schema)
    if not fields:
        return (Question(question=message, options=(QuestionOption(label=_CONSENT),)),)
    return tuple(_question(text, name, fields[name]) for text, name in _texts(fields).items())


def values_of(message: str, schema: Schema, answers: Mapping[str, str]) -> dict[str, Any]:
    """The values that ``answers`` (without the questions that were skipped) give. Raises Invalid, with a sentence
    about what a field takes."""
    fields = _fields(schema)
    if not fields:
        if answers.get(message) != _CONSENT:
            raise Invalid(f"This can be answered with {_CONSENT!r}, declined or cancelled.")
        return {}
    required = schema.get("required")
    values: dict[str, Any] = {}
    for text, name in _texts(fields).items():
        if text in answers:
            values[name] = _value(text, fields[name], answers[text])
        elif isinstance(required, list) and name in required:
            raise Invalid(f"{text!r} cannot be skipped.")
    return values


def answers_of(message: str, schema: Schema, values: Mapping[str, Any]) -> dict[str, str]:
    """The answers that give these values."""
    fields = _fields(schema)
    if not fields:
        return {message: _CONSENT}
    return {
        text: _told(_labels(fields[name]), values[name]) for text, name in _texts(fields).items() if name in values
    }


def _told(labels: Mapping[str, Any], value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_told(labels, one) for one in value)
    return next((label for label, one in labels.items() if one == value), str(value))


def _fields(schema: Schema) -> dict[str, Schema]:
    found = schema.get("properties")
    if not isinstance(found, Mapping):
        return {}
    return {str(name): field for name, field in found.items() if isinstance(field, Mapping)}


def _texts(fields: Mapping[str, Schema]) -> dict[str, str]:
    """Each field's question, by which its answer is known: no two are the same."""
    texts: dict[str, str] = {}
    for name, field in fields.items():
        title = _text(field, "title") or name
        told = _text(field, "description")
        text = f"{title}: {told}" if told and told != title else title
        texts[text if text not in texts else f"{text} ({name})"] = name
    return texts


def _question(text: str, name: str, field: Schema) -> Question:
    labels = _labels(field)
    options = tuple(
        QuestionOption(label=label, description="" if label == str(value) else str(value))
        for label, value in labels.items()
    )
    if field.get("type") == "boolean":
        options = tuple(QuestionOption(label=label) for label in labels)
    return Question(question=text, header=name, options=options, multi_select=field.get("type") == "array")


def _labels(field: Schema) -> dict[str, Any]:
    """What can be chosen, by what it is called."""
    if field.get("type") == "boolean":
        return {_YES: True, _NO: False}
    if field.get("type") == "array":
        items = field.get("items")
        return _labels({**items, "type": "string"}) if isinstance(items, Mapping) else {}
    values = field.get("enum")
    if isinstance(values, list):
        names = field.get("enumNames")
        named = names if isinstance(names, list) and len(names) == len(values) else values
        return {str(label): value for label, value in zip(named, values, strict=True)}
    for key in ("oneOf", "anyOf"):
        titled = field.get(key)
        if isinstance(titled, list):
            found = [one for one in titled if isinstance(one, Mapping) and "const" in one]
            return {str(one.get("title") or one["const"]): one["const"] for one in found}
    return {}


def _value(text: str, field: Schema, answer: str) -> Any:
    labels = _labels(field)
    kind = field.get("type")
    if kind == "array":
        return [_chosen(text, labels, part) for part in _parts(answer, labels)]
    if labels:
        return _chosen(text, labels, answer)
    if kind in ("number", "integer"):
        return _number(text, field, answer, whole=kind == "integer")
    return _words(text, field, answer)


def _chosen(text: str, labels: Mapping[str, Any], answer: str) -> Any:
    wanted = answer.strip().casefold()
    for label, value in labels.items():
        if wanted in (label.casefold(), str(value).casefold()):
            return value
    raise Invalid(f"{text!r} takes one of {', '.join(map(repr, labels))}, not {answer!r}.")


def _parts(answer: str, labels: Mapping[str, Any]) -> Iterator[str]:
    """The labels in an answer of several, which may have commas themselves."""
    known = {label.casefold() for label in labels}
    parts = answer.split(", ")
    while parts:
        size = next((n for n in range(len(parts), 0, -1) if ", ".join(parts[:n]).casefold() in known), 1)
        yield ", ".join(parts[:size])
        parts = parts[size:]


def _number(text: str, field: Schema, answer: str, *, whole: bool) -> int | float:
    what = "a whole number" if whole else "a number"
    try:
        value = int(answer) if whole else float(answer)
    except ValueError:
        raise Invalid(f"{text!r} takes {what}, not {answer!r}.") from None
    low, high = field.get("minimum"), field.get("maximum")
    small = isinstance(low, int | float) and value < low
    large = isinstance(high, int | float) and value > high
    if small or large or value in (float("inf"), float("-inf")) or value != value:  # noqa: PLR0124 - NaN
        bounds = [f"{word} {bound}" for word, bound in (("from", low), ("to", high)) if bound is not None]
        raise Invalid(f"{text!r} takes {' '.join([what, *bounds])}, not {answer!r}.")
    return value


def _words(text: str, field: Schema, answer: str) -> str:
    shortest, longest = field.get("minLength"), field.get("maxLength")
    if isinstance(shortest, int) and len(answer) < shortest:
        raise Invalid(f"{text!r} takes {shortest} characters at least.")
    if isinstance(longest, int) and len(answer) > longest:
        raise Invalid(f"{text!r} takes {longest} characters at most.")
    pattern, what = _FORMATS.get(_text(field, "format"), (None, ""))
    if pattern is not None and not pattern.fullmatch(answer):
        raise Invalid(f"{text!r} takes {what}, not {answer!r}.")
    return answer


def _text(field: Schema, key: str) -> str:
    found = field.get(key)
    return found if isinstance(found, str) else ""
