"""Hubs without HTTP, over the system's Redis; a few tests run over fakeredis too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, TypeAlias

import pytest
import structlog

from hub.testing import stores
from hub.testing.hub import TestHub, running_hub

Hubs: TypeAlias = Callable[..., AbstractAsyncContextManager[TestHub]]


@pytest.fixture(scope="session")
def redis_server() -> Iterator[stores.ServerProcess]:
    """The system's Redis, one for the whole run."""
    binary = stores.redis_binary()
    if binary is None:
        pytest.skip("redis-server is not installed here")
    with stores.server(binary) as process:
        yield process


@pytest.fixture
def redis_url(redis_server: stores.ServerProcess) -> str:
    """The system's Redis, which is empty."""
    with redis_server.client() as client:
        client.flushall()
    return redis_server.url


@pytest.fixture
def hubs(redis_url: str) -> Hubs:
    """Runs hubs over the system's Redis: what :func:`running_hub` does, with a URL."""
    return partial(running_hub, url=redis_url)


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """What is logged through structlog, and nowhere else."""
    with structlog.testing.capture_logs() as entries:
        yield entries
