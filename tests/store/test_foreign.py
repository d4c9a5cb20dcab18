"""What is in the store and is not this hub's: another program's keys, another version's data. It is named, it
hides nothing else, and the hub goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import redis

from hub.store import keys
from hub.testing import stores
from hub.testing.process import HubProcess, hub_process
from hub.testing.stores import ServerProcess
from tests.e2e.door import Door

pytestmark = pytest.mark.anyio

ASK = {"tool": "Bash", "input": {"command": "ls"}, "ask": True, "result": "ok"}


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    """A store of one's own."""
    binary = stores.redis_binary() or stores.valkey_binary()
    if binary is None:
        pytest.skip("there is no store here")
    with stores.server(binary) as process:
        yield process


@pytest.fixture
def look(server: ServerProcess) -> Iterator[redis.Redis]:
    """A look into it."""
    with server.client() as client:
        yield client


@pytest.fixture
def hub(server: ServerProcess) -> Iterator[HubProcess]:
    """A hub on that store."""
    config = f'[store]\nurl = "{server.url}"\n[agents.echo]\ntransport = "scripted"\n'
    with hub_process(config) as running:
        yield running


async def _listed(door: Door) -> list[str]:
    answer = await door.get("/v1/sessions")
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()]


@pytest.mark.parametrize("damage", ["agent gone", "another type", "turn of another version"])
async def test_a_session_that_cannot_be_read_hides_no_other(
    hub: HubProcess, look: redis.Redis, damage: str
) -> None:
    """It is not in the list, asking for it tells what is wrong, the log says so once, and the others work."""
    async with Door(hub) as door:
        good, bad = await door.new(), await door.new()
        key = keys.session_key("session", bad)
        if damage == "agent gone":
            look.hdel(key, "agent")
        elif damage == "another type":
            look.delete(key)
            look.set(key, "mine")
        else:
            look.hset(keys.session_key("turn", bad), mapping={"id": "trn_x", "state": "later", "new": "1"})
        assert await _listed(door) == [good]
        assert await _listed(door) == [good]
        refused = await door.get(f"/v1/sessions/{bad}")
        assert (refused.status_code, refused.json()["code"]) == (503, "store_unavailable")
        assert "not this hub's under a name that is" in refused.json()["detail"]
        assert b"turn_completed" in await door.talk(good, "on")
        assert hub.words().count("lists go without it") == 1
        assert "Traceback" not in hub.words()


async def test_an_ask_of_another_version_hides_no_other(hub: HubProcess, look: redis.Redis) -> None:
    """Of a kind that is not known here."""
    async with Door(hub) as door:
        good, bad = await door.new(), await door.new()
        for session in (good, bad):
            assert (await door.play(session, ASK)).status_code == 202
            async with door.stream("GET", f"/v1/sessions/{session}/live") as answer:
                async for line in answer.aiter_lines():
                    if line == "event: ask_opened":
                        break
        key = keys.session_key("asks", bad)
        (ask_id,) = [one["id"] for one in (await door.get("/v1/asks")).json() if one["session_id"] == bad]
        name = f"{ask_id}:ask"
        ask = json.loads(look.hget(key, name) or b"")
        look.hset(key, name, json.dumps({**ask, "kind": "telepathy"}))
        answer = await door.get("/v1/asks?state=open")
        assert [one["session_id"] for one in answer.json()] == [good]


@pytest.mark.parametrize(
    "key", [keys.RUNNERS, keys.bucket_key("leases", 7), keys.bucket_key("undistilled", 7), keys.work_key("echo")]
)
async def test_a_key_of_another_program_does_not_end_the_hub(hub: HubProcess, look: redis.Redis, key: str) -> None:
    """Under the name of what all sessions share: it is named in the log, and when it is gone all goes on."""
    async with Door(hub) as door:
        session = await door.new()
        assert b"turn_completed" in await door.talk(session, "one")
        look.delete(key)
        look.set(key, "mine")
        stores.wait_for(lambda: "not this hub's under a name that is" in hub.words(), 30)
        assert (await door.get("/healthz")).status_code == 200
        look.delete(key)
        assert b"turn_completed" in await door.talk(session, "two")
        assert hub.stop() == 0
