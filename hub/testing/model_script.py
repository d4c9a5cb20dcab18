"""Pure: what a scripted model says, and how a script picks it.

An *answer* is what one request to the model gets: a :class:`Reply` made of parts, or a fault. A *script* is a
function from the :class:`Exchange` (what the model is asked, and what it has said to this prompt already) to
an answer, so one endpoint serves any number of conversations at once. :class:`Rules` is the ready-made
script: answers by the text of the prompt, one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct, field


class Say(Struct, frozen=True, tag="say"):
    """Text, streamed in pieces of ``chunk`` characters (0: a piece a word), ``every_s`` seconds apart.

    ``close=False`` leaves the block open: for a :class:`Cut` or a :class:`Stall` in the middle of it.
    """

    text: str
    chunk: int = 0
    every_s: float = 0.0
    close: bool = True


class Think(Struct, frozen=True, tag="think"):
    """Reasoning; the fields are those of :class:`Say`."""

    text: str
    chunk: int = 0
    every_s: float = 0.0
    close: bool = True


class Use(Struct, frozen=True, tag="use"):
    """A tool call. Several in one reply are parallel calls. ``id`` is made up where it is None."""

    name: str
    input: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    close: bool = True


class Pause(Struct, frozen=True, tag="pause"):
    """Nothing for ``s`` seconds, then on."""

    s: float


class Stall(Struct, frozen=True, tag="stall"):
    """Nothing more, with the connection open, until the client goes away or the model is closed."""


class Hold(Struct, frozen=True, tag="hold"):
    """Nothing until :meth:`~hub.testing.ScriptedModel.release` is called (or the client goes away), then on: for a
    test that acts while an answer is under way, however slow the machine is."""


class Cut(Struct, frozen=True, tag="cut"):
    """The connection breaks here, in the middle of the answer, ``after_s`` seconds after what stands before
    it: a client that has had no time to read loses that too."""

    after_s: float = 0.05


Part: TypeAlias = Say | Think | Use | Pause | Stall | Hold | Cut


class Reply(Struct, frozen=True, kw_only=True, tag="reply"):
    """One message of the model. No parts: an empty answer.

    ``stop``: the stop reason; None means ``tool_use`` where there is a tool call, else ``end_turn``.
    ``times``: how many requests in a row get it (None: all further ones). Tokens are what is reported.
    """

    parts: tuple[Part, ...] = ()
    stop: str | None = None
    times: int | None = 1
    input_tokens: int = 10
    output_tokens: int = 5


class Fail(Struct, frozen=True, kw_only=True, tag="fail"):
    """An HTTP error of the API with its own words. ``times`` as in :class:`Reply`."""

    status: int
    message: str = "The scripted model was told to fail."
    kind: str | None = None
    times: int | None = None


class Drop(Struct, frozen=True, kw_only=True, tag="drop"):
    """The connection is closed without a response. ``times`` as in :class:`Reply`."""

    times: int | None = None


class Silence(Struct, frozen=True, kw_only=True, tag="silence"):
    """Not even response headers, until the client gives up. ``times`` as in :class:`Reply`."""

    times: int | None = None


Answer: TypeAlias = Reply | Fail | Drop | Silence

SPENT: Final = Reply(parts=(Say("(The script has nothing more to say to this.)"),), times=None)


def reply(*parts: Part | str, stop: str | None = None, times: int | None = 1) -> Reply:
    """A reply; a plain string stands for ``Say(string)``."""
    return Reply(parts=tuple(Say(p) if isinstance(p, str) else p for p in parts), stop=stop, times=times)


def ask_user(*questions: Mapping[str, Any]) -> Use:
    """A call of AskUserQuestion. A question is ``{"question", "header", "options": [{"label",
    "description"}], "multiSelect"}``; header, descriptions and multiSelect may be left out."""
    return Use("AskUserQuestion", {"questions": [_question(dict(q)) for q in questions]})


def _question(question: dict[str, Any]) -> dict[str, Any]:
    options = [
        {"description": "", **({"label": o} if isinstance(o, str) else o)} for o in question.get("options", ())
    ]
    return {"header": "Choice", "multiSelect": False, **question, "options": options}


class ToolResult(Struct, frozen=True, kw_only=True):
    """What the model is told about a tool call that it made."""

    tool_use_id: str
    text: str
    is_error: bool = False


class Exchange(Struct, frozen=True, kw_only=True):
    """What a script decides by.

    ``text``: the last thing that a person said. ``prompts``: everything that persons said, oldest first.
    ``unanswered``: how many prompts, ``text`` included, have no answer yet (a failed turn that is tried again
    leaves its prompt standing). ``results``: the tool results since then. ``number``: how many requests about
    this very prompt were answered before (0: this is the first).
    """

    text: str
    prompts: tuple[str, ...] = ()
    unanswered: int = 1
    results: tuple[ToolResult, ...] = ()
    number: int = 0
    session: str = ""


Script: TypeAlias = Callable[[Exchange], Answer]


class Rule(Struct, frozen=True, kw_only=True):
    """Answers to prompts that match ``when``: a regular expression that has to match the whole prompt."""

    when: str
    answers: tuple[Answer, ...]


class Rules(Struct, frozen=True, kw_only=True):
    """A script as data: the first rule whose ``when`` matches the prompt, else ``otherwise``. The answers are
    given in order, each as often as its ``times`` says."""

    rules: tuple[Rule, ...] = ()
    otherwise: tuple[Answer, ...] = (SPENT,)

    def __call__(self, exchange: Exchange) -> Answer:
        """The answer to this request."""
        for rule in self.rules:
            if re.fullmatch(rule.when, exchange.text.strip(), re.DOTALL):
                return pick(rule.answers, exchange.number)
        return pick(self.otherwise, exchange.number)


def pick(answers: Sequence[Answer], number: int) -> Answer:
    """The answer to request ``number`` (from 0) of a prompt; :data:`SPENT` when they are used up."""
    for answer in answers:
        if answer.times is None or number < answer.times:
            return answer
        number -= answer.times
    return SPENT


ScriptLike: TypeAlias = Script | Answer | Sequence[Answer] | Mapping[str, Answer | Sequence[Answer]]


def as_script(script: ScriptLike) -> Script:
    """The script in what people like to write: a function; one answer or a list of answers (given to every
    prompt); or a mapping from exact prompts to either."""
    if isinstance(script, Rules):
        return script
    if isinstance(script, Mapping):
        rules = (Rule(when=re.escape(text), answers=_answers(given)) for text, given in script.items())
        return Rules(rules=tuple(rules))
    if isinstance(script, Sequence | Reply | Fail | Drop | Silence):
        return Rules(otherwise=_answers(script))
    return script


def _answers(given: Answer | Sequence[Answer]) -> tuple[Answer, ...]:
    return tuple(given) if isinstance(given, Sequence) else (given,)


def load_rules(source: bytes | str) -> Rules:
    """The rules in a JSON document: ``{"rules": [{"when", "answers": [...]}], "otherwise": [...]}``, where
    answers and parts are objects whose ``type`` is the lower-case name of their class here.

    Raises msgspec.DecodeError, which names the place, when the document is something else.
    """
    return msgspec.json.decode(source, type=Rules, strict=True)
