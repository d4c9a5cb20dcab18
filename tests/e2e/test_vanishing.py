"""Clients that go away in the middle of what they asked for: nothing of them is left, and nothing else changes."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest

from hub.testing.process import HubProcess
from tests.e2e.door import Door

pytestmark = pytest.mark.anyio

NO_STREAM = 'turnhub_streams{kind="turn"} 0.0'


async def test_who_sends_several_requests_at_once_and_vanishes_leaves_nothing(own_hub: HubProcess) -> None:
    """A stream with requests behind it on one connection: the stream ends with the connection, and no answer is
    written to what is closed."""
    where = urlsplit(own_hub.url)
    async with Door(own_hub) as door:
        session = await door.new()
        await door.play(session, {"text": "on"}, {"hang": True})
        head = f"Host: {where.netloc}\r\nAuthorization: Bearer {own_hub.token}\r\n\r\n"
        live = f"GET /v1/sessions/{session}/live HTTP/1.1\r\n{head}"
        look = f"GET /v1/sessions/{session} HTTP/1.1\r\n{head}"
        for asked in (live + look * 3, look * 5):
            for _ in range(5):
                reader, writer = await asyncio.open_connection(where.hostname, where.port)
                writer.write(asked.encode())
                await reader.readuntil(b"200 OK")
                writer.transport.abort()
        async with asyncio.timeout(20):
            while NO_STREAM not in (await door.get("/metrics")).text:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.05)
        assert (await door.post(f"/v1/sessions/{session}/interrupt")).status_code == 202
    assert own_hub.stop() == 0
    assert "Traceback" not in own_hub.words()
