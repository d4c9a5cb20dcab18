"""Requests and answers between Claude Code and the turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext, ToolUseBlock
from structlog.testing import capture_logs
from turnhub_sdk.broker import Broker
from turnhub_sdk.elicitations import answer_elicitations
from turnhub_sdk.tools import Tools

from hub.testing import FakeTurn, allow, answer, deny, withdraw

pytestmark = pytest.mark.anyio

GIVEN = {"command": "rm x"}


class Asked:
    """A broker in a turn, and a call of a tool that may be shown."""

    def __init__(self, *replies: Any) -> None:
        self.turn = FakeTurn(replies=replies)
        self.tools = Tools()
        self.broker = Broker()
        self.broker.begin(self.turn, self.tools)

    async def show(self, tool_id: str = "t1", name: str = "Bash", given: dict[str, Any] | None = None) -> None:
        list(self.tools.start(ToolUseBlock(tool_id, name, GIVEN if given is None else given), None, 0.0))
        await self.broker.note()

    async def ask(
        self, tool_id: str = "t1", name: str = "Bash", given: dict[str, Any] | None = None
    ) -> PermissionResultAllow | PermissionResultDeny:
        context = ToolPermissionContext(tool_use_id=tool_id)
        return await self.broker.can_use_tool(name, GIVEN if given is None else given, context)


async def test_an_ask_comes_behind_the_call_that_it_is_about() -> None:
    """In the log a tool starts before somebody is asked about it."""
    asked = Asked(allow())
    asking = asyncio.create_task(asked.ask())
    await asyncio.sleep(0)
    assert not asked.turn.asks
    await asked.show()
    assert await asking == PermissionResultAllow(updated_input=GIVEN)


async def test_a_call_that_is_never_shown_is_asked_about_all_the_same() -> None:
    """A call that no message tells of does not hang the agent."""
    asked = Asked(allow())
    assert isinstance(await asked.ask(), PermissionResultAllow)


async def test_a_settlement_is_delivered_when_the_agent_goes_on() -> None:
    """Not when it is given, but when the agent works again, or the tool has its result; and once."""
    asked = Asked(allow(), allow())
    await asked.show()
    await asked.ask()
    assert not asked.turn.asks[0].delivered
    await asked.broker.note(running=True)
    assert asked.turn.asks[0].delivered
    await asked.show("t2")
    await asked.ask("t2")
    await asked.broker.note(("t2",))
    await asked.broker.note(("t2",), running=True)
    assert asked.turn.asks[1].delivered
    assert not asked.turn.problems


async def test_while_somebody_is_asked_going_on_proves_nothing() -> None:
    """With another ask open the agent's state says nothing about the one that was answered."""
    asked = Asked(allow())
    await asked.show()
    await asked.show("t2")
    await asked.ask()
    other = asyncio.create_task(asked.ask("t2"))
    await asked.turn.asked()
    await asked.broker.note(running=True)
    assert not asked.turn.asks[0].delivered
    await asked.broker.end()
    assert asked.turn.asks[1].withdrawn_by_caller
    assert other.cancelled()


async def test_a_denied_call_is_remembered_as_denied() -> None:
    """So that its error is told as what it is."""
    asked = Asked(deny("No."))
    await asked.show()
    assert await asked.ask() == PermissionResultDeny(message="No.")
    assert asked.tools.denied == {"t1"}


async def test_a_withdrawn_ask_is_never_delivered() -> None:
    """Nobody answered: there is nothing that could have been taken."""
    asked = Asked(withdraw("over"))
    await asked.show()
    assert isinstance(await asked.ask(), PermissionResultDeny)
    await asked.broker.note(("t1",), running=True)
    assert not asked.turn.problems


async def test_an_answer_that_did_not_fit_is_not_called_delivered() -> None:
    """The agent never got it."""
    questions = {"questions": [{"question": "A?", "options": []}]}
    asked = Asked(answer({"B?": "x"}))
    await asked.show("t1", "AskUserQuestion", questions)
    assert isinstance(await asked.ask("t1", "AskUserQuestion", questions), PermissionResultDeny)
    await asked.broker.note(("t1",))
    assert not asked.turn.asks[0].delivered


async def test_without_a_turn_nobody_is_asked() -> None:
    """What comes between turns is refused, with words."""
    asked = Asked()
    await asked.broker.end()
    result = await asked.ask()
    assert isinstance(result, PermissionResultDeny)
    assert "no turn is running" in result.message
    assert not asked.turn.asks


async def test_a_plan_is_shown_though_its_callback_has_none() -> None:
    """The plan stands in the call; what goes back to the agent is what it sent."""
    asked = Asked(allow())
    await asked.show("t1", "ExitPlanMode", {"plan": "First this."})
    assert await asked.ask("t1", "ExitPlanMode", {}) == PermissionResultAllow(updated_input={})
    assert asked.turn.asks[0].request.input == {"plan": "First this."}


FORM = {
    "mcp_server_name": "shop",
    "message": "What?",
    "requested_schema": {"properties": {"b": {"type": "integer"}, "a": {"type": "string"}}},
    "property_order": ["a", "b"],
}


async def test_a_servers_form_is_asked_in_its_order_and_taken_when_the_agent_goes_on() -> None:
    """The values go to the server as they are meant; delivered is what the agent went on with."""
    asked = Asked(answer({"a": "x", "b": "2"}))
    assert await asked.broker.elicit("r1", FORM) == {"action": "accept", "content": {"a": "x", "b": 2}}
    (ask,) = asked.turn.asks
    assert [question.question for question in ask.request.questions] == ["a", "b"]
    assert not ask.delivered
    await asked.broker.note(running=True)
    assert ask.delivered
    assert not asked.turn.problems


async def test_a_form_that_nobody_may_answer_is_cancelled() -> None:
    """Withdrawn, between turns, or where asking fails: never accepted, and nothing of an error is told."""
    asked = Asked(withdraw("over"))
    assert await asked.broker.elicit("r1", FORM) == {"action": "cancel"}
    await asked.broker.end()
    assert await asked.broker.elicit("r2", FORM) == {"action": "cancel"}

    def broken(_: object) -> None:
        raise RuntimeError("INNER-SECRET")

    failing = Broker()
    failing.begin(FakeTurn(replies=broken), Tools())
    assert await failing.elicit("r3", FORM) == {"action": "cancel"}


async def test_elicitations_are_left_alone_in_an_sdk_that_is_built_another_way() -> None:
    """It is said in the log, and nothing else changes."""

    class Another:
        _query = object()

    sdk: Any = Another()
    with capture_logs() as logs:
        answer_elicitations(sdk, Broker().elicit)
    assert [entry["event"] for entry in logs] == ["elicitations_unanswered"]
