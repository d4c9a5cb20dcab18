"""Streams: what leaves first, what follows, how they end; POST and live are the same bytes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.front.door import Door, kinds, watching

pytestmark = pytest.mark.anyio


async def test_head_and_comment_leave_before_any_runner_is_called(door: Door) -> None:
    """The client hears that it is served before an agent is started for it."""
    sid = await door.session()
    rung = asyncio.Event()
    free = asyncio.Event()

    class Held:
        async def ring(self, *_: Any) -> None:
            rung.set()
            await free.wait()

    from msgspec.structs import replace

    from hub.front.app import create_app
    from hub.testing.asgi import asgi_client

    app = create_app(replace(door.services, work=Held()))
    async with (
        asgi_client(app, door.tokens.primary()) as client,
        watching(client, f"/v1/sessions/{sid}/messages", "POST", json={"text": "hi"}) as stream,
    ):
        assert await stream.until(b":\n\n") == b":\n\n"
        await rung.wait()
        free.set()
        await stream.until(b"turn_started")
    response = stream.response
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"


async def test_post_stream_and_live_are_byte_identical(door: Door) -> None:
    """They are the same code from the same bytes, to the terminal event and a clean close."""
    sid = await door.session()
    async with watching(door.client, f"/v1/sessions/{sid}/messages", "POST", json={"text": "hi"}) as posted:
        await posted.until(b"turn_started")
        turn = await door.services.store.turn(sid)
        assert turn is not None
        claim = (await door.desk.take_turn(sid, turn.id)).claim
        async with watching(door.client, f"/v1/sessions/{sid}/live") as live:
            await door.say(claim, 1, "Hel", "lo")
            await live.until(b'"text":"lo"')
            await posted.until(b'"text":"lo"')
            await door.desk.finish(claim)
            ours, theirs = await posted.rest(), await live.rest()
    assert ours == theirs
    assert kinds(ours) == [
        "user_message", "turn_started", "text_delta", "text_delta", "text", "turn_completed",
    ]  # fmt: skip
