"""Pure: what an agent shows in one turn, told by its hooks and by its transcript, each thing once.

Live text comes from the hooks; a message of theirs is all text blocks of one message in the transcript, under
another name, so the two are matched by their words. Tools have one id everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct

from hub import AnyEvent, Failed, Text, TextDelta, ToolFinished, ToolStarted, Usage, digest_of
from turnhub_tmux.bridge.display import Display
from turnhub_tmux.bridge.facts import BatchDone, Displayed, Fact, ToolDone, ToolFailed, ToolStarting
from turnhub_tmux.digest import words
from turnhub_tmux.failures import failure
from turnhub_tmux.transcript.facts import Result, RowFact, Said, Spent, Thought, Used

ToolStatus: TypeAlias = Literal["ok", "error", "denied", "interrupted", "unknown"]


class _Shown(Struct):
    """A message of which the hooks have told something."""

    block: int
    text: str = ""
    whole: bool = False


class Story:
    """The events of one turn. ``shown``: what it had shown before, under another runner."""

    def __init__(self, shown: Iterable[object] = ()) -> None:
        self._display = Display()
        self._messages: dict[str, _Shown] = {}
        self._held: list[_Shown] = []
        self._told: Counter[str] = Counter()
        self._rows: dict[str, list[str]] = {}
        self._started: set[str] = set()
        self._finished: set[str] = set()
        self._denied: set[str] = set()
        self._stopped: set[str] = set()
        self._used: dict[str, Used] = {}
        self._calls: dict[str, Used] = {}
        self._results: dict[str, Result] = {}
        self._usage: dict[str, Usage] = {}
        self._next = 0
        self.error: Failed | None = None
        self.silent = False
        """Whether the model has said nothing to the last result of a tool that the transcript has."""
        self.reasoned = False
        """Whether it has reasoned since."""
        for event in shown:
            self._recall(event)

    def _recall(self, event: object) -> None:
        match event:
            case Text():
                self._told[event.text.strip()] += 1
                self._next = max(self._next, event.block + 1)
            case ToolStarted():
                self._started.add(event.tool_id)
            case ToolFinished():
                self._finished.add(event.tool_id)
            case _:
                return

    # What hooks tell

    def hear(self, fact: Fact, *, written: bool = False) -> list[AnyEvent]:
        """The events in a fact of the bridge. ``written``: the transcript tells, too. Then a text is told for good
        only once that has it, or a tool follows it: of an answer that broke off, and is given anew, the hooks tell
        an end as well."""
        match fact:
            case Displayed() if fact.agent is None:
                return self._displayed(fact, written=written)
            case ToolStarting():
                last = [self._held.pop()] if self._held and fact.agent is None else []
                return [event for one in last for event in self._final(one)] + self._start(
                    fact.tool_use_id, fact.name, fact.input
                )
            case ToolDone():
                return self._finish(fact.tool_use_id, "ok", (fact.name, fact.input), fact.output, fact.duration_ms)
            case ToolFailed():
                status: ToolStatus = "interrupted" if fact.interrupted else "error"
                return self._finish(
                    fact.tool_use_id, status, (fact.name, fact.input), fact.error or None, fact.duration_ms
                )
            case BatchDone():
                return [
                    event
                    for result in fact.results
                    if result.tool_use_id in self._started
                    for event in self._finish(result.tool_use_id, "denied", (result.name, {}), result.output)
                ]
            case _:
                return []

    def _displayed(self, piece: Displayed, *, written: bool) -> list[AnyEvent]:
        message = self._messages.get(piece.message_id)
        if message is None:
            message = self._messages[piece.message_id] = _Shown(self.block())
        new = self._display.add(piece)
        if message.whole or not (new or piece.final):
            return []
        message.text += new
        events: list[AnyEvent] = [TextDelta(block=message.block, text=new)] if new else []
        if self._display.whole(piece.message_id):
            events += self._close(message, written=written)
        return events

    def _close(self, message: _Shown, *, written: bool) -> list[AnyEvent]:
        message.whole = True
        if not message.text:
            return []
        if written and not any(_same("".join(texts), message.text) for texts in self._rows.values()):
            self._held.append(message)
            return []
        return self._final(message)

    def _final(self, message: _Shown, *, cut: bool = False) -> list[AnyEvent]:
        self._told[message.text.strip()] += 1
        return [Text(block=message.block, text=message.text, partial=cut)]

    # What the transcript tells

    def read(self, fact: RowFact, *, live: bool, past: bool = False) -> list[AnyEvent]:
        """The events in a row. ``live``: nobody else tells; else rows are kept for :meth:`reconcile`. ``past``: it
        was written before anybody listened here, so that what hooks told of it was told to somebody else."""
        if isinstance(fact, Spent):
            self._usage[fact.message_id] = fact.usage
        events: list[AnyEvent] = []
        if fact.aside:
            return events
        if isinstance(fact, Result) or (isinstance(fact, Said) and fact.text.strip()):
            self.silent = isinstance(fact, Result)
            self.reasoned = False
        self.reasoned = self.reasoned or isinstance(fact, Thought)
        match fact:
            case Said(error=True):
                self.error = failure(fact.kind, fact.text)
            case Said() if live:
                events = self._say(fact.text)
            case Said() if past and not self._may_be_of_one_told(fact):
                events = self._late(fact.text, self._told)
            case Said():
                self._rows.setdefault(fact.message_id, []).append(fact.text)
                events = self._confirmed("".join(self._rows[fact.message_id]), cut=fact.cut)
            case Used():
                self._used[fact.tool_use_id] = self._calls[fact.tool_use_id] = fact
                self._rows.setdefault(fact.message_id, [])
                events = self._start(fact.tool_use_id, fact.name, fact.input) if live or past else []
            case Result():
                self._results[fact.tool_use_id] = fact
                used = self._used.pop(fact.tool_use_id, None)
                events = self._resulted(fact, used) if live or past else []
            case _:
                pass
        return events

    def _may_be_of_one_told(self, fact: Said) -> bool:
        """Whether the message, of which this is a part, may have been told as a whole."""
        begun = "".join([*self._rows.get(fact.message_id, ()), fact.text]).strip()
        return bool(self._rows.get(fact.message_id)) or any(text.startswith(begun) for text in +self._told)

    def _confirmed(self, text: str, *, cut: bool) -> list[AnyEvent]:
        """What was held until the transcript would have it."""
        found = next((one for one in self._held if _same(one.text, text)), None)
        if found is None:
            return []
        self._held.remove(found)
        return self._final(found, cut=cut)

    def _resulted(self, fact: Result, used: Used | None) -> list[AnyEvent]:
        status: ToolStatus = "denied" if fact.denied else "error" if fact.error else "ok"
        call = (used.name, used.input) if used else ("tool", {})
        return self._finish(fact.tool_use_id, status, call, fact.content)

    def _say(self, text: str) -> list[AnyEvent]:
        if not text.strip():
            return []
        if self._told[text.strip()] > 0:
            self._told[text.strip()] -= 1
            return []
        return [Text(block=self.block(), text=text)]

    def reconcile(self, left: ToolStatus = "unknown", *, sure: bool = False) -> list[AnyEvent]:
        """At the turn's end: what the transcript has and the hooks have not told; what is half told is ended, and
        tools of which nobody said how they ended have ended as ``left``. ``sure``: the transcript is read to the
        turn's end, so that a text which is not in it was broken off."""
        events: list[AnyEvent] = []
        told = self._told.copy()
        for message_id, texts in self._rows.items():
            events += [*self._late("".join(texts), told), *self._late_tools(message_id)]
        self._rows.clear()
        events += [] if sure else [event for one in self._held for event in self._final(one)]
        self._held.clear()
        for one in self._messages.values():
            if not one.whole and one.text:
                one.whole = True
                events.append(Text(block=one.block, text=one.text, partial=True))
        return [*events, *self._leftovers(left)]

    def _late(self, text: str, told: Counter[str]) -> list[AnyEvent]:
        """A message's text that the hooks have not told, or only in part."""
        if not text.strip():
            return []
        if told[text.strip()] > 0:
            told[text.strip()] -= 1
            return []
        open_one = next((one for one in self._messages.values() if self._continues(one, text)), None)
        if open_one is None:
            return [Text(block=self.block(), text=text)]
        if open_one in self._held:
            self._held.remove(open_one)
        rest = text[len(open_one.text) :]
        open_one.text, open_one.whole = text, True
        more: list[AnyEvent] = [TextDelta(block=open_one.block, text=rest)] if rest else []
        return [*more, Text(block=open_one.block, text=text)]

    def _late_tools(self, message_id: str) -> list[AnyEvent]:
        """A message's calls that the hooks have not told, or not to their end."""
        events: list[AnyEvent] = []
        for used in self._calls.values():
            if used.message_id == message_id:
                events += self._start(used.tool_use_id, used.name, used.input)
                result = self._results.get(used.tool_use_id)
                events += [] if result is None else self._resulted(result, used)
        return events

    def _continues(self, one: _Shown, text: str) -> bool:
        untold = not one.whole or one in self._held
        return untold and bool(one.text) and text.startswith(one.text)

    def _leftovers(self, left: ToolStatus) -> list[AnyEvent]:
        return [
            event
            for tool_id in sorted(self._started - self._finished)
            for event in self._finish(tool_id, left, ("tool", {}), None)
        ]

    # Both

    @property
    def begun(self) -> bool:
        """Whether anything was shown."""
        return bool(self._messages or self._started or self._next)

    @property
    def whole(self) -> bool:
        """Whether every message that the hooks began to tell is told."""
        return all(one.whole or not one.text for one in self._messages.values())

    @property
    def pending(self) -> tuple[Used, ...]:
        """The calls that have no result in the transcript yet, oldest first."""
        return tuple(self._used.values())

    def call(self, tool_id: str) -> Used | None:
        """A call of this turn, as the transcript has it."""
        return self._calls.get(tool_id)

    @property
    def usage(self) -> Usage | None:
        """The tokens of all messages of this turn; None where the transcript does not tell."""
        if not self._usage:
            return None
        spent = self._usage.values()
        return Usage(
            input_tokens=sum(one.input_tokens or 0 for one in spent),
            output_tokens=sum(one.output_tokens or 0 for one in spent),
            cache_read_tokens=sum(one.cache_read_tokens or 0 for one in spent),
            cache_creation_tokens=sum(one.cache_creation_tokens or 0 for one in spent),
        )

    def refused(self, tool_id: str | None) -> None:
        """The call was denied: what is told of its end is told as that."""
        if tool_id is not None:
            self._denied.add(tool_id)

    def stopped(self, tool_id: str) -> None:
        """The call was stopped while it ran, although the agent calls that a refusal."""
        self._stopped.add(tool_id)

    def block(self) -> int:
        """The number of a new block."""
        self._next += 1
        return self._next - 1

    def _start(self, tool_id: str, name: str, given: dict[str, Any]) -> list[AnyEvent]:
        if tool_id in self._started:
            return []
        self._started.add(tool_id)
        return [ToolStarted(tool_id=tool_id, name=name, input=given)]

    def _finish(
        self,
        tool_id: str,
        status: ToolStatus,
        call: tuple[str, dict[str, Any]],
        output: Any,
        duration_ms: int | None = None,
    ) -> list[AnyEvent]:
        if tool_id in self._finished:
            return []
        self._finished.add(tool_id)
        if tool_id in self._stopped - self._denied and status == "denied":
            status = "interrupted"
        if tool_id in self._denied and status in ("error", "unknown"):
            status = "denied"
        text = None if output is None else words(output)
        done = ToolFinished(
            tool_id=tool_id,
            status=status,
            digest=None if text is None else digest_of(text),
            duration_ms=duration_ms,
            output=UNSET if text is None else text,
        )
        return [*self._start(tool_id, *call), done]


def _same(one: str, other: str) -> bool:
    return one.strip() == other.strip()
