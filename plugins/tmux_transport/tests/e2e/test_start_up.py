"""What the agent asks before it begins: an ask of the hub like any other, and never confirmed blindly."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hub import Completed, Failed
from hub.testing import answer

pytestmark = pytest.mark.anyio


def changed(world: Any, **settings: Any) -> None:
    """The agent's own settings, with these changed."""
    path = world.folder / "home" / ".claude" / ".claude.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


async def test_the_key_in_its_environment_is_asked_about(worlds: Any) -> None:
    """The agent wants to know whether to use an API key that it finds: its options are the ask's; nothing is
    pressed before somebody has answered, and with the answer the message goes."""
    world = worlds()
    changed(world, customApiKeyResponses={"approved": [], "rejected": []})
    async with world.connected() as connection:
        turn = world.turn("hello there")
        playing = asyncio.create_task(turn.play(connection))
        ask = await turn.asked()
        assert ask.request.tool == "dialog:api_key"
        (question,) = ask.request.questions
        yes = next(option.label for option in question.options if option.label.lower().startswith("yes"))
        assert world.prompts() == []
        turn.settle(answer({question.question: yes}))
        assert isinstance(await playing, Completed)
        assert ask.delivered
        assert turn.text == "Echo: hello there"


async def test_a_folder_that_nobody_trusts_is_not_entered(worlds: Any) -> None:
    """Answered with no, the agent leaves: the message is not delivered, and the turn says that the agent is
    gone."""
    world = worlds(trusted=False)
    async with world.connected() as connection:
        turn = world.turn("hello there")
        playing = asyncio.create_task(turn.play(connection))
        ask = await turn.asked()
        assert ask.request.tool == "dialog:trust"
        (question,) = ask.request.questions
        no = next(option.label for option in question.options if option.label.lower().startswith("no"))
        turn.settle(answer({question.question: no}))
        assert isinstance(await playing, Failed)
        assert turn.judged.code == "agent_dead"
    assert world.prompts() == []
