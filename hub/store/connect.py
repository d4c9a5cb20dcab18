"""Connections to the store by URL: standalone, TLS, unix socket, Sentinel, cluster.

redis-py gives every connection a socket timeout of 5 s and silent retries; both are wanted for transactions
(they may be repeated) and unwanted for blocking reads and pub/sub, which get connections of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Protocol, cast
from urllib.parse import unquote, urlsplit

from redis import exceptions
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.client import PubSub
from redis.asyncio.cluster import ClusterPubSub
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff

from hub.errors import ConfigError

AnyRedis = Redis | RedisCluster
_RETRIES = 3
_SPARE = 4  # connections for pub/sub, which takes no part in waiting for room


class Lines(Protocol):
    """One process's connections to the store: :class:`Connections`, or what tests put in its place."""

    @property
    def commands(self) -> AnyRedis:
        """For commands and transactions."""

    @property
    def blocking(self) -> AnyRedis:
        """For reads that wait."""

    def pubsub(self) -> PubSub:
        """A pub/sub connection of its own."""

    async def close(self) -> None:
        """Close all connections."""


class _Bounds:
    """How many callers a client serves at once, and how long a call may take with all its retries (seconds)."""

    def __init__(self, most: int, patience_s: float | None) -> None:
        self._room = asyncio.Semaphore(most)
        self._patience_s = patience_s

    async def keep(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Make the call when there is room. redis-py raises when its pool is used up, and its retries multiply:
        a server that hangs would be waited for for more than a minute. Raises redis' TimeoutError."""
        try:
            async with asyncio.timeout(self._patience_s), self._room:
                return await _cancellable(call())
        except TimeoutError as error:
            raise exceptions.TimeoutError(f"no answer within {self._patience_s} s") from error


async def _cancellable(answer: Awaitable[Any]) -> Any:
    """The answer. redis-py sends through asyncio.wait_for, which in Python 3.11 loses a cancellation that
    comes at the moment when the sending is done; whoever cancelled would wait for ever."""
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    found = await answer
    if task and task.cancelling() > before:
        raise asyncio.CancelledError
    return found


class _Redis(Redis):
    bounds: _Bounds

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        call = super().execute_command
        return await self.bounds.keep(lambda: call(*args, **options))  # type: ignore[no-untyped-call]


class _ClusterPubSub(ClusterPubSub):
    """redis-py takes the node from what its client knows, which may be nothing yet, or a node that is gone."""

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        try:
            if self.connection is None:
                await self.cluster.initialize()
                await self.cluster.nodes_manager.initialize()
            return await super().execute_command(*args, **options)
        except exceptions.RedisClusterException as error:  # no RedisError, whatever its name says
            raise exceptions.ConnectionError(str(error)) from error


class _RedisCluster(RedisCluster):
    bounds: _Bounds

    def pubsub(self, *args: Any, **options: Any) -> _ClusterPubSub:
        return _ClusterPubSub(self, *args, **options)

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        call = super().execute_command
        return await self.bounds.keep(lambda: call(*args, **options))


async def pipelined(redis: AnyRedis, commands: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The answers to many commands, sent together. Like a single command it waits for room. Of a key that holds
    something else than the command is for, the answer is the error."""
    pipeline = redis.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command)
    bounds: _Bounds | None = getattr(redis, "bounds", None)  # fakeredis has none
    execute = partial(pipeline.execute, raise_on_error=False)
    answers = list(await (execute() if bounds is None else bounds.keep(execute)))
    for answer in answers:
        if isinstance(answer, Exception) and not str(answer).startswith("WRONGTYPE"):
            raise answer
    return answers


class Connections:
    """The clients of one store. ``commands`` for transactions; the others have no read timeout."""

    def __init__(self, url: str, *, max_connections: int = 64, timeout_s: float = 5.0) -> None:
        """``url`` as in ``store.url``, but never ``embedded``. ``timeout_s``: for one answer; no command takes
        more than twice that, retries included. Nothing is dialled yet. Raises ConfigError."""
        self.url = url
        self._limit = max_connections
        self._timeout_s = timeout_s
        self._sentinels: list[Redis] = []
        retry = Retry(ExponentialWithJitterBackoff(cap=0.5, base=0.02), _RETRIES)
        self.commands: AnyRedis = self._client(timeout_s, retry)
        self._patient: AnyRedis = self._client(None, Retry(NoBackoff(), 0))

    @property
    def blocking(self) -> AnyRedis:
        """For reads that wait."""
        return self._patient

    def pubsub(self) -> PubSub:
        """A pub/sub connection of its own. It never reconnects silently: what it missed would be lost."""
        return self._patient.pubsub()  # type: ignore[no-untyped-call, no-any-return, unused-ignore]

    async def close(self) -> None:
        """Close all connections."""
        await self.commands.aclose()
        await self._patient.aclose()
        for sentinel in self._sentinels:
            await sentinel.aclose()

    def _client(self, timeout_s: float | None, retry: Retry) -> AnyRedis:
        client = self._dial(timeout_s, retry)
        client.bounds = _Bounds(self._limit, timeout_s and 2 * timeout_s)
        return client

    def _dial(self, timeout_s: float | None, retry: Retry) -> _Redis | _RedisCluster:
        options: dict[str, Any] = {
            "socket_timeout": timeout_s,
            "socket_connect_timeout": self._timeout_s,
            "retry": retry,
            "max_connections": self._limit + _SPARE,
        }
        scheme = urlsplit(self.url).scheme
        if scheme != "unix":
            options["socket_keepalive"] = True  # a read without timeout must notice a peer that is gone
        try:
            if scheme == "redis+cluster":
                url = self.url.replace("redis+cluster", "redis", 1)
                return cast(_RedisCluster, _RedisCluster.from_url(url, **options))
            if scheme == "redis+sentinel":
                return self._sentinel(options)
            return cast(_Redis, _Redis.from_url(self.url, **options))
        except ValueError as error:
            raise ConfigError(
                f"store.url: {error}. Expected embedded, redis://, rediss://, unix://, ..."
            ) from None

    def _sentinel(self, options: dict[str, Any]) -> _Redis:
        """redis+sentinel://[user:password@]host:port[,host:port…]/<service>[/<db>]"""
        parts = urlsplit(self.url)
        hosts = parts.netloc.rpartition("@")[2].split(",")
        service, _, database = parts.path.strip("/").partition("/")
        if not service:
            raise ConfigError("store.url: redis+sentinel:// wants the name of the service, as in /mymaster.")
        addresses = [(host, int(port or 26379)) for host, _, port in (one.partition(":") for one in hosts)]
        sentinel = Sentinel(addresses, socket_timeout=self._timeout_s)  # type: ignore[no-untyped-call, unused-ignore]
        self._sentinels += sentinel.sentinels
        login = {"username": unquote(parts.username or ""), "password": unquote(parts.password or "")}
        options |= {name: value for name, value in login.items() if value}
        options["db"] = int(database or 0)
        master: _Redis = sentinel.master_for(service, redis_class=_Redis, **options)  # type: ignore[no-untyped-call, unused-ignore]
        return master
