"""Tokens: by header or by cookie, with the scopes that they have and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from hub.front.app import create_app
from hub.testing.asgi import asgi_client
from hub.tokens import SCOPES, Tokens
from tests.front.door import Door, problem

pytestmark = pytest.mark.anyio

SID, ASK, MESSAGE = "ses_" + "0" * 26, f"ask_{'0' * 26}_{'0' * 26}", "msg_" + "0" * 26
ROUTES = [
    ("GET", "/readyz", "read"),
    ("GET", "/metrics", "read"),
    ("GET", "/openapi.json", "read"),
    ("GET", "/v1/agents", "read"),
    ("POST", "/v1/sessions", "send"),
    ("GET", "/v1/sessions", "read"),
    ("GET", f"/v1/sessions/{SID}", "read"),
    ("PATCH", f"/v1/sessions/{SID}", "send"),
    ("DELETE", f"/v1/sessions/{SID}", "admin"),
    ("POST", f"/v1/sessions/{SID}/messages", "send"),
    ("POST", f"/v1/sessions/{SID}/retry", "send"),
    ("POST", f"/v1/sessions/{SID}/interrupt", "send"),
    ("GET", f"/v1/sessions/{SID}/live", "read"),
    ("GET", f"/v1/sessions/{SID}/events", "read"),
    ("GET", "/v1/events", "read"),
    ("GET", f"/v1/events?session={SID}", "read"),
    ("POST", "/v1/render", "read"),
    ("GET", "/v1/asks", "read"),
    ("GET", f"/v1/asks/{ASK}", "read"),
    ("POST", f"/v1/asks/{ASK}/answer", "approve"),
    ("DELETE", f"/v1/sessions/{SID}/queue/{MESSAGE}", "send"),
]


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
async def test_every_route_wants_a_token_with_its_scope(door: Door, method: str, path: str, scope: str) -> None:
    """Without one 401, with all scopes but its own 403, and neither tells whether the thing is there."""
    async with asgi_client(door.app) as nobody, door.client_with(*(s for s in SCOPES if s != scope)) as other:
        refused = await nobody.request(method, path)
        await problem(refused, 401, "unauthorized")
        assert refused.headers["www-authenticate"].startswith("Bearer")
        assert (await problem(await other.request(method, path), 403, "missing_scope"))["scope"] == scope


@pytest.mark.parametrize(
    "header", ["Bearer wrong", "Bearer ", "Bearer", "Basic dXNlcjpwdw==", "wrong", "Bearer\xe9", "Token x"]
)
async def test_a_wrong_token_is_refused(door: Door, header: str) -> None:
    """However it is wrong; also when a good cookie comes with it."""
    async with asgi_client(door.app) as client:
        await client.get(f"/?token={door.tokens.primary()}")
        asked = {b"authorization": header.encode("latin-1")}
        await problem(await client.get("/v1/agents", headers=asked), 401, "unauthorized")


async def test_two_authorization_headers_are_refused(door: Door) -> None:
    """There is nothing to choose between."""
    token = f"Bearer {door.tokens.primary()}"
    asked = [("Authorization", token), ("Authorization", token)]
    async with asgi_client(door.app) as client:
        await problem(await client.get("/v1/agents", headers=asked), 401, "unauthorized")


async def test_the_scheme_is_read_without_regard_to_case(door: Door) -> None:
    """As RFC 9110 has it."""
    async with asgi_client(door.app) as client:
        asked = {"Authorization": f"bEARER  {door.tokens.primary()}"}
        assert (await client.get("/v1/agents", headers=asked)).status_code == 200


async def test_a_token_in_the_address_becomes_a_cookie(door: Door) -> None:
    """It is HttpOnly and SameSite=Strict, leads to /, is not kept by caches, and then lets the browser in."""
    async with asgi_client(door.app) as browser:
        response = await browser.get(f"/?token={door.tokens.primary()}")
        assert (response.status_code, response.headers["location"]) == (303, "/")
        assert response.headers["cache-control"] == "no-store"
        cookie = response.headers["set-cookie"]
        for part in ("HttpOnly", "SameSite=strict", "Path=/"):
            assert part in cookie
        assert "Secure" not in cookie
        assert (await browser.get("/v1/agents")).status_code == 200


async def test_the_cookie_is_for_tls_only_where_the_page_is(door: Door) -> None:
    """Secure behind TLS."""
    async with asgi_client(door.app, base_url="https://127.0.0.1:8420") as browser:
        assert "Secure" in (await browser.get(f"/?token={door.tokens.primary()}")).headers["set-cookie"]


async def test_hubs_on_two_ports_of_one_machine_do_not_log_each_other_out(door: Door) -> None:
    """Browsers share cookies between ports, so the cookies have different names."""
    async with asgi_client(door.app) as one, asgi_client(door.app, base_url="http://127.0.0.1:9999") as other:
        here, there = [(await each.get(f"/?token={door.tokens.primary()}")).headers for each in (one, other)]
    assert here["set-cookie"].split("=")[0] != there["set-cookie"].split("=")[0]


async def test_a_wrong_token_in_the_address_sets_no_cookie(door: Door) -> None:
    """And is a 401, which says where the right one is shown."""
    async with asgi_client(door.app) as browser:
        response = await browser.get("/?token=wrong")
        assert "turnhub token" in (await problem(response, 401, "unauthorized"))["detail"]
        assert "set-cookie" not in response.headers


async def test_a_token_of_any_characters_survives_the_cookie(door: Door, tmp_path: Path) -> None:
    """TURNHUB_TOKEN is whatever a person chose."""
    secret = 'pä; ss"w,ör d=%41'
    tokens = Tokens(tmp_path / "other", environ={"TURNHUB_TOKEN": secret})
    async with asgi_client(create_app(replace(door.services, tokens=tokens))) as browser:
        assert (await browser.get("/", params={"token": secret})).status_code == 303
        assert (await browser.get("/v1/agents")).status_code == 200


@pytest.mark.parametrize(
    "cookie", ["turnhub_8420=", "turnhub_8420=wrong", "a=b; c", "=;=", "turnhub_8420=\xff", "x" * 9000]
)
async def test_a_wrong_cookie_is_refused(door: Door, cookie: str) -> None:
    """However it is wrong."""
    async with asgi_client(door.app) as browser:
        asked = {b"cookie": cookie.encode("latin-1")}
        await problem(await browser.get("/v1/agents", headers=asked), 401, "unauthorized")


async def test_a_revoked_token_is_worth_nothing_at_once(door: Door) -> None:
    """Also for a client that has used it already."""
    async with door.client_with("read") as client:
        assert (await client.get("/v1/agents")).status_code == 200
        door.tokens.revoke("read")
        await problem(await client.get("/v1/agents"), 401, "unauthorized")


async def test_damaged_tokens_let_nobody_in_and_say_so(door: Door) -> None:
    """Nobody is let in by guesswork, and nothing of the file is told."""
    (door.tokens.primary_path.parent / "tokens.json").write_bytes(b"{")
    await problem(await door.client.get("/v1/agents"), 503, "bad_tokens")


async def test_choosing_a_policy_is_consent(door: Door) -> None:
    """A session's policy decides what is allowed unasked: naming one wants `approve` beside `send`."""
    sid = await door.session()
    async with door.client_with("send") as client, door.client_with("send", "approve") as both:
        made = {"agent": "claude", "policy": "open"}
        await problem(await client.post("/v1/sessions", json=made), 403, "missing_scope")
        await problem(await client.patch(f"/v1/sessions/{sid}", json={"policy": None}), 403, "missing_scope")
        assert (await client.patch(f"/v1/sessions/{sid}", json={"title": "x"})).status_code == 200
        assert (await both.post("/v1/sessions", json=made)).status_code == 201
        assert (await both.patch(f"/v1/sessions/{sid}", json={"policy": None})).status_code == 200
