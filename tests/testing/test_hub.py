"""The hub that plugin authors test with: over fakeredis, with transports and hooks of their own."""

from __future__ import annotations

import pytest

from hub.asks import settle
from hub.events import AskOpened, By, Text, TurnCompleted, TurnFailed
from hub.hookspecs import hookimpl
from hub.testing.hub import hub_config, running_hub
from hub.testing.scripted import ScriptedTransport

pytestmark = pytest.mark.anyio


class Started:
    """Counts turns."""

    name = "started"

    def __init__(self) -> None:
        self.turns: list[str] = []

    @hookimpl
    def turn_started(self, turn_id: str) -> None:
        """Count."""
        self.turns.append(turn_id)


async def test_a_hub_without_a_server_runs_turns() -> None:
    """Sessions, turns, asks and observers work over fakeredis, with no process beside the test's."""
    started = Started()
    async with running_hub(hooks=[started]) as hub:
        session = await hub.session()
        begun = await hub.send(session, "hello there")
        events = await hub.events(begun)
        assert [event.text for event in events if isinstance(event, Text)] == ["Echo: hello there"]
        assert isinstance(events[-1], TurnCompleted)
        begun = await hub.send(session, [{"tool": "Bash", "input": {"command": "ls"}, "ask": True}])
        opened = await hub.until(begun, AskOpened)

        record = await hub.store.ask(opened.ask.id)
        await hub.store.settle_ask(record, settle(record.ask, {"decision": "allow"}, By(kind="person", name="me")))
        assert isinstance(await hub.ending(begun), TurnCompleted)
        assert len(started.turns) == 2


async def test_transports_under_test_take_their_place() -> None:
    """``transports=`` are found by name, and a second runner is one more process."""
    config = hub_config("one", "two")
    async with running_hub(config, transports=[ScriptedTransport(adopts=True)], runners=2) as hub:
        assert isinstance(await hub.run_turn(await hub.session("two"), [{"text": "x"}]), TurnCompleted)
        assert isinstance(await hub.run_turn(await hub.session("one"), []), TurnFailed)
        assert len({runner.id for runner in hub.runners}) == 2
