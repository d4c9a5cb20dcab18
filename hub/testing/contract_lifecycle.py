"""The contract of opening and closing, of options, and of steering."""

from __future__ import annotations

import msgspec
import pytest

from hub import ids
from hub.errors import AgentUnavailable, ConfigError, SteerUnsupported
from hub.testing.contract_base import ContractBase, must
from hub.transport import Message, SessionInfo, Transport


class LifecycleContract(ContractBase):
    """A session can be closed and opened as often as one likes; what cannot work says why beforehand."""

    @pytest.mark.anyio
    async def test_closing_is_bounded_and_may_be_repeated(
        self, transport: Transport, session: SessionInfo
    ) -> None:
        """``close`` ends soon: unused, used, and when it was called before."""
        for used in (False, True):
            connection = await self.bounded(transport.open(session), self.within_s, "open")
            if used:
                await self.played(connection, self.turn(self.words(), session=session))
            for _ in range(2):
                await self.bounded(connection.close(), self.within_s, "close")

    @pytest.mark.anyio
    async def test_a_session_can_be_opened_again(self, transport: Transport, session: SessionInfo) -> None:
        """Also with what was remembered, and by a transport that never saw it before."""
        turn = self.turn(self.words(), session=session)
        for _ in range(2):
            async with self.connected(transport, turn.session) as connection:
                await self.played(connection, turn)
            must(bool(turn.text.strip()), "The turn of a session that was opened again showed nothing.")
            turn = turn.next(self.words(), verifiers=self.plugins())

    @pytest.mark.anyio
    async def test_a_transport_may_be_closed_twice(self, transport: Transport, session: SessionInfo) -> None:
        """``close`` of the transport itself is bounded and may be repeated."""
        async with self.connected(transport, session):
            pass
        for _ in range(2):
            await self.bounded(transport.close(), self.within_s, "close of the transport")

    def test_an_agent_that_can_run_is_not_complained_about(
        self, transport: Transport, session: SessionInfo
    ) -> None:
        """``check`` has nothing against the agent of these tests."""
        complaint = transport.check(session.agent)
        must(complaint is None, f"`check` says of the agent that is tested: {complaint!r}.")

    def test_wrong_options_are_a_mistake_in_the_configuration(
        self, transport: Transport, session: SessionInfo
    ) -> None:
        """``check`` raises ConfigError for options that are wrong: an option that means nothing is a typo."""
        agent = msgspec.structs.replace(session.agent, options={**session.agent.options, **self.bad_options})
        try:
            transport.check(agent)
        except ConfigError as error:
            must(bool(str(error).strip()), "The ConfigError for wrong options says nothing.")
        else:
            must(False, f"`check` takes the options {dict(self.bad_options)!r}; it has to raise ConfigError.")

    @pytest.mark.anyio
    async def test_an_agent_that_cannot_run_says_why(self, transport: Transport, session: SessionInfo) -> None:
        """``check`` says it beforehand, and ``open`` raises AgentUnavailable, both with what mends it."""
        absent = self.unavailable(session)
        if absent is None:
            return
        must(bool(transport.check(absent.agent)), "`check` has nothing against an agent that cannot run.")
        try:
            connection = await self.bounded(transport.open(absent), self.within_s, "open")
        except AgentUnavailable as error:
            must(bool(str(error).strip()), "AgentUnavailable says nothing.")
        except Exception as error:
            raise AssertionError(f"`open` raised {error!r} where AgentUnavailable is due.") from error
        else:
            await connection.close()
            must(False, "`open` made a connection to an agent that cannot run.")

    @pytest.mark.anyio
    async def test_steering(self, transport: Transport, session: SessionInfo) -> None:
        """With the capability, words reach the running turn and the verdict says so; without it ``steer`` raises
        SteerUnsupported."""
        words = Message(id=ids.message_id(), text="left")
        turn = self.turn(self.endless() if self.can(transport, "steer") else self.words(), session=session)
        async with self.connected(transport, session) as connection:
            if not self.can(transport, "steer"):
                with pytest.raises(SteerUnsupported):
                    await self.bounded(connection.steer(words), self.within_s, "steer")
                return
            async with self.running(connection, turn):
                verdict = await self.bounded(connection.steer(words), self.within_s, "steer")
        must(verdict.verdict in ("submitted", "queued"), f"Words for a running turn had the verdict {verdict!r}.")
        self.sound(turn)
