"""One turn under supervision: whatever its transport does, the turn ends once, honestly, in bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from msgspec import Struct

from hub import log
from hub.errors import AgentUnavailable, HubError
from hub.events import Status
from hub.runner.asking import Asking
from hub.runner.contain import bounded, contained, stop
from hub.runner.context import LiveTurn
from hub.runner.silence import Silence
from hub.runner.sound import innermost, said, sound
from hub.runner.writer import LeaseLost, Writer
from hub.transport import Connection
from hub.turn import Completed, Ending, Failed, Interrupted
from hub.typist import undelivered

_INTERRUPT_RETURNS_S = 1.0


class Patience(Struct, frozen=True, kw_only=True):
    """Seconds: what an interrupted transport is given to stop by itself, and a cancelled one to stop at all."""

    interrupt_grace_s: float = 5.0
    stop_s: float = 2.0


class Supervisor:
    """Runs one turn of a connection to its ending. ``ending``: what it came to, once it has come to one;
    ``clean``: the transport ended it by itself, in order, and can be used again; ``shut``: the process stops."""

    def __init__(
        self, turn: LiveTurn, writer: Writer, asking: Asking, silence: Silence, patience: Patience
    ) -> None:
        self.ending: Ending | None = None
        self.clean = False
        self.shut = False
        self._turn = turn
        self._writer = writer
        self._asking = asking
        self._silence = silence
        self._patience = patience
        self._transport = turn.session.agent.transport
        self._connection: Connection | None = None
        self._opened = asyncio.Event()
        self._shutdown = asyncio.Event()
        self._clock = asyncio.get_running_loop().time
        self._log = structlog.get_logger("hub.turn").bind(session_id=turn.session.id, turn_id=turn.turn_id)

    def shut_down(self) -> None:
        """The process stops: the turn is to end now."""
        self._shutdown.set()

    async def run(self, opening: Callable[[], Awaitable[Connection]]) -> None:
        """Open the connection and run the turn to its :attr:`ending`; everything is written then. Raises a
        group of LeaseLost."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._writer.run())
            try:
                self.ending = await self._contained(opening)
            finally:
                self._turn.close()
            self._writer.close()

    async def _contained(self, opening: Callable[[], Awaitable[Connection]]) -> Ending:
        if self._shutdown.is_set():
            return self._shut_down()
        if self._turn.cancelled.requested and not self._turn.adopted:
            return Interrupted(by=self._turn.cancelled.by or "person")  # before its agent heard of it
        task = asyncio.create_task(contained(lambda: self._open_and_run(opening)))
        cancelled = asyncio.create_task(self._turn.cancelled.wait())
        shutdown = asyncio.create_task(self._shutdown.wait())
        try:
            return await self._watched(task, cancelled, shutdown)
        finally:
            cancelled.cancel()
            shutdown.cancel()
            self._asking.close()
            if not await stop(task, within_s=self._patience.stop_s):
                self.clean = False
                self._log.error("a transport does not stop; its connection is given up", transport=self._transport)

    async def _open_and_run(self, opening: Callable[[], Awaitable[Connection]]) -> Ending:
        self._connection = await opening()
        self._opened.set()
        with log.bound(session=self._turn.session.id, turn=self._turn.turn_id):  # whatever the transport logs
            return await self._connection.run(self._turn)

    async def _watched(
        self, task: asyncio.Task[Ending], cancelled: asyncio.Task[Any], shutdown: asyncio.Task[Any]
    ) -> Ending:
        while True:
            await asyncio.wait(
                {task, cancelled, shutdown},
                timeout=self._silence.wait(self._clock()),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if task.done():
                return self._outcome(task)
            if shutdown.done():
                return self._shut_down()
            if cancelled.done():
                return await self._interrupted(task, shutdown)
            if await self._stalled():
                return Failed(code="stalled", message=self._stall_sentence())

    def _shut_down(self) -> Ending:
        self.shut = True
        return Failed(code="cancelled_by_shutdown")

    # Somebody interrupts

    async def _interrupted(self, task: asyncio.Task[Ending], shutdown: asyncio.Task[Any]) -> Ending:
        """Tell the transport, give it the grace to end by itself, and say how it ended."""
        by = self._turn.cancelled.by or "person"
        self._asking.interrupted = True
        grace = self._patience.interrupt_grace_s
        if self._connection is None and not self._turn.adopted:
            return Interrupted(by=by)
        telling = asyncio.create_task(bounded(self._tell, within_s=grace))
        try:
            await asyncio.wait({task, shutdown}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({telling}, timeout=_INTERRUPT_RETURNS_S)
        finally:
            heard = telling.done() and telling.result() is None
            await stop(telling, within_s=_INTERRUPT_RETURNS_S)
        if not task.done():
            return Interrupted(by=by)
        ending = self._outcome(task)
        self.clean = self.clean and heard
        return ending

    async def _tell(self) -> None:
        """An adopted turn's agent runs already: it is to hear of it, even if the connection is only opening."""
        await self._opened.wait()
        if self._connection is None:
            return
        try:
            await self._connection.interrupt()
        except Exception as error:
            self._log.error("interrupt() failed", transport=self._transport, error=type(error).__name__)
            raise

    # Nothing comes

    async def _stalled(self) -> bool:
        """Whether the turn has been silent for too long. Waiting for a person, a tool or the store is no
        silence."""
        if self._asking.open or self._writer.tally.open_tools or self._writer.behind:
            self._silence.broken(self._clock())
            return False
        verdict = self._silence.look(self._clock())
        if verdict == "show":
            seconds = self._silence.stall_s / 3
            await self._writer.put(
                Status(state="stalled", detail=f"Nothing from the agent for {seconds:.3g} s."), 0
            )
        return verdict == "over"

    def _stall_sentence(self) -> str:
        return f"Nothing came from the agent for {self._silence.stall_s:g} s. What came before is kept; try again."

    # The transport has ended

    def _outcome(self, task: asyncio.Task[Ending]) -> Ending:
        """How it ended; what follows an interruption is its consequence, and no failure of its own."""
        ending, cancelled, tally = self._result(task), self._turn.cancelled, self._writer.tally
        if not cancelled.requested:
            return ending
        if isinstance(ending, Completed) and (tally.spoke or tally.tools):
            return ending  # it was done before the interruption reached it
        return Interrupted(by=cancelled.by or "person", usage=ending.usage, cost_usd=ending.cost_usd)

    def _result(self, task: asyncio.Task[Ending]) -> Ending:
        if task.cancelled():
            return self._broken("it was cancelled from within")
        if (raised := task.exception()) is not None:
            return self._raised(innermost(raised))
        ending: object = task.result()
        if not isinstance(ending, Completed | Failed | Interrupted):
            told = type(ending).__name__
            self._log.error("a transport ended a turn without an ending", transport=self._transport, returned=told)
            return Failed(
                code="incomplete",
                message=f"Transport {self._transport!r} ended without an ending (it returned {told}). Try again.",
            )
        try:
            checked = sound(ending, "The ending")
        except HubError as error:
            self._log.error("a transport's ending is no sound one", transport=self._transport)
            return self._broken(error.detail)
        self.clean = True
        return checked

    def _raised(self, error: BaseException) -> Ending:
        if isinstance(error, LeaseLost):
            raise error
        if isinstance(error, AgentUnavailable):
            return Failed(code="agent_unavailable", message=error.detail)
        if isinstance(error, HubError) and error.code == "not_delivered":
            return undelivered(error)
        self._log.error("a transport raised", transport=self._transport, error=type(error).__name__)
        self._log.debug("that error", exc_info=error)
        return self._broken(error.detail if isinstance(error, HubError) else said(error))

    def _broken(self, what: str) -> Failed:
        sentence = f"Transport {self._transport!r} broke: {what}".rstrip(".")
        return Failed(code="agent_error", message=f"{sentence}. Try again; if it stays, report it.")
