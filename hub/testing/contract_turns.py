"""The contract of turns: what a transport tells, and when it is silent."""

from __future__ import annotations

import asyncio

import pytest

from hub.offers import transport_faults
from hub.testing.contract_base import ContractBase, must
from hub.transport import SessionInfo, Transport
from hub.turn import Completed, Failed, Interrupted


class TurnContract(ContractBase):
    """A turn tells what happens, in order, within the rules, and then how it ended."""

    def test_it_is_a_transport(self, transport: Transport, session: SessionInfo) -> None:
        """Name, capabilities and methods are as the hub expects them, and the session is its own."""
        for fault in transport_faults(transport):
            must(False, fault)
        must(session.agent.transport == transport.name, "The fixture `session` is of another transport.")

    @pytest.mark.anyio
    async def test_run_says_how_the_turn_ended(self, transport: Transport, session: SessionInfo) -> None:
        """``run`` returns Completed, Failed or Interrupted, within the bound."""
        turn = self.turn(self.words(), session=session)
        async with self.connected(transport, session) as connection:
            ending: object = await self.bounded(turn.play(connection), self.within_s, "run")
        must(
            isinstance(ending, Completed | Failed | Interrupted),
            f"`run` returned {ending!r}, which is neither Completed nor Failed nor Interrupted.",
        )

    @pytest.mark.anyio
    async def test_words_become_durable_text(self, transport: Transport, session: SessionInfo) -> None:
        """A turn that completes has shown something, as durable text."""
        turn = self.turn(self.words(), session=session)
        async with self.connected(transport, session) as connection:
            await self.played(connection, turn)
        must(isinstance(turn.judged, Completed), f"A plain message ended as {turn.judged!r}.")
        must(bool(turn.text.strip()), "The turn completed without any durable text.")

    @pytest.mark.anyio
    async def test_events_keep_the_rules(self, transport: Transport, session: SessionInfo) -> None:
        """Only events that a transport may emit; deltas add up to the durable text of their block; no number
        of a block is used again; tools start once and finish once."""
        async with self.connected(transport, session) as connection:
            for message in (self.words(), self.tool()):
                await self.played(connection, self.turn(message, session=session))

    @pytest.mark.anyio
    async def test_a_completed_turn_leaves_nothing_open(self, transport: Transport, session: SessionInfo) -> None:
        """What a failure leaves open the hub closes; a completed turn has nothing left open."""
        async with self.connected(transport, session) as connection:
            for message in (self.words(), self.tool()):
                turn = self.turn(message, session=session)
                if not isinstance(await self.played(connection, turn), Completed):
                    continue
                blocks, tools = turn.rules.unwritten_blocks, turn.rules.unfinished_tools
                must(not blocks, f"The turn completed, but block {blocks[:1]} has no durable text.")
                must(not tools, f"The turn completed, but tool {tools[:1]} has not finished.")

    @pytest.mark.anyio
    async def test_nothing_comes_after_the_end(self, transport: Transport, session: SessionInfo) -> None:
        """When ``run`` has returned, the turn is left alone: also while the connection stays and closes."""
        turn = self.turn(self.words(), session=session)
        async with self.connected(transport, session) as connection:
            await self.played(connection, turn)
            await asyncio.sleep(self.late_s)
            self.sound(turn)
        await asyncio.sleep(self.late_s)
        self.sound(turn)

    @pytest.mark.anyio
    async def test_turns_follow_one_another(self, transport: Transport, session: SessionInfo) -> None:
        """A connection runs one turn after the other; each has its own events and starts over with numbers."""
        first = self.turn(self.words(), session=session)
        async with self.connected(transport, session) as connection:
            await self.played(connection, first)
            second = first.next(self.words(), verifiers=self.plugins())
            await self.played(connection, second)
            self.sound(first)
        must(bool(second.text.strip()), "The second turn of a connection showed nothing.")
