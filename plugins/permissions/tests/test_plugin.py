"""The plugin in a hub: what it answers, and what a session's asks become."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from turnhub_permissions import Permissions
from turnhub_permissions.testing import policies

from hub import AgentInfo, AskRequest, ConfigError, PolicyBundle, Resolution, SessionInfo
from hub.testing import HubProcess, hub_process

AGENT = AgentInfo(name="a", transport="scripted", cwd="/")
TABLES: dict[str, dict[str, Any]] = {
    "mine": {"extends": ["reads"], "allow": ["Bash(make)"], "deny": ["Bash(make clean)"]}
}


def session(policy: str | None = "mine", **options: Any) -> SessionInfo:
    """A session in /srv/work."""
    agent = AgentInfo(name="a", transport="scripted", cwd="/", options=options)
    return SessionInfo(id="ses_1", agent=agent, cwd="/srv/work", policy=policy)


def request(command: str, **more: Any) -> AskRequest:
    """A call of Bash that waits for permission."""
    return AskRequest(kind="permission", tool="Bash", subject=command, input={"command": command}, **more)


@pytest.fixture
def plugin() -> Permissions:
    """The plugin with a policy."""
    made = Permissions()
    made.use_policies(policies(TABLES))
    return made


@pytest.mark.anyio
async def test_the_answer_names_verdict_and_rule(plugin: Permissions) -> None:
    """Allow and deny by rule, a deny with a sentence for the agent, a danger with why."""
    said = {
        command: await plugin.resolve_permission(session(), request(command))
        for command in ("make", "make clean", "rm -r x")
    }
    assert said["make"] == Resolution(verdict="allow", rule="Bash(make)")
    denied = said["make clean"]
    assert denied is not None
    assert (denied.verdict, denied.rule) == ("deny", "Bash(make clean)")
    assert denied.message == "Policy 'mine' denies 'make clean' by its rule Bash(make clean)."
    asked = said["rm -r x"]
    assert asked is not None
    assert (asked.verdict, asked.danger) == ("ask", "rm: deletes recursively")


@pytest.mark.anyio
async def test_where_no_rule_holds_it_has_no_opinion(plugin: Permissions) -> None:
    """Another plugin may know better; a riddle is an opinion."""
    assert await plugin.resolve_permission(session(), request("npm test")) is None
    assert await plugin.resolve_permission(session(None), request("ls")) is None
    riddle = await plugin.resolve_permission(session(), request("$X"))
    assert riddle is not None
    assert (riddle.verdict, riddle.danger) == ("ask", None)


@pytest.mark.anyio
async def test_questions_are_not_its_business(plugin: Permissions) -> None:
    """They want words, not leave."""
    question = AskRequest(kind="question", tool="AskUserQuestion")
    assert await plugin.resolve_permission(session(), question) is None


@pytest.mark.anyio
async def test_a_policy_that_is_gone_asks_and_nothing_overrides_it(plugin: Permissions) -> None:
    """A session that was made under another configuration."""
    said = await plugin.resolve_permission(session("gone"), request("ls"))
    assert said is not None
    assert said.verdict == "ask"
    assert "got 'gone'" in (said.danger or "")


@pytest.mark.anyio
async def test_what_is_only_seen_on_a_screen_is_not_allowed_by_it(plugin: Permissions) -> None:
    """It may be cut off; with the call's own id it is known whole."""
    seen = await plugin.resolve_permission(session(), request("make", source="pane"))
    known = await plugin.resolve_permission(session(), request("make", source="pane", tool_id="t1"))
    denied = await plugin.resolve_permission(session(), request("make clean", source="pane"))
    assert [one.verdict for one in (seen, known, denied) if one] == ["ask", "allow", "deny"]


@pytest.mark.anyio
async def test_the_home_is_the_agents(plugin: Permissions) -> None:
    """Where the agent has another one, its secrets are there."""
    said = await plugin.resolve_permission(session(env={"HOME": "/srv"}), request("cat ../.ssh/id_x"))
    assert said is not None
    assert "~/.ssh/id_x is where secrets are" in (said.danger or "")


def test_its_bundles_are_offered() -> None:
    """By name, each with what it is for."""
    offered: list[PolicyBundle] = []
    Permissions().register_policies(offered.append)
    assert {one.name for one in offered} == {"reads", "careful", "edits", "locked", "yolo"}
    assert all(one.description for one in offered)


def test_a_mistake_stops_the_start() -> None:
    """Its line is the hub's."""
    with pytest.raises(ConfigError, match=r"policies\.mine\.allow\[0\]"):
        Permissions().use_policies(policies({"mine": {"allow": ["bash"]}}))


HUB = """
[plugins]
enabled = ["permissions"]
[agents.echo]
transport = "scripted"
policy = "mine"
[policies.mine]
extends = ["reads"]
allow = ["Bash(make)"]
deny = ["Bash(make clean)"]
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[HubProcess]:
    """A hub whose agent has a policy."""
    with hub_process(HUB) as process:
        yield process


def play(hub: HubProcess, until: str, *commands: str) -> dict[str, Any]:
    """A session whose agent asks for these commands, one after the other: as it is after the event ``until``."""
    headers = {"Authorization": f"Bearer {hub.token}", "Accept": "text/event-stream"}
    steps = [{"tool": "Bash", "input": {"command": command}, "ask": True, "result": "ok"} for command in commands]
    message = {"text": json.dumps({"steps": [*steps, {"text": "done"}]})}
    with httpx.Client(base_url=hub.url, headers=headers, timeout=30) as client:
        place = f"/v1/sessions/{client.post('/v1/sessions', json={'agent': 'echo'}).json()['id']}"
        with client.stream("POST", f"{place}/messages", json=message) as stream:
            assert any(line == f"event: {until}" for line in stream.iter_lines())
        snapshot: dict[str, Any] = client.get(place).json()
        return snapshot


@pytest.mark.slow
def test_a_sessions_asks_are_settled_by_its_policy(hub: HubProcess) -> None:
    """Who settled it, by which rule, in the log; what runs and what does not."""
    snapshot = play(hub, "turn_completed", "ls", "make", "make clean")
    (item,) = [one for one in snapshot["items"] if one["kind"] == "assistant"]
    settled = [ask["settlement"] for ask in item["asks"]]
    assert [(one["decision"], one["by"]["kind"], one["by"]["name"], one["by"]["rule"]) for one in settled] == [
        ("allow", "policy", "permissions", "Bash(ls:*), Read(./**)"),
        ("allow", "policy", "permissions", "Bash(make)"),
        ("deny", "policy", "permissions", "Bash(make clean)"),
    ]
    tools = [block["status"] for block in item["blocks"] if block["kind"] == "tool"]
    assert tools == ["ok", "ok", "denied"]


@pytest.mark.slow
def test_a_danger_waits_for_a_person_and_says_why(hub: HubProcess) -> None:
    """The ask carries it."""
    snapshot = play(hub, "ask_opened", "rm -rf build")
    (ask,) = snapshot["asks"]
    assert (ask["state"], ask["ask"]["danger"]) == ("open", "rm: deletes recursively")


@pytest.mark.slow
def test_a_hub_with_a_policy_that_there_is_not_does_not_start() -> None:
    """It says which file and key, and what there is."""
    with (
        pytest.raises(
            RuntimeError, match=r"policies\.mine\.extends: expected the name of a policy .*reads.*got 'raeds'"
        ),
        hub_process(HUB.replace('"reads"', '"raeds"')),
    ):
        pass
