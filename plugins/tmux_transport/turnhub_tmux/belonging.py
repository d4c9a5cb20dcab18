"""Pure: which of what hooks and transcript tell belongs to one turn, what came before it, and what comes after."""

from __future__ import annotations

from typing import Literal, TypeAlias

from turnhub_tmux.bridge.facts import Fact, PromptSubmitted
from turnhub_tmux.joining import Joining
from turnhub_tmux.traces import same
from turnhub_tmux.transcript.facts import Absorbed, Prompt, RowFact

Whose: TypeAlias = Literal["ours", "later", "none"]


class Belonging:
    """Of one turn, whose message reads ``words`` in the agent's own form. ``begun``: the agent was at work on it
    before anybody listened here (the turn was adopted).

    ``queued``: the message waits in the agent's own queue. ``loose``: the agent may tell of the message in other
    words (a command of its own, say), so that the next prompt is taken for it. ``joining``: messages that were
    given to the turn while it ran; their prompts are its own, too.
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

    @property
    def ids(self) -> tuple[str, ...]:
        """The agent's own ids of the turn's prompt, in posts and in rows."""
        return (*self._prompts, *self._rows)

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
        if isinstance(fact, Prompt) and not fact.aside and not self._done:
            return self._prompt(fact)
        if isinstance(fact, Absorbed) and self.queued and self._is_ours(fact.text):
            # The agent goes on with the prompt that it was at, whichever that is.
            self.queued, self._heard, self._written = False, True, True
            self._prompts.clear()
            return "ours"
        return "ours" if self._written and not self._done else "none"

    def _prompt(self, fact: Prompt) -> Whose:
        known = fact.uuid in self._rows or (fact.prompt_id is not None and fact.prompt_id in self._prompts)
        if not known and not self._joins(fact.text) and (self._rows or not self._is_ours(fact.text)):
            self._done = bool(self._rows)
            return "later"
        self._heard |= self.queued
        self._written, self.queued = True, False
        self._rows.add(fact.uuid)
        if fact.prompt_id is not None:
            self._prompts.add(fact.prompt_id)
        return "ours"

    def _is_ours(self, prompt: str) -> bool:
        return self.loose or same(prompt, self.words)

    def _joins(self, prompt: str) -> bool:
        """Whether it is a message that was given to the turn while it ran."""
        begun = self._heard or self._written
        return begun and not self.queued and self._joining.waits_for(prompt)
