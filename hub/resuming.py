"""Pure: going on where a turn was cut off. What is known of it, what only a person may know, and the words with
which its agent is told to go on.

A call that has a result is not run again: the agent's own memory holds it. Of a call without one nobody knows
whether, or how far, it ran. Where it may have changed something that is a question to a person, never a guess.
Only one that needed the hub's leave, and was never given it, has certainly not run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from hub.asks import SKIPPED, AskRequest
from hub.events import (
    AnyEvent,
    Ask,
    AskOpened,
    AskSettled,
    MessageDelivered,
    Question,
    QuestionOption,
    Reasoning,
    Text,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
    Unknown,
)

RESUME: Final = "Resume"
"""The tool of asks about calls whose outcome nobody knows."""
RAN: Final = "It ran"
DID_NOT_RUN: Final = "It did not run"
NOBODY_KNOWS: Final = "Nobody knows"
_OPTIONS: Final = (
    QuestionOption(label=RAN, description="The agent is told so, and does not run it again."),
    QuestionOption(label=DID_NOT_RUN, description="The agent is told so, and may run it."),
    QuestionOption(
        label=NOBODY_KNOWS, description="The agent is told to find out before it does anything about it."
    ),
)
_NO_LEAVE: Final = "it was never given leave, so it did not run. Make it again if it is needed still."
_UNSURE: Final = "nobody knows whether, or how far, it ran. Find out before you do anything about it."
_OUTCOMES: Final[Mapping[str, str]] = {
    RAN: "a person says that it ran. Do not run it again.",
    DID_NOT_RUN: "a person says that it did not run.",
    NOBODY_KNOWS: _UNSURE,
    SKIPPED: _UNSURE,
    "": _UNSURE,
    _NO_LEAVE: _NO_LEAVE,
}
_AGAIN: Final = "it has no result, and changes nothing: run it again if you need it."
_MENTION: Final = re.compile(r"(?<!\S)@")
_ESCAPED: Final = r"\\u0040"
_LONGEST: Final = 400
_UNSETTLED: Final = ("unknown", "interrupted")
_TAKEN: Final = ("submitted", "queued")

Cut: TypeAlias = Literal["failed", "interrupted", "unknown"]


class Doubt(Struct, frozen=True, kw_only=True):
    """A call that was begun, and whose outcome nobody knows."""

    tool_id: str
    name: str
    input: dict[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The call in one line: its command, or its whole input; nothing in it can pass for a line of its own, or
        for a mention of a file."""
        command = self.input.get("command")
        plain = isinstance(command, str) and command.isprintable()
        told = str(command) if plain else json.dumps(self.input, ensure_ascii=False, sort_keys=True)
        return f"{self.name}: {_quoted(_shortened(told))}"


def _quoted(text: str) -> str:
    """Words that are only quoted: no file is mentioned in them."""
    return _MENTION.sub(_ESCAPED, text)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


class CutOff(Struct, frozen=True, kw_only=True):
    """What is known of the earlier attempts at a message. ``taken``: the agent had the message; without that
    there is nothing to go on from. ``doubts`` are the calls of which it was not told anything since; ``answered``:
    what persons have said of them, or what is known of them all the same, by the call's id."""

    taken: bool = False
    cut: Cut = "unknown"
    why: str = ""
    doubts: tuple[Doubt, ...] = ()
    answered: Mapping[str, str] = field(default_factory=dict)


def cut_off(events: Iterable[AnyEvent | Unknown], message_id: str) -> CutOff:
    """What the log tells about the attempts at message ``message_id`` so far."""
    told = _Told()
    turns: set[str] = set()
    for event in events:
        if isinstance(event, TurnStarted) and event.message_id == message_id:
            turns.add(event.turn_id)
        if not isinstance(event, Unknown) and getattr(event, "turn_id", None) in turns:
            told.hear(event)
    doubts = tuple(told.begun.values())
    answered = {tool_id: words for tool_id, words in told.answered.items() if tool_id in told.begun}
    return CutOff(taken=told.taken, cut=told.cut, why=told.why, doubts=doubts, answered=answered)


class _Told:
    """What the attempts at one message tell, event by event."""

    def __init__(self) -> None:
        self.taken = False
        self.cut: Cut = "unknown"
        self.why = ""
        self.begun: dict[str, Doubt] = {}
        self.answered: dict[str, str] = {}
        self._asked: dict[str, Ask] = {}
        self._leave: dict[
            str, str
        ] = {}  # asks for leave that were not answered with a yes: the calls they are about
        self._had: str | None = None  # the turn in which the agent had the message last

    def hear(self, event: AnyEvent) -> None:
        match event:
            case MessageDelivered(message_id=None) if event.verdict in _TAKEN:
                self._has_it(event.turn_id)
            case ToolStarted():
                self._has_it(event.turn_id)
                self.begun[event.tool_id] = Doubt(tool_id=event.tool_id, name=event.name, input=event.input)
            case Text() | Reasoning():
                self._has_it(event.turn_id)
            case ToolFinished() if event.status not in _UNSETTLED:
                self.begun.pop(event.tool_id, None)
            case TurnFailed() if event.turn_id == self._had:
                self.cut, self.why = "failed", event.code
            case TurnInterrupted() if event.turn_id == self._had:
                self.cut, self.why = "interrupted", event.by
            case AskOpened():
                self._asks(event.ask)
            case AskSettled(decision="allow"):
                if tool_id := self._leave.pop(event.ask_id, None):
                    self.answered.pop(tool_id, None)
            case AskSettled() if event.by.kind == "person" and (ask := self._asked.get(event.ask_id)):
                self.answered |= answers_of(ask.questions, ask.input, event.answers, event.response)
            case _:
                return

    def _has_it(self, turn_id: str) -> None:
        """The agent has the message, and with it what is known of calls before: they are no doubts any more."""
        if self._had != turn_id:
            self.begun.clear()
            self.answered.clear()
            self._leave.clear()
        self.taken, self._had = True, turn_id

    def _asks(self, ask: Ask) -> None:
        if ask.tool == RESUME:
            self._asked[ask.id] = ask
        elif ask.kind == "permission" and ask.source == "sdk" and ask.tool_id is not None:
            # Such an agent has no other place where it could be answered than the hub.
            self._leave[ask.id] = ask.tool_id
            self.answered[ask.tool_id] = _NO_LEAVE
        elif ask.kind == "question":  # the call is the question itself: it changes nothing
            for doubt in [one for one in self.begun.values() if one.name == ask.tool]:
                del self.begun[doubt.tool_id]


def answers_of(
    questions: Sequence[Question],
    given: Mapping[str, Any],
    answers: Mapping[str, str] | None,
    response: str | None,
) -> dict[str, str]:
    """What was said of each call, by its id: ``given`` is the input of the ask, which names the calls in the order
    of ``questions``. One word about all of them is said of each."""
    calls = given.get("calls", ())
    named = zip(questions, calls, strict=False)
    found = {call["tool_id"]: response or (answers or {}).get(question.question) for question, call in named}
    return {tool_id: words for tool_id, words in found.items() if words is not None}


def question_about(doubts: Sequence[Doubt]) -> AskRequest | None:
    """The one ask about all of them; None where there is nothing to ask."""
    if not doubts:
        return None
    return AskRequest(
        kind="question",
        tool=RESUME,
        subject=_shortened("; ".join(doubt.words for doubt in doubts)),
        input={"calls": [{"tool_id": one.tool_id, "name": one.name, "input": one.input} for one in doubts]},
        questions=tuple(
            Question(question=text, header="Did it run?", options=_OPTIONS) for text in _texts(doubts)
        ),
        rationale="The turn was cut off while this was under way. Nobody knows whether it ran, and it may have "
        "changed something.",
        source="hub",
    )


def _texts(doubts: Iterable[Doubt]) -> list[str]:
    """The text of each one's question. Two calls of the same words are told apart by number."""
    found: list[str] = []
    for doubt in doubts:
        text, number = f"Did this run? {doubt.words}", 2
        while text in found:
            text, number = f"Did this run ({number})? {doubt.words}", number + 1
        found.append(text)
    return found


def told_to_go_on(cut: CutOff, harmless: Iterable[Doubt], answers: Mapping[str, str], message: str) -> str:
    """The words with which the agent is told to go on. ``harmless``: calls without a result that change nothing;
    ``answers`` are a person's, by the call's id; ``message`` is the one that it was at work on."""
    why = {
        "failed": f"Your turn on the message below was cut off (by {cut.why}, which was no fault of yours).",
        "interrupted": "Your turn on the message below was stopped before you were done.",
        "unknown": "Your turn on the message below was cut off.",
    }[cut.cut]
    parts = [f"{why} Go on where it stopped. What has a result in this conversation is done: do not do it again."]
    changes_nothing = {doubt.tool_id for doubt in harmless}
    outcomes = [
        _AGAIN if doubt.tool_id in changes_nothing else _outcome(answers.get(doubt.tool_id, ""))
        for doubt in cut.doubts
    ]
    calls = [f"- {doubt.words}: {outcome}" for doubt, outcome in zip(cut.doubts, outcomes, strict=True)]
    if calls:
        parts.append("Calls that were under way then:\n" + "\n".join(calls))
    parts.append(f"The message was:\n{message}")
    return "\n\n".join(parts)


def _outcome(answer: str) -> str:
    return _OUTCOMES.get(answer) or f"a person says: {_quoted(json.dumps(answer, ensure_ascii=False))}"
