"""A hub killed with -9 in the middle of a turn of the real agent: what was said is kept, and it goes on."""

from __future__ import annotations

import asyncio

import pytest

from hub.testing.process import HubProcess
from tests.e2e.door import Door, events

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.real]


async def _until(door: Door, session: str, kind: str, count: int) -> None:
    """Return when the running turn has streamed ``count`` events of a type."""
    async with door.stream("GET", f"/v1/sessions/{session}/live") as live:
        async for line in live.aiter_lines():
            count -= line == f"event: {kind}"
            if count <= 0:
                return


async def test_partial_text_is_kept_the_turn_is_owner_lost_and_the_session_goes_on(own_hub: HubProcess) -> None:
    """After the restart: one terminal event, ``owner_lost`` and retryable, with the partial text; then the
    agent answers with its own history (it resumes), and the retry works."""
    async with Door(own_hub) as door:
        session = await door.new("rehearsal")
        await door.talk(session, "help")
        assert (await door.send(session, "slow")).status_code == 202
        await _until(door, session, "text_delta", 12)
    own_hub.kill()
    own_hub.start()
    async with Door(own_hub) as door:
        stream = await door.live(session)
        ended = events(stream)[-1] if stream else (await door.log(session))[-1]
        assert (ended["type"], ended["code"], ended["retryable"]) == ("turn_failed", "owner_lost", True)
        item = (await door.session(session))["items"][-1]
        assert item["status"] == "failed"
        assert any(block["kind"] == "text" and block["partial"] and block["text"] for block in item["blocks"])
        ends = ("turn_completed", "turn_failed", "turn_interrupted")
        terminals = [event for event in await door.log(session) if event["type"] in ends]
        assert len(terminals) == 2
        again = events(await door.talk(session, "help"))
        assert again[-1]["type"] == "turn_completed"


async def test_an_open_ask_of_a_killed_hub_is_withdrawn_with_its_turn(own_hub: HubProcess) -> None:
    """Nobody can answer a question of an agent that is gone: the log says so, and answering is 410."""
    async with Door(own_hub) as door:
        session = await door.new("rehearsal")
        assert (await door.send(session, "permission")).status_code == 202
        await _until(door, session, "ask_opened", 1)
        ask = (await door.get("/v1/asks?state=open")).json()[0]
    own_hub.kill()
    own_hub.start()
    async with Door(own_hub) as door:
        await door.live(session)
        assert (await door.get("/v1/asks?state=open")).json() == []
        answer = await door.post(f"/v1/asks/{ask['id']}/answer", {"decision": "allow"})
        assert (answer.status_code, answer.json()["code"]) == (410, "withdrawn")
        item = (await door.session(session))["items"][-1]
        assert item["ending"]["code"] == "owner_lost"
        assert [block["status"] for block in item["blocks"] if block["kind"] == "tool"] in ([], ["unknown"])


async def test_told_to_stop_every_stream_ends_with_its_terminal_event(
    own_hub: HubProcess,
) -> None:
    """SIGTERM with 20 turns streaming: each stream ends cleanly with ``cancelled_by_shutdown``."""
    async with Door(own_hub) as door:
        sessions = [await door.new() for _ in range(20)]
        for session in sessions:
            await door.play(session, {"text": "a " * 500, "deltas": 500, "every_ms": 20})
        streams = [asyncio.create_task(door.live(session)) for session in sessions]
        for session in sessions:
            await _until(door, session, "text_delta", 1)
        stopping = asyncio.create_task(asyncio.to_thread(own_hub.stop))
        bodies = await asyncio.gather(*streams)
        assert await stopping == 0
    assert {events(body)[-1].get("code") for body in bodies} == {"cancelled_by_shutdown"}
