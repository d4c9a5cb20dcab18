"""Pure: what is on record about the words that an agent took, by its hooks and by its transcript.

Words alone prove nothing: the same message may be sent twice, and what tells of the first can come late, after
the second was typed. So takings are *counted*, by words and by witness. A witness proves a delivery when it has
counted more takings of these words than there can have been before: by the other witness, or by the submit keys
that were pressed on them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, OrderedDict
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from turnhub_tmux.bridge.facts import Fact, PromptSubmitted
from turnhub_tmux.transcript.facts import Absorbed, Entered, Prompt, Queue, RowFact

Witness: TypeAlias = Literal["hook", "transcript"]

CONCERN: Final = (PromptSubmitted, Prompt, Queue, Absorbed, Entered)
"""The facts that are put on record."""
_KEPT: Final = 1024
# A long paste reaches the model wrapped; blank lines around are not always all there.
_PASTED: Final = re.compile(
    r"\n{0,2}<pasted_content id=\"(?P<id>[^\"\n]*)\">\n(?P<text>.*?)\n</pasted_content id=\"(?P=id)\">\n?",
    re.DOTALL,
)


def is_for_agent(words: str) -> bool:
    """Whether words that are typed as they are may be a command of the agent's own, not for its model."""
    return words.lstrip().startswith(("/", "!"))


def plain(prompt: str) -> str:
    """A prompt as the agent reports it, in the form in which it was typed: long pastes are unwrapped, what the
    composer leaves off is off."""
    return _ending(_PASTED.sub(lambda found: found["text"], prompt))


def same(prompt: str, conveyed: str) -> bool:
    """Whether the agent's report of a prompt is this text (in the composer's own form)."""
    wanted = _ending(conveyed)
    # A text that itself looks like a wrapped paste is the same as it stands.
    return bool(wanted) and wanted in (plain(prompt), _ending(prompt))


def _ending(text: str) -> str:
    return unicodedata.normalize("NFC", text).rstrip()


class Taking(Struct, frozen=True, kw_only=True):
    """How often, so far, these words were taken: ``taken`` in all, by each witness; ``queued`` of them into the
    agent's own queue; ``known``: at least so often by anybody's account. ``waiting``: how often they are in the
    queue now; ``worked``: how often they came out of it to be worked on. ``entered``: how often the agent's
    own list of lines has them, which it keeps of its commands, too, of which nothing else may tell."""

    taken: dict[Witness, int]
    queued: dict[Witness, int]
    known: int
    waiting: int = 0
    worked: int = 0
    entered: int = 0


class Traces(Struct, frozen=True, kw_only=True):
    """The record at one moment: put it into ``Sight.seen["traces"]`` at each look. ``whole``: it reaches back to
    before the message was typed, also where nobody knows the look from before any more. ``prompts``: how many
    prompts of any words were told; ``awaited``: whether somebody is still to tell of the words that were typed
    last."""

    takings: dict[str, Taking] = field(default_factory=dict)
    whole: bool = False
    prompts: int = 0
    awaited: bool = False

    def of(self, conveyed: str) -> Taking:
        """What is on record about these words."""
        return self.takings.get(_ending(conveyed)) or _NOTHING

    def entered(self, conveyed: str) -> int:
        """How often these words are in the agent's own list of submitted lines."""
        return (self.takings.get(conveyed.strip()) or _NOTHING).entered


_NOTHING: Final = Taking(taken={}, queued={}, known=0)


class _Count(Struct):
    taken: Counter[Witness] = field(default_factory=Counter)
    queued: Counter[Witness] = field(default_factory=Counter)
    sent: int = 0  # how often they may have been taken, by the keys that were pressed
    before: int = 0  # how often they were known to be taken when they were typed
    was_sent: int = 0
    waiting: int = 0
    worked: int = 0
    entered: int = 0  # by the agent's list of submitted lines

    @property
    def known(self) -> int:
        return max([self.sent, *self.taken.values()])

    def frozen(self) -> Taking:
        return Taking(
            taken=dict(self.taken),
            queued=dict(self.queued),
            known=self.known,
            waiting=self.waiting,
            worked=self.worked,
            entered=self.entered,
        )


class PromptLog:
    """Keeps the record of one agent. Feed it every fact of the bridge and of the transcript, in any order.

    ``whole``: it begins before the message of the running turn was typed (a log that is made anew after a restart
    and fed with the transcript from the offset that was remembered then). Bounded: of words that were not heard
    for long the count is forgotten.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self._whole = whole
        self._counts: OrderedDict[str, _Count] = OrderedDict()
        self._rows: OrderedDict[tuple[str, ...], None] = OrderedDict()
        self._frozen: Traces | None = None
        self._typed: str | None = None
        self._prompts = 0

    def note(self, fact: Fact | RowFact) -> None:
        """Take a fact into account; most do not concern this."""
        match fact:
            case PromptSubmitted(repeated=False):
                self._taken("hook", fact.prompt, queued=bool(fact.queued))
            case Prompt() | Queue() | Absorbed() if not fact.aside and not self._repeated(fact):
                self._row(fact)
            case Entered() if is_for_agent(fact.text):
                self._frozen = None
                self._count(fact.text.strip()).entered += 1
            case _:
                return

    def typed(self, conveyed: str) -> None:
        """These words are about to be typed."""
        self._typed = _ending(conveyed)
        count = self._count(self._typed)
        count.before, count.was_sent = count.known, count.sent

    def sent(self) -> None:
        """The key that submits was pressed on the words that were typed last: what tells that they were taken
        once, however late it comes, is no news of what is typed after them."""
        if self._typed is not None:
            count = self._count(self._typed)
            count.sent = max(count.sent, count.before + 1)

    def withdrawn(self) -> None:
        """The words that were typed last were seen to be unsent, and taken away."""
        if self._typed is not None:
            count = self._count(self._typed)
            count.sent = count.was_sent

    @property
    def last_typed(self) -> str | None:
        """The words that were typed last."""
        return self._typed

    def now(self) -> Traces:
        """The record as it stands."""
        if self._frozen is None:
            takings = {words: count.frozen() for words, count in self._counts.items()}
            self._frozen = Traces(takings=takings, whole=self._whole, prompts=self._prompts)
        return self._frozen

    # Rows

    def _row(self, fact: Prompt | Queue | Absorbed) -> None:
        match fact:
            case Queue(operation="enqueue", text=str() as text):
                for count in self._taken("transcript", text, queued=True):
                    count.waiting += 1
            case Queue(operation="pop_all"):
                self._frozen = None
                for count in self._counts.values():
                    count.waiting = 0
            case Absorbed():
                self._works_on(fact.text)
            case Prompt(source="queued"):
                self._works_on(fact.text)
            case Prompt(source=None) if any(count.waiting for count in self._of(fact.text)):
                self._works_on(fact.text)
            case Prompt(source="sdk"):
                self._works_on(fact.text)  # an SDK session puts every prompt through the queue
            case Prompt():
                self._taken("transcript", fact.text, queued=False)
            case _:
                return

    def _works_on(self, prompt: str) -> None:
        for count in self._of(prompt):
            count.waiting = max(0, count.waiting - 1)
            count.worked += 1

    def _repeated(self, fact: RowFact) -> bool:
        """Whether this very row was read before: a file that was begun anew, a session that was resumed."""
        key: tuple[str, ...] = (fact.uuid, type(fact).__name__)
        if isinstance(fact, Queue):  # these rows have no id of their own
            key = (fact.at, fact.operation, fact.text or "")
        if not key[0]:
            return False
        if key in self._rows:
            return True
        _keep(self._rows, key)
        return False

    # Counting

    def _taken(self, witness: Witness, prompt: str, *, queued: bool) -> list[_Count]:
        counts = self._of(prompt)
        self._prompts += 1
        for count in counts:
            count.taken[witness] += 1
            count.queued[witness] += queued
        return counts

    def _of(self, prompt: str) -> list[_Count]:
        """The counts of the forms in which a text can have been typed that is reported so."""
        return [self._count(words) for words in dict.fromkeys((plain(prompt), _ending(prompt)))]

    def _count(self, words: str) -> _Count:
        """The count of these words, to be changed."""
        self._frozen = None
        count = self._counts.setdefault(words, _Count())
        self._counts.move_to_end(words)
        while len(self._counts) > _KEPT:
            self._counts.popitem(last=False)
        return count


def _keep(held: OrderedDict[Any, None], key: Any) -> None:
    held[key] = None
    while len(held) > _KEPT:
        held.popitem(last=False)
