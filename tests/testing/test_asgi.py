"""The transport into an ASGI application: it streams, disconnects, and hides no fault."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from hub.testing.asgi import asgi_client

pytestmark = pytest.mark.anyio


async def start(send: Send, status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"x-is", b"here")]})


async def part(send: Send, body: bytes, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def test_an_endless_body_is_read_as_it_comes_and_left() -> None:
    """Leaving is a disconnect, which the application is told, and waited for."""
    left = asyncio.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        await start(send)
        await part(send, b"one")
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    async with asgi_client(endless) as client, client.stream("GET", "/") as response:
        assert response.headers["x-is"] == "here"
        assert await anext(response.aiter_raw()) == b"one"
    assert left.is_set()


async def test_a_request_arrives_as_it_was_sent() -> None:
    """Method, path, query, headers, and a body in parts."""
    seen: list[Scope] = []

    async def echo(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        await start(send)
        await part(send, body, more=False)

    async def parts() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    async with asgi_client(echo, "secret") as client:
        response = await client.post("/x%20y?q=%C3%A4", content=parts())
    assert response.content == b"ab"
    (scope,) = seen
    assert (scope["method"], scope["path"], scope["query_string"]) == ("POST", "/x y", b"q=%C3%A4")
    assert dict(scope["headers"])[b"authorization"] == b"Bearer secret"
    assert dict(scope["headers"])[b"host"] == b"127.0.0.1:8420"


async def test_faults_come_out() -> None:
    """Before the response, in its middle, and an end without an end."""

    async def early(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError

    async def late(scope: Scope, receive: Receive, send: Send) -> None:
        await start(send)
        raise ZeroDivisionError

    async def silent(scope: Scope, receive: Receive, send: Send) -> None:
        return

    async def short(scope: Scope, receive: Receive, send: Send) -> None:
        await start(send)
        await part(send, b"one")

    for app, error in ((early, ZeroDivisionError), (late, ZeroDivisionError), (silent, AssertionError)):
        async with asgi_client(app) as client:
            with pytest.raises(error):
                await client.get("/")
    async with asgi_client(short) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get("/")
