"""A hub that is killed in the middle of a turn: for the agent, and for who watches, a restart is nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from hub.testing import HubProcess, hub_process

pytestmark = pytest.mark.anyio
WITHIN_S = 60.0


def config_of(world: Any) -> str:
    """A hub with the world's agent."""
    env = "\n".join(f"{name} = {json.dumps(value)}" for name, value in world.env.items())
    return (
        '[plugins]\nenabled = ["tmux"]\n[runner]\nlease_s = 3\n'
        f'[agents.pane]\ntransport = "tmux"\ncwd = {json.dumps(str(world.cwd))}\n'
        f"command = {json.dumps(world.options['command'])}\nsocket = {json.dumps(world.socket)}\n"
        f"[agents.pane.env]\n{env}\n"
    )


class Client:
    """Speaks to a hub, also after it was started anew."""

    def __init__(self, hub: HubProcess) -> None:
        self._hub = hub

    async def call(self, method: str, path: str, **body: Any) -> Any:
        """The JSON of an answer."""
        headers = {"Authorization": f"Bearer {self._hub.token}", "Accept": "application/json"}
        async with httpx.AsyncClient(base_url=self._hub.url, headers=headers, timeout=30) as client:
            answer = await client.request(method, path, json=body or None)
        assert answer.status_code < 300, answer.text
        return answer.json()

    async def until(self, path: str, reached: Any) -> Any:
        """What stands there as soon as ``reached``."""
        async with asyncio.timeout(WITHIN_S):
            while not reached(found := await self.call("GET", path)):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        return found


async def test_a_hub_killed_with_an_ask_open_goes_on_and_nothing_happens_twice(worlds: Any) -> None:
    """kill -9 while a permission is open: the same turn goes on under the next hub, with the same ask, which is
    answered once and by its keys; every text, tool and message is told once, and the model was asked once. In the
    next turn it is killed amidst the agent's words: they are whole, and told once."""
    world = worlds()
    with hub_process(config_of(world)) as hub:
        client = Client(hub)
        session = (await client.call("POST", "/v1/sessions", agent="pane"))["id"]
        begun = await client.call("POST", f"/v1/sessions/{session}/messages", text="BASH one")
        (ask,) = await client.until("/v1/asks?state=open", bool)
        await world.shows("Do you want to proceed?")
        hub.kill()
        hub.start()
        turn = await client.until(f"/v1/sessions/{session}", lambda found: found["turn"]["attempt"] == 2)
        assert turn["turn"]["id"] == begun["turn"]["id"]
        (same,) = await client.call("GET", "/v1/asks?state=open")
        assert same["id"] == ask["id"]
        await client.call("POST", f"/v1/asks/{ask['id']}/answer", decision="allow")
        await client.until(f"/v1/sessions/{session}", lambda found: found["turn"] is None)
        events = (await client.call("GET", f"/v1/sessions/{session}/events?after=0"))["events"]
        again = await client.call("POST", f"/v1/sessions/{session}/messages", text="LONG one")
        assert again["turn"]["id"] != begun["turn"]["id"]
        await world.shows("line 2 of it")
        hub.kill()
        hub.start()
        done = await client.until(f"/v1/sessions/{session}", lambda found: found["turn"] is None)
    kinds = [event["type"] for event in events]
    assert kinds.count("turn_started") == 2
    for once in ("user_message", "message_delivered", "tool_started", "tool_finished", "turn_completed"):
        assert kinds.count(once) == 1, kinds
    for once in ("ask_opened", "ask_settled", "ask_delivered"):
        assert kinds.count(once) == 1, kinds
    texts = [event["text"] for event in events if event["type"] == "text"]
    assert texts[0] == "Making it.\n\nNow."
    assert len(texts) == 2
    assert world.prompts() == ["BASH one", "LONG one"]
    assert (world.cwd / "made").exists()
    last = done["items"][-1]
    assert last["status"] == "completed"
    assert [(block["kind"], block["partial"]) for block in last["blocks"]] == [("text", False)]
    assert last["blocks"][0]["text"].splitlines()[0::12] == ["line 0 of it", "and the end"]
