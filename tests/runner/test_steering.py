"""Messages for the running turn: the agent has them, or they wait for its end; none is lost, none is run twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hub.errors import PluginError, SteerUnsupported
from hub.events import (
    MessageDelivered,
    MessageUnqueued,
    Text,
    TurnCompleted,
    TurnFailed,
    UserMessage,
    decode_frames,
)
from hub.testing.hub import TestHub
from hub.transport import Capability, Message, TurnContext, Verdict
from hub.typist import CannotConvey
from tests.runner.acting import Acting, ActingConnection, good
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio

STEERING: frozenset[Capability] = frozenset({"interrupt", "steer"})


class Steered(Acting):
    """Takes words into its turns as the test says, and ends a turn once ``go`` is set."""

    def __init__(self, *verdicts: Any) -> None:
        super().__init__(capabilities=STEERING)
        self.verdicts = list(verdicts)
        self.words: list[str] = []
        self.go = asyncio.Event()
        self.begun = asyncio.Event()
        self.acts = [self.act]

    async def act(self, turn: TurnContext) -> Any:
        """A turn that lasts until the test says so."""
        self.begun.set()
        await self.go.wait()
        return await good(turn)

    async def open(self, session: Any) -> Any:
        """A connection that is steered."""
        return SteeredConnection(self)


class SteeredConnection(ActingConnection):
    """Gives the next verdict."""

    def __init__(self, transport: Steered) -> None:
        super().__init__(transport)
        self._steered = transport

    async def steer(self, message: Message) -> Verdict:
        """Note the words."""
        self._steered.words.append(message.text)
        verdict = self._steered.verdicts.pop(0)
        if isinstance(verdict, Exception):
            raise verdict
        if callable(verdict):
            verdict = await verdict()
        assert isinstance(verdict, Verdict)
        return verdict


async def log(hub: TestHub, session: str) -> list[Any]:
    """All durable events."""
    found = await hub.store.snapshot(session, 0, whole=True, most=1000)
    return [event for entry in found.entries for event in decode_frames(entry.frame)]


async def until(hub: TestHub, session: str, reached: Any) -> list[Any]:
    """The log, once it has what is wanted."""
    async with asyncio.timeout(20):
        while not reached(events := await log(hub, session)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return events


def said(events: list[Any]) -> list[tuple[str, str]]:
    """What was said, and in which turn's place."""
    return [(event.text, event.turn_id) for event in events if isinstance(event, UserMessage)]


async def test_words_that_the_agent_took_are_a_message_of_its_turn(hubs: Hubs) -> None:
    """They stand in the log of that turn with the verdict, wait in no queue, and begin no turn of their own."""
    transport = Steered(Verdict(verdict="submitted", proof="sdk"), Verdict(verdict="queued", proof="hook"))
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session, "first")
        await transport.begun.wait()
        messages = [await hub.store.enqueue(session, text, steer=True) for text in ("more", "and more")]
        events = await until(hub, session, lambda events: len(said(events)) == 3)
        assert [one.turn_id for one in events if isinstance(one, UserMessage)] == [begun.turn_id] * 3
        told = [one for one in events if isinstance(one, MessageDelivered)]
        ids = [message.id for message in messages if message is not None]
        assert [(one.message_id, one.verdict, one.proof) for one in told] == [
            (ids[0], "submitted", "sdk"),
            (ids[1], "queued", "hook"),
        ]
        assert (await hub.store.snapshot(session, 0, whole=True, most=10)).queue == ()
        transport.go.set()
        assert isinstance(await hub.ending(begun), TurnCompleted)
        assert await hub.store.turn(session) is None
    assert transport.words == ["more", "and more"]
    assert len(transport.turns) == 1


@pytest.mark.parametrize(
    "verdict",
    [Verdict(verdict="blocked", detail="a dialog"), CannotConvey("no"), SteerUnsupported("no"), PluginError("no")],
    ids=["blocked", "cannot be conveyed", "unsupported", "refused"],
)
async def test_words_that_the_agent_does_not_have_wait_before_all_others(hubs: Hubs, verdict: Any) -> None:
    """Not taken, they are a turn of their own after this one, before what was queued; nothing is said twice."""
    transport = Steered(verdict)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session, "first")
        await transport.begun.wait()
        await hub.store.enqueue(session, "queued before")
        await hub.store.enqueue(session, "for this turn", steer=True)
        async with asyncio.timeout(20):
            while True:
                waiting = (await hub.store.snapshot(session, 0, whole=True, most=10)).queue
                if [one.text for one in waiting] == ["for this turn", "queued before"]:
                    break
                await asyncio.sleep(0.02)
        transport.go.set()
        await hub.ending(begun)
        events = await until(
            hub, session, lambda events: sum(isinstance(one, TurnCompleted) for one in events) == 3
        )
        assert [text for text, _ in said(events)] == ["first", "for this turn", "queued before"]
        assert len({turn for _, turn in said(events)}) == 3


async def test_of_words_that_nobody_knows_about_nothing_is_done_twice(hubs: Hubs) -> None:
    """A transport that breaks amidst: reported as unverified, and not given to the agent again."""
    transport = Steered(RuntimeError("broken"))
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session, "first")
        await transport.begun.wait()
        await hub.store.enqueue(session, "more", steer=True)
        events = await until(hub, session, lambda events: len(said(events)) == 2)
        (told,) = (one for one in events if isinstance(one, MessageDelivered))
        assert told.verdict == "unverified"
        transport.go.set()
        assert isinstance(await hub.ending(begun), TurnCompleted)
        assert await hub.store.turn(session) is None


async def test_a_turn_that_ends_while_words_are_under_way_returns_them(hubs: Hubs) -> None:
    """Nobody knows whether the agent has them: they are visibly taken out of the queue, and are in no turn."""
    stuck = asyncio.Event()

    async def never() -> Verdict:
        stuck.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    transport = Steered(never)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session, "first")
        await transport.begun.wait()
        message = await hub.store.enqueue(session, "more", steer=True)
        assert message is not None
        await stuck.wait()
        transport.go.set()
        assert isinstance(await hub.ending(begun), TurnCompleted)
        events = await log(hub, session)
        assert [(one.message_id, one.text) for one in events if isinstance(one, MessageUnqueued)] == [
            (message.id, "more")
        ]
        assert [text for text, _ in said(events)] == ["first"]


async def test_words_can_be_taken_back_until_the_agent_is_given_them(hubs: Hubs) -> None:
    """The first is under way; the second is taken back before its time comes, and never reaches the agent."""
    under_way, go = asyncio.Event(), asyncio.Event()

    async def slowly() -> Verdict:
        under_way.set()
        await go.wait()
        return Verdict(verdict="submitted", proof="sdk")

    transport = Steered(slowly)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session, "first")
        await transport.begun.wait()
        await hub.store.enqueue(session, "more", steer=True)
        await under_way.wait()
        second = await hub.store.enqueue(session, "not any more", steer=True)
        assert second is not None
        await hub.store.unqueue(session, second.id)
        go.set()
        await until(hub, session, lambda events: len(said(events)) == 2)
        transport.go.set()
        await hub.ending(begun)
    assert transport.words == ["more"]


async def test_the_scripted_agent_shows_what_it_was_given(hubs: Hubs) -> None:
    """Words for a turn that was not even taken yet reach it, and stand among its texts."""
    async with hubs() as hub:
        session = await hub.session()
        begun = await hub.store.begin(session, '{"steps": [{"sleep_ms": 400}, {"text": "done"}]}')
        await hub.store.enqueue(session, "hurry", steer=True)
        await hub.work.ring("agent", session, begun.turn_id)
        events = await hub.events(begun)
        assert [one.text for one in events if isinstance(one, Text)] == ["Steered: hurry", "done"]
        assert [one.text for one in events if isinstance(one, UserMessage)][1:] == ["hurry"]
        assert not any(isinstance(one, TurnFailed) for one in events)
