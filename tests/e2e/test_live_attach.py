"""Live attach: whoever comes, whenever, from wherever, sees every event once, in order."""

from __future__ import annotations

import asyncio
import random
import sys

import pytest

from hub.testing.process import HubProcess, second_process
from tests.e2e.door import Door, events, frames, types

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

_LONG = {"text": " ".join(f"word{number}" for number in range(400)), "deltas": 400, "every_ms": 4}

_FOLLOW = """
import sys, urllib.request as u
request = u.Request(sys.argv[1], headers={"Authorization": "Bearer " + sys.stdin.readline().strip()})
for line in u.urlopen(request):
    sys.stdout.buffer.write(line)
    sys.stdout.flush()
"""


async def test_post_and_live_are_the_same_bytes(door: Door) -> None:
    """The stream of the POST and two ``/live`` streams of the same turn are byte-identical."""
    session = await door.new()
    path = f"/v1/sessions/{session}"
    script = {"text": f'{{"steps": [{{"text": "{"a " * 50}", "deltas": 50, "every_ms": 5}}]}}'}
    async with door.stream("POST", f"{path}/messages", script) as posted:
        chunks = posted.aiter_raw()
        begun = await anext(chunks)
        lives = [asyncio.create_task(door.live(session)) for _ in range(2)]
        post = begun + b"".join([chunk async for chunk in chunks])
        bodies = await asyncio.gather(*lives)
    assert post == bodies[0] == bodies[1]
    assert types(post)[-1] == "turn_completed"


async def test_a_client_killed_in_the_middle_changes_nothing_and_any_cursor_goes_on(
    door: Door, shared_hub: HubProcess
) -> None:
    """A client process is killed in mid-stream; from 20 random cursors, from other connections, what is
    replayed and followed is exactly the rest of the turn's stream."""
    session = await door.new()
    began = await door.play(session, _LONG)
    assert began.status_code == 202
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _FOLLOW, f"{shared_hub.url}/v1/sessions/{session}/live"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write(shared_hub.token.encode() + b"\n")
    seen = await client.stdout.readexactly(20_000)
    client.kill()
    await client.communicate()
    whole = asyncio.create_task(door.live(session))
    last = events(seen.rpartition(b"\n\n")[0] + b"\n\n")[-1]["seq"]
    cursors = [last, *(random.randint(3, last) for _ in range(19))]
    parts = await asyncio.gather(*(door.live(session, cursor) for cursor in cursors))
    all_frames = frames(await whole)
    numbers = [int(frame.split(b"\n")[0][4:]) for frame in all_frames]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    for cursor, part in zip(cursors, parts, strict=True):
        assert frames(part) == [frame for frame, seq in zip(all_frames, numbers, strict=True) if seq > cursor]
    durable = {event["seq"]: event for event in await door.log(session)}
    streamed = {event["seq"]: event for event in events(b"".join(all_frames))}
    assert {seq: durable[seq] for seq in durable if seq in streamed} == {
        seq: event for seq, event in streamed.items() if seq in durable
    }


async def test_a_second_process_on_the_same_store_serves_the_same_stream(
    door: Door, shared_hub: HubProcess
) -> None:
    """A hub process that only has the front role joins the store: its ``/live`` equals the first one's."""
    with second_process(shared_hub, "--role", "front") as second:
        session = await door.new()
        await door.play(session, _LONG)
        async with Door(second) as other:
            here, there = await asyncio.gather(door.live(session), other.live(session, 3))
        mine = frames(here)
        assert frames(there) == [frame for frame in mine if int(frame.split(b"\n")[0][4:]) > 3]


async def test_no_running_turn_is_204_and_a_bad_cursor_is_400(door: Door) -> None:
    """204 also ends an EventSource's reconnecting; nonsense cursors are named."""
    session = await door.new()
    assert (await door.get(f"/v1/sessions/{session}/live")).status_code == 204
    for cursor in ("x", "-1", "99999", "1.5", "9" * 30):
        answer = await door.get(f"/v1/sessions/{session}/live?last_event_id={cursor}")
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor"), cursor


async def test_reload_in_the_middle_and_after_the_end_shows_what_was_watched(door: Door) -> None:
    """GET at the end equals the fold of the live stream; GET in the middle names the running turn."""
    session = await door.new()
    await door.play(
        session, _LONG, {"tool": "Bash", "input": {"command": "true"}, "result": "ok"}, {"text": "end"}
    )
    middle = await door.session(session)
    assert middle["turn"]["state"] in ("queued", "running")
    assert middle["items"][-1]["status"] == "running"
    await door.live(session)
    after = await door.session(session)
    assert after["turn"] is None
    blocks = after["items"][-1]["blocks"]
    assert [block["kind"] for block in blocks] == ["text", "tool", "text"]
    assert blocks[0]["text"] == _LONG["text"]
