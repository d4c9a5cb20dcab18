"""Turns that go on where another was cut off: what is asked, what the agent is given, what is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from hub.asks import settle
from hub.events import (
    AskDelivered,
    AskOpened,
    By,
    MessageDelivered,
    Text,
    ToolStarted,
    TurnInterrupted,
    TurnStarted,
)
from hub.resuming import DID_NOT_RUN, RAN
from hub.store.records import Begun
from hub.testing.hub import TestHub
from hub.transport import Capability, TurnContext
from hub.turn import Completed, Ending, Failed
from tests.runner.acting import Act, Acting, forever
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio

RESUMING: frozenset[Capability] = frozenset({"interrupt", "resume", "questions", "permissions"})
MAKE = "Did this run? Bash: make"


def cut(*tool_ids: str, told: bool = True) -> Act:
    """A turn in which these calls of ``make`` begin, and whose agent dies then."""

    async def act(turn: TurnContext) -> Ending:
        if told:
            await turn.emit(MessageDelivered(verdict="submitted", proof="sdk"))
        for tool_id in tool_ids:
            await turn.emit(ToolStarted(tool_id=tool_id, name="Bash", input={"command": "make"}))
        return Failed(code="agent_dead", message="It died.")

    return act


async def takes_words_first(turn: TurnContext) -> Ending:
    """A turn whose agent tells of other words before it tells of the message."""
    await turn.emit(MessageDelivered(verdict="submitted", proof="sdk", message_id="msg_other"))
    return await takes(turn)


async def takes(turn: TurnContext) -> Ending:
    """A turn whose agent takes the message, and is done."""
    await turn.emit(MessageDelivered(verdict="submitted", proof="sdk"))
    return Completed()


async def resume(hub: TestHub, session: str) -> Begun:
    """Begin a turn that goes on."""
    begun = await hub.store.retry(session, resume=True)
    await hub.work.ring((await hub.store.session(session)).agent, session, begun.turn_id)
    return begun


async def answer(hub: TestHub, begun: Begun, **reply: Any) -> AskOpened:
    """A person answers the turn's ask."""
    opened: AskOpened = await hub.until(begun, AskOpened)
    record = await hub.store.ask(opened.ask.id)
    await hub.store.settle_ask(record, settle(record.ask, reply, By(kind="person", name="ann")))
    return opened


async def test_the_same_call_cut_off_twice_is_asked_about_twice_and_each_answer_is_its_own(hubs: Hubs) -> None:
    """What a person said of the first call is told once, and never of the second."""
    transport = Acting(cut("a"), cut("b"), takes, capabilities=RESUMING)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.ending(await hub.send(session, "pay"))
        second = await resume(hub, session)
        await answer(hub, second, answers={MAKE: DID_NOT_RUN})
        await hub.ending(second)
        assert "says that it did not run" in transport.turns[-1].message.text
        third = await resume(hub, session)
        opened = await answer(hub, third, answers={MAKE: RAN})
        events = await hub.events(third)
    assert [call["tool_id"] for call in opened.ask.input["calls"]] == ["b"]
    told = transport.turns[-1].message.text
    assert told.count("- Bash: make") == 1
    assert "says that it ran" in told
    assert [event.ask_id for event in events if isinstance(event, AskDelivered)] == [opened.ask.id]


async def test_what_began_proves_that_the_agent_had_the_message(hubs: Hubs) -> None:
    """Also where nothing was told of its delivery: it is not simply said again. News of other words are none of
    it."""
    transport = Acting(cut("a", told=False), takes_words_first, capabilities=RESUMING)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.ending(await hub.send(session, "pay"))
        begun = await resume(hub, session)
        opened = await answer(hub, begun, response="It ran, and paid.")
        events = await hub.events(begun)
    assert [event.ask_id for event in events if isinstance(event, AskDelivered)] == [opened.ask.id]
    assert 'a person says: "It ran, and paid."' in transport.turns[-1].message.text


async def test_a_message_that_the_agent_never_had_is_said_as_it_is(hubs: Hubs) -> None:
    """There is nothing to go on from, and nothing to ask."""
    transport = Acting(cut(told=False), takes, capabilities=RESUMING)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.ending(await hub.send(session, "pay"))
        await hub.ending(await resume(hub, session))
    assert transport.turns[-1].message.text == "pay"


async def test_an_interrupt_at_the_question_withdraws_it_and_it_is_asked_again(hubs: Hubs) -> None:
    """The agent was told nothing; the reason of the cut stays the one that it saw."""
    transport = Acting(cut("a"), takes, capabilities=RESUMING)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.ending(await hub.send(session, "pay"))
        begun = await resume(hub, session)
        await hub.until(begun, AskOpened)
        await hub.store.cancel(session, "ann")
        assert isinstance(await hub.ending(begun), TurnInterrupted)
        again = await resume(hub, session)
        await answer(hub, again, answers={MAKE: RAN})
        await hub.ending(again)
    assert "(by agent_dead" in transport.turns[-1].message.text


async def test_a_turn_that_came_no_further_than_the_question_is_no_adopted_one(hubs: Hubs) -> None:
    """Its runner stops while the question is open: it is asked once, and the next runner's agent begins afresh."""
    transport = Acting(cut("a"), takes, capabilities=RESUMING | {"adopt"})
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.ending(await hub.send(session, "pay"))
        begun = await resume(hub, session)
        await hub.until(begun, AskOpened)
        await hub.runners[0].stop()
        hub.add_runner()
        await answer(hub, begun, answers={MAKE: RAN})
        events = await hub.events(begun)
    assert len([event for event in events if isinstance(event, AskOpened)]) == 1
    assert [event.resumes for event in events if isinstance(event, TurnStarted)] == [True, True]
    assert not transport.turns[-1].adopted
    assert "says that it ran" in transport.turns[-1].message.text


async def test_a_turn_whose_agent_has_shown_something_is_an_adopted_one(hubs: Hubs) -> None:
    """Its agent is at work already, also where nothing was told of the delivery: it is not begun afresh."""

    async def works(turn: TurnContext) -> Ending:
        await turn.emit(Text(block=0, text="Going on."))
        await forever()
        return Completed()

    transport = Acting(cut("a"), works, takes, capabilities=RESUMING | {"adopt"})
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.ending(await hub.send(session, "pay"))
        begun = await resume(hub, session)
        await answer(hub, begun, answers={MAKE: RAN})
        await hub.until(begun, Text)
        await hub.runners[0].stop()
        hub.add_runner()
        events = await hub.events(begun)
    assert len([event for event in events if isinstance(event, AskOpened)]) == 1
    assert transport.turns[-1].adopted
