"""Between turns: what somebody types at an agent's own keyboard is a turn, once, and nobody is in its way."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from hub.config import RunnerConfig
from hub.errors import PluginError
from hub.events import MessageDelivered, Text, TurnCompleted, UserMessage, decode_frames
from hub.testing.hub import TestHub, hub_config, running_hub
from hub.transport import Capability, Idle, Prompted, TurnContext
from hub.turn import Completed
from tests.runner.acting import Acting, forever, good
from tests.runner.conftest import Hubs

WATCHING: frozenset[Capability] = frozenset({"interrupt", "watch"})


class Keyboard:
    """Somebody at the agent's keyboard: what is put into ``typed`` while the agent is watched is told."""

    def __init__(self) -> None:
        self.typed: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self.heard: list[Prompted] = []
        self.stopped = 0
        self._changed = asyncio.Condition()

    async def watch(self, idle: Idle) -> None:
        """Tell what is typed until a turn begins."""
        try:
            while True:
                text, key = await self.typed.get()
                self.heard.append(await idle.prompted(text, key))
                async with self._changed:
                    self._changed.notify_all()
                if self.heard[-1] == "begun":
                    return
        except asyncio.CancelledError:
            self.stopped += 1
            raise

    async def answers(self, count: int) -> None:
        """Return when so many prompts were told of."""
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: len(self.heard) >= count)


async def messages(hub: TestHub, session: str) -> list[UserMessage]:
    """The user messages in the log."""
    found = await hub.store.snapshot(session, 0, whole=True, most=1000)
    events = [event for entry in found.entries for event in decode_frames(entry.frame)]
    return [event for event in events if isinstance(event, UserMessage)]


@pytest.mark.anyio
async def test_what_is_typed_at_the_keyboard_is_a_turn_on_the_same_connection(hubs: Hubs) -> None:
    """After a turn the agent is watched; a prompt of which it tells begins a turn with origin ``keyboard`` that
    runs on the very connection that saw it."""
    keyboard = Keyboard()
    transport = Acting(watching=keyboard.watch, capabilities=WATCHING)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.run_turn(session, "from here")
        keyboard.typed.put_nowait(("typed there", "p1"))
        await keyboard.answers(1)
        await transport.until(lambda: transport.watched == 2)  # its turn is over, and it is watched again
        assert keyboard.heard == ["begun"]
        assert [(turn.message.text, turn.message.origin) for turn in transport.turns] == [
            ("from here", "api"),
            ("typed there", "keyboard"),
        ]
        assert transport.opened == 1
        assert [(one.text, one.origin) for one in await messages(hub, session)] == [
            ("from here", "api"),
            ("typed there", "keyboard"),
        ]


@pytest.mark.anyio
async def test_a_prompt_that_is_told_of_again_is_the_same(hubs: Hubs) -> None:
    """The same key, told of once more (by another witness, after a restart), begins no second turn."""
    keyboard = Keyboard()
    transport = Acting(watching=keyboard.watch, capabilities=WATCHING)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        for text in ("typed", "typed", "other words of the same prompt"):
            keyboard.typed.put_nowait((text, "p1"))
        keyboard.typed.put_nowait(("typed", "p2"))
        await keyboard.answers(4)
        assert keyboard.heard == ["begun", "known", "known", "begun"]
        await transport.until(lambda: transport.watched == 3)
        assert [one.text for one in await messages(hub, session)] == ["hello", "typed", "typed"]


@pytest.mark.anyio
async def test_what_is_typed_into_a_running_turn_is_a_message_of_it_once(hubs: Hubs) -> None:
    """Words that the agent took into the turn are a user message of that turn, with a verdict, where they came in;
    told of again, in it or between turns, they are the same; after the turn they are refused."""
    keyboard = Keyboard()
    turns: list[TurnContext] = []

    async def act(turn: TurnContext) -> Completed:
        turns.append(turn)
        await turn.emit(Text(block=0, text="one"))
        for _ in range(2):
            await turn.joined("typed there", "p1")
        await turn.emit(Text(block=1, text="two"))
        return Completed()

    transport = Acting(act, watching=keyboard.watch, capabilities=WATCHING)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.run_turn(session, "from here")
        keyboard.typed.put_nowait(("typed there", "p1"))
        await keyboard.answers(1)
        assert keyboard.heard == ["known"]
        found = await hub.store.snapshot(session, 0, whole=True, most=1000)
        events = [event for entry in found.entries for event in decode_frames(entry.frame)]
        said = [one for one in events if isinstance(one, UserMessage | MessageDelivered | Text)]
        message = next(one for one in said if isinstance(one, UserMessage) and one.origin == "keyboard")
        assert [type(one) for one in said] == [UserMessage, Text, UserMessage, MessageDelivered, Text]
        assert (message.text, message.turn_id) == ("typed there", turns[0].turn_id)
        told = next(one for one in said if isinstance(one, MessageDelivered))
        assert (told.verdict, told.message_id) == ("submitted", message.message_id)
        with pytest.raises(PluginError, match="after the end"):
            await turns[0].joined("too late", "p2")


@pytest.mark.anyio
async def test_a_turn_of_the_hub_ends_the_watch_first(hubs: Hubs) -> None:
    """No turn runs beside a watch: it is cancelled before the transport gets the turn, and begins again after."""
    keyboard = Keyboard()
    at_once: list[int] = []

    async def act(turn: TurnContext) -> Any:
        at_once.append(keyboard.stopped)
        return await good(turn)

    transport = Acting(good, act, watching=keyboard.watch, capabilities=WATCHING)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        await transport.until(lambda: transport.watched == 1)
        await hub.run_turn(session)
        await transport.until(lambda: transport.watched == 2)
        assert at_once == [1]
        assert transport.opened == 1


@pytest.mark.anyio
async def test_a_prompt_that_meets_another_turn_is_told_so(hubs: Hubs) -> None:
    """Where a turn has just begun, the prompt of the keyboard begins none (busy); told again, it does."""
    keyboard = Keyboard()
    transport = Acting(watching=keyboard.watch, capabilities=WATCHING)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        await transport.until(lambda: transport.watched == 1)
        begun = await hub.store.begin(session, "not rung for yet")
        keyboard.typed.put_nowait(("typed", "p1"))
        await keyboard.answers(1)
        await hub.work.ring("agent", session, begun.turn_id)
        assert isinstance(await hub.ending(begun), TurnCompleted)
        keyboard.typed.put_nowait(("typed", "p1"))
        await keyboard.answers(2)
        assert keyboard.heard == ["busy", "begun"]
        assert [one.text for one in await messages(hub, session)] == ["hello", "not rung for yet", "typed"]


@pytest.mark.anyio
async def test_a_new_hub_looks_after_the_agents_that_live_on(hubs: Hubs, redis_url: str) -> None:
    """A runner that starts opens the sessions that remember something and watches them; a prompt typed there runs
    on the connection that saw it, though another runner served the session before."""
    keyboard = Keyboard()

    async def remembers(turn: TurnContext) -> Any:
        await turn.remember(pane="%1")
        return Completed() if turn.message.text == "silent" else await good(turn)

    first = Acting(remembers, capabilities=WATCHING)
    async with hubs(transports=[first]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        unused = await hub.session()
    second = Acting(watching=keyboard.watch, capabilities=WATCHING)
    async with running_hub(transports=[second], url=redis_url) as hub:
        await second.until(lambda: second.watched == 1)
        keyboard.typed.put_nowait(("typed there", "p1"))
        await second.until(lambda: second.watched == 2)
        assert second.opened == 1
        assert [turn.session.id for turn in second.turns] == [session] != [unused]


@pytest.mark.anyio
async def test_a_watch_that_fails_is_told_of_and_felt_by_nobody(
    hubs: Hubs, logged: list[MutableMapping[str, Any]]
) -> None:
    """What a watch raises, or a watch that cannot be stopped, leaves the session's next turn as it is."""

    async def broken(idle: Idle) -> None:
        raise ValueError("no")

    transport = Acting(watching=broken, capabilities=WATCHING)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        await transport.until(lambda: transport.watched == 1)
        assert isinstance(await hub.run_turn(session), TurnCompleted)
    assert any(entry["event"] == "a session is not watched any more" for entry in logged)


@pytest.mark.anyio
async def test_a_watched_connection_is_not_idle(hubs: Hubs) -> None:
    """Connections that nobody uses are closed after a while, but not one whose agent is watched."""

    async def watch(idle: Idle) -> None:
        if idle.session.id == watched:
            await forever()

    transport = Acting(watching=watch, capabilities=WATCHING)
    config = hub_config(runner=RunnerConfig(idle_s=0.05))
    async with hubs(config, transports=[transport]) as hub:
        watched, other = await hub.session(), await hub.session()
        await hub.run_turn(watched)
        await hub.run_turn(other)
        async with asyncio.timeout(10):
            await transport.until(lambda: transport.closed == 1)
        await hub.run_turn(watched)
        assert transport.opened == 2
        await hub.run_turn(other)
        assert transport.opened == 3


@pytest.mark.anyio
async def test_a_deleted_session_is_forgotten_by_its_transport(hubs: Hubs) -> None:
    """A deletion reaches a runner of the agent, which closes the connection and lets the transport forget."""
    transport = Acting(watching=lambda idle: forever(), capabilities=WATCHING)
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        record = await hub.store.session(session)
        await hub.store.delete_session(session)
        await hub.work.ring_deleted(record)
        async with asyncio.timeout(10):
            await transport.until(lambda: transport.forgotten == [session])
        assert transport.closed == 1
