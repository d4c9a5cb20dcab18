"""Health, readiness, figures, agents; and how HTTP itself is answered: methods, HEAD, OPTIONS, faults."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from hub import __version__, ids
from hub.errors import PluginError, StoreReadOnly, StoreUnavailable
from hub.front.app import TOKEN, create_app
from hub.front.routes import OPERATIONS
from hub.front.services import Services
from hub.store.overview import Overview
from hub.store.records import RunnerRecord
from hub.testing.asgi import asgi_client
from tests.front.door import Door, problem

pytestmark = pytest.mark.anyio


async def alive(door: Door) -> None:
    seen = await door.services.work.clock()
    runner = RunnerRecord(id=ids.runner_id(), host="here", agents=("claude",), seen=seen, version=__version__)
    await door.services.work.announce(runner)


async def test_health_wants_no_token(door: Door) -> None:
    """And says which version answers."""
    async with asgi_client(door.app) as nobody:
        response = await nobody.get("/healthz")
    assert response.json() == {"status": "ok", "version": __version__}


async def test_readiness_wants_a_store_and_a_live_runner(door: Door) -> None:
    """503 says which of them is missing."""
    told = await problem(await door.client.get("/readyz"), 503, "not_ready")
    assert told["missing"] == ["runner"]
    await alive(door)
    ready = (await door.client.get("/readyz")).json()
    assert ready["status"] == "ready"
    assert [runner["host"] for runner in ready["runners"]] == ["here"]

    class Away:
        async def ping(self) -> None:
            raise StoreUnavailable("The store does not answer.")

    app = create_app(replace(door.services, overview=Away()))
    async with asgi_client(app, door.tokens.primary()) as client:
        assert (await problem(await client.get("/readyz"), 503, "not_ready"))["missing"] == ["store"]

    class Full(Overview):
        async def take_write(self) -> None:
            raise StoreReadOnly("The store takes no writes now.")

    app = create_app(replace(door.services, overview=Full(door.services.store)))
    async with asgi_client(app, door.tokens.primary()) as client:
        told = await problem(await client.get("/readyz"), 503, "not_ready")
        assert (told["missing"], told["detail"]) == (["store"], "Not ready: The store takes no writes now.")


async def test_figures_are_in_prometheus_format(door: Door) -> None:
    """Requests are counted by the route's pattern, not by the path."""
    sid = await door.session()
    await door.client.get(f"/v1/sessions/{sid}")
    response = await door.client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert 'turnhub_http_requests_total{route="/v1/sessions/{id}",status="200"} 1.0' in response.text
    assert sid not in response.text


async def test_agents_are_shown_with_what_is_missing(door: Door) -> None:
    """As the contract has it."""
    agents = (await door.client.get("/v1/agents")).json()
    assert agents[1] == {
        **{"name": "gone", "transport": "tmux", "policy": None, "available": False},
        **{"reason": "tmux is missing.", "capabilities": []},
    }


@pytest.mark.parametrize("fault", [StoreUnavailable("It is away."), StoreReadOnly("It is full.")])
async def test_a_store_in_trouble_is_a_503_to_try_again(door: Door, fault: Exception) -> None:
    """With the sentence that says what to do."""

    class Troubled:
        async def sessions(self, *_: Any) -> None:
            raise fault

    app = create_app(replace(door.services, overview=Troubled()))
    async with asgi_client(app, door.tokens.primary()) as client:
        response = await client.get("/v1/sessions")
    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"
    assert response.json()["detail"] in {"It is away.", "It is full."}


@pytest.mark.parametrize("one", OPERATIONS, ids=lambda one: f"{one.method} {one.path}")
async def test_other_methods_are_named(door: Door, one: Any) -> None:
    """405 with Allow, and OPTIONS says the same without a token."""
    path = one.path.replace("{id}", ids.session_id()).replace("{message_id}", ids.message_id())
    options = await door.client.options(path, headers={"Authorization": ""})
    assert options.status_code == 204
    allowed = options.headers["allow"].split(", ")
    assert one.method in allowed
    assert ("HEAD" in allowed) == ("GET" in allowed)
    for method in {"PUT", "TRACE", "DELETE", "POST", "GET", "NONSENSE"} - set(allowed):
        response = await door.client.request(method, path)
        await problem(response, 405, "method_not_allowed")
        assert response.headers["allow"] == options.headers["allow"]


async def test_head_is_get_without_the_body(door: Door) -> None:
    """The same headers, also the length."""
    sid = await door.session()
    for path in ("/healthz", "/v1/agents", f"/v1/sessions/{sid}", "/openapi.json", "/", "/v1/sessions/x"):
        got, head = await door.client.get(path), await door.client.head(path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert dict(head.headers) == dict(got.headers)


async def test_answers_are_kept_by_no_cache_and_guessed_by_no_browser(door: Door) -> None:
    """Problems too."""
    for path in ("/healthz", "/v1/sessions", "/v1/sessions/x"):
        headers = (await door.client.get(path)).headers
        assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/", "/v1/nothing", "/v1/sessions/", "/nothing", "/plugins/", "/plugins/x/y", "/%00"]
)
async def test_what_is_nowhere_is_not_found(door: Door, path: str) -> None:
    """As a problem, not as plain text; no slash is added or taken away."""
    await problem(await door.client.get(path), 404, "not_found")


@pytest.mark.parametrize("path", ["/v1/nothing", "/plugins/x"])
async def test_strangers_learn_of_no_route(door: Door, path: str) -> None:
    """401 comes before 404."""
    async with asgi_client(door.app) as nobody:
        await problem(await nobody.get(path), 401, "unauthorized")


@pytest.mark.parametrize(
    ("content", "headers", "status", "code"),
    [
        (b"{", {}, 400, "bad_json"),
        (b"", {}, 400, "bad_json"),
        (b"[]", {}, 422, "invalid"),
        (b'{"text": 1}', {}, 422, "invalid"),
        (b'{"text": "x", "more": 1}', {}, 422, "invalid"),
        (b'{"text": "\\u0000"}', {}, 422, "invalid"),
        (b"text=x", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
        (b'{"text": "' + b"x" * 100_000 + b'"}', {}, 413, "body_too_large"),
    ],
)
async def test_bad_bodies_are_told_over_http(
    door: Door, content: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    """On a route that would change something; nothing is changed."""
    sid = await door.session()
    headers = {"Content-Type": "application/json", **headers}
    await problem(
        await door.client.post(f"/v1/sessions/{sid}/messages", content=content, headers=headers), status, code
    )
    assert await door.desk.kinds(sid) == ["session_created"]


# Plugins' routes


async def shown(request: Request) -> Response:
    return PlainTextResponse(request.scope[TOKEN].name)


async def broken(request: Request) -> Response:
    raise ZeroDivisionError("a secret")


def with_routes(services: Services, *routes: Any) -> Services:
    return replace(services, routes=routes)


async def test_plugins_routes_stand_behind_the_hubs_doors(door: Door) -> None:
    """A token, its scopes, the guard; what a plugin raises is contained."""
    routes = (
        Route("/plugins/tea/who", shown),
        Route("/plugins/tea/do", shown, methods=["POST"]),
        Mount("/plugins/mounted", routes=[Route("/broken", broken)]),
    )
    app = create_app(with_routes(door.services, *routes))
    async with asgi_client(app, door.tokens.primary()) as client, asgi_client(app) as nobody:
        assert (await client.get("/plugins/tea/who")).text == "primary"
        assert (await client.post("/plugins/tea/do")).text == "primary"
        await problem(await nobody.get("/plugins/tea/who"), 401, "unauthorized")
        await problem(await client.get("/plugins/tea/nothing"), 404, "not_found")
        wrong = await client.get("/plugins/tea/do")
        await problem(wrong, 405, "method_not_allowed")
        assert wrong.headers["allow"] == "POST"
        assert "secret" not in (await client.get("/plugins/mounted/broken")).text
        await problem(await client.get("/plugins/mounted/broken"), 500, "internal_error")
        foreign = await client.get("/plugins/tea/who", headers={"Host": "evil.example"})
        await problem(foreign, 403, "foreign_host")
    async with asgi_client(app, door.tokens.new(["read"], "reader")) as reader:
        assert (await reader.get("/plugins/tea/who")).text == "reader"
        await problem(await reader.post("/plugins/tea/do"), 403, "missing_scope")


@pytest.mark.parametrize("path", ["/", "/v1/sessions", "/plugins", "/plugins/", "/plugins/tea", "/pluginsx/y"])
async def test_a_plugin_cannot_take_another_place(door: Door, path: str) -> None:
    """Only below its own name."""
    with pytest.raises(PluginError, match="below /plugins/"):
        create_app(with_routes(door.services, Route(path, shown)))
