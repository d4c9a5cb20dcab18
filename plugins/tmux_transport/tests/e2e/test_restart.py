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

    async def remove(self, path: str) -> None:
        """Delete it."""
        headers = {"Authorization": f"Bearer {self._hub.token}"}
        async with httpx.AsyncClient(base_url=self._hub.url, headers=headers, timeout=30) as client:
            assert (await client.delete(path)).status_code == 204

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


async def test_what_a_person_types_is_in_the_log_whether_a_hub_runs_or_not(worlds: Any) -> None:
    """Typed at the agent's keyboard while a hub runs, then while none does (it was killed), then under the next
    hub: each prompt is one user message with origin ``keyboard`` and one turn with its answer, in order; deleting
    the session ends the agent."""
    world = worlds()
    typed = ["typed with a hub", "typed without one", "typed with the next"]
    with hub_process(config_of(world)) as hub:
        client = Client(hub)
        session = (await client.call("POST", "/v1/sessions", agent="pane"))["id"]
        path = f"/v1/sessions/{session}"
        await client.call("POST", f"{path}/messages", text="hello")

        async def type_(text: str) -> None:
            world.keys("-l", text)
            await world.shows(text)
            world.keys("Enter")
            await world.shows(f"Echo: {text}")

        def has(count: int) -> Any:
            def reached(found: Any) -> bool:
                return (
                    found["turn"] is None and sum(item["kind"] == "assistant" for item in found["items"]) == count
                )

            return reached

        await client.until(path, has(1))
        await type_(typed[0])
        await client.until(path, has(2))
        hub.kill()
        await type_(typed[1])
        hub.start()
        await client.until(path, has(3))
        await type_(typed[2])
        await client.until(path, has(4))
        events = (await client.call("GET", f"{path}/events?after=0"))["events"]
        await client.remove(path)
        async with asyncio.timeout(WITHIN_S):
            while session in await asyncio.to_thread(world.tmux, "list-sessions"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    said = [(event["text"], event["origin"]) for event in events if event["type"] == "user_message"]
    assert said == [("hello", "api"), *((text, "keyboard") for text in typed)]
    assert [event["text"] for event in events if event["type"] == "text"] == [
        f"Echo: {text}" for text in ("hello", *typed)
    ]
    kinds = [event["type"] for event in events]
    assert kinds.count("turn_completed") == kinds.count("turn_started") == kinds.count("message_delivered") == 4
    assert world.prompts() == ["hello", *typed]
