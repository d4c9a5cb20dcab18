"""One session's line to the agent in its pane. The agent outlives it, and the hub."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from hub import (
    AgentUnavailable,
    Connection,
    Ending,
    Failed,
    Idle,
    Interrupted,
    Message,
    SessionInfo,
    Status,
    SteerUnsupported,
    TurnContext,
    Verdict,
)
from turnhub_tmux.bridge.access import user_key
from turnhub_tmux.bridge.listener import Bridge
from turnhub_tmux.bridge.subscription import Subscription
from turnhub_tmux.history import History, Typed, place_of
from turnhub_tmux.idling import Idling
from turnhub_tmux.options import CLAUDE, Options
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.seat import Seat, Seats, kept
from turnhub_tmux.senses import Senses
from turnhub_tmux.shared import Shared
from turnhub_tmux.stopping import stop, take_back_late
from turnhub_tmux.traces import PromptLog
from turnhub_tmux.transcript.locate import projects
from turnhub_tmux.turn import Run
from turnhub_tmux.witnessed import Record, WitnessedTypist

_READ: Final = "tmux_read"


class TmuxConnection(Connection):
    """Runs the turns of one session, and listens between them. ``folder``: private files; ``shared``: what it has
    in common with others; ``bridge``: where the agent's hooks are posted."""

    def __init__(
        self,
        session: SessionInfo,
        options: Options,
        manifest: Manifest,
        *,
        shared: Shared,
        bridge: Bridge | None,
        folder: Path,
    ) -> None:
        self._session = session
        self._options = options
        self._manifest = manifest
        self._shared = shared
        self._bridge = bridge
        self._seats = Seats(session, options, bridge, folder)
        self._seat: Seat | None = None
        self._record = Record()
        self._history = History(place_of(session.memory.get(_READ)))
        self._wanted: asyncio.Event | None = None
        self._at_work: asyncio.Future[Run | None] | None = (
            None  # of the running turn: once the agent has its message
        )
        self._left = False  # whether a turn broke off here and may have left the agent at work
        self._stopped: Sequence[str] = ()  # words of a stopped turn, which the agent may have put back late

    async def run(self, turn: TurnContext) -> Ending:
        """Run one turn to its end."""
        wanted = self._wanted = asyncio.Event()
        at_work = self._at_work = asyncio.get_running_loop().create_future()
        notice = asyncio.create_task(_noticed(turn, wanted))
        try:
            return await self._run(turn, wanted)
        except AgentUnavailable as error:
            return Failed(code="agent_unavailable", message=error.detail)
        finally:
            self._wanted = self._at_work = None
            if not at_work.done():
                at_work.set_result(None)
            notice.cancel()
            await asyncio.gather(notice, return_exceptions=True)

    async def watch(self, idle: Idle) -> None:
        """Hear what is typed at the agent's own keyboard, until somebody does or the agent is gone."""
        memory = {**idle.session.memory, **self._known()}
        seat = await self._seats.find(memory)
        if seat is None or self._options.kind != CLAUDE:
            return  # there is nobody, or nobody who would tell
        self._seat = seat
        with self._subscribed(seat) as subscription:
            watcher = await self._shared.watcher(projects(self._seats.config))

            async def there() -> Path | None:
                found = await self._seats.find(memory)
                return None if found is None else await asyncio.to_thread(self._seats.transcript, found, 0.0)

            await Idling(idle, self._history, self._record, watcher, subscription=subscription, there=there).run()

    async def steer(self, message: Message) -> Verdict:
        """Type a message into the agent's own queue while a turn runs. Raises CannotConvey, SteerUnsupported."""
        run = None if self._at_work is None else await asyncio.shield(self._at_work)
        if run is None:
            raise SteerUnsupported("No turn is at work in this terminal.")
        return await run.steer(message)

    async def interrupt(self) -> None:
        """Stop the running turn, if there is one."""
        if self._wanted is not None:
            self._wanted.set()

    async def close(self) -> None:
        """Nothing is held here: the agent stays in its pane."""

    async def _run(self, turn: TurnContext, wanted: asyncio.Event) -> Ending:
        memory = turn.session.memory
        typed = self._typed(turn)
        goes_on = turn.adopted or typed is not None
        if self._seat is None and not goes_on:
            await turn.emit(Status(state="starting"))
        began = time.time()
        seat = self._seat = await self._seats.take({**memory, **self._known()}, adopted=goes_on)
        watcher = await self._shared.watcher(projects(self._seats.config))
        offset = int(memory["tmux_offset"]) if turn.adopted and memory.get("tmux_turn") == turn.turn_id else None
        if turn.adopted:
            self._record = Record(PromptLog(whole=offset is not None))
        elif typed is not None:
            offset = None if typed.place is None else typed.place.offset
        unread = self._history.unread
        with self._subscribed(seat) as subscription:
            senses = Senses(
                self._record,
                watcher,
                subscription,
                lambda: self._seats.transcript(seat, began),
                offset=offset,
                unread=unread,
                told=seat.ours,
                sizes=await asyncio.to_thread(self._seats.sizes, seat),
                lines=await asyncio.to_thread(self._seats.lines),
                of_it=lambda line: self._seats.is_of(seat, line),
            )
            await senses.locate()
            try:
                return await self._played(turn, seat, senses, typed, wanted)
            finally:
                self._history.read_to(senses.accounted, since=senses.began)

    async def _played(
        self, turn: TurnContext, seat: Seat, senses: Senses, typed: Typed | None, wanted: asyncio.Event
    ) -> Ending:
        typist = WitnessedTypist(
            seat.pane,
            self._manifest,
            self._record,
            catch_up=senses.catch_up,
            told=lambda: senses.hooked or senses.tail is not None,
        )
        if not turn.adopted:
            if typed is None:
                senses.forget()
                await self._tidy(turn, typist)
            await self._remember(turn, senses)
        if wanted.is_set() and typed is None:
            return Interrupted(by=turn.cancelled.by or "person")
        assert self._at_work is not None  # noqa: S101 - a turn runs
        at_work = self._at_work
        run = Run(
            turn,
            typist,
            senses,
            self._record,
            self._bridge,
            history=self._history,
            typed=typed,
            stall_s=self._options.stall_s,
            at_work=at_work.set_result,
        )
        ending = await run.play(wanted)
        self._stopped = run.stopped
        await self._keep(turn, seat, senses)
        return ending

    def _typed(self, turn: TurnContext) -> Typed | None:
        """The prompt of the agent's own keyboard that this turn is of; None where it is to be delivered."""
        typed, self._history.typed = self._history.typed, None
        if turn.message.origin != "keyboard" or turn.attempt > 1 or turn.adopted:
            return None
        if typed is not None and typed.text == turn.message.text:
            return typed
        # Another runner saw it: its row is read from where everything before is accounted for.
        return Typed(text=turn.message.text, key="", proof="transcript", place=self._history.unread)

    @contextmanager
    def _subscribed(self, seat: Seat) -> Iterator[Subscription | None]:
        """The facts of the agent's hooks, where they may be told."""
        if self._bridge is None or seat.key is None:
            yield None
            return
        with closing(self._bridge.subscribe(seat.key)) as subscription:
            yield subscription

    def _known(self) -> dict[str, str]:
        """What is known here and may not have been remembered by a turn that broke off."""
        if self._seat is None:
            return {}
        agent = {} if self._seat.agent_session is None else {"tmux_agent": self._seat.agent_session}
        return {"tmux_pane": kept(self._seat.pane), **agent}

    async def _tidy(self, turn: TurnContext, typist: WitnessedTypist) -> None:
        """What another turn of this session left running, which nobody waits for any more, is stopped."""
        if (
            (turn.session.memory.get("tmux_running") or self._left)
            and self._seat is not None
            and not self._seat.fresh
        ):
            await stop(turn, typist)
        if self._stopped:
            await take_back_late(turn, typist, self._stopped)
        self._left = True

    async def _remember(self, turn: TurnContext, senses: Senses) -> None:
        offset = 0 if senses.began is None else senses.began.offset
        known = self._known()
        await turn.remember(**known, tmux_turn=turn.turn_id, tmux_offset=str(offset), tmux_running=turn.turn_id)

    async def _keep(self, turn: TurnContext, seat: Seat, senses: Senses) -> None:
        """The turn has ended by itself, or was stopped: nothing is left running."""
        self._left = False
        if senses.agent_session is not None and senses.agent_session != seat.agent_session:
            key = seat.key if seat.ours else user_key(senses.agent_session)
            self._seat = msgspec.structs.replace(seat, agent_session=senses.agent_session, fresh=False, key=key)
        self._history.read_to(senses.accounted, since=senses.began)
        read = {} if self._history.unread is None else {_READ: self._history.unread.remembered()}
        await turn.remember(**self._known(), **read, tmux_running="")


async def _noticed(turn: TurnContext, wanted: asyncio.Event) -> None:
    await turn.cancelled.wait()
    wanted.set()
