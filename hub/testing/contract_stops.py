"""The contract of stopping: at once, honestly, and without touching anybody else."""

from __future__ import annotations

import asyncio

import pytest

from hub.testing.contract_base import ContractBase, must
from hub.testing.turns import FakeTurn
from hub.transport import SessionInfo, Transport
from hub.turn import Interrupted


class StopContract(ContractBase):
    """A turn can be stopped, and a stopped turn is told as one."""

    def _lasting(self, transport: Transport) -> str:
        return self.endless() if self.can(transport, "interrupt") else self.words()

    @pytest.mark.anyio
    async def test_interrupting_ends_the_turn(self, transport: Transport, session: SessionInfo) -> None:
        """What the hub does when somebody interrupts: ``run`` ends soon, as Interrupted. A transport that
        cannot is left in peace by ``interrupt``."""
        turn = self.turn(self._lasting(transport), session=session)
        async with self.connected(transport, session) as connection:
            if not self.can(transport, "interrupt"):
                await self.bounded(connection.interrupt(), self.stop_within_s, "interrupt")
                return
            async with self.running(connection, turn) as task:
                turn.cancelled.request("ann")
                await self.bounded(connection.interrupt(), self.stop_within_s, "interrupt")
                await self.ended(task, "it was interrupted")
                ending = task.result()
        must(isinstance(ending, Interrupted), f"The turn was interrupted, but ended as {ending!r}.")
        self.sound(turn)

    @pytest.mark.anyio
    async def test_interrupting_nothing_is_harmless(self, transport: Transport, session: SessionInfo) -> None:
        """``interrupt`` without a turn does nothing: in particular the next turn is not hit by it."""
        turn = self.turn(self.words(), session=session)
        async with self.connected(transport, session) as connection:
            await self.bounded(connection.interrupt(), self.stop_within_s, "interrupt")
            ending = await self.played(connection, turn)
        must(not isinstance(ending, Interrupted), "An interrupt before the turn stopped the turn.")

    @pytest.mark.anyio
    async def test_a_turn_runs_after_a_stopped_one(self, transport: Transport, session: SessionInfo) -> None:
        """The connection is as good as before, and the stopped turn is left alone."""
        turn = self.turn(self._lasting(transport), session=session)
        async with self.connected(transport, session) as connection:
            if self.can(transport, "interrupt"):
                async with self.running(connection, turn) as task:
                    await self.bounded(connection.interrupt(), self.stop_within_s, "interrupt")
                    await self.ended(task, "it was interrupted")
            again = turn.next(self.words(), verifiers=self.plugins())
            await self.played(connection, again)
            await asyncio.sleep(self.late_s)
        must(bool(again.text.strip()), "The turn after an interrupted one showed nothing.")
        self.sound(turn)
        self.sound(again)

    @pytest.mark.anyio
    async def test_cancellation_is_honoured(self, transport: Transport, session: SessionInfo) -> None:
        """Cancelling ``run`` ends it soon, as cancelled: also while the hub has no room for events. The session
        can be opened again."""
        turn = self.turn(self._lasting(transport), session=session)
        turn.hold()
        async with self.connected(transport, session) as connection, self.running(connection, turn) as task:
            task.cancel()
            await self.ended(task, "it was cancelled")
            must(task.cancelled(), f"`run` swallowed its cancellation: {_outcome(task)}.")
        await asyncio.sleep(self.late_s)
        self.sound(turn)
        async with self.connected(transport, session) as connection:
            await self.played(connection, turn.next(self.words(), verifiers=self.plugins()))

    @pytest.mark.anyio
    async def test_connections_are_independent(self, transport: Transport, session: SessionInfo) -> None:
        """Two sessions run side by side: neither gets the other's events, stops with it, or closes with it."""
        one, two = self.turn(self._lasting(transport), session=session), self._elsewhere(session)
        if not self.can(transport, "interrupt"):
            one.hold()  # its words would be over too soon
        async with self.connected(transport, session) as here, self.running(here, one) as task:
            async with self.connected(transport, two.session) as there:
                await self.played(there, two)
                must(bool(two.text.strip()), "A turn beside another one showed nothing.")
                await self.bounded(there.interrupt(), self.stop_within_s, "interrupt")
            await asyncio.sleep(self.late_s)
            if task.done():
                must(False, f"A turn ended with another session: {_outcome(task)}.")
            one.release()
            await self.bounded(here.interrupt(), self.stop_within_s, "interrupt")
            await self.ended(task, "the other session was closed")
            must(
                not task.cancelled() and task.exception() is None,
                f"A turn broke beside another: {_outcome(task)}.",
            )
        self.sound(one)
        self.sound(two)

    def _elsewhere(self, session: SessionInfo) -> FakeTurn:
        return self.turn(self.words(), session=self.another(session))


def _outcome(task: asyncio.Task[object]) -> str:
    if task.cancelled():
        return "it was cancelled"
    return f"it raised {error!r}" if (error := task.exception()) else f"it returned {task.result()!r}"
