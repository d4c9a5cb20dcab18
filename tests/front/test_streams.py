"""Streams: what leaves first, what follows, how they end; POST and live are the same bytes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
from msgspec.structs import replace

from hub.events import decode_frames
from hub.front.app import create_app
from hub.testing.asgi import asgi_client
from tests.front.door import Door, kinds, problem, watching

pytestmark = pytest.mark.anyio


class HeldWork:
    """Calls a runner only when it is let."""

    def __init__(self) -> None:
        self.rung = asyncio.Event()
        self.free = asyncio.Event()

    async def ring(self, *_: str) -> None:
        self.rung.set()
        await self.free.wait()


@asynccontextmanager
async def held_work(door: Door) -> AsyncIterator[tuple[httpx.AsyncClient, HeldWork]]:
    work = HeldWork()
    app = create_app(replace(door.services, work=work))
    async with asgi_client(app, door.tokens.primary()) as client:
        yield client, work


async def test_head_and_comment_leave_before_any_runner_is_called(door: Door) -> None:
    """The client hears that it is served before an agent is started for it."""
    path = f"/v1/sessions/{await door.session()}/messages"
    async with (
        held_work(door) as (client, work),
        watching(client, path, "POST", json={"text": "hi"}) as stream,
    ):
        assert await stream.until(b":\n\n") == b":\n\n"
        await work.rung.wait()
        work.free.set()
        await stream.until(b"turn_started")
    response = stream.response
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    assert "connection" not in response.headers


async def test_retry_shares_the_first_events_frame(door: Door) -> None:
    """Some clients take a frame with `retry:` alone for an event."""
    sid = await door.session()
    await door.running(sid)
    async with watching(door.client, f"/v1/sessions/{sid}/live") as live:
        assert (await live.until(b"turn_started")).startswith(b":\n\nretry: 1000\nid: 2\nevent: user_message\n")
        assert live.seen.count(b"retry:") == 1


async def test_post_stream_and_live_are_byte_identical(door: Door) -> None:
    """They are the same code from the same bytes, to the terminal event and a clean close."""
    sid = await door.session()
    path = f"/v1/sessions/{sid}"
    async with watching(door.client, f"{path}/messages", "POST", json={"text": "hi"}) as posted:
        await posted.until(b"turn_started")
        turn = await door.services.store.turn(sid)
        assert turn is not None
        claim = (await door.desk.take_turn(sid, turn.id)).claim
        async with watching(door.client, f"{path}/live") as live:
            await door.say(claim, 1, "Hel", "lo")
            await live.until(b'"text":"Hello"')
            await posted.until(b'"text":"Hello"')
            await door.desk.finish(claim)
            ours, theirs = await posted.rest(), await live.rest()
    assert ours == theirs
    assert kinds(ours) == [*("user_message", "turn_started", "text_delta", "text_delta", "text", "turn_completed")]


async def test_joined_at_any_cursor_the_stream_is_the_log(door: Door) -> None:
    """By header or address, from 20 places, while the turn runs on: every event once, in order."""
    sid = await door.session()
    claim = await door.running(sid)
    for batch in range(1, 11):
        await door.say(claim, batch, *"abcd")
    path = f"/v1/sessions/{sid}/live"
    last = (await door.services.store.snapshot(sid, 0)).cursor
    cursors = [random.randrange(1, last + 1) for _ in range(20)]

    async with AsyncExitStack() as stack:
        streams = []
        for number, cursor in enumerate(cursors):
            by_header = {"headers": {"Last-Event-ID": str(cursor)}}
            at = by_header if number % 2 else {"params": {"last_event_id": cursor}}
            streams.append(await stack.enter_async_context(watching(door.client, path, **at)))
        for batch in range(11, 16):
            await door.say(claim, batch, *"efg")
        await door.desk.finish(claim)
        seen = [await stream.rest() for stream in streams]
    whole = (await door.services.store.snapshot(sid, 0, also=[claim.turn_id])).entries
    for cursor, stream in zip(cursors, seen, strict=True):
        behind = b"".join(entry.frame for entry in whole if entry.seq > cursor)
        assert stream == b":\n\nretry: 1000\n" + behind


async def test_live_without_a_turn_is_204(door: Door) -> None:
    """Which also ends an EventSource's connecting again; before, after, and with a cursor."""
    sid = await door.session()
    path = f"/v1/sessions/{sid}/live"
    assert (await door.client.get(path)).status_code == 204
    claim = await door.running(sid)
    await door.desk.finish(claim)
    for headers in ({}, {"Last-Event-ID": "3"}):
        response = await door.client.get(path, headers=headers)
        assert (response.status_code, response.content) == (204, b"")


@pytest.mark.parametrize("cursor", ["-1", "x", "1.5", "9007199254740993", "99", "1e2", "%00"])
@pytest.mark.parametrize("route", ["live?last_event_id=", "events?after="])
async def test_a_bad_cursor_is_a_bad_request(door: Door, route: str, cursor: str) -> None:
    """Negative, no number, too large, or ahead of the session: by address and by header, as stream and page."""
    sid = await door.session()
    await door.running(sid)
    path = f"/v1/sessions/{sid}/{route}"
    await problem(await door.client.get(path + cursor), 400, "bad_cursor")
    asked = {"Last-Event-ID": cursor}
    await problem(await door.client.get(path.partition("?")[0], headers=asked), 400, "bad_cursor")
    if route.startswith("events") and cursor != "99":
        page = {"Accept": "application/json"}
        await problem(await door.client.get(path + cursor, headers=page), 400, "bad_cursor")


async def test_the_log_is_followed_across_turns_without_transient_events(door: Door) -> None:
    """From its beginning, or after a cursor."""
    sid = await door.session()
    path = f"/v1/sessions/{sid}/events"
    async with watching(door.client, path) as log:
        for text in ("one", "two"):
            claim = await door.running(sid, text)
            await door.say(claim, 1, "a", "b")
            await door.desk.finish(claim)
        await log.until(b'"text":"two"')
        await log.until(claim.turn_id.encode() + b'","stop_reason"')
    turn = ["user_message", "turn_started", "text", "turn_completed"]
    assert log.kinds == ["session_created", *turn, *turn]
    async with watching(door.client, path, params={"after": 7}) as later:
        await later.until(b"turn_completed")
    assert [event.seq > 7 for event in decode_frames(later.seen)] == [True] * len(later.kinds)


async def test_the_log_comes_in_pages_too(door: Door) -> None:
    """Each event once; `next` leads on and is null at the end."""
    sid = await door.session()
    claim = await door.running(sid)
    for batch in range(1, 6):
        await door.say(claim, batch, "a")
    path, found, after, pages = f"/v1/sessions/{sid}/events", [], 0, 0
    while after is not None:
        page = await door.client.get(
            path, params={"after": after, "limit": 4}, headers={"Accept": "application/json"}
        )
        assert page.headers["content-type"] == "application/json"
        found += page.json()["events"]
        after, pages = page.json()["next"], pages + 1
    assert [event["type"] for event in found] == await door.desk.kinds(sid)
    assert pages == 2
    for limit in ("0", "5001", "x"):
        bad = await door.client.get(path, params={"limit": limit}, headers={"Accept": "application/json"})
        await problem(bad, 422, "invalid")


async def test_hub_events_hint_at_what_changed_anywhere(door: Door) -> None:
    """Sessions, turns and asks."""
    async with watching(door.client, "/v1/events") as hints:
        await hints.until(b":\n\n")
        sid = await door.session()
        claim = await door.running(sid)
        ask = await door.desk.opened(claim)
        await hints.until(ask.encode())
    for mark in (b"event: session", b"event: turn", b"event: ask", sid.encode(), claim.turn_id.encode()):
        assert mark in hints.seen


@pytest.mark.parametrize("heartbeat_s", [0.2])
async def test_quiet_streams_carry_comments(door: Door) -> None:
    """So that proxies and clients know that they live."""
    sid = await door.session()
    for path in (f"/v1/sessions/{sid}/events?after=1", "/v1/events"):
        async with watching(door.client, path) as stream:
            await stream.until(b":\n\n:\n\n:\n\n")
        assert stream.kinds == []


async def test_the_client_going_away_changes_nothing_about_the_turn(door: Door) -> None:
    """Neither from the POST's stream nor from live; the front forgets the stream at once."""
    sid = await door.session()
    path = f"/v1/sessions/{sid}"
    async with watching(door.client, f"{path}/messages", "POST", json={"text": "hi"}) as posted:
        await posted.until(b"turn_started")
        async with watching(door.client, f"{path}/live") as live:
            await live.until(b"turn_started")
            assert door.services.feed.watched == 1
    assert door.services.feed.watched == 0
    turn = await door.services.store.turn(sid)
    assert turn is not None
    assert turn.cancel_by is None
    assert await door.rung() == [turn.id]


async def test_a_client_gone_before_its_answer_still_gets_its_turn_run(door: Door) -> None:
    """The runner is called although nobody listens any more."""
    sid = await door.session()
    async with held_work(door) as (client, work):
        async with watching(client, f"/v1/sessions/{sid}/messages", "POST", json={"text": "hi"}) as stream:
            await stream.until(b":\n\n")
            await work.rung.wait()
            asyncio.get_running_loop().call_later(0.02, work.free.set)
        assert work.free.is_set()


async def test_draining_ends_every_stream_at_once_and_cleanly(door: Door) -> None:
    """Also those that come later; the turn goes on."""
    sid = await door.session()
    claim = await door.running(sid)
    paths = [f"/v1/sessions/{sid}/live", f"/v1/sessions/{sid}/events", "/v1/events"]
    async with (
        watching(door.client, paths[0]) as live,
        watching(door.client, paths[1]) as log,
        watching(door.client, paths[2]) as hints,
    ):
        await live.until(b"turn_started")
        await log.until(b"turn_started")
        await hints.until(b":\n\n")
        door.services.feed.drain()
        for stream in (live, log, hints):
            await stream.rest()
            assert "turn_completed" not in stream.kinds
    for path in paths:
        async with watching(door.client, path) as late:
            await late.rest()
    turn = await door.services.store.turn(sid)
    assert turn is not None
    assert turn.id == claim.turn_id


async def test_a_deleted_session_ends_its_streams(door: Door) -> None:
    """Nobody waits for ever."""
    sid = await door.session()
    await door.running(sid)
    async with watching(door.client, f"/v1/sessions/{sid}/events") as log:
        await log.until(b"turn_started")
        await door.client.delete(f"/v1/sessions/{sid}?force=true")
        await log.rest()


async def test_head_opens_no_stream(door: Door) -> None:
    """The headers of GET and nothing else; nothing is watched afterwards."""
    sid = await door.session()
    await door.running(sid)
    for path in (f"/v1/sessions/{sid}/live", f"/v1/sessions/{sid}/events", "/v1/events"):
        response = await door.client.head(path)
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.content == b""
    assert door.services.feed.watched == 0


async def test_streams_are_counted_while_they_last(door: Door) -> None:
    """By kind."""
    sid = await door.session()
    await door.running(sid)

    def count(kind: str) -> float:
        line = f'turnhub_streams{{kind="{kind}"}} '
        figures = door.services.metrics.render().decode().splitlines()
        return sum(float(one.removeprefix(line)) for one in figures if one.startswith(line))

    async with watching(door.client, f"/v1/sessions/{sid}/live") as live:
        await live.until(b"turn_started")
        assert count("turn") == 1
    assert count("turn") == 0
