"""What one token, and one address, may have: requests, streams, guesses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

import httpx
import pytest
from msgspec.structs import replace

from hub.config import ServerConfig
from hub.front.admission import Admission
from hub.front.app import create_app
from hub.front.auth import Admitted
from hub.front.held import Held
from hub.front.problems import TooManyRequests, TooManyStreams
from hub.testing.asgi import AsgiTransport
from hub.tokens import BadTokens, Token
from tests.front.door import SSE, Door, problem, watching
from tests.front.test_server import serving

pytestmark = pytest.mark.anyio


def bounded(door: Door, **limits: float) -> Door:
    """The same front with other limits, and a client at it."""
    config = replace(door.services.config, server=replace(door.services.config.server, **limits))
    return replace(door, app=create_app(replace(door.services, config=config)))


def client(door: Door, token: str = "", host: str = "127.0.0.1") -> httpx.AsyncClient:
    """A client that comes from ``host``."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(
        transport=AsgiTransport(door.app, (host, 50_000)), base_url="http://127.0.0.1:8420", headers=headers
    )


async def test_a_token_that_asks_too_often_is_told_when_to_come_again(door: Door) -> None:
    """429 with Retry-After, on every route; other tokens, the page and the health check go on."""
    door = bounded(door, requests_per_s=0.01, request_burst=3)
    token, other = door.tokens.new(["read"], "busy"), door.tokens.new(["read"], "calm")
    async with client(door, token) as busy, client(door, other) as calm:
        for _ in range(3):
            assert (await busy.get("/v1/agents")).status_code == 200
        for path in ("/v1/agents", "/metrics", "/v1/events", "/plugins/x/y", "/v1/nowhere"):
            refused = await busy.get(path)
            told = await problem(refused, 429, "too_many_requests")
            assert "'busy'" in told["detail"]
            assert "server.requests_per_s" in told["detail"]
            assert 90 <= int(refused.headers["retry-after"]) == told["retry_after_s"] <= 100
        assert (await calm.get("/v1/agents")).status_code == 200
        assert (await busy.get("/healthz")).status_code == 200
        assert (await busy.get("/")).status_code == 200


async def test_a_message_that_is_refused_is_not_written(door: Door) -> None:
    """Nothing has happened where too much was asked for: neither a turn nor a call of a runner."""
    sid = await door.session()
    door = bounded(door, max_streams_per_token=1)
    async with client(door, door.tokens.primary()) as one, watching(one, "/v1/events"):
        refused = await one.post(f"/v1/sessions/{sid}/messages", json={"text": "x"}, headers=SSE)
        await problem(refused, 429, "too_many_streams")
        assert await door.desk.kinds(sid) == ["session_created"]
        assert (await one.post(f"/v1/sessions/{sid}/messages", json={"text": "x"})).status_code == 202


async def test_open_streams_of_a_token_are_bounded_and_room_comes_back(door: Door) -> None:
    """Each kind counts, other tokens' do not; what is no stream needs no room; who leaves makes room."""
    sid = await door.session()
    await door.running(sid)
    door = bounded(door, max_streams_per_token=2)
    async with client(door, door.tokens.primary()) as one, client(door, door.tokens.new(["read"], "r")) as other:
        async with watching(one, "/v1/events"), watching(one, f"/v1/sessions/{sid}/live"):
            refused = await one.get(f"/v1/sessions/{sid}/events")
            told = await problem(refused, 429, "too_many_streams")
            assert (told["limit"], refused.headers["retry-after"]) == (2, "5")
            page = await one.get(f"/v1/sessions/{sid}/events", headers={"Accept": "application/json"})
            assert page.status_code == 200
            async with watching(other, "/v1/events") as there:
                assert there.response.status_code == 200
        async with watching(one, "/v1/events") as again:
            assert again.response.status_code == 200


async def test_guesses_from_another_machine_are_bounded(door: Door) -> None:
    """Then even the right token has to wait, by header and by login; other addresses do not, nor this machine."""
    door = bounded(door, max_wrong_tokens_per_minute=2)
    right = door.tokens.primary()
    async with client(door, "wrong", "192.0.2.7") as guesser, client(door, right, "192.0.2.8") as neighbour:
        await problem(await guesser.get("/v1/agents"), 401, "unauthorized")
        await problem(await guesser.get("/?token=wrong"), 401, "unauthorized")
        for path in ("/v1/agents", f"/?token={right}"):
            refused = await guesser.get(path)
            await problem(refused, 429, "too_many_wrong_tokens")
            assert 1 <= int(refused.headers["retry-after"]) <= 30
        refused = await guesser.get("/v1/agents", headers={"Authorization": f"Bearer {right}"})
        await problem(refused, 429, "too_many_wrong_tokens")
        assert (await neighbour.get("/v1/agents")).status_code == 200
    async with client(door, "wrong") as here:
        for _ in range(5):
            await problem(await here.get("/v1/agents"), 401, "unauthorized")


async def test_right_tokens_and_missing_ones_are_no_guesses(door: Door) -> None:
    """However often."""
    door = bounded(door, max_wrong_tokens_per_minute=1)
    async with client(door, door.tokens.primary(), "192.0.2.7") as one, client(door, "", "192.0.2.7") as nobody:
        for _ in range(3):
            assert (await one.get("/v1/agents")).status_code == 200
            await problem(await nobody.get("/v1/agents"), 401, "unauthorized")


async def test_after_the_wait_that_is_told_there_is_one_more(door: Door) -> None:
    """By the clock that the front has."""
    now = 100.0
    admission = Admission(door.tokens, ServerConfig(requests_per_s=1, request_burst=1), lambda: now)
    scope = {"type": "http", "headers": [(b"authorization", f"Bearer {door.tokens.primary()}".encode())]}
    assert (await admission.admit(scope)).token.name == "primary"
    with pytest.raises(TooManyRequests) as refused:
        await admission.admit(scope)
    now += refused.value.facts["retry_after_s"]
    await admission.admit(scope)


# Streams of revoked tokens


class Keyring:
    """Tokens whose secrets are their names; ``known`` may be changed."""

    def __init__(self, *names: str) -> None:
        self.known = {name: Token(name=name, scopes=frozenset({"read"})) for name in names}
        self.damaged = False

    def verify(self, secret: str) -> Token | None:
        if self.damaged:
            raise BadTokens("They cannot be read.")
        return self.known.get(secret)

    def admitted(self, name: str) -> Admitted:
        return Admitted(self.known[name], name)


async def test_streams_of_a_revoked_token_are_cut_off_and_no_others() -> None:
    """Without a request of theirs; a token that may something else now is no longer the one it was."""
    keys = Keyring("a", "b", "c")
    held = Held(keys, 10, recheck_s=0.01)
    cut = {name: asyncio.Event() for name in keys.known}
    with ExitStack() as streams:
        for name, event in cut.items():
            streams.enter_context(held.one(keys.admitted(name), event.set))
        del keys.known["a"]
        keys.known["b"] = Token(name="b", scopes=frozenset({"send"}))
        async with asyncio.timeout(10):
            await cut["a"].wait()
            await cut["b"].wait()
        assert not cut["c"].is_set()


async def test_where_tokens_cannot_be_checked_no_stream_goes_on() -> None:
    """Nobody is let in by guesswork, and nobody stays by it."""
    keys = Keyring("a")
    held, cut = Held(keys, 10, recheck_s=0.01), asyncio.Event()
    with held.one(keys.admitted("a"), cut.set):
        keys.damaged = True
        await asyncio.wait_for(cut.wait(), 10)


async def test_nothing_is_left_when_the_last_stream_is_closed() -> None:
    """No timer, no task, no count; what is refused leaves nothing either."""
    keys = Keyring("a")
    held = Held(keys, 1)
    before = asyncio.all_tasks()
    with (
        held.one(keys.admitted("a"), lambda: None),
        pytest.raises(TooManyStreams),
        held.one(keys.admitted("a"), lambda: None),
    ):
        raise AssertionError
    assert (held._timer, held._checking, dict(held._count), held._open) == (None, None, {}, {})
    assert asyncio.all_tasks() == before


@asynccontextmanager
async def quick(door: Door, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """The front on a port, looking at tokens often; its address."""
    monkeypatch.setattr("hub.front.held.Held.__init__.__defaults__", (0.05,))
    async with serving(create_app(door.services)) as server:
        yield server.url


async def drained(parts: AsyncIterator[bytes]) -> None:
    """Read to the end."""
    async for _ in parts:
        pass


async def test_a_stream_of_a_revoked_token_ends_over_http(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within seconds its connection is gone, though nothing happened on it; coming again is a 401."""
    headers = {"Authorization": f"Bearer {door.tokens.new(['read'], 'phone')}"}
    async with quick(door, monkeypatch) as url, httpx.AsyncClient(base_url=url, headers=headers) as phone:
        async with phone.stream("GET", "/v1/events") as response:
            parts = response.aiter_raw()
            assert await anext(parts)
            door.tokens.revoke("phone")
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                await asyncio.wait_for(drained(parts), 10)
        await problem(await phone.get("/v1/events"), 401, "unauthorized")
