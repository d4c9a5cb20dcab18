"""In a whole hub: memories appear in the log, and nothing sensitive ever reaches a model elsewhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from hub.config import Config, PluginsConfig, PolicyConfig, RunnerConfig
from hub.events import AnyEvent, DistillFailed, TextDelta, TurnDistilled, decode, line_of
from hub.testing import Completion, ScriptedModel, ScriptedOpenAI, Use, hub_process, reply, stores
from hub.testing.hub import TestHub, hub_config, running_hub

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ANSWER = {
    "title": "Small talk",
    "summary": "They greeted each other.",
    "files_changed": [],
    "failures": [],
    "key_findings": ["All is well."],
}
SECRET = "the launch code is 4711"


@pytest.fixture(scope="module")
def redis_server() -> Iterator[stores.ServerProcess]:
    """The system's Redis."""
    binary = stores.redis_binary()
    if binary is None:
        pytest.skip("redis-server is not installed here")
    with stores.server(binary) as process:
        yield process


@pytest.fixture
def url(redis_server: stores.ServerProcess) -> str:
    """Its address; it is empty."""
    with redis_server.client() as client:
        client.flushall()
    return redis_server.url


class Routes:
    """A cloud route and a local one, both recorded."""

    def __init__(self, cloud: ScriptedModel, local: ScriptedOpenAI) -> None:
        self.cloud = cloud
        self.local = local

    def config(self, **distiller: Any) -> Config:
        """A hub's configuration with both."""
        routes = {
            "cheap": {"provider": "anthropic", "model": "small", "base_url": self.cloud.url, "local": False},
            "local": {"provider": "openai", "model": "home", "base_url": self.local.url},
        }
        return hub_config(
            plugins=PluginsConfig(enabled=("distiller",)),
            runner=RunnerConfig(lease_s=6.0),
            policies={"private": PolicyConfig(sensitive=True)},
            distiller={"route": "cheap", "routes": routes, **distiller},
        )

    @property
    def sent_away(self) -> str:
        """All that the cloud route ever got."""
        return "".join(str(request.body) for request in self.cloud.requests)


@asynccontextmanager
async def recorded() -> AsyncIterator[Routes]:
    """Both routes, answering."""
    async with (
        ScriptedModel(lambda _: reply(Use("remember", ANSWER))) as cloud,
        ScriptedOpenAI([Completion(text=json.dumps(ANSWER))]).running() as local,
    ):
        yield Routes(cloud, local)


async def memory(hub: TestHub, session: str, events: int = 1) -> list[AnyEvent]:
    """What was made of a session's turns. Raises TimeoutError."""
    async with asyncio.timeout(30):
        while len(found := await hub.store.memory_page(session)) < events:  # noqa: ASYNC110 - written by runners
            await asyncio.sleep(0.02)
    return [decode(line_of(entry.frame)) for entry in found]  # type: ignore[misc]


async def test_an_ordinary_turn_goes_to_the_chosen_route(url: str) -> None:
    """And the session has the title that the model made."""
    async with recorded() as routes, running_hub(routes.config(), url=url) as hub:
        session = await hub.session()
        await hub.run_turn(session, "hello")
        (event,) = await memory(hub, session)
        assert isinstance(event, TurnDistilled)
        assert (event.route, event.model, event.distillate.summary) == ("cheap", "small", ANSWER["summary"])
        assert "hello" in routes.sent_away
        assert routes.local.requests == []
        assert (await hub.store.session(session)).title == ANSWER["title"]


SENSITIVE = {"paths": ["secrets/**"], "content": ["launch code"]}


@pytest.mark.parametrize(
    ("policy", "rules", "steps"),
    [
        ("private", {}, [{"text": SECRET}]),
        (None, SENSITIVE, [{"text": SECRET}]),
        (
            None,
            SENSITIVE,
            [{"tool": "Bash", "input": {"command": "cat secrets/x"}, "result": "4711"}, {"text": "ok"}],
        ),
        (None, SENSITIVE, [{"tool": "Grep", "input": {}, "result": "secrets/x: 4711"}, {"text": "ok"}]),
    ],
)
async def test_a_sensitive_turn_goes_to_the_local_route_only(
    url: str, policy: str | None, rules: dict[str, Any], steps: list[Any]
) -> None:
    """By its policy, by its words, by a path that it touches later, by what a tool shows."""
    async with recorded() as routes, running_hub(routes.config(sensitive=rules), url=url) as hub:
        session = await hub.session(policy=policy)
        await hub.run_turn(session, steps)
        (event,) = await memory(hub, session)
        assert isinstance(event, TurnDistilled)
        assert (event.route, event.model) == ("local", "home")
        assert "4711" in str(routes.local.requests)
        assert routes.sent_away == ""


async def test_without_a_local_route_a_sensitive_turn_is_extracted(url: str) -> None:
    """No model is asked at all."""
    async with recorded() as routes:
        config = routes.config(sensitive_route="extractive")
        async with running_hub(config, url=url) as hub:
            session = await hub.session(policy="private")
            await hub.run_turn(session, SECRET)
            (event,) = await memory(hub, session)
            assert isinstance(event, TurnDistilled)
            assert event.route == "extractive"
        assert (routes.sent_away, routes.local.requests) == ("", [])


async def test_a_local_route_that_fails_sends_nothing_elsewhere(url: str) -> None:
    """The extractive route stands in, and the failure shows."""
    async with recorded() as routes:
        routes.local.answers[:] = [Completion(status=500)]
        async with running_hub(routes.config(), url=url) as hub:
            session = await hub.session(policy="private")
            await hub.run_turn(session, SECRET)
            failed, made = await memory(hub, session, 2)
            assert isinstance(failed, DistillFailed)
            assert failed.code == "model_error"
            assert isinstance(made, TurnDistilled)
            assert made.route == "extractive"
        assert routes.sent_away == ""


async def test_a_sensitive_turn_whose_runner_dies_stays_at_home(url: str) -> None:
    """Whoever buries and distills it finds it decided: the policy that said so is not even configured there."""
    async with recorded() as routes, running_hub(routes.config(), url=url) as hub:
        session = await hub.session(policy="private")
        begun = await hub.send(session, [{"text": SECRET, "deltas": 3}, {"hang": True}])
        await hub.until(begun, TextDelta)
        await hub.runners[0].kill()
        bare = routes.config()
        hub.add_runner(config=Config(**{**{n: getattr(bare, n) for n in bare.__struct_fields__}, "policies": {}}))
        await hub.ending(begun)
        (event,) = await memory(hub, session)
        assert isinstance(event, TurnDistilled)
        assert event.route == "local"
        assert routes.sent_away == ""


@pytest.mark.parametrize("how", [pytest.param("flag", marks=pytest.mark.full), "words"])
async def test_a_sensitive_turn_whose_client_vanishes_stays_at_home(how: str) -> None:
    """Over HTTP: the client breaks its stream in the middle and never comes back. The turn goes on, and no word of
    it is among what the cloud route was ever sent."""
    async with recorded() as routes:
        with hub_process(TOML.format(cloud=routes.cloud.url, local=routes.local.url)) as hub:
            base, headers = hub.url, {"Authorization": f"Bearer {hub.token}"}
            async with httpx.AsyncClient(base_url=base, headers=headers, trust_env=False, timeout=30) as client:
                body = {"agent": "agent", **({"sensitive": True} if how == "flag" else {})}
                session = (await client.post("/v1/sessions", json=body)).json()["id"]
                words = SECRET if how == "words" else "4711"
                text = f'{{"steps": [{{"text": "{words}", "deltas": 20, "every_ms": 20}}]}}'
                wants = {"Accept": "text/event-stream"}
                path = f"/v1/sessions/{session}/messages"
                async with client.stream("POST", path, json={"text": text}, headers=wants) as stream:
                    async for line in stream.aiter_lines():
                        if "text_delta" in line:
                            break
            async with httpx.AsyncClient(base_url=base, headers=headers, trust_env=False, timeout=30) as client:

                async def kept() -> list[dict[str, Any]]:
                    found: dict[str, Any] = (await client.get(f"/v1/sessions/{session}/memory")).json()
                    return list(found["memory"])

                (entry,) = await until(kept, bool)
                assert (entry["route"], entry["failure"]) == ("local", None)
                assert "4711" in str(routes.local.requests)
                other = (await client.post("/v1/sessions", json={"agent": "agent"})).json()["id"]
                await client.post(f"/v1/sessions/{other}/messages", json={"text": "the weather"})
                await until(lambda: asyncio.sleep(0, routes.sent_away), bool)
        assert "the weather" in routes.sent_away
        assert "4711" not in routes.sent_away


TOML = """
[plugins]
enabled = ["distiller"]
[agents.agent]
transport = "scripted"
[distiller]
route = "cheap"
sensitive = {{ content = ["launch code"] }}
[distiller.routes.cheap]
provider = "anthropic"
model = "small"
base_url = "{cloud}"
local = false
[distiller.routes.local]
provider = "openai"
model = "home"
base_url = "{local}"
"""


async def until(look: Callable[[], Any], wanted: Callable[[Any], Any]) -> Any:
    """What ``look`` finds, as soon as it is wanted. Raises TimeoutError."""
    async with asyncio.timeout(30):
        while not wanted(found := await look()):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)
    return found
