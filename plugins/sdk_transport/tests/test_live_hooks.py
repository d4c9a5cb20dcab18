"""Hooks of a user's own settings, in the real Claude Code: what they refuse or stop is told as theirs, with their
reason, and never as an answer that was simply blank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from turnhub_sdk.testing import ScriptedAgent

from hub import Completed, Failed
from hub.testing import Exchange, FakeTurn, Reply, Use, allow, reply

pytestmark = [pytest.mark.anyio, pytest.mark.real]

STOP = """echo '{"continue": false, "stopReason": "Enough for today"}'"""


def script(exchange: Exchange) -> Reply:
    """A tool where the prompt wants one, then an echo."""
    if exchange.text == "TOOL" and not exchange.number:
        return reply(Use("Bash", {"command": "touch made"}))
    return reply(f"Echo: {exchange.text}")


async def play(folder: Path, event: str, command: str, text: str) -> tuple[ScriptedAgent, FakeTurn]:
    """A turn of an agent whose user has ``command`` as a hook."""
    async with ScriptedAgent(script, folder, setting_sources=["project"]) as agent:
        settings = agent.cwd / ".claude" / "settings.json"
        settings.parent.mkdir()
        hooks: dict[str, Any] = {event: [{"hooks": [{"type": "command", "command": command}]}]}
        settings.write_text(json.dumps({"hooks": hooks}))
        turn = await agent.play(text, replies=lambda _: allow())
        assert not turn.problems
    return agent, turn


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo 'No secrets here' >&2; exit 2", "No secrets here."),
        pytest.param(
            """echo '{"decision": "block", "reason": "Never on Mondays."}'""",
            "Never on Mondays.",
            marks=pytest.mark.full,
        ),
        pytest.param(STOP, "Enough for today.", marks=pytest.mark.full),
    ],
)
async def test_a_message_that_a_hook_refuses_fails_with_the_reason(
    tmp_path: Path, command: str, reason: str
) -> None:
    """The model never sees it, and to send it again is of no use."""
    agent, turn = await play(tmp_path, "UserPromptSubmit", command, "hello")
    assert not agent.model.turns
    assert isinstance(turn.judged, Failed)
    assert (turn.judged.code, turn.judged.retryable) == ("agent_error", False)
    assert turn.judged.message == f"A hook of the agent's settings refused the message: {reason}"


@pytest.mark.parametrize("event", ["PostToolUse", pytest.param("PreToolUse", marks=pytest.mark.full)])
async def test_a_turn_that_a_hook_stops_fails_as_that(tmp_path: Path, event: str) -> None:
    """Also where it stops it beside a tool, whose result is kept."""
    _, turn = await play(tmp_path, event, STOP, "TOOL")
    assert isinstance(turn.judged, Failed)
    assert (turn.judged.code, turn.judged.retryable) == ("agent_error", False)
    assert "A hook of the agent's settings stopped the turn." in (turn.judged.message or "")
    assert [tool.status for tool in turn.tools_finished] == ["ok"]


async def test_a_hook_that_has_the_agent_go_on_keeps_the_turn_open(tmp_path: Path) -> None:
    """What is said before and behind it is one turn, which completes."""
    once = "test -e said || { touch said; echo 'Run the tests first' >&2; exit 2; }"
    agent, turn = await play(tmp_path, "Stop", once, "hello")
    assert isinstance(turn.judged, Completed)
    assert turn.text == "Echo: hello\n\nEcho: hello"
    assert len(agent.model.turns) == 2
