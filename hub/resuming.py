"""Pure: going on where a turn was cut off. What is known of it, what only a person may know, and the words with
which its agent is told to go on.

A call that has a result is not run again: the agent's own memory holds it. Of a call without one nobody knows
whether, or how far, it ran. Where it may have changed something that is a question to a person, never a guess.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from hub.asks import SKIPPED, AskRequest
from hub.events import (
    AnyEvent,
    AskOpened,
    AskSettled,
    MessageDelivered,
    Question,
    QuestionOption,
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
_UNSURE: Final = "nobody knows whether, or how far, it ran. Find out before you do anything about it."
_OUTCOMES: Final[Mapping[str, str]] = {
    RAN: "a person says that it ran. Do not run it again.",
    DID_NOT_RUN: "a person says that it did not run.",
    NOBODY_KNOWS: _UNSURE,
    SKIPPED: _UNSURE,
    "": _UNSURE,
}
_AGAIN: Final = "it has no result, and changes nothing: run it again if you need it."
_SUBJECTS: Final = ("command", "file_path", "path", "url", "query")
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
        """The call in a line."""
        told = next((str(self.input[key]) for key in _SUBJECTS if isinstance(self.input.get(key), str)), None)
        told = told if told is not None else json.dumps(self.input, ensure_ascii=False, sort_keys=True)
        return f"{self.name}: {told if len(told) <= _LONGEST else told[:_LONGEST] + '…'}"


class CutOff(Struct, frozen=True, kw_only=True):
    """What is known of the earlier attempts at a message. ``taken``: the agent had the message; without that
    there is nothing to go on from. ``doubts`` are those of the last attempt that had any say in it, ``answered``
    what persons have said about such calls, by the question's text."""

    taken: bool = False
    cut: Cut = "unknown"
    why: str = ""
    doubts: tuple[Doubt, ...] = ()
    answered: Mapping[str, str] = field(default_factory=dict)


def cut_off(events: Iterable[AnyEvent | Unknown], message_id: str) -> CutOff:
    """What the log tells about the attempts at message ``message_id`` so far."""
    turns: set[str] = set()
    begun: dict[str, Doubt] = {}
    asked: set[str] = set()
    answered: dict[str, str] = {}
    taken, why = False, ""
    cut: Cut = "unknown"
    for event in events:
        if isinstance(event, TurnStarted) and event.message_id == message_id:
            turns.add(event.turn_id)
        if isinstance(event, Unknown) or getattr(event, "turn_id", None) not in turns:
            continue
        match event:
            case MessageDelivered(message_id=None) if event.verdict in _TAKEN:
                taken = True
            case ToolStarted():
                begun[event.tool_id] = Doubt(tool_id=event.tool_id, name=event.name, input=event.input)
            case ToolFinished() if event.status not in _UNSETTLED:
                begun.pop(event.tool_id, None)
            case TurnFailed():
                cut, why = "failed", event.code
            case TurnInterrupted():
                cut, why = "interrupted", event.by
            case AskOpened() if event.ask.tool == RESUME:
                asked.add(event.ask.id)
            case AskSettled() if event.ask_id in asked and event.by.kind == "person":
                answered |= event.answers or {}
            case _:
                continue
    return CutOff(taken=taken, cut=cut, why=why, doubts=tuple(begun.values()), answered=answered)


def question_about(doubts: Iterable[Doubt]) -> AskRequest | None:
    """The one ask about all of them; None where there is nothing to ask."""
    asked = questions_of(doubts)
    if not asked:
        return None
    return AskRequest(
        kind="question",
        tool=RESUME,
        subject="; ".join(doubt.words for doubt in asked.values())[:_LONGEST],
        input={
            "calls": [{"tool_id": one.tool_id, "name": one.name, "input": one.input} for one in asked.values()]
        },
        questions=tuple(Question(question=text, header="Did it run?", options=_OPTIONS) for text in asked),
        rationale="The turn was cut off while this was under way. Nobody knows whether it ran, and it may have "
        "changed something.",
        source="hub",
    )


def questions_of(doubts: Iterable[Doubt]) -> dict[str, Doubt]:
    """Each doubt by the text of its question. Two calls of the same words are told apart by number."""
    found: dict[str, Doubt] = {}
    for doubt in doubts:
        text = f"Did this run? {doubt.words}"
        number = 2
        while text in found:
            text, number = f"Did this run ({number})? {doubt.words}", number + 1
        found[text] = doubt
    return found


def told_to_go_on(cut: CutOff, harmless: Iterable[Doubt], answers: Mapping[str, str], message: str) -> str:
    """The words with which the agent is told to go on. ``harmless``: calls without a result that change nothing;
    ``answers`` are a person's, by the question's text; ``message`` is the one that it was at work on."""
    why = {
        "failed": f"Your turn on the message below was cut off (by {cut.why}, which was no fault of yours).",
        "interrupted": "Your turn on the message below was stopped before you were done.",
        "unknown": "Your turn on the message below was cut off.",
    }[cut.cut]
    parts = [f"{why} Go on where it stopped. What has a result in this conversation is done: do not do it again."]
    changes_nothing = {doubt.tool_id for doubt in harmless}
    calls = [
        f"- {doubt.words}: {_AGAIN if doubt.tool_id in changes_nothing else _outcome(answers.get(text, ''))}"
        for text, doubt in questions_of(cut.doubts).items()
    ]
    if calls:
        parts.append("Calls that were under way then:\n" + "\n".join(calls))
    parts.append(f"The message was:\n{message}")
    return "\n\n".join(parts)


def _outcome(answer: str) -> str:
    return _OUTCOMES.get(answer) or f"a person says: {answer}"
