"""Hooks in the settings of the user of the agent, which run beside those of the hub, and have a say in a turn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hub import Completed, Failed
from hub.testing import FakeTurn, allow

pytestmark = pytest.mark.anyio
HOOKS_FIRST = pytest.mark.parametrize("hooks", [True, pytest.param(False, marks=pytest.mark.full)])
WITHIN = 60.0
REFUSES = "grep -q BASH && { echo 'not in this house' >&2; exit 2; }; true"
STOPS = """grep -q BASH && echo '{"continue": false, "stopReason": "enough for today"}'; true"""
ONE_MORE = """grep -q '"stop_hook_active": *true' || { sleep 2; echo 'one thing more' >&2; exit 2; }"""


def with_hook(world: Any, event: str, command: str) -> Any:
    """The world, whose agent's user has set up this hook."""
    settings = {"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}
    (world.folder / "home" / ".claude" / "settings.json").write_text(json.dumps(settings))
    return world


@HOOKS_FIRST
async def test_a_message_that_a_users_hook_refuses_is_not_delivered(worlds: Any, hooks: bool) -> None:
    """The turn fails with the words of the hook, soon; the message, which the agent puts into its composer again,
    is taken away, and a person's draft beside it is not; the next message arrives as it is."""
    world = with_hook(worlds(hooks=hooks), "UserPromptSubmit", REFUSES)
    async with world.connected() as connection:
        await world.turn("hello there").play(connection, within=WITHIN)
        world.tmux("send-keys", "-l", "my own draft")
        await world.shows("my own draft")
        for text in ("BASH one", "BASH two\n\n\tand\nthree"):
            refused = world.turn(text)
            await refused.play(connection, within=WITHIN)
            assert isinstance(refused.ending, Failed)
            assert refused.ending.code == "not_delivered"
            assert "not in this house" in str(refused.ending.message)
        await world.turn("and then").play(connection, within=WITHIN)
        await world.shows("my own draft")
    assert world.prompts()[:2] == ["hello there", "and then"]


@HOOKS_FIRST
async def test_a_turn_that_a_users_hook_stops_at_its_start_says_so(worlds: Any, hooks: bool) -> None:
    """The agent keeps the message and does not ask its model: an error of the agent, in the hook's words."""
    world = with_hook(worlds(hooks=hooks), "UserPromptSubmit", STOPS)
    async with world.connected() as connection:
        stopped = world.turn("BASH one")
        await stopped.play(connection, within=WITHIN)
        assert isinstance(stopped.ending, Failed)
        assert stopped.ending.code == "agent_error"
        assert "enough for today" in str(stopped.ending.message)
        after = world.turn("hello there")
        assert isinstance(await after.play(connection, within=WITHIN), Completed)


@HOOKS_FIRST
async def test_a_turn_lasts_until_the_users_hooks_let_it_end(worlds: Any, hooks: bool) -> None:
    """A hook that takes its time, and then sends the agent on: what it says upon that is of this turn, and the
    next message finds an agent at rest."""
    world = with_hook(worlds(hooks=hooks), "Stop", ONE_MORE)
    async with world.connected() as connection:
        for text, said in (("hello there", "Echo: hello there\n\nNothing."), ("BASH one", None)):
            turn: FakeTurn = world.turn(text, [allow()])
            assert isinstance(await turn.play(connection, within=WITHIN), Completed)
            assert turn.delivered is not None
            assert turn.delivered.verdict == "submitted"
            assert turn.text.count("Result: ") == (0 if said else 2)
            assert said is None or turn.text == said
