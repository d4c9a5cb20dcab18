"""A hub whose store is set up badly, gets full, and is emptied under it: each is told plainly, and it goes on."""

from __future__ import annotations

import json

import pytest
import redis

from hub.testing import stores
from hub.testing.process import HubProcess, hub_process
from tests.e2e.door import Door

pytestmark = pytest.mark.anyio

WORDS = json.dumps({"steps": [{"text": "one"}, {"hang": True}]})


async def full(door: Door, look: redis.Redis) -> None:
    """Full memory: it is not ready, and says why; what is there can be read; no message is taken."""
    session = await door.new()
    look.config_set("maxmemory", "1")
    ready = await door.get("/readyz")
    assert (ready.status_code, ready.json()["missing"]) == (503, ["store"])
    refused = await door.send(session, "lost?")
    assert (refused.status_code, refused.json()["code"]) == (503, "store_read_only")
    for told in (ready, refused):
        assert "Give it more memory (maxmemory)" in told.json()["detail"]
        assert "script" not in told.json()["detail"]
    assert (await door.session(session))["items"] == []
    look.config_set("maxmemory", "0")
    assert (await door.get("/readyz")).status_code == 200
    assert b"turn_completed" in await door.talk(session, "now")
    assert len((await door.session(session))["items"]) == 2


async def emptied(door: Door, look: redis.Redis) -> None:
    """Emptied: streams end without a terminal event, nothing is made up, and new sessions work at once."""
    session = await door.new()
    async with door.stream("POST", f"/v1/sessions/{session}/messages", {"text": WORDS}) as answer:
        parts = answer.aiter_bytes()
        seen = b""
        while b"one" not in seen.partition(b"event: text")[2]:
            seen += await anext(parts)
        look.flushall()
        rest = b"".join([part async for part in parts])
    assert b"event: turn_" not in rest
    gone = await door.get(f"/v1/sessions/{session}")
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
    assert b"turn_completed" in await door.talk(await door.new(), "anew")


def throws_away(hub: HubProcess) -> bool:
    """Whether the hub said that its store may throw sessions away."""
    return "the store may throw sessions away" in hub.words() and "allkeys-lru" in hub.words()


async def test_what_becomes_of_the_store_is_told_and_the_hub_goes_on() -> None:
    """Set up to throw sessions away: said at the start. Then full, then emptied."""
    binary = stores.redis_binary()
    if binary is None:
        pytest.skip("redis-server is not installed here")
    with stores.server(binary, "--maxmemory-policy", "allkeys-lru") as server:
        config = f'[store]\nurl = "{server.url}"\n[agents.echo]\ntransport = "scripted"\n'
        with hub_process(config) as hub, server.client() as look:
            assert throws_away(hub)
            look.config_set("maxmemory-policy", "noeviction")
            async with Door(hub) as door:
                await full(door, look)
                await emptied(door, look)
