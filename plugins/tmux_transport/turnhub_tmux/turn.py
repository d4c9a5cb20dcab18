"""One turn of an agent in a pane: its message in, what it shows and asks out, until there is an ending."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from hub import (
    Completed,
    Ending,
    Failed,
    Interrupted,
    Message,
    MessageDelivered,
    Sight,
    Status,
    Text,
    TurnContext,
    Verdict,
)
from turnhub_tmux.asker import Asker
from turnhub_tmux.belonging import Belonging
from turnhub_tmux.bridge.facts import AskOver, Fact, PermissionAsked
from turnhub_tmux.bridge.listener import Bridge
from turnhub_tmux.commands_of_agent import Shown, close_panel, is_command, leaves
from turnhub_tmux.handing import Handing, words_of
from turnhub_tmux.history import History, Typed
from turnhub_tmux.joining import Joining
from turnhub_tmux.reading import answer_on
from turnhub_tmux.retrying import Retries
from turnhub_tmux.senses import Item, Senses, Wanted
from turnhub_tmux.steering import Steering
from turnhub_tmux.stopping import give_back, is_of, stop, take_back
from turnhub_tmux.story import Story, ToolStatus
from turnhub_tmux.traces import plain
from turnhub_tmux.transcript.facts import Absorbed, CommandSaid, Prompt, Result, RowFact, key_of
from turnhub_tmux.typist import seen_in
from turnhub_tmux.verdicts import Signs, ending
from turnhub_tmux.witnessed import Record, WitnessedTypist

_LOOK_S: Final = 0.05
_LAST_S: Final = 0.5
_DIES_S: Final = 0.3
_UNSURE: Final = 4096
_SILENT: Final = "The agent said nothing to what its last tool gave back. What came before is kept. Try again."


class Run:
    """Runs one turn on the agent that ``typist`` types to. ``typed``: the prompt that somebody typed at the
    agent's keyboard, where the turn is of that; ``stall_s``: how long there may be no sign of life; ``at_work`` is
    called when the agent has the message."""

    def __init__(
        self,
        turn: TurnContext,
        typist: WitnessedTypist,
        senses: Senses,
        record: Record,
        bridge: Bridge | None,
        *,
        history: History,
        typed: Typed | None = None,
        stall_s: float,
        at_work: Callable[[Run], None] = lambda _: None,
    ) -> None:
        self._turn = turn
        self._typist = typist
        self._senses = senses
        self._record = record
        self._bridge = bridge
        self._stall_s = stall_s
        self._story = Story(turn.shown)
        self._clock = asyncio.get_running_loop().time
        self._signs = Signs(alive_at=self._clock())
        self._since = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._results: dict[str, Result] = {}
        self._unsure: deque[Fact] = deque(maxlen=_UNSURE)  # told while the message waits in the agent's queue
        self._history = history
        self._typed = typed
        self._at_work = at_work
        joining = Joining()
        self._joining = joining
        self._whose = Belonging(words_of(typist, turn.message), begun=turn.adopted, joining=joining)
        self._steering = Steering(turn, typist, history, joining)
        self._handing = Handing(
            turn,
            typist,
            senses,
            history,
            look=self._look,
            asking=lambda: self._asker.waiting,
            leave=self._leave,
        )
        self._sight: Sight | None = None
        self._shown = Shown()
        self._retries = Retries()
        self._stopped: Sequence[str] = ()
        self._asker: Asker

    @property
    def stopped(self) -> Sequence[str]:
        """The words of this turn that the agent may put into its composer again, where it was stopped."""
        return self._stopped

    async def play(self, wanted: asyncio.Event) -> Ending:
        """Run the turn to its end. ``wanted`` is set when somebody wants it stopped."""
        try:
            async with self._senses.open(self._typist, wanted), asyncio.TaskGroup() as group:
                self._asker = Asker(self._turn, self._story, self._typist, self._bridge, group)
                try:
                    return await self._whole(wanted)
                finally:
                    self._asker.close()
        finally:
            while not self._senses.items.empty():  # noticed after the last look at it, or in a turn that broke off
                self._leave(self._senses.items.get_nowait())
            self._history.own(*self._whose.ids)

    async def _whole(self, wanted: asyncio.Event) -> Ending:
        turn = self._turn
        if turn.adopted and turn.delivered is not None:
            await turn.emit(Status(state="retrying", detail="The hub was started anew and goes on."))
        elif turn.message.origin == "keyboard" and (turn.adopted or turn.attempt == 1):
            await self._was_typed()
        else:
            handed = await self._handing.hand(self._whose, self._signs, wanted)
            if handed == "stop":
                return await self._stop()
            if handed is not None:
                return handed
        self._at_work(self)
        self._signs.alive_at, self._signs.worked = self._clock(), False
        self._signs.command = is_command(turn.message)
        while True:
            found = await self._step()
            if found is not None:
                return await self._ended(found)

    async def _was_typed(self) -> None:
        await self._handing.was_typed(self._typed)
        if self._typed is None:
            return
        self._whose.at_work(self._typed.prompt_id)
        for fact in self._typed.facts:
            await self._hear(fact, self._clock())

    async def steer(self, message: Message) -> Verdict:
        """Give a message to the agent while it is at work on this turn's. Raises CannotConvey."""
        return await self._steering.give(message)

    # What is noticed

    async def _step(self) -> Ending | None:
        item = await self._senses.items.get()
        await self._take(item)
        if isinstance(item, Wanted):
            return await self._stop()
        if self._stalled():
            return await self._give_up()
        return self._judged()

    async def _take(self, item: Item) -> None:
        now = self._clock()
        match item:
            case Sight():
                self._signs.look(item, now)
                self._look(item)
                await self._tell_retry(item)
            case Fact():
                await self._hear(item, now)
            case RowFact():
                await self._read(item, now)
            case Wanted():
                return

    async def _hear(self, fact: Fact, now: float) -> None:
        whose = self._whose.hears(fact)
        if whose == "later":
            self._history.leave([fact])
        elif whose == "none" and self._whose.queued:
            self._unsure.append(fact)
        if whose != "ours":
            return
        self._signs.hear(fact, now)
        match fact:
            case PermissionAsked() if not fact.late:
                self._asker.hear(fact)
            case AskOver():
                alive = self._sight is not None and self._sight.holder == "agent" and await self._lives()
                self._asker.over(fact, alive=alive)
            case _:
                pass
        if not fact.late:
            for event in self._story.hear(fact, written=self._senses.tail is not None):
                await self._turn.emit(event)

    def _leave(self, item: Item) -> None:
        """What is not of this turn is told between turns: a prompt that somebody typed, and what answers it."""
        ids = self._whose.ids
        match item:
            case Fact(prompt_id=str() as prompt_id) if prompt_id not in ids:
                self._history.leave([item])
            case Prompt(aside=False) if item.uuid not in ids and item.prompt_id not in ids:
                self._senses.rest_from(item)
            case _:
                return

    async def _hear_early(self, now: float) -> None:
        """The agent has gone on to a message of this turn: what its hooks told of it before that was known."""
        early = [*self._history.early]
        self._history.early.clear()
        for fact in early:
            await self._hear(fact, now)

    async def _begins(self, now: float) -> None:
        """The message has come out of the agent's queue: what the hooks told of it before its row was read."""
        told = [fact for fact in self._unsure if fact.prompt_id in self._whose.ids]
        self._unsure.clear()
        for fact in told:
            await self._hear(fact, now)

    async def _lives(self) -> bool:
        """Whether the agent is there still, also a moment later: a dying one may hang up before it is seen to
        go."""
        for pause_s in (0.0, _DIES_S):
            await asyncio.sleep(pause_s)
            if (await self._typist.look()).holder != "agent":
                return False
        return True

    async def _read(self, fact: RowFact, now: float) -> None:
        waited = self._whose.queued
        whose = self._whose.reads(fact)
        if whose == "later":
            self._senses.rest_from(fact)
        if whose not in ("ours", "joined"):
            return
        goes_on = False
        if isinstance(fact, Prompt | Absorbed):
            goes_on = await self._goes_on_to(fact, theirs=whose == "joined")
        self._signs.hear(fact, now)
        if await self._steering.read(fact) or goes_on:
            self._signs.goes_on()
            await self._hear_early(now)
        if waited and not self._whose.queued:
            await self._begins(now)
        if isinstance(fact, Result) and fact.rejected and not fact.aside and not self._asker.unanswered:
            self._signs.at_tool = True
            self._story.stopped(fact.tool_use_id)
        past = self._adopted and fact.at < self._since
        for event in self._story.read(fact, live=not self._senses.hooked, past=past):
            await self._turn.emit(event)
        if isinstance(fact, CommandSaid) and self._signs.command:
            self._shown.read(fact)
        if isinstance(fact, Result):
            self._results[fact.tool_use_id] = fact
            self._asker.result(fact)

    async def _goes_on_to(self, fact: Prompt | Absorbed, *, theirs: bool) -> bool:
        """The agent goes on to these words in this turn. Whether somebody typed words there that are answered
        with it: they are told of."""
        along: list[Prompt | Absorbed] = [*self._whose.along()]
        if along:
            self._senses.rest_on()
        if not theirs:
            self._history.arrived(fact.text)
        for one in (*along, fact) if theirs else along:
            text = plain(one.text)
            if not self._history.arrived(one.text) and text.strip():
                await self._turn.joined(text, key_of(one))
        return theirs or bool(along)

    def _look(self, sight: Sight) -> None:
        first, self._sight = self._sight is None, sight
        seen = seen_in(sight)
        if seen is None or sight.holder != "agent":
            return
        hooked = self._senses.hooked and not self._adopted
        written = self._senses.tail is not None
        self._asker.look(seen, self._story.pending, hooked=hooked, written=written)
        if first and self._adopted:
            self._asker.settle_what_is_gone(self._results)

    async def _tell_retry(self, sight: Sight) -> None:
        seen = seen_in(sight)
        news = None if seen is None else self._retries.look(seen.screen, seen.manifest)
        if news is not None:
            await self._turn.emit(news)

    @property
    def _adopted(self) -> bool:
        return self._turn.adopted

    # The end

    def _judged(self) -> Ending | None:
        self._signs.command = self._signs.command and not self._story.begun
        self._signs.put_back = not self._story.begun and self._is_put_back()
        return ending(
            self._signs,
            self._clock(),
            told=self._story.whole,
            hooked=self._senses.hooked,
            written=self._senses.tail is not None,
            error=self._story.error,
            joining=bool(self._joining),
        )

    def _is_put_back(self) -> bool:
        sight = self._sight
        return sight is not None and sight.draft_whole and is_of(sight.draft, [self._whose.words])

    def _stalled(self) -> bool:
        if self._asker.waiting:
            self._signs.alive_at = self._clock()
        return self._clock() - self._signs.alive_at >= self._stall_s

    async def _give_up(self) -> Ending:
        failed = Failed(code="stalled", message=f"Nothing came from the agent for {self._stall_s:g} s.")
        self._turn.sign(failed)
        await self._turn.emit(Status(state="stalled", detail=failed.message))
        await self._stop()
        return failed

    async def _stop(self) -> Ending:
        forms = self._asker.forms()
        self._asker.close()
        self._stopped = (self._turn.message.text, *self._joining.words)
        if await stop(self._turn, self._typist, early=not self._story.begun, also=self._joining.words):
            await self._last_words()
        if self._bridge is not None:
            for ask_id in forms:
                self._bridge.drop(ask_id)
        return await self._ended(Interrupted(by=self._turn.cancelled.by or "person"))

    async def _last_words(self) -> None:
        """Wait a moment for what the transcript says of a turn that was stopped."""
        deadline = self._clock() + _LAST_S
        while not self._signs.broken_off and self._clock() < deadline:
            await asyncio.sleep(_LOOK_S)
            await self._drain()

    async def _ended(self, found: Ending) -> Ending:
        """Tell what is left to tell, and with the ending what was spent."""
        await self._drain()
        await self._asker.rest()
        foreign = not self._senses.hooked and self._senses.tail is None
        if foreign and not self._signs.command and isinstance(found, Completed):
            seen = seen_in(self._sight) if self._sight is not None else None
            text = "" if seen is None else answer_on(seen.screen, self._whose.words, seen.manifest.prompts)
            if text:  # nothing else tells of this agent
                await self._turn.emit(Text(block=self._story.block(), text=text))
        if self._signs.command:
            found = await self._command_ended(found)
        await self._leave_composer()
        whole = isinstance(found, Completed)
        left: ToolStatus = "interrupted" if isinstance(found, Interrupted) else "unknown"
        sure = self._signs.written_to_the_end or self._story.error is not None
        for event in self._story.reconcile(left, sure=sure):
            if whole or not (isinstance(event, Text) and event.partial):
                await self._turn.emit(event)
        if found == Completed() and self._story.reasoned and (self._story.silent or not self._story.begun):
            found = Failed(code="reasoning_only")
        elif found == Completed() and self._story.silent:
            found = Failed(code="empty_response", message=_SILENT)
        return msgspec.structs.replace(found, usage=self._story.usage)

    async def _leave_composer(self) -> None:
        """The composer is a person's again: what the agent did not take is out of it, their own words are in."""
        blocked = self._signs.blocked
        if blocked is not None and not blocked.kept:
            await self._turn.emit(MessageDelivered(verdict="staged", proof="transcript", detail=blocked.text))
            await take_back(self._turn, self._typist, [self._turn.message.text, self._whose.words])
        if self._handing.draft:
            await give_back(self._turn, self._typist, self._handing.draft)

    async def _command_ended(self, found: Ending) -> Ending:
        """Tell what the command has shown, and close what it has opened."""
        gone = isinstance(found, Failed) and found.code == "agent_dead" and leaves(self._turn.message)
        if not (gone or isinstance(found, Completed)):
            return found
        if not gone:
            self._shown.look(self._sight, self._whose.words, written=self._senses.tail is not None)
            await close_panel(self._turn, self._typist, self._whose.words)
            await self._drain()
        await self._turn.emit(Text(block=self._story.block(), text=self._shown.text(gone=gone)))
        return Completed()

    async def _drain(self) -> None:
        await self._senses.catch_up()
        while not self._senses.items.empty():
            item = self._senses.items.get_nowait()
            if not isinstance(item, Sight | Wanted | PermissionAsked):
                await self._take(item)
