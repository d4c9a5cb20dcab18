"""A turn delivers its message once, and its log says what is known of it; also when its runner is killed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hub.events import MessageDelivered, Text, TurnCompleted, TurnFailed
from hub.hookspecs import Evidence, hookimpl
from hub.testing import FakeTurn
from hub.testing.hub import hub_config
from hub.transport import Message, TurnContext, Verdict
from hub.turn import Completed
from hub.typist import Pace, undelivered
from tests.runner.acting import Acting, forever
from tests.runner.conftest import Hubs
from tests.runner.terminal import FakeTypist, Terminal
from tests.runner.test_containment import SHORT

pytestmark = pytest.mark.anyio

QUICK = Pace(start_s=1, paste_s=0.3, proof_s=0.5, look_s=0.01)


class Witness:
    """A plugin that tells what its terminal took."""

    def __init__(self, terminal: Terminal, proof: str = "hook") -> None:
        self.name = f"witness-{proof}"
        self.terminal = terminal
        self.proof = proof
        self.asked: list[Evidence] = []

    @hookimpl
    async def verify_delivery(self, evidence: Evidence) -> Verdict | None:
        """Submitted, once it is."""
        self.asked.append(evidence)
        if evidence.text in self.terminal.took[evidence.before.get("took", 0) :]:
            return Verdict(verdict="submitted", proof=self.proof)  # type: ignore[arg-type]
        return None


class Broken:
    """A plugin that fails when asked."""

    name = "broken"

    @hookimpl
    def verify_delivery(self, evidence: Evidence) -> Verdict | None:
        """Fail."""
        raise RuntimeError("no idea")


def typing(terminal: Terminal, **options: Any) -> Any:
    """An act that delivers, and answers when that is proven."""

    async def act(turn: TurnContext) -> Any:
        verdict = await turn.deliver(FakeTypist(terminal, pace=QUICK, **options))
        if verdict.verdict != "submitted":
            return undelivered(verdict)
        await turn.emit(Text(block=0, text="done"))
        return Completed()

    return act


def delivered(events: list[Any]) -> list[MessageDelivered]:
    """The deliveries among events."""
    return [event for event in events if isinstance(event, MessageDelivered)]


async def test_a_delivery_is_told_once_with_its_proof_and_the_most_trusted_is_asked_first(hubs: Hubs) -> None:
    """The plugin that comes first in pluggy's order has the word; the event carries verdict, proof, detail."""
    terminal = Terminal()
    pane, hook = Witness(terminal, "pane"), Witness(terminal, "hook")

    async def act(turn: TurnContext) -> Any:
        first = await turn.deliver(FakeTypist(terminal, pace=QUICK))
        assert await turn.deliver(FakeTypist(terminal, pace=QUICK)) == first == turn.delivered
        await turn.emit(Text(block=0, text="done"))
        return Completed()

    async with hubs(hub_config(runner=SHORT), transports=[Acting(act)], hooks=[pane, hook]) as hub:
        events = await hub.events(await hub.send(await hub.session(), "hello "))
    assert isinstance(events[-1], TurnCompleted)
    (told,) = delivered(events)
    assert (told.verdict, told.proof) == ("submitted", "hook")
    assert told.detail == "Changed: whitespace at its end"
    assert terminal.took == ["hello"]
    assert hook.asked[-1].text == "hello"
    assert hook.asked[-1].message.text == "hello "


async def test_a_message_that_is_not_delivered_fails_the_turn_and_is_told(hubs: Hubs) -> None:
    """A shell is there: dead, and the turn's code says so."""
    terminal = Terminal()
    terminal.holder = "shell"
    transport = Acting(typing(terminal))
    async with hubs(hub_config(runner=SHORT), transports=[transport], hooks=[Witness(terminal)]) as hub:
        events = await hub.events(await hub.send(await hub.session()))
    assert [event.verdict for event in delivered(events)] == ["dead"]
    assert isinstance(events[-1], TurnFailed)
    assert events[-1].code == "agent_dead"


async def test_what_cannot_be_conveyed_ends_the_turn_with_the_reason(hubs: Hubs) -> None:
    """Also where the transport lets the refusal through."""
    terminal = Terminal()
    transport = Acting(typing(terminal, refuses="A leading `/help` would run a command."))
    async with hubs(hub_config(runner=SHORT), transports=[transport]) as hub:
        events = await hub.events(await hub.send(await hub.session()))
    assert isinstance(events[-1], TurnFailed)
    assert (events[-1].code, events[-1].retryable) == ("not_delivered", False)
    assert "/help" in events[-1].message
    assert (delivered(events), terminal.keys) == ([], 0)


async def test_a_verifier_that_fails_has_not_told(hubs: Hubs) -> None:
    """Whoever is less trusted is not asked instead; the delivery is unverified, and not typed again."""
    terminal = Terminal()
    transport = Acting(typing(terminal))
    async with hubs(hub_config(runner=SHORT), transports=[transport], hooks=[Witness(terminal), Broken()]) as hub:
        events = await hub.events(await hub.send(await hub.session()))
    assert [event.verdict for event in delivered(events)] == ["unverified"]
    assert terminal.took == ["hello"]


async def test_two_sessions_on_one_terminal_do_not_merge_across_runners(hubs: Hubs) -> None:
    """Two runners, six sessions, one pane: each message by itself."""
    terminal = Terminal()
    transport = Acting(*[typing(terminal) for _ in range(6)])
    async with hubs(hub_config(runner=SHORT), transports=[transport], hooks=[Witness(terminal)], runners=2) as hub:
        begun = [await hub.send(await hub.session(), f"message {number}") for number in range(6)]
        endings = await asyncio.gather(*[hub.ending(one, within_s=40) for one in begun])
    assert {type(ending) for ending in endings} == {TurnCompleted}
    assert sorted(terminal.took) == [f"message {number}" for number in range(6)]


async def test_a_runner_killed_after_typing_has_its_message_found_not_typed_again(hubs: Hubs) -> None:
    """The next runner takes the turn over in the middle of a delivery: one submission, one event."""
    terminal = Terminal()
    typed = asyncio.Event()

    class Stuck(FakeTypist):
        async def submit(self, sight: Any) -> bool:
            pressed = await super().submit(sight)
            self.terminal.tick()
            typed.set()
            await forever()
            return pressed

    async def first(turn: TurnContext) -> Any:
        return await turn.deliver(Stuck(terminal, pace=QUICK))

    transport = Acting(first, typing(terminal), capabilities=frozenset({"interrupt", "adopt"}))
    config = hub_config(runner=SHORT)
    async with hubs(config, transports=[transport], hooks=[Witness(terminal)]) as hub:
        begun = await hub.send(await hub.session())
        async with asyncio.timeout(10):
            await typed.wait()
        await hub.runners[0].kill()
        hub.add_runner()
        events = await hub.events(begun, within_s=40)
    assert isinstance(events[-1], TurnCompleted)
    assert [event.verdict for event in delivered(events)] == ["submitted"]
    assert terminal.took == ["hello"]


async def test_further_words_for_a_running_turn_are_typed_without_an_event() -> None:
    """Steering has a verdict, and the turn's own delivery stays the one that is told."""
    terminal = Terminal()
    turn = FakeTurn("hello", verifiers=[Witness(terminal)])
    typist = FakeTypist(terminal, pace=QUICK)
    assert (await turn.deliver(typist)).verdict == "submitted"
    assert (await turn.deliver(typist, Message(id="m2", text="more"))).verdict == "submitted"
    assert terminal.took == ["hello", "more"]
    assert len(turn.of(MessageDelivered)) == 1
    assert turn.delivered is not None
