"""One session's line to the agent in its pane. The agent outlives it, and the hub."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

from hub import (
    AgentUnavailable,
    Connection,
    Ending,
    Failed,
    Interrupted,
    SessionInfo,
    Status,
    TurnContext,
)
from turnhub_tmux.bridge.listener import Bridge
from turnhub_tmux.options import Options
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.seat import Seat, Seats, kept
from turnhub_tmux.senses import Senses
from turnhub_tmux.stopping import stop
from turnhub_tmux.traces import PromptLog
from turnhub_tmux.transcript.locate import projects
from turnhub_tmux.transcript.tail import Tail
from turnhub_tmux.transcript.watch import Watcher
from turnhub_tmux.turn import Run
from turnhub_tmux.witnessed import Record, WitnessedTypist


class TmuxConnection(Connection):
    """Runs the turns of one session. ``folder``: private files; ``bridge``: where its hooks are posted."""

    def __init__(
        self, session: SessionInfo, options: Options, manifest: Manifest, bridge: Bridge | None, folder: Path
    ) -> None:
        self._session = session
        self._options = options
        self._manifest = manifest
        self._bridge = bridge
        self._seats = Seats(session, options, bridge, folder)
        self._seat: Seat | None = None
        self._held = AsyncExitStack()
        self._watcher: Watcher | None = None
        self._record = Record()
        self._tail: Tail | None = None
        self._wanted: asyncio.Event | None = None
        self._left = False  # whether a turn broke off here and may have left the agent at work

    async def run(self, turn: TurnContext) -> Ending:
        """Run one turn to its end."""
        wanted = self._wanted = asyncio.Event()
        notice = asyncio.create_task(_noticed(turn, wanted))
        try:
            return await self._run(turn, wanted)
        except AgentUnavailable as error:
            return Failed(code="agent_unavailable", message=error.detail)
        finally:
            self._wanted = None
            notice.cancel()
            await asyncio.gather(notice, return_exceptions=True)

    async def interrupt(self) -> None:
        """Stop the running turn, if there is one."""
        if self._wanted is not None:
            self._wanted.set()

    async def close(self) -> None:
        """Let go of everything here. The agent stays in its pane."""
        self._watcher = None
        await self._held.aclose()

    async def _run(self, turn: TurnContext, wanted: asyncio.Event) -> Ending:
        if self._seat is None and not turn.adopted:
            await turn.emit(Status(state="starting"))
        began = time.time()
        memory = turn.session.memory
        seat = self._seat = await self._seats.take({**memory, **self._known()}, adopted=turn.adopted)
        if self._watcher is None:
            self._watcher = await self._held.enter_async_context(Watcher(projects(self._seats.config)))
        offset = int(memory["tmux_offset"]) if turn.adopted and memory.get("tmux_turn") == turn.turn_id else None
        if turn.adopted:
            self._record = Record(PromptLog(whole=offset is not None))
        record = self._record
        subscription = None if self._bridge is None else self._bridge.subscribe(self._session.id)
        try:
            senses = Senses(
                record,
                self._watcher,
                subscription,
                lambda: self._seats.transcript(seat, began),
                offset=offset,
                earlier=self._tail,
            )
            await senses.locate()
            typist = WitnessedTypist(seat.pane, self._manifest, record, catch_up=senses.catch_up)
            if not turn.adopted:
                senses.forget()
                await self._tidy(turn, typist)
                await self._remember(turn, seat, senses)
            if wanted.is_set():
                return Interrupted(by=turn.cancelled.by or "person")
            run = Run(turn, typist, senses, record, self._bridge, stall_s=self._options.stall_s)
            ending = await run.play(wanted)
            await self._keep(turn, seat, senses)
            return ending
        finally:
            self._tail = senses.tail
            if subscription is not None:
                subscription.close()

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
        self._left = True

    async def _remember(self, turn: TurnContext, seat: Seat, senses: Senses) -> None:
        offset = 0 if senses.tail is None else senses.tail.offset
        await turn.remember(
            **self._known(), tmux_turn=turn.turn_id, tmux_offset=str(offset), tmux_running=turn.turn_id
        )

    async def _keep(self, turn: TurnContext, seat: Seat, senses: Senses) -> None:
        """The turn has ended by itself, or was stopped: nothing is left running."""
        self._left = False
        if senses.agent_session is not None and senses.agent_session != seat.agent_session:
            self._seat = Seat(pane=seat.pane, agent_session=senses.agent_session, fresh=False, ours=seat.ours)
        await turn.remember(**self._known(), tmux_running="")


async def _noticed(turn: TurnContext, wanted: asyncio.Event) -> None:
    await turn.cancelled.wait()
    wanted.set()
