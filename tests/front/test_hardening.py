"""What answers say to browsers, so that nothing of an agent's or a stranger's is taken for a page."""

from __future__ import annotations

import httpx
import pytest
from msgspec.structs import replace
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from hub.front.app import create_app
from hub.front.headers import HARDENED
from hub.testing.asgi import asgi_client
from tests.front.door import SSE, Door, watching

pytestmark = pytest.mark.anyio


def assert_hardened(response: httpx.Response) -> None:
    """All of the headers, each once."""
    assert {name: response.headers.get(name) for name in HARDENED} == dict(HARDENED)


@pytest.mark.parametrize(
    "path",
    [
        "/healthz",
        "/metrics",
        "/openapi.json",
        "/v1/agents",
        "/v1/nowhere",
        "/nowhere",
        "/plugins/x/y",
        "/?token=x",
    ],
)
async def test_no_answer_that_is_no_page_can_be_framed_run_or_kept(door: Door, path: str) -> None:
    """Answers and refusals alike: no script, no frame, no guessing of the type, no cache, no address told."""
    assert_hardened(await door.client.get(path))
    async with asgi_client(door.app) as nobody:
        assert_hardened(await nobody.get(path))
        assert_hardened(await nobody.get(path, headers={"Origin": "http://evil.example"}))


async def test_streams_exports_and_the_login_are_no_pages_either(door: Door) -> None:
    """A conversation as text is text, whatever the agent wrote into it."""
    sid = await door.session(title='"><script>alert(1)</script>\r\nX-Evil: 1')
    async with watching(door.client, "/v1/events", headers=SSE) as watcher:
        assert_hardened(watcher.response)
    exported = await door.client.get(f"/v1/sessions/{sid}/export?format=markdown")
    assert_hardened(exported)
    assert exported.headers["content-disposition"].startswith("attachment;")
    assert "x-evil" not in exported.headers
    assert_hardened(await door.client.get(f"/?token={door.tokens.primary()}"))


async def test_plugins_answers_are_hardened_where_they_say_nothing_themselves(door: Door) -> None:
    """A plugin that serves a page says what its page may."""

    async def plain(_: object) -> Response:
        return PlainTextResponse("<script>alert(1)</script>")

    async def page(_: object) -> Response:
        return HTMLResponse("<p>", headers={"Content-Security-Policy": "default-src 'self'"})

    routes = (Route("/plugins/tea/plain", plain), Route("/plugins/tea/page", page))
    async with asgi_client(create_app(replace(door.services, routes=routes)), door.tokens.primary()) as client:
        assert_hardened(await client.get("/plugins/tea/plain"))
        headers = (await client.get("/plugins/tea/page")).headers
    assert headers.get_list("content-security-policy") == ["default-src 'self'"]
    assert headers["x-frame-options"] == "DENY"


async def test_the_page_itself_cannot_be_framed(door: Door) -> None:
    """In the words of new browsers and of old ones."""
    headers = (await door.client.get("/")).headers
    assert headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
