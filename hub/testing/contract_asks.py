"""The contract of asks: what people say reaches the agent exactly, and what they refuse does not happen."""

from __future__ import annotations

import pytest

from hub.asks import AskRequest
from hub.testing.contract_base import ContractBase, must
from hub.testing.turns import FakeTurn, Reply, allow, answer, deny, respond, withdraw
from hub.transport import SessionInfo, Transport


class AskContract(ContractBase):
    """Permissions and questions. A transport without the capability asks nothing."""

    async def _asked(
        self, transport: Transport, session: SessionInfo, kind: str, reply: Reply | None
    ) -> FakeTurn | None:
        """A finished turn in which the agent asked for something of this kind and got ``reply``; None where the
        transport has no such asks, which is checked."""

        def replies(request: AskRequest) -> Reply | None:
            return self._fitting(request, reply)

        able = self.can(transport, f"{kind}s")
        message = (self.permission() if kind == "permission" else self.question()) if able else self.words()
        turn = self.turn(message, session=session, replies=replies)
        async with self.connected(transport, session) as connection:
            await self.played(connection, turn)
        asks = [ask for ask in turn.asks if ask.request.kind == kind]
        must(able or not asks, f"The transport asks a {kind}, but does not have the capability `{kind}s`.")
        must(bool(asks) or not able, f"The agent asked no {kind}.")
        return turn if able else None

    def _fitting(self, request: AskRequest, reply: Reply | None) -> Reply:
        if reply is not None:
            return reply
        if request.kind == "permission":
            return allow(input=self.edited(request))
        if request.questions:
            return answer({question.question: self.marker for question in request.questions})
        return respond(self.marker)

    def _all_delivered(self, turn: FakeTurn) -> None:
        late = [ask.request.tool for ask in turn.asks if not ask.delivered]
        must(not late, f"The agent took an answer, but `ask_delivered` was not called for {late}.")

    @pytest.mark.anyio
    async def test_an_allowed_call_runs(self, transport: Transport, session: SessionInfo) -> None:
        """Allow lets the tool run; the hub is told that the agent took the answer."""
        turn = await self._asked(transport, session, "permission", allow())
        if turn is not None:
            statuses = [event.status for event in turn.tools_finished]
            must("ok" in statuses, f"The call was allowed, but no tool finished as ok: {statuses}.")
            self._all_delivered(turn)

    @pytest.mark.anyio
    async def test_a_denied_call_does_not_run(self, transport: Transport, session: SessionInfo) -> None:
        """Deny is honoured."""
        turn = await self._asked(transport, session, "permission", deny("not on my watch"))
        if turn is not None:
            self._nothing_ran(turn, "denied")
            self._all_delivered(turn)

    @pytest.mark.anyio
    async def test_a_withdrawn_call_does_not_run(self, transport: Transport, session: SessionInfo) -> None:
        """Without an answer nothing runs, and no answer is called delivered."""
        turn = await self._asked(transport, session, "permission", withdraw())
        if turn is not None:
            self._nothing_ran(turn, "never allowed")

    def _nothing_ran(self, turn: FakeTurn, why: str) -> None:
        about = {ask.request.tool_id for ask in turn.asks} - {None}
        ran = [event for event in turn.tools_finished if event.status == "ok"]
        must(
            not [event for event in ran if not about or event.tool_id in about],
            f"The call was {why}, but the tool finished as ok.",
        )

    @pytest.mark.anyio
    async def test_an_edited_input_is_what_runs(self, transport: Transport, session: SessionInfo) -> None:
        """Allowed with another input, the tool runs with that one."""
        turn = await self._asked(transport, session, "permission", None)
        if turn is not None:
            must(self.marker in self.shown(turn), f"The edited input did not run: no {self.marker!r} in the turn.")

    @pytest.mark.anyio
    async def test_an_answer_reaches_the_agent(self, transport: Transport, session: SessionInfo) -> None:
        """The very words of an answer come back from the agent."""
        turn = await self._asked(transport, session, "question", None)
        if turn is not None:
            must(
                self.marker in self.shown(turn), f"The agent never got the answer: no {self.marker!r} in the turn."
            )
            self._all_delivered(turn)

    @pytest.mark.anyio
    async def test_a_turn_that_waits_for_an_answer_can_be_stopped(
        self, transport: Transport, session: SessionInfo
    ) -> None:
        """Cancelling ``run`` withdraws its open asks; nobody is left with a question that means nothing."""
        able = [kind for kind in ("permission", "question") if self.can(transport, f"{kind}s")]
        for kind in able:
            turn = self.turn(self.permission() if kind == "permission" else self.question(), session=session)
            async with self.connected(transport, session) as connection, self.running(connection, turn) as task:
                await self.until(task, turn, lambda turn=turn: bool(turn.asks), "asked")  # type: ignore[misc]
                task.cancel()
                await self.ended(task, "it was cancelled")
            must(all(ask.withdrawn_by_caller for ask in turn.asks), f"A stopped turn left its {kind} open.")
            self.sound(turn)
