"""Connections to the store by URL: standalone, TLS, unix socket, Sentinel, cluster.

redis-py gives every connection a socket timeout of 5 s and silent retries; both are wanted for transactions
(they may be repeated) and unwanted for blocking reads and pub/sub, which get connections of their own.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff

from hub.errors import ConfigError

AnyRedis = Redis | RedisCluster
_TIMEOUT_S = 5.0
_RETRIES = 3


class Connections:
    """The clients of one store. ``commands`` for transactions; the others have no read timeout."""

    def __init__(self, url: str, *, max_connections: int = 64) -> None:
        """``url`` as in ``store.url``, but never ``embedded``. Nothing is dialled yet. Raises ConfigError."""
        self.url = url
        self._limit = max_connections
        retry = Retry(ExponentialWithJitterBackoff(cap=0.5, base=0.02), _RETRIES)
        self.commands: AnyRedis = self._client(_TIMEOUT_S, retry)
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

    def _client(self, timeout_s: float | None, retry: Retry) -> AnyRedis:
        options: dict[str, Any] = {
            "socket_timeout": timeout_s,
            "socket_connect_timeout": _TIMEOUT_S,
            "retry": retry,
            "max_connections": self._limit,
        }
        scheme = urlsplit(self.url).scheme
        try:
            if scheme == "redis+cluster":
                return RedisCluster.from_url(self.url.replace("redis+cluster", "redis", 1), **options)
            if scheme == "redis+sentinel":
                return self._sentinel(options)
            return Redis.from_url(self.url, **options)
        except ValueError as error:
            raise ConfigError(
                f"store.url: {error}. Expected embedded, redis://, rediss://, unix://, ..."
            ) from None

    def _sentinel(self, options: dict[str, Any]) -> Redis:
        """redis+sentinel://[user:password@]host:port[,host:port…]/<service>[/<db>]"""
        parts = urlsplit(self.url)
        hosts = parts.netloc.rpartition("@")[2].split(",")
        service, _, database = parts.path.strip("/").partition("/")
        if not service:
            raise ConfigError("store.url: redis+sentinel:// wants the name of the service, as in /mymaster.")
        addresses = [(host, int(port or 26379)) for host, _, port in (one.partition(":") for one in hosts)]
        sentinel = Sentinel(addresses, socket_timeout=_TIMEOUT_S)  # type: ignore[no-untyped-call, unused-ignore]
        login = {"username": parts.username, "password": parts.password, "db": int(database or 0)}
        options |= {name: value for name, value in login.items() if value}
        master: Redis = sentinel.master_for(service, **options)  # type: ignore[no-untyped-call, unused-ignore]
        return master
