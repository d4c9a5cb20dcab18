"""A store that is 200 ms away: everything takes longer, and nothing is different."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from hub.testing import stores
from hub.testing.process import HubProcess, hub_process
from tests.e2e.door import Door, events, types
from tests.farstore import far_away

pytestmark = pytest.mark.anyio

ROUND_TRIP_S = 0.2
ASK = {"tool": "Bash", "input": {"command": "ls"}, "ask": True, "result": "two files"}
WORDS = {"text": " ".join(f"word{number}" for number in range(100)), "deltas": 100, "every_ms": 5}
CONFIG = '[store]\nurl = "{url}"\n[runner]\nlease_s = 6.0\n[agents.echo]\ntransport = "scripted"\n'


@pytest.fixture(scope="module")
def hub() -> Iterator[HubProcess]:
    """A hub whose store is far away."""
    binary = stores.redis_binary() or stores.valkey_binary()
    if binary is None:
        pytest.skip("there is no store here")
    with (
        stores.server(binary) as server,
        far_away(server.url, ROUND_TRIP_S) as url,
        hub_process(CONFIG.format(url=url)) as running,
    ):
        yield running


async def _until(door: Door, session: str, kind: str) -> None:
    """Watch the running turn until it has an event of that kind."""
    async with door.stream("GET", f"/v1/sessions/{session}/live") as answer:
        assert answer.status_code == 200
        async for line in answer.aiter_lines():
            if line == f"event: {kind}":
                return
    raise AssertionError(f"the turn ended without {kind}")


async def _ended(door: Door, session: str, count: int) -> list[str]:
    """The log's types once ``count`` turns have ended."""
    found: list[str] = []
    async with door.stream("GET", f"/v1/sessions/{session}/events?after=0") as answer:
        async for line in answer.aiter_lines():
            if line.startswith("event: "):
                found.append(line[7:])
                count -= line[7:] in {"turn_completed", "turn_failed", "turn_interrupted"}
            if not count:
                return found
    raise AssertionError(f"the stream ended early: {found}")


async def test_a_turn_is_streamed_whole_to_all_who_come_at_any_time(hub: HubProcess) -> None:
    """The poster, and ten who attach one after the other: every event once, in order, the same for all."""
    async with Door(hub) as door:
        session = await door.new()
        posted = asyncio.create_task(door.talk(session, json.dumps({"steps": [WORDS, {"sleep_ms": 500}, WORDS]})))
        await _until_running(door, session)
        seen = await asyncio.gather(*[_late(door, session, number * 0.1) for number in range(10)])
        whole = events(await posted)
        numbers = [event["seq"] for event in whole]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert whole[-1]["type"] == "turn_completed"
        for one in seen:
            assert events(one) == whole


async def _until_running(door: Door, session: str) -> None:
    while (await door.session(session))["turn"] is None:
        pass


async def _late(door: Door, session: str, delay_s: float) -> bytes:
    await asyncio.sleep(delay_s)
    return await door.live(session)


async def test_of_many_at_once_one_wins_and_the_queue_keeps_its_order(hub: HubProcess) -> None:
    """Eight messages at once: one turn. Then five that wait: they begin by themselves, in the order they came."""
    async with Door(hub) as door:
        session = await door.new()
        hold = {"text": json.dumps({"steps": [ASK]})}
        path = f"/v1/sessions/{session}/messages"
        answers = await asyncio.gather(*[door.post(path, hold) for _ in range(8)])
        assert sorted(one.status_code for one in answers) == [202, *[409] * 7]
        await _until(door, session, "ask_opened")
        for number in range(5):
            queued = await door.post(path, {"text": f"next {number}", "on_busy": "queue"})
            assert queued.status_code == 202
        (ask,) = [one for one in (await door.get("/v1/asks")).json() if one["session_id"] == session]
        replies = await asyncio.gather(
            *[door.post(f"/v1/asks/{ask['id']}/answer", {"decision": "allow"}) for _ in range(6)]
        )
        assert sorted(one.status_code for one in replies) == [200, *[409] * 5]
        told = await _ended(door, session, 6)
        assert told.count("turn_completed") == 6
        assert told.count("ask_settled") == told.count("ask_delivered") == 1
        items = (await door.session(session))["items"]
        assert [one["text"] for one in items if one["kind"] == "user"][1:] == [f"next {n}" for n in range(5)]


async def test_a_turn_is_stopped_and_another_begins_in_its_place(hub: HubProcess) -> None:
    """interrupt, and on_busy: interrupt; a lease of six seconds is kept through a turn that takes eight."""
    async with Door(hub) as door:
        session = await door.new()
        assert (await door.play(session, {"text": "on"}, {"hang": True})).status_code == 202
        await _until(door, session, "text")
        assert (await door.post(f"/v1/sessions/{session}/interrupt")).status_code == 202
        assert (await _ended(door, session, 1))[-1] == "turn_interrupted"
        assert (await door.play(session, {"text": "on"}, {"hang": True})).status_code == 202
        await _until(door, session, "text")
        async with door.stream(
            "POST", f"/v1/sessions/{session}/messages", {"text": "instead", "on_busy": "interrupt"}
        ) as answer:
            assert types(await answer.aread())[-1] == "turn_completed"
        assert "turn_failed" not in await _ended(door, session, 3)
        long = json.dumps({"steps": [{"text": "on"}, {"sleep_ms": 8000}, {"text": "and on"}]})
        assert types(await door.talk(session, long))[-1] == "turn_completed"
