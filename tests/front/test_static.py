"""The page: served to everybody, with a policy that lets nothing else in."""

from __future__ import annotations

import re

import pytest

from hub.testing.asgi import asgi_client
from tests.front.door import Door, problem

pytestmark = pytest.mark.anyio


async def test_the_page_and_all_that_it_names_are_served_to_everybody(door: Door) -> None:
    """With the right types; nothing inline, nothing from elsewhere."""
    async with asgi_client(door.app) as nobody:
        page = await nobody.get("/")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        names = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        types = [(await nobody.get(name)).headers["content-type"] for name in names]
    assert {kind.partition(";")[0] for kind in types} >= {"text/javascript", "text/css"}
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=|https?://", page.text)


async def test_the_policy_lets_nothing_else_in(door: Door) -> None:
    """No inline script, no framing, no form to elsewhere, no address told."""
    headers = (await door.client.get("/")).headers
    policy = headers["content-security-policy"]
    for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"


async def test_a_file_that_is_known_is_not_sent_again(door: Door) -> None:
    """304 for its tag, however it is written."""
    first = await door.client.get("/")
    tag = first.headers["etag"]
    for known in (tag, f"W/{tag}", f'"x", {tag}'):
        again = await door.client.get("/", headers={"If-None-Match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
    assert (await door.client.get("/", headers={"If-None-Match": '"x"'})).status_code == 200


@pytest.mark.parametrize(
    "path", ["/../app.py", "/..%2fapp.py", "/static/index.html", "/%2e%2e/app.py", "/index.html/", "/app"]
)
async def test_nothing_else_can_be_had(door: Door, path: str) -> None:
    """Files are known by name; no path is ever opened."""
    await problem(await door.client.get(path), 404, "not_found")


async def test_a_file_can_only_be_got(door: Door) -> None:
    """405 names what it takes."""
    refused = await door.client.post("/")
    await problem(refused, 405, "method_not_allowed")
    assert refused.headers["allow"] == "GET, HEAD, OPTIONS"
    assert (await door.client.options("/")).status_code == 204
