"""Behind a proxy: whom a request comes from and by which scheme, as far as a trusted proxy says so."""

from __future__ import annotations

import httpx
import msgspec
import pytest
from starlette.types import Receive, Scope, Send

from hub.front.app import create_app
from hub.front.proxies import Proxied, Trusted
from tests.front.door import Door, problem

pytestmark = pytest.mark.anyio

TRUSTED = ("127.0.0.1", "10.0.0.0/8", "2001:db8:ff::/48")


async def seen(client: str, *headers: tuple[str, str]) -> tuple[str, str]:
    """Client and scheme, as they come through."""
    found: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        found.append(scope)

    async def nothing(*_: object) -> None:
        """Neither asks nor tells."""

    raw = [(name.lower().encode(), value.encode()) for name, value in headers]
    scope: Scope = {"type": "http", "client": (client, 5), "scheme": "http", "headers": raw}
    await Proxied(app, Trusted(TRUSTED))(scope, nothing, nothing)  # type: ignore[arg-type]
    assert scope["scheme"] == "http"  # what was handed in is left as it was
    return found[0]["client"][0], found[0]["scheme"]


@pytest.mark.parametrize(
    ("said", "client"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("6.6.6.6, 203.0.113.7", "203.0.113.7"),
        ("6.6.6.6, 203.0.113.7, 10.1.2.3", "203.0.113.7"),
        ("6.6.6.6, 203.0.113.7, 2001:db8:ff::1, 127.0.0.1", "203.0.113.7"),
        ("6.6.6.6, nonsense", "127.0.0.1"),
        ("6.6.6.6, unknown, 10.1.2.3", "127.0.0.1"),
        ("10.1.2.3", "127.0.0.1"),
        ("", "127.0.0.1"),
        (",", "127.0.0.1"),
        ("6.6.6.6,", "127.0.0.1"),
    ],
)
async def test_the_last_address_that_is_no_proxy_is_whom_it_comes_from(said: str, client: str) -> None:
    """What stands before it was written by somebody who is not believed; where nothing can be told it is the
    proxy."""
    assert (await seen("127.0.0.1", ("X-Forwarded-For", said)))[0] == client


async def test_several_headers_are_one_list() -> None:
    """As HTTP has it."""
    headers = (("X-Forwarded-For", "6.6.6.6, 203.0.113.7"), ("X-Forwarded-For", "10.1.2.3"))
    assert (await seen("10.9.9.9", *headers))[0] == "203.0.113.7"


@pytest.mark.parametrize(
    ("said", "scheme"),
    [("https", "https"), ("HTTPS ", "https"), ("https, http", "http"), ("ftp", "http"), ("", "http")],
)
async def test_the_scheme_is_the_nearest_proxys(said: str, scheme: str) -> None:
    """And nothing that is none."""
    assert (await seen("10.0.0.1", ("X-Forwarded-Proto", said)))[1] == scheme


@pytest.mark.parametrize("client", ["203.0.113.9", "11.0.0.1", "::1", "2001:db8:fe::1", "testclient"])
async def test_nobody_else_is_believed(client: str) -> None:
    """Whoever is not configured only talks of himself."""
    headers = (("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-Proto", "https"))
    assert await seen(client, *headers) == (client, "http")


def behind(door: Door, *trusted: str, **more: int) -> Door:
    """The door of a front that believes these proxies."""
    server = msgspec.structs.replace(door.services.config.server, trusted_proxies=trusted, **more)
    config = msgspec.structs.replace(door.services.config, server=server)
    services = msgspec.structs.replace(door.services, config=config)
    return msgspec.structs.replace(door, app=create_app(services), services=services)


def visitor(door: Door, client: str, **headers: str) -> httpx.AsyncClient:
    """Somebody whose connection comes from ``client``."""
    transport = httpx.ASGITransport(app=door.app, client=(client, 5))
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8420", headers=given)


async def test_behind_a_trusted_proxy_the_cookie_is_secure(door: Door) -> None:
    """Where the browser came by https; not where it did not, nor where somebody else says so."""
    path = f"/?token={door.tokens.primary()}"
    for trusted, client, proto, secure in (
        (("10.0.0.1",), "10.0.0.1", "https", True),
        (("10.0.0.1",), "10.0.0.1", "http", False),
        (("10.0.0.1",), "10.0.0.2", "https", False),
        ((), "127.0.0.1", "https", False),
    ):
        async with visitor(behind(door, *trusted), client, X_Forwarded_Proto=proto) as browser:
            assert ("Secure" in (await browser.get(path)).headers["set-cookie"]) is secure


async def test_guesses_count_for_whom_the_proxy_names(door: Door) -> None:
    """One visitor's guesses are not another's; who names himself to be another is counted all the same."""
    proxied = behind(door, "10.0.0.1", max_wrong_tokens_per_minute=1)
    wrong = {"Authorization": "Bearer wrong"}
    async with visitor(proxied, "10.0.0.1") as proxy:

        async def guess(said: str) -> httpx.Response:
            return await proxy.get("/v1/agents", headers={**wrong, "X-Forwarded-For": said})

        await problem(await guess("203.0.113.7"), 401, "unauthorized")
        refused = await problem(await guess("203.0.113.7"), 429, "too_many_wrong_tokens")
        assert "203.0.113.7" in refused["detail"]
        await problem(await guess("203.0.113.8"), 401, "unauthorized")
        await problem(await guess("203.0.113.9, 203.0.113.8"), 429, "too_many_wrong_tokens")
