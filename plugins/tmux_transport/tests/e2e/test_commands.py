"""The agent's own commands, sent as a person at its keyboard would (`literal: false`): each turn has an end, tells
what was shown, and leaves nothing open."""

from __future__ import annotations

from typing import Any

import pytest

from hub import Completed

pytestmark = pytest.mark.anyio


async def test_commands_of_the_agent_end_and_show_what_they_showed(worlds: Any) -> None:
    """A panel is told of and closed; a command that shows nothing says so; the next message goes as ever."""
    world = worlds()
    async with world.connected() as connection:
        await world.turn("hello").play(connection)
        cost = world.turn("/cost", literal=False)
        assert isinstance(await cost.play(connection), Completed)
        assert "Total duration" in cost.text
        clear = world.turn("/clear", literal=False)
        assert isinstance(await clear.play(connection), Completed)
        assert clear.text
        after = world.turn("afterwards")
        assert isinstance(await after.play(connection), Completed)
        assert after.text == "Echo: afterwards"
    assert world.prompts() == ["hello", "afterwards"]
    assert [one.problems for one in (cost, clear, after)] == [[], [], []]
