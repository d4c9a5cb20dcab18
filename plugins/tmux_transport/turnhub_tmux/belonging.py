"""Pure: which of what hooks and transcript tell belongs to one turn, what came before it, and what comes after."""

from __future__ import annotations

from typing import Literal, TypeAlias

from turnhub_tmux.bridge.facts import Fact, PromptSubmitted
from turnhub_tmux.joining import Joining
from turnhub_tmux.traces import same
from turnhub_tmux.transcript.facts import Absorbed, Blocked, Prompt, Queue, RowFact

Whose: TypeAlias = Literal["ours", "joined", "later", "none"]
"""``joined``: somebody else's words, which the agent took into this turn."""


class Belonging:
    """Of one turn, whose message reads ``words`` in the agent's own form. ``begun``: the agent was at work on it
    before anybody listened here (the turn was adopted).

    ``queued``: the message waits in the agent's own queue. ``loose``: the agent may tell of the message in other
    words (a command of its own, say), so that the next prompt is taken for it. ``joining``: messages that were
    given to the turn while it ran; their prompts are its own, too.

    The agent takes all that waits in its queue at once, and answers it in one: prompts between which it says
    nothing are of the same turn, whoever typed them. The answer's hooks tell the id of the last one.
    """

    def __init__(self, words: str, *, begun: bool = False, joining: Joining | None = None) -> None:
        self.words = words
        self.queued = False
        self.loose = False
        self._joining = Joining() if joining is None else joining
        self._heard = self._written = begun
        self._prompts: set[str] = set()
        self._rows: set[str] = set()
        self._done = False
        self._silent = False  # nothing was said since the last prompt
        self._before: list[Prompt] = []

    @property
    def ids(self) -> tuple[str, ...]:
        """The agent's own ids of the turn's prompt, in posts and in rows."""
        return (*self._prompts, *self._rows)

    def along(self) -> tuple[Prompt, ...]:
        """Others' prompts that were taken for later ones and turned out to be of this turn; each once."""
        along, self._before = tuple(self._before), []
        for one in along:
            self._own(one)
        return along

    def told(self) -> None:
        """The agent has the message, although its words may never be told."""
        self._heard = self._written = True

    def at_work(self, prompt: str | None) -> None:
        """The agent works on the message already, under this id where that is known."""
        self._heard = True
        if prompt is not None:
            self._prompts.add(prompt)

    # Hooks

    def hears(self, fact: Fact) -> Whose:
        """Whose a fact of the bridge is."""
        prompt = fact.prompt_id
        if isinstance(fact, PromptSubmitted) and not self.queued and not fact.queued:
            return self._submitted(fact)
        if prompt is not None and self._prompts and prompt not in self._prompts:
            return "none" if self.queued or fact.late else "later"
        return "ours" if self._heard else "none"

    def _submitted(self, fact: PromptSubmitted) -> Whose:
        known = fact.prompt_id in self._prompts
        if not known and not self._joins(fact.prompt) and (self._prompts or not self._is_ours(fact.prompt)):
            return "none" if fact.late else "later"
        self._heard = True
        if fact.prompt_id is not None:
            self._prompts.add(fact.prompt_id)
        return "ours"

    # Transcript

    def reads(self, fact: RowFact) -> Whose:
        """Whose a row is."""
        match fact:
            case Prompt() if not fact.aside and not self._done:
                return self._prompt(fact)
            case Absorbed() if self.queued and self._is_ours(fact.text):
                # The agent goes on with the prompt that it was at, whichever that is.
                self.queued, self._heard, self._written = False, True, True
                self._prompts.clear()
                return "ours"
            case Absorbed() if self._at_it and not fact.aside and not self._joins(fact.text):
                return "joined"
            case Blocked(prompt=str() as prompt) if not self._done:
                return "ours" if self._is_ours(prompt) else "none"
            case Prompt() | Queue() | Absorbed():
                pass
            case _:
                self._silent = False
                self._before.clear()
        return "ours" if self._at_it else "none"

    @property
    def _at_it(self) -> bool:
        return self._written and not self._done and not self.queued

    def _prompt(self, fact: Prompt) -> Whose:
        whose = self._whose(fact)
        if whose == "later":
            self._done = bool(self._rows)
            self._before.append(fact)
            return whose
        self._heard |= self.queued
        self._written, self.queued, self._silent = True, False, True
        self._own(fact)
        return whose

    def _whose(self, fact: Prompt) -> Whose:
        known = fact.uuid in self._rows or (fact.prompt_id is not None and fact.prompt_id in self._prompts)
        if known or self._joins(fact.text) or (not self._rows and self._is_ours(fact.text)):
            return "ours"
        along = self._rows and (self._silent or (self._joining and not self.queued))
        return "joined" if along else "later"

    def _own(self, fact: Prompt) -> None:
        self._rows.add(fact.uuid)
        if fact.prompt_id is not None:
            self._prompts.add(fact.prompt_id)

    def _is_ours(self, prompt: str) -> bool:
        return self.loose or same(prompt, self.words)

    def _joins(self, prompt: str) -> bool:
        """Whether it is a message that was given to the turn while it ran."""
        begun = self._heard or self._written
        return begun and not self.queued and self._joining.waits_for(prompt)
