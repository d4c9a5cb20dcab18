"""What the agent asks before it begins: an ask of the hub like any other, and never confirmed blindly."""

from __future__ import annotations

import asyncio
import json
import sys
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


SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("id") is not None:
        found = {"tools": [{"name": "order", "inputSchema": {"type": "object"}}]}
        if asked["method"] == "initialize":
            version = asked["params"]["protocolVersion"]
            about = {"name": "shop", "version": "1"}
            found = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": found}), flush=True)
"""


def servers(world: Any, *names: str) -> None:
    """The agent's folder brings MCP servers along."""
    given = {name: {"command": sys.executable, "args": ["-c", SERVER]} for name in names}
    (world.cwd / ".mcp.json").write_text(json.dumps({"mcpServers": given}))


def consents(world: Any) -> dict[str, Any]:
    """What the agent has noted about them."""
    path = world.cwd / ".claude" / "settings.local.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


@pytest.mark.parametrize(
    ("names", "chosen", "noted"),
    [
        (["shop"], "Use this MCP server", {"enabledMcpjsonServers": ["shop"]}),
        pytest.param(
            ["shop"],
            "Continue without using this MCP server",
            {"disabledMcpjsonServers": ["shop"]},
            marks=pytest.mark.full,
        ),
        (["shop", "two"], "two", {"enabledMcpjsonServers": ["two"], "disabledMcpjsonServers": ["shop"]}),
        pytest.param(
            ["shop", "two"], "None of these", {"disabledMcpjsonServers": ["shop", "two"]}, marks=pytest.mark.full
        ),
    ],
)
async def test_which_servers_of_a_folder_are_used_is_what_was_answered(
    worlds: Any, names: list[str], chosen: str, noted: dict[str, Any]
) -> None:
    """The agent asks about MCP servers that it finds: it notes exactly what was answered, by keys that were seen
    to work, and the message goes."""
    world = worlds()
    servers(world, *names)
    async with world.connected() as connection:
        turn = world.turn("hello there")
        playing = asyncio.create_task(turn.play(connection))
        ask = await turn.asked()
        assert (ask.request.kind, ask.request.tool) == ("question", "dialog:other")
        (question,) = ask.request.questions
        assert consents(world) == {}
        turn.settle(answer({question.question: chosen}))
        assert isinstance(await playing, Completed)
        assert ask.delivered
        assert turn.text == "Echo: hello there"
        assert consents(world) == noted
