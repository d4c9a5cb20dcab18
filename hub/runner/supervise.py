"""One turn under supervision: whatever its transport does, the turn ends once, honestly, in bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from msgspec import Struct

from hub.errors import AgentUnavailable, Fenced, HubError, StoreReadOnly, StoreUnavailable
from hub.events import AnyEvent, Status, Terminal, stamp
from hub.runner.asking import Asking
from hub.runner.context import LiveTurn
from hub.runner.writer import LeaseLost, Writer
from hub.store.records import Claim, Finished
from hub.store.store import Store
from hub.transport import Connection
from hub.turn import Completed, Ending, Failed, Interrupted, TurnTally, judge, terminal_event

_FINISH_RETRY_S = 0.2
_CANCEL_S = 2.0
_SHOWN_AFTER = 1 / 3


class Patience(Struct, frozen=True, kw_only=True):
    """Seconds: silence that ends a turn (a third of it is shown as stalled), and what an interrupted
    transport is given to stop by itself."""

    stall_s: float = 300.0
    interrupt_grace_s: float = 5.0


class Supervisor:
    """Runs one turn of a connection to its ending. Nothing a transport does gets past here."""

    def __init__(self, turn: LiveTurn, writer: Writer, asking: Asking, patience: Patience) -> None:
        self._turn = turn
        self._writer = writer
        self._asking = asking
        self._patience = patience
        self._transport = turn.session.agent.transport
        self._connection: Connection | None = None
        self._shown_stalled = False
        self._shutdown = asyncio.Event()
        self.left_behind = False
        self._clock = asyncio.get_running_loop().time
        self._log = structlog.get_logger("hub.turn").bind(session_id=turn.session.id, turn_id=turn.turn_id)

    def shut_down(self) -> None:
        """The process stops: the turn is to end now."""
        self._shutdown.set()

    async def run(self, opening: Callable[[], Awaitable[Connection]]) -> Ending:
        """Open the connection, run the turn, and say how it really ended. Raises LeaseLost only."""
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(self._writer.run())
            try:
                ending = await self._contained(opening)
            finally:
                self._turn.close()
            await self._writer.flush()
            self._writer.close()
            await writing
        return ending

    async def _contained(self, opening: Callable[[], Awaitable[Connection]]) -> Ending:
        task = asyncio.create_task(self._open_and_run(opening), name=f"turn {self._turn.turn_id}")
        cancelled = asyncio.create_task(self._turn.cancelled.wait())
        shutdown = asyncio.create_task(self._shutdown.wait())
        try:
            while not task.done():
                await asyncio.wait(
                    {task, cancelled, shutdown}, timeout=self._until_stall(), return_when=asyncio.FIRST_COMPLETED
                )
                if task.done():
                    break
                if shutdown.done():
                    return Failed(code="cancelled_by_shutdown")
                if cancelled.done():
                    return await self._interrupted(task)
                if await self._stalled():
                    return Failed(code="stalled", message=self._stall_sentence())
            return self._result(task)
        finally:
            cancelled.cancel()
            shutdown.cancel()
            await self._stop(task)

    async def _open_and_run(self, opening: Callable[[], Awaitable[Connection]]) -> Ending:
        self._connection = await opening()
        return await self._connection.run(self._turn)

    async def _interrupted(self, task: asyncio.Task[Ending]) -> Ending:
        by = self._turn.cancelled.by or "person"
        if self._connection is not None:
            interrupt = asyncio.create_task(self._connection.interrupt())
            await asyncio.wait({task, interrupt}, timeout=self._patience.interrupt_grace_s)
            await self._settle_interrupt(interrupt)
            await asyncio.wait({task}, timeout=self._patience.interrupt_grace_s)
        if task.done() and not task.cancelled() and task.exception() is None:
            ending = task.result()
            if isinstance(ending, Completed):
                return ending  # it was done before the interruption reached it
            if isinstance(ending, Interrupted):
                return Interrupted(by=by, usage=ending.usage, cost_usd=ending.cost_usd)
        return Interrupted(by=by)

    async def _settle_interrupt(self, interrupt: asyncio.Task[None]) -> None:
        if not interrupt.done():
            await asyncio.wait({interrupt}, timeout=self._patience.interrupt_grace_s)
        if not interrupt.done():
            interrupt.cancel()
            self._log.error("interrupt() does not return", transport=self._transport)
        elif not interrupt.cancelled() and (error := interrupt.exception()) is not None:
            self._log.error("interrupt() failed", transport=self._transport, error=type(error).__name__)

    def _until_stall(self) -> float:
        """Seconds until silence has to be looked at."""
        limit = self._patience.stall_s * (1.0 if self._shown_stalled else _SHOWN_AFTER)
        return max(0.01, self._writer.last_event_at + limit - self._clock())

    async def _stalled(self) -> bool:
        """Whether the turn has been silent for too long. Waiting for a person or for a tool is no silence."""
        silent = self._clock() - self._writer.last_event_at
        if self._asking.open or self._writer.tally.open_tools:
            self._writer.last_event_at = self._clock()
            return False
        if silent >= self._patience.stall_s:
            return True
        if not self._shown_stalled and silent >= self._patience.stall_s * _SHOWN_AFTER:
            quiet_since = self._writer.last_event_at
            await self._writer.put(Status(state="stalled", detail=f"Nothing from the agent for {silent:.0f} s."))
            self._writer.last_event_at = quiet_since
            self._shown_stalled = True
        elif silent < self._patience.stall_s * _SHOWN_AFTER:
            self._shown_stalled = False
        return False

    def _stall_sentence(self) -> str:
        return (
            f"Nothing came from the agent for {self._patience.stall_s:g} s. What came before is kept; try again."
        )

    def _result(self, task: asyncio.Task[Ending]) -> Ending:
        if task.cancelled():
            return self._broken(f"Transport {self._transport!r} was cancelled from within")
        error = task.exception()
        if isinstance(error, AgentUnavailable):
            return Failed(code="agent_unavailable", message=error.detail)
        if isinstance(error, LeaseLost):
            raise error
        if error is not None:
            self._log.error("a transport raised", transport=self._transport, error=type(error).__name__)
            self._log.debug("that error", exc_info=error)
            detail = error.detail if isinstance(error, HubError) else f"{type(error).__name__}: {error}"
            return self._broken(f"Transport {self._transport!r} broke: {detail}")
        ending: object = task.result()
        if not isinstance(ending, Completed | Failed | Interrupted):
            told = type(ending).__name__
            self._log.error("a transport ended a turn without an ending", transport=self._transport, returned=told)
            return Failed(
                code="incomplete",
                message=f"Transport {self._transport!r} ended without an ending (it returned {told}). Try again.",
            )
        return ending

    @staticmethod
    def _broken(sentence: str) -> Failed:
        return Failed(code="agent_error", message=f"{sentence.rstrip('.')}. Try again; if it stays, report it.")

    async def _stop(self, task: asyncio.Task[Ending]) -> None:
        """Whatever happened, the transport does not run on."""
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_CANCEL_S)
        if not task.done():
            self.left_behind = True
            self._log.error("a transport does not stop; its connection is given up", transport=self._transport)
        elif not task.cancelled():
            task.exception()  # seen: it does not decide any more


def conclude(tally: TurnTally, ending: Ending, sign: Failed | None) -> tuple[list[AnyEvent], Ending]:
    """Pure: what has to be written before the terminal event, and the ending that the turn really has."""
    closing = list(tally.closing("interrupted" if isinstance(ending, Interrupted) else "unknown"))
    for event in closing:
        tally.feed(event)
    return closing, judge(tally, ending, sign)


async def finish(
    store: Store,
    claim: Claim,
    closing: list[AnyEvent],
    ending: Ending,
    *,
    duration_ms: int,
    tools: int,
    next_turn: str,
) -> tuple[Terminal, Finished] | None:
    """Write the end, however long the store is away: the slot is never free without its event. None when
    somebody else owns the turn now."""
    session_id, turn_id = claim.session_id, claim.turn_id
    terminal = terminal_event(ending, duration_ms=duration_ms, tools=tools)
    stamped: Terminal = stamp(terminal, session_id, turn_id)  # type: ignore[assignment]
    events = [stamp(event, session_id, turn_id) for event in closing]
    reason = "the turn was interrupted" if isinstance(ending, Interrupted) else "the turn ended"
    while True:
        try:
            return stamped, await store.finish(claim, events, stamped, next_turn=next_turn, reason=reason)
        except Fenced:
            return None
        except (StoreUnavailable, StoreReadOnly) as error:
            structlog.get_logger("hub.turn").warning(
                "the end of a turn could not be written yet",
                session_id=session_id,
                turn_id=turn_id,
                error=error.detail,
            )
            await asyncio.sleep(_FINISH_RETRY_S)
