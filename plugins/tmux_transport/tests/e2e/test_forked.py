"""The first message of a fork, on the real agent: what was said before stands in front of it."""

from __future__ import annotations

from typing import Any

import pytest

from hub import AgentText, Completed, Message, UserTurn, context_text, with_context

pytestmark = pytest.mark.anyio
WITHIN = 90.0


async def test_an_agent_in_a_terminal_is_told_what_was_said_before(worlds: Any) -> None:
    """A long conversation with marks, code and blank lines in it arrives whole and once, with proof; the next
    message comes alone."""
    world = worlds()
    said = "\n\n".join(f"```sh\nls {number} # `x` ü\n```" for number in range(300))
    view = (UserTurn(turn_id="t", message_id="m", text="/list all"), AgentText(turn_id="t", text=said))
    message = with_context(context_text(view, 20_000), Message(id="m", text="and now?"))
    assert len(message.text) > 5_000
    async with world.connected() as connection:
        first = world.turn(message.text)
        assert isinstance(await first.play(connection, within=WITHIN), Completed)
        assert first.delivered.verdict == "submitted"
        (prompt,) = world.prompts()  # which the agent itself marks as pasted
        assert message.text in prompt
        second = world.turn("alone")
        assert isinstance(await second.play(connection, within=WITHIN), Completed)
        assert second.text == "Echo: alone"
        assert world.prompts() == [prompt, "alone"]
