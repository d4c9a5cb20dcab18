"""The front on a real port: starting, stopping, and the bounds of a connection."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hub.front.app import create_app
from hub.front.protocol import Limits
from hub.front.server import GRACE_S, SEND_BUFFER, CannotListen, FrontServer, listen
from hub.front.sse import EventStream
from tests.front.door import Door
from tests.front.test_sse import FRAME, Frames

pytestmark = pytest.mark.anyio
HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@asynccontextmanager
async def serving(
    app: ASGIApp, limits: Limits | None = None, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[FrontServer]:
    """A server on a free port."""
    server = FrontServer(app, host, 0, limits, tls)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.run())
        await server.started.wait()
        try:
            yield server
        finally:
            server.stop()


@asynccontextmanager
async def dialled(server: FrontServer) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A bare connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def answer(reader: asyncio.StreamReader) -> bytes:
    """Everything until the server closes."""
    return await asyncio.wait_for(reader.read(), 5)


async def test_a_free_port_is_found_and_told(door: Door) -> None:
    """Port 0; the address that clients are told works."""
    async with serving(door.app) as server, httpx.AsyncClient(base_url=server.url) as client:
        assert server.port != 0
        assert server.url == f"http://127.0.0.1:{server.port}"
        response = await client.get("/healthz")
    assert response.status_code == 200
    assert "server" not in response.headers


@pytest.mark.parametrize(("host", "url"), [("0.0.0.0", "http://127.0.0.1"), ("localhost", "http://localhost")])
async def test_the_address_is_one_that_can_be_dialled(door: Door, host: str, url: str) -> None:
    """Not 0.0.0.0; a name with several addresses is served on all of them, on one port."""
    async with serving(door.app, host=host) as server, httpx.AsyncClient() as client:
        assert server.url == f"{url}:{server.port}"
        assert (await client.get(f"{server.url}/healthz")).status_code == 200


async def test_ipv6_is_written_in_brackets(door: Door) -> None:
    """In the address, and understood in Host."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    async with serving(door.app, host="::1") as server, httpx.AsyncClient() as client:
        assert server.url == f"http://[::1]:{server.port}"
        assert (await client.get(f"{server.url}/healthz")).status_code == 200


async def test_a_taken_port_is_told_in_one_sentence(door: Door) -> None:
    """Which names it and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=f"Port {port} on 127.0.0.1 is taken"):
            await FrontServer(door.app, "127.0.0.1", port).run()


@pytest.mark.parametrize(
    ("host", "told"),
    [("nowhere.invalid", "no address of this machine"), ("192.0.2.1", "no address of this machine")],
)
async def test_a_foreign_address_is_told(host: str, told: str) -> None:
    """A name that is nobody's, an address that is another's."""
    with pytest.raises(CannotListen, match="no address of this machine"):
        await listen(host, 0)


async def test_send_buffers_are_small() -> None:
    """A client that stops reading is noticed after a few hundred KB, not after megabytes."""
    (one,) = await listen("127.0.0.1", 0)
    with one:
        # The kernel doubles what is asked for.
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 2 * SEND_BUFFER


async def test_two_hundred_streams_end_cleanly_within_a_second(door: Door) -> None:
    """Draining first, then stopping: every stream gets its last chunk, nobody is cut off."""
    sid = await door.session()
    await door.running(sid)
    token = door.client.headers["authorization"]
    ask = f"GET /v1/sessions/{sid}/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n\r\n"
    async with AsyncExitStack() as stack:
        async with serving(door.app) as server:
            readers = []
            for _ in range(200):
                reader, writer = await stack.enter_async_context(dialled(server))
                writer.write(ask.encode())
                readers.append(reader)
            for reader in readers:
                await reader.readuntil(b"turn_started")
            started = time.perf_counter()
            door.services.feed.drain()
        took = time.perf_counter() - started
        ends = [await answer(reader) for reader in readers]
    assert all(end.endswith(b"\r\n0\r\n\r\n") for end in ends)
    assert took < 1, took


async def test_cancelling_stops_as_stop_does(door: Door) -> None:
    """Nothing listens afterwards."""
    server = FrontServer(door.app, "127.0.0.1", 0)
    task = asyncio.create_task(server.run())
    await server.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the number says which
        await asyncio.open_connection("127.0.0.1", server.port)
    assert caught.value.errno == errno.ECONNREFUSED


async def test_a_head_that_does_not_come_is_given_up(door: Door) -> None:
    """A trickle of header bytes holds no connection open; nor does silence."""
    async with serving(door.app, Limits(head_s=0.2)) as server:
        async with dialled(server) as (reader, writer):
            writer.write(HEAD)
            assert (await answer(reader)).startswith(b"HTTP/1.1 408 ")
        async with dialled(server) as (reader, _):
            assert await answer(reader) == b""


async def test_a_head_without_end_is_refused(door: Door) -> None:
    """Before it fills the memory."""
    async with serving(door.app, Limits(head_bytes=10_000)) as server, dialled(server) as (reader, writer):
        writer.write(HEAD + b"X: " + b"x" * 20_000)
        got = await answer(reader)
    assert got.startswith(b"HTTP/1.1 431 ")
    assert b'"code":"headers_too_large"' in got


async def test_a_second_head_that_does_not_come_never_gets_into_the_first_answer(door: Door) -> None:
    """A stream's client that begins another request is cut off, and reads no byte that is not the stream's."""

    class Silent(Frames):
        async def read(self) -> bytes | None:
            await asyncio.Event().wait()
            raise AssertionError

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await EventStream(Silent())(scope, receive, send)

    async with serving(app, Limits(head_s=0.2)) as server, dialled(server) as (reader, writer):
        writer.write(HEAD + b"\r\n" + HEAD)
        got = b""
        with suppress(ConnectionResetError):
            got = await answer(reader)
    assert got.count(b"HTTP/1.1") <= 1
    assert b"408" not in got


async def let_go(writer: asyncio.StreamWriter) -> None:
    """Return when the server is seen to have let go: it no longer takes what we send."""
    with suppress(ConnectionError):
        async with asyncio.timeout(10):
            while True:
                await asyncio.sleep(0.05)
                writer.write(b"x")
                await writer.drain()


async def gone(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, word: bytes) -> bytes:
    """What the server says until it closes, while ``word`` is said to it over and over."""
    got = b""
    with suppress(ConnectionError):
        async with asyncio.timeout(10):
            while not reader.at_eof():
                writer.write(word)
                with suppress(TimeoutError):
                    got += await asyncio.wait_for(reader.read(65_536), 0.02)
    return got


POST = b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        (POST + b"Content-Length: 100000\r\n\r\n", b"x"),
        (POST + b"Content-Length: 1\r\n\r\n", b""),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n"),
        (HEAD + b"\r\n", b"\r\n"),
        (HEAD + b"\r\n", b""),
    ],
    ids=["a body", "no body", "chunks", "trailers", "empty lines", "silence"],
)
async def test_an_answered_request_holds_its_connection_only_so_long(
    door: Door, request_: bytes, word: bytes
) -> None:
    """Whatever still trickles in, wanted by nobody: without a token nobody can pile up connections."""
    async with serving(door.app, Limits(idle_s=0.3)) as server, dialled(server) as (reader, writer):
        writer.write(request_)
        got = await reader.readuntil(b"\r\n\r\n")
        got += await gone(reader, writer, word)
    assert re.findall(rb"HTTP/1.1 (\d+)", got) in ([b"200"], [b"401"])


async def test_a_body_that_ends_after_its_answer_leaves_no_connection_without_a_clock(door: Door) -> None:
    """The last byte of a body that nobody read was once the last thing that was waited for."""
    async with serving(door.app, Limits(idle_s=0.3)) as server, dialled(server) as (reader, writer):
        writer.write(POST + b"Content-Length: 1\r\n\r\n")
        await reader.readuntil(b"}")
        writer.write(b"x")
        assert await answer(reader) == b""


@pytest.mark.parametrize("lines", [b"X-%d: " % 1 + b"x" * 500 + b"\r\n", b"x" * 500], ids=["many", "one"])
async def test_what_follows_a_body_is_bounded_and_not_kept(door: Door, lines: bytes) -> None:
    """Trailers count for nothing here: few are passed over, many are refused before they fill the memory."""
    seen: list[list[tuple[bytes, bytes]]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        seen.append(scope["headers"])
        await Response()(scope, receive, send)

    chunked = POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    async with serving(app, Limits(head_bytes=5_000)) as server:
        async with dialled(server) as (reader, writer):
            writer.write(chunked + b"Authorization: Bearer x\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        async with dialled(server) as (reader, writer):
            writer.write(chunked + b"X: ")
            got = await gone(reader, writer, lines)
    assert [name for name, _ in seen[0]] == [b"host", b"transfer-encoding"]
    assert got.startswith(b"HTTP/1.1 431 ")


async def test_a_client_that_takes_no_answer_is_cut_off() -> None:
    """Also where the answer is no stream, and lies ready as a whole."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(b"x" * 20_000_000)(scope, receive, send)

    async with serving(app, Limits(stuck_s=0.3)) as server, dialled(server) as (reader, writer):
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(HEAD + b"\r\n")
        await let_go(writer)


async def test_connections_of_one_address_are_bounded_and_counted_no_longer_than_they_last(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One other machine cannot take all; this machine, which many come by, is not counted."""
    async with serving(door.app, Limits(per_address=1)) as server:
        async with dialled(server) as (_, first), dialled(server) as (reader, writer):
            first.write(HEAD)
            writer.write(HEAD + b"Connection: close\r\n\r\n")
            assert (await answer(reader)).startswith(b"HTTP/1.1 200 ")
        monkeypatch.setattr("hub.front.protocol.peer_of", lambda _: "192.0.2.7")
        async with dialled(server) as (_, first), dialled(server) as (reader, _):
            first.write(HEAD)
            got = await answer(reader)
            assert got.startswith(b"HTTP/1.1 503 ")
            assert b"192.0.2.7" in got
        status = b""
        while status != b"HTTP/1.1 200":  # the server has to notice first that they left
            async with dialled(server) as (reader, writer):
                writer.write(HEAD + b"Connection: close\r\n\r\n")
                status = (await answer(reader))[:12]


async def test_what_is_no_http_gets_a_problem(door: Door) -> None:
    """Not uvicorn's plain text."""
    async with serving(door.app) as server, dialled(server) as (reader, writer):
        writer.write(b"\x16\x03\x01 this is TLS\r\n\r\n")
        got = await answer(reader)
    assert got.startswith(b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/problem+json\r\n")


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 4, 5\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"X: a\x00b\r\n",
        b"X y: z\r\n",
        b"X: a\n Authorization: b\r\n",
    ],
)
async def test_a_request_that_could_be_read_in_two_ways_is_refused(door: Door, lines: bytes) -> None:
    """So nothing can be hidden from a proxy in front of the hub."""
    async with serving(door.app) as server, dialled(server) as (reader, writer):
        writer.write(POST + lines + b"\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = await answer(reader)
    assert re.findall(rb"HTTP/1.1 (\d+)", got) == [b"400"]


async def test_too_many_connections_are_refused(door: Door) -> None:
    """With a problem, at once; when others leave there is room again."""
    async with serving(door.app, Limits(connections=2)) as server:
        async with dialled(server), dialled(server), dialled(server) as (reader, _):
            assert (await answer(reader)).startswith(b"HTTP/1.1 503 ")
        status = b""
        while status != b"HTTP/1.1 200":  # the server has to notice first that they left
            async with dialled(server) as (reader, writer):
                writer.write(HEAD + b"Connection: close\r\n\r\n")
                status = (await answer(reader))[:12]


async def test_several_requests_share_a_connection(door: Door) -> None:
    """Also pipelined, and after an answer that left a body unread."""
    async with serving(door.app, Limits(head_s=1)) as server, dialled(server) as (reader, writer):
        big = b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200_000
        writer.write(HEAD + b"\r\n" + big + HEAD + b"Connection: close\r\n\r\n")
        got = await answer(reader)
    assert re.findall(rb"HTTP/1.1 (\d+)", got) == [b"200", b"401", b"200"]


async def test_a_body_beyond_the_limit_is_refused_however_it_comes(door: Door) -> None:
    """Announced, chunked, or waiting for 100 Continue, which then does not come."""
    path = f"/v1/sessions/{await door.session()}/messages"

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(50):
            yield b"x" * 100_000

    headers = {**door.client.headers, "Content-Type": "application/json"}
    async with serving(door.app) as server, httpx.AsyncClient(base_url=server.url, headers=headers) as client:
        for content in (b"x" * 5_000_000, chunks()):
            response = await client.post(path, content=content)
            assert (response.status_code, response.json()["code"]) == (413, "body_too_large")
        async with dialled(server) as (reader, writer):
            token = client.headers["authorization"].encode()
            writer.write(
                b"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\nContent-Length: 5000000\r\n"
                b"Expect: 100-continue\r\nConnection: close\r\n\r\n" % (path.encode(), token)
            )
            assert (await answer(reader)).startswith(b"HTTP/1.1 413 ")


async def test_a_client_that_stops_reading_is_cut_off(door: Door) -> None:
    """Its connection is gone, not only its stream; what was kept for it is bounded."""
    sent = 0

    class Endless(Frames):
        async def read(self) -> bytes | None:
            nonlocal sent
            sent += len(FRAME) * 1000
            return FRAME * 1000

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await EventStream(Endless(), stuck_s=0.3)(scope, receive, send)

    async with serving(app) as server, dialled(server) as (reader, writer):
        writer.write(HEAD + b"\r\n")
        await reader.readexactly(100)
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        await let_go(writer)
    assert sent < 8_000_000


async def test_stopping_waits_for_no_client_that_stopped_reading(door: Door) -> None:
    """It is cut off when the grace is over."""

    class Endless(Frames):
        async def read(self) -> bytes | None:
            return FRAME * 1000

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await EventStream(Endless())(scope, receive, send)

    async with AsyncExitStack() as stack:
        async with serving(app) as server:
            reader, writer = await stack.enter_async_context(dialled(server))
            writer.write(HEAD + b"\r\n")
            await reader.readexactly(100)
            reader._transport.pause_reading()  # type: ignore[attr-defined]
            started = time.perf_counter()
        assert time.perf_counter() - started < 2 * GRACE_S


async def test_a_websocket_is_answered_as_the_plain_request_that_it_is_too(door: Door) -> None:
    """There are none here."""
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "eA=="}
    async with serving(door.app) as server, httpx.AsyncClient(base_url=server.url) as client:
        assert (await client.get("/healthz", headers=upgrade)).status_code == 200


async def test_a_fault_is_a_problem_without_its_story(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    """The client gets a number, under which the log tells everything."""

    class Broken:
        async def sessions(self, *_: Any) -> None:
            raise ZeroDivisionError("a secret")

    app = create_app(replace(door.services, overview=Broken()))
    async with (
        serving(app) as server,
        httpx.AsyncClient(base_url=server.url, headers=door.client.headers) as client,
    ):
        response = await client.get("/v1/sessions")
    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == "internal_error"
    assert "secret" not in response.text
    assert response.json()["request_id"] in caplog.text
    assert "ZeroDivisionError: a secret" in caplog.text
