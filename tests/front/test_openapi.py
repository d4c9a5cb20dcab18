"""The OpenAPI document: it is valid, tells every route, and what it tells is what is answered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from msgspec.structs import replace
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from hub import __version__, ids
from hub.config import Config
from hub.errors import HubError
from hub.front import openapi
from hub.front.app import create_app, describe
from hub.front.problems import KINDS, document
from hub.front.routes import OPERATIONS
from hub.front.server import FrontServer
from hub.store.feed import Feed
from hub.store.records import RunnerRecord
from hub.store.work import Work
from hub.testing import stores
from tests.front.conftest import assembled
from tests.front.door import Door

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
RUNNER = ids.runner_id()


def told() -> dict[str, Any]:
    return openapi.document((*OPERATIONS, describe(OPERATIONS)), __version__)


def as_read(document: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(document))


@pytest.mark.anyio
async def test_the_document_is_served_as_it_is_made(door: Door) -> None:
    """OpenAPI 3.1, with this version, the same on every request."""
    response = await door.client.get("/openapi.json")
    assert response.json() == as_read(told()) == (await door.client.get("/openapi.json")).json()
    assert response.json()["openapi"].startswith("3.1.")
    assert response.json()["info"]["version"] == __version__


def test_every_reference_leads_somewhere() -> None:
    """And every operation has a name of its own and words about it."""
    made = told()

    def references(value: Any) -> Iterator[str]:
        match value:
            case dict():
                yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
                for item in value.values():
                    yield from references(item)
            case list():
                for item in value:
                    yield from references(item)

    for name in set(references(made)):
        assert name.removeprefix("#/components/schemas/") in made["components"]["schemas"]
    operations = [one for path in made["paths"].values() for one in path.values()]
    assert len({one["operationId"] for one in operations}) == len(operations) == len(OPERATIONS) + 1
    assert all(one["summary"] and one["description"] for one in operations)


def test_every_error_has_a_status_and_a_title() -> None:
    """So does every code that an operation declares; a code that nobody knows is a fault of the hub."""

    def kinds_of(kind: type[HubError]) -> Iterator[type[HubError]]:
        yield kind
        for below in kind.__subclasses__():
            yield from kinds_of(below)

    internal = {"error", "bad_config", "bad_plugin", "cannot_listen"}
    front_or_hub = [one for one in kinds_of(HubError) if one.__module__.startswith(("hub.errors", "hub.front"))]
    assert {one.code for one in front_or_hub} - internal <= set(KINDS)
    assert {code for one in OPERATIONS for code in one.errors} <= set(KINDS)
    assert document(HubError("x"))["status"] == 500


class ShortFeed:
    """The feed, but what is followed ends when nothing comes: a tool that reads whole answers gets one."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    async def turn(self, session_id: str, **details: Any) -> Any:
        found = await self._feed.turn(session_id, **details)
        return found and Short(found)

    async def log(self, session_id: str, **details: Any) -> Any:
        return Short(await self._feed.log(session_id, **details))

    async def hub(self) -> Any:
        return Short(await self._feed.hub())


class Short:
    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._subscription.close()

    async def read(self) -> bytes | None:
        return await self._subscription.read() or None


async def announced(work: Work) -> None:
    """A runner says that it lives."""
    seen = await work.clock()
    await work.announce(RunnerRecord(id=RUNNER, host="here", agents=("claude",), seen=seen))


async def stays_alive(work: Work) -> None:
    """As runners do, until cancelled."""
    while True:
        await asyncio.sleep(2)
        await announced(work)


@asynccontextmanager
async def hub(url: str, config: Config, state: Any) -> AsyncIterator[tuple[FrontServer, dict[str, str]]]:
    """A served front with a live runner, a session, and an open ask; the ids and the token by name."""
    async with assembled(url, config, state, heartbeat_s=0.05) as door:
        sid = await door.session()
        ask = await door.desk.opened(await door.running(sid))
        feed: Any = ShortFeed(door.services.feed)
        server = FrontServer(create_app(replace(door.services, feed=feed)), "127.0.0.1", 0)
        await announced(door.services.work)
        async with asyncio.TaskGroup() as group:
            group.create_task(server.run())
            alive = group.create_task(stays_alive(door.services.work))
            await server.started.wait()
            yield server, {"session": sid, "ask": ask, "token": door.tokens.primary()}
            alive.cancel()
            server.stop()


@contextmanager
def in_a_thread(url: str, config: Config, state: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """That hub, for callers that block."""
    ready, stop = threading.Event(), asyncio.Event()
    said: dict[str, str] = {}
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        async with hub(url, config, state) as (server, names):
            said.update(names, url=server.url)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert ready.wait(10)
        yield said["url"], said
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(10)
        assert not thread.is_alive()


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("known", [True, False], ids=["ids that are there", "any ids"])
def test_schemathesis_finds_no_fault_and_no_undeclared_answer(
    valkey: stores.ServerProcess, config: Config, tmp_path: Any, known: bool
) -> None:
    """Whatever is sent: no 500, only declared statuses, content types and shapes."""
    with valkey.client() as plain:
        plain.flushall()
    schema = schemathesis.openapi.from_dict(told())
    for media in ("application/x-ndjson", "application/jsonl"):
        schemathesis.serializer.alias(media, "text/plain")
    with in_a_thread(valkey.url, config, tmp_path / "state") as (url, names):
        headers = {"Authorization": f"Bearer {names['token']}"}

        def run(operation: Any) -> None:
            @settings(
                max_examples=10 if known else 5,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy())
            def check(case: Any) -> None:
                if known and case.path_parameters and "id" in case.path_parameters:
                    is_ask = "/asks/" in operation.path
                    case.path_parameters["id"] = names["ask" if is_ask else "session"]
                if known and operation.path == "/v1/sessions" and isinstance(case.body, dict):
                    case.body["agent"] = "claude"
                response = case.call(base_url=url, headers=headers)
                case.validate_response(response, checks=CHECKS)

            check()

        for found in schema.get_all_operations():
            operation: Any = found.ok()  # type: ignore[union-attr]
            if not (known and operation.method.upper() == "DELETE" and operation.path.endswith("{id}")):
                run(operation)
