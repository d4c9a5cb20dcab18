"""Records what the real Claude Code sends, for the tests of the pure mapping.

Run ``python plugins/sdk_transport/tests/record.py`` after a change of the SDK's version; look at the difference.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    ToolPermissionContext,
)
from msgspec import Struct
from turnhub_sdk.environment import agent_environment
from turnhub_sdk.options import TOOLS, Options

from hub.testing import Cut, Drop, Fail, Say, ScriptedModel, Think, Use, ask_user, claude_environment, reply

UUID = "00000000-0000-4000-8000-000000000001"
HERE = Path(__file__).parent / "recorded"
_DROPPED = (
    "uuid",
    "model_usage",
    "duration_api_ms",
    "signature",
    "tool_use_result",
    "structured_output",
    "parent",
)
_INIT = ("type", "subtype", "session_id", "model", "permissionMode", "claude_code_version")
_BASH = Use("Bash", {"command": "bash -c 'echo ran'"}, id="toolu_1")


class Scenario(Struct, frozen=True, kw_only=True):
    """A script of the model, and what the person does."""

    script: Any
    prompt: str = "go"
    literal: bool = True
    deny: bool = False
    interrupt: bool = False
    env: Mapping[str, str] = {}


SCENARIOS = {
    "plain": Scenario(script=[reply("Hello there, friend.")]),
    "thinking": Scenario(script=[reply(Think("Let me see."), "It is so.")]),
    "tool_allowed": Scenario(script=[reply("I will.", _BASH), reply("Done.")]),
    "tool_denied": Scenario(script=[reply(_BASH), reply("Then not.")], deny=True),
    "tool_failed": Scenario(script=[reply(Use("Read", {"file_path": "/nowhere"}, id="toolu_1")), reply("No.")]),
    "parallel": Scenario(
        script=[
            reply(_BASH, Use("Bash", {"command": "bash -c 'echo too'"}, id="toolu_2")),
            reply("Both are done."),
        ],
    ),
    "question": Scenario(
        script=[reply(ask_user({"question": "Which?", "options": ["A", "B"]})), reply("Good.")],
    ),
    "helper": Scenario(
        script={
            "go": [
                reply(
                    Use("Task", {"description": "d", "prompt": "sub", "subagent_type": "general-purpose"}, id="t1")
                ),
                reply("All is done."),
            ],
            "sub": [reply("Working.", Use("Bash", {"command": "echo sub"}, id="t2")), reply("Sub is done.")],
        },
    ),
    "interrupted": Scenario(script=[reply(Say("word " * 200, every_s=0.02))], interrupt=True),
    "interrupted_ask": Scenario(script=[reply(_BASH)], interrupt=True),
    "cut_text": Scenario(script=[reply(Say("half of it", close=False), Cut()), reply("All of it.")]),
    "cut_block": Scenario(script=[reply("First part.", Cut()), reply("Second part.")]),
    "cut_tool": Scenario(script=[reply(_BASH, Cut()), reply("Done.")]),
    "cut_always": Scenario(script=[reply(Say("half of it", close=False), Cut(), times=None)]),
    "cut_block_always": Scenario(script=[reply("First part.", Cut(), times=None)]),
    "empty": Scenario(script=[reply(times=None)]),
    "empty_after_tool": Scenario(script=[reply("I will.", _BASH), reply(times=None)]),
    "thinking_only": Scenario(script=[reply(Think("Hm."), times=None)]),
    "token_cap": Scenario(script=[reply("On and on", stop="max_tokens", times=None)]),
    "refusal": Scenario(script=[reply("I", stop="refusal", times=None)]),
    "server_error": Scenario(script=[Fail(status=500, message="It broke.")]),
    "recovered": Scenario(script=[Fail(status=529, message="Busy.", times=1), reply("Here I am.")]),
    "dropped": Scenario(script=[Drop()]),
    "bad_key": Scenario(script=[Fail(status=401, message="invalid x-api-key")]),
    "no_login": Scenario(script=[reply("Never said.")], env={"ANTHROPIC_API_KEY": ""}),
    "too_long": Scenario(script=[Fail(status=400, message="prompt is too long: 300000 tokens > 200000 maximum")]),
    "command": Scenario(script=[reply("Never said.")], prompt="/cost", literal=False),
    "compact": Scenario(script=[reply("Summary.", times=None)], prompt="/compact", literal=False),
}


def encoded(value: Any) -> Any:
    """A message as JSON, its classes by name, without what differs from run to run and matters to nobody."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: encoded(getattr(value, f.name)) for f in dataclasses.fields(value)}
        kept = {name: item for name, item in fields.items() if item is not None and name not in _DROPPED}
        return {"__class__": type(value).__name__, **kept}
    if isinstance(value, dict):
        if value.get("subtype") == "init":
            value = {key: value[key] for key in _INIT if key in value}
        return {key: encoded(item) for key, item in value.items() if key not in _DROPPED}
    return [encoded(item) for item in value] if isinstance(value, list | tuple) else value


async def _prompt(scenario: Scenario) -> AsyncIterator[dict[str, Any]]:
    yield {
        "type": "user",
        "message": {"role": "user", "content": scenario.prompt},
        "parent_tool_use_id": None,
        "uuid": UUID,
        "client_composed": scenario.literal,
    }


async def record(scenario: Scenario, folder: Path) -> list[Any]:
    """The messages of one turn, up to the agent's coming to rest."""
    waiting = asyncio.Event()

    async def decide(
        tool: str, given: dict[str, Any], _: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        if scenario.interrupt:
            waiting.set()
            await asyncio.Event().wait()
        if scenario.deny:
            return PermissionResultDeny(message="Not that one.")
        if tool == "AskUserQuestion":
            return PermissionResultAllow(updated_input={**given, "answers": {"Which?": "B"}})
        return PermissionResultAllow(updated_input=given)

    async with ScriptedModel(scenario.script) as model:
        env = {
            **agent_environment(Options(max_retries=2)),
            **claude_environment(model.url, folder),
            **scenario.env,
        }
        options = ClaudeAgentOptions(
            env=env,
            cwd=folder,
            can_use_tool=decide,
            include_partial_messages=True,
            permission_mode="default",
            setting_sources=[],
            tools=list(TOOLS),
            system_prompt={"type": "preset", "preset": "claude_code"},
        )
        async with ClaudeSDKClient(options) as client:
            interrupt = asyncio.create_task(_interrupt(client, waiting))
            try:
                messages = await _turn(client, scenario, waiting)
            finally:
                interrupt.cancel()
        return messages


async def _interrupt(client: ClaudeSDKClient, waiting: asyncio.Event) -> None:
    await waiting.wait()
    await client.interrupt()


async def _turn(client: ClaudeSDKClient, scenario: Scenario, waiting: asyncio.Event) -> list[Any]:
    messages: list[Any] = []
    deltas = 0
    await client.query(_prompt(scenario))
    async for message in client.receive_messages():
        messages.append(encoded(message))
        deltas += isinstance(message, StreamEvent) and message.event["type"] == "content_block_delta"
        if deltas == 5 and scenario.interrupt:
            waiting.set()
        if isinstance(message, SystemMessage) and message.data.get("state") == "idle" and _ended(messages):
            break
    return messages


def _ended(messages: list[Any]) -> bool:
    return any(message["__class__"] == ResultMessage.__name__ for message in messages)


async def main(names: list[str]) -> None:
    """Record the scenarios of these names, or all."""
    for name, scenario in SCENARIOS.items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            messages = await record(scenario, Path(folder))
            text = "[\n" + ",\n".join(json.dumps(message) for message in messages) + "\n]\n"
            (HERE / f"{name}.json").write_text(text.replace(folder, "/folder"))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
