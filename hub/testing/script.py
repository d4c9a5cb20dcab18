"""Pure: the scripts that the scripted transport plays, read and checked before anything is played."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from hub.events import FailureCode, Question

_Count: TypeAlias = Annotated[int, Meta(ge=0)]
_Millis: TypeAlias = Annotated[float, Meta(ge=0)]


class BadScript(ValueError):
    """A script that cannot be played; the text says which step and why."""


class _Step(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Say(_Step, frozen=True):
    """A block of text, streamed in ``deltas`` pieces (a piece a word unless given), ``every_ms`` apart."""

    text: str
    deltas: _Count | None = None
    every_ms: _Millis = 0


class Think(_Step, frozen=True):
    """A block of reasoning, streamed like text."""

    reasoning: str
    deltas: _Count | None = None
    every_ms: _Millis = 0


class Tool(_Step, frozen=True):
    """One run of a tool, ``ms`` long, after a permission where ``ask`` is true. A ``result`` of the form
    ``{"error": "..."}`` is the tool's own failure."""

    tool: str
    input: dict[str, Any] = field(default_factory=dict)
    ask: bool = False
    result: Any = "ok"
    ms: _Millis = 0


class Parallel(_Step, frozen=True):
    """Several tools at once."""

    parallel: tuple[Tool, ...]


class AskQuestion(_Step, frozen=True):
    """A question as AskUserQuestion has it; the answer is echoed as text."""

    question: Any

    @property
    def questions(self) -> tuple[Question, ...]:
        """The single questions: ``{"questions": [...]}``, a list of them, or one alone."""
        raw = self.question
        if isinstance(raw, dict) and "questions" in raw:
            raw = raw["questions"]
        return msgspec.convert(raw if isinstance(raw, list) else [raw], tuple[Question, ...])


class Recall(_Step, frozen=True):
    """The summaries of what was distilled from earlier turns are told as text, one a line."""

    recall: bool


class Sleep(_Step, frozen=True):
    """A pause."""

    sleep_ms: _Millis


class Failure(Struct, frozen=True, forbid_unknown_fields=True):
    """What a failing turn fails with."""

    code: FailureCode
    message: str | None = None
    retryable: bool | None = None


class Fail(_Step, frozen=True):
    """The turn fails here."""

    fail: Failure


class Incomplete(_Step, frozen=True):
    """The answer is cut off here."""

    incomplete: bool


class Hang(_Step, frozen=True):
    """Nothing more comes until somebody stops the turn."""

    hang: bool


class Raise(_Step, frozen=True, rename={"message": "raise"}):
    """The transport itself breaks: it raises RuntimeError with this text."""

    message: str


Step: TypeAlias = Say | Think | Tool | Parallel | AskQuestion | Recall | Sleep | Fail | Incomplete | Hang | Raise

_KINDS: Final[Mapping[str, type[Step]]] = {
    "text": Say,
    "reasoning": Think,
    "tool": Tool,
    "parallel": Parallel,
    "question": AskQuestion,
    "recall": Recall,
    "sleep_ms": Sleep,
    "fail": Fail,
    "incomplete": Incomplete,
    "hang": Hang,
    "raise": Raise,
}
_SUBJECTS: Final = ("command", "file_path", "path", "notebook_path", "url", "pattern", "query")
_T = TypeVar("_T")


def script_in(text: str) -> dict[str, Any] | None:
    """The JSON object that a message is, or None where it is mere words."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    return found if isinstance(found, dict) else None


def steps_of(script: Mapping[str, Any]) -> tuple[Step, ...]:
    """The steps of ``{"steps": [...]}``. Raises BadScript, which names the step and what is wrong with it."""
    if unknown := sorted(script.keys() - {"steps"}):
        raise BadScript(f"a script has `steps`, and nothing like {unknown[0]!r}")
    steps = script.get("steps", ())
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        raise BadScript("`steps` has to be a list")
    return tuple(_step(number, step) for number, step in enumerate(steps, 1))


def _step(number: int, raw: Any) -> Step:
    if not isinstance(raw, dict):
        raise BadScript(f"step {number}: a step is an object, not {_named(raw)}")
    kinds = [kind for kind in _KINDS if kind in raw]
    if not kinds:
        raise BadScript(f"step {number}: there is no step {_first(raw)!r}; there are {', '.join(_KINDS)}")
    if len(kinds) > 1:
        raise BadScript(f"step {number}: it is both {kinds[0]!r} and {kinds[1]!r}")
    try:
        step = msgspec.convert(raw, _KINDS[kinds[0]])
        if isinstance(step, AskQuestion) and not step.questions:
            raise BadScript(f"step {number}: it asks no question")
    except msgspec.ValidationError as error:
        raise BadScript(f"step {number}: {error}") from None
    return step


def _named(raw: Any) -> str:
    return "null" if raw is None else type(raw).__name__


def _first(raw: Mapping[str, Any]) -> str:
    return next(iter(raw), "")


def pieces(text: str, deltas: int | None) -> list[str]:
    """``text`` in ``deltas`` pieces (empty ones where it is too short), or a piece a word where None."""
    if deltas is None:
        return re.findall(r"\s*\S+|\s+", text)
    cuts = [len(text) * number // deltas for number in range(deltas + 1)] if deltas else []
    return [text[start:end] for start, end in itertools.pairwise(cuts)]


def subject_of(tool_input: Mapping[str, Any]) -> str:
    """What a permission for a call with this input is about: its command, path or address."""
    for key in _SUBJECTS:
        if isinstance(tool_input.get(key), str):
            return str(tool_input[key])
    return ""
