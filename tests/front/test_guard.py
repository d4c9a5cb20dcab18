"""Host and Origin: what names the hub wrongly, or comes from another site, gets nowhere."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from hub.front.guard import Authority, Guard, authority
from hub.front.problems import BadHost, ForeignHost, ForeignOrigin
from tests.front.door import Door, problem

FRIEND = "https://friend.example"


def guard(*hosts: str, origins: tuple[str, ...] = ()) -> Guard:
    async def never(*_: object) -> None:
        raise AssertionError

    return Guard(never, hosts or ("localhost", "127.0.0.1", "[::1]"), origins)


def check(of: Guard, **headers: str) -> str | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return of._check(Headers(named))


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8420", "localhost.", "127.0.0.1:1", "[::1]:8420", "[0:0:0:0:0:0:0:1]", "[::0001]:80"],
)
def test_the_hubs_own_names_pass_with_any_port(host: str) -> None:
    """Upper case, the root's dot and other spellings of one IPv6 address are the same names."""
    assert check(guard(), host=host) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8420",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "127.0.0.2",
        "[::2]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
    ],
)
def test_foreign_names_are_refused(host: str) -> None:
    """DNS rebinding brings a browser here under the attacker's name."""
    with pytest.raises(ForeignHost):
        check(guard(), host=host)


@pytest.mark.parametrize(
    "host",
    ["", " ", "localhost:", "localhost:x", "localhost:123456", "::1", "a b", "localhost/", "u@localhost", "[::1"],
)
def test_what_is_no_host_is_a_bad_request(host: str) -> None:
    """So is no Host header at all, and two of them."""
    with pytest.raises(BadHost):
        check(guard(), host=host)


def test_none_or_two_host_headers_are_a_bad_request() -> None:
    """There is nothing to choose between."""
    for raw in ([], [(b"host", b"localhost"), (b"host", b"localhost")]):
        with pytest.raises(BadHost):
            guard()._check(Headers(raw=raw))


def test_configured_names_may_carry_a_port_or_be_bare_addresses() -> None:
    """A name with a port holds for that port only."""
    of = guard("hub.example:8443", "::1", "Box.Local")
    assert check(of, host="hub.example:8443") is None
    assert check(of, host="[::1]:5") is None
    assert check(of, host="box.local:9") is None
    with pytest.raises(ForeignHost):
        check(of, host="hub.example")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8420", "http://localhost:8420"),
        ("localhost", "http://localhost"),
        ("localhost:80", "http://localhost"),
        ("localhost", "https://localhost:443"),
        ("[::1]:8420", "http://[::1]:8420"),
        ("127.0.0.1:8420", "HTTP://127.0.0.1:8420"),
    ],
)
def test_the_hubs_own_pages_may_talk_to_it(host: str, origin: str) -> None:
    """Same host, same port, the scheme's default port counting as itself."""
    assert check(guard(), host=host, origin=origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://localhost:3000",
        "http://127.0.0.1:8420",
        "https://localhost",
        "http://localhost:8420.evil.example",
        "http://localhost:8420@evil.example",
        "null",
        "",
        "file://",
        "http://",
        "chrome-extension://abcdef",
    ],
)
def test_pages_of_other_origins_are_refused(origin: str) -> None:
    """Another port on this machine is another origin too."""
    with pytest.raises(ForeignOrigin):
        check(guard(), host="localhost:8420", origin=origin)


def test_a_page_that_asks_without_an_origin_is_refused_by_what_its_browser_says() -> None:
    """Pictures and scripts carry no Origin; a link that a person follows may."""
    for site in ("cross-site", "same-site"):
        with pytest.raises(ForeignOrigin):
            check(guard(), host="localhost", sec_fetch_site=site, sec_fetch_mode="no-cors")
        assert check(guard(), host="localhost", sec_fetch_site=site, sec_fetch_mode="navigate") is None
    assert check(guard(), host="localhost", sec_fetch_site="same-origin", sec_fetch_mode="cors") is None


@given(st.text())
def test_any_text_is_an_authority_or_none(text: str) -> None:
    """Nothing raises."""
    found = authority(text)
    assert found is None or isinstance(found, Authority)


@given(
    st.dictionaries(
        st.sampled_from(["host", "origin", "sec-fetch-site"]), st.text(st.characters(max_codepoint=255))
    )
)
def test_any_headers_pass_or_are_refused_by_name(headers: dict[str, str]) -> None:
    """Nothing but the hub's own errors."""
    with suppress(BadHost, ForeignHost, ForeignOrigin):
        guard()._check(Headers(headers))


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/healthz", "/", "/v1/sessions", "/app.js", "/nowhere"])
async def test_the_guard_stands_around_everything(door: Door, path: str) -> None:
    """Static files and open routes too."""
    await problem(await door.client.get(path, headers={"Host": "evil.example"}), 403, "foreign_host")
    await problem(await door.client.get(path, headers={"Origin": "http://evil.example"}), 403, "foreign_origin")
    await problem(await door.client.get(path, headers={"Host": ""}), 400, "bad_host")


@pytest.mark.anyio
async def test_a_configured_origin_gets_the_headers_that_it_needs(door: Door) -> None:
    """Its preflight is answered without a token, its requests with leave to read; both vary by Origin."""
    asked = {"Origin": FRIEND, "Access-Control-Request-Method": "POST"}
    preflight = await door.client.options("/v1/sessions", headers={**asked, "Authorization": ""})
    assert preflight.status_code == 204
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert "Authorization" in preflight.headers["access-control-allow-headers"]
    answer = await door.client.get("/v1/sessions", headers={"Origin": FRIEND})
    assert answer.status_code == 200
    for response in (preflight, answer):
        assert response.headers["access-control-allow-origin"] == FRIEND
        assert response.headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in response.headers


@pytest.mark.anyio
async def test_an_unknown_origin_gets_no_preflight(door: Door) -> None:
    """Its browser then sends nothing."""
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    refused = await door.client.options("/v1/sessions", headers=asked)
    await problem(refused, 403, "foreign_origin")
    assert "access-control-allow-origin" not in refused.headers
