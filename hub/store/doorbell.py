"""The doorbell: one pub/sub connection a process. It only saves reading; it is never the truth.

Whoever listens on a channel is told of every payload, and is told `missed` whenever the connection was made
anew (redis-py reconnects silently): what was published in between did not come, and has to be read.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import structlog
from redis import exceptions
from redis.asyncio.client import PubSub

from hub.errors import StoreUnavailable
from hub.store.connect import Connections

_QUIET_S = 10.0
_RECONNECT_S = 0.2
_SUBSCRIBE_S = 5.0
_LOST = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.RedisClusterException, OSError)


class Listener(Protocol):
    """Who listens on a channel. Both calls are made on the event loop and return at once."""

    def rung(self, payload: bytes) -> None:
        """A payload was published."""

    def missed(self) -> None:
        """Payloads may have been missed: read."""


class _Silent:
    """Listens and does nothing: one subscription always stands, so that the connection can be read."""

    def rung(self, payload: bytes) -> None:
        """Nothing to do."""

    def missed(self) -> None:
        """Nothing to do."""


class Doorbell:
    """The process's one pub/sub connection; :meth:`run` has to be running."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._listeners: dict[str, Listener] = {"th:quiet": _Silent()}
        self._heard: dict[str, asyncio.Event] = {"th:quiet": asyncio.Event()}
        self._pubsub: PubSub | None = None

    async def run(self) -> None:
        """Read until cancelled; connect again when the connection is lost."""
        log = structlog.get_logger("hub.doorbell")
        while True:
            try:
                await self._read()
            except _LOST as error:
                log.warning("doorbell lost, connecting again", error=str(error))
                await asyncio.sleep(_RECONNECT_S)

    async def listen(self, channel: str, listener: Listener) -> None:
        """Tell ``listener`` of everything on ``channel`` from now on: returns when the server has confirmed.
        Raises StoreUnavailable when it does not within 5 s."""
        heard = self._heard[channel] = asyncio.Event()
        self._listeners[channel] = listener
        try:
            async with asyncio.timeout(_SUBSCRIBE_S):
                await self._send("subscribe", channel)
                await heard.wait()
        except TimeoutError:
            self._forget(channel, listener)
            raise StoreUnavailable(
                "The store does not answer: no subscription could be made. Try again."
            ) from None
        except BaseException:
            self._forget(channel, listener)
            raise

    async def leave(self, channel: str, listener: Listener) -> None:
        """Stop telling ``listener``."""
        if self._forget(channel, listener):
            await self._send("unsubscribe", channel)

    def _forget(self, channel: str, listener: Listener) -> bool:
        if self._listeners.get(channel) is not listener:
            return False
        del self._listeners[channel], self._heard[channel]
        return True

    async def _send(self, command: str, channel: str) -> None:
        """Without a connection there is nothing to send: :meth:`_read` subscribes to all when it has one."""
        if self._pubsub is None:
            return
        try:
            await getattr(self._pubsub, command)(channel)
        except _LOST:
            return  # the reader sees the same loss, and subscribes anew

    async def _read(self) -> None:
        pubsub = self._connections.pubsub()
        try:
            first = tuple(self._listeners)
            await pubsub.subscribe(*first)
            self._pubsub = pubsub
            if since := self._listeners.keys() - set(first):
                await pubsub.subscribe(*since)
            asked = False
            while True:
                message = await pubsub.get_message(timeout=_QUIET_S)
                if message is not None:
                    asked = False
                    self._tell(message)
                elif asked:
                    raise exceptions.ConnectionError("no answer to a ping")
                else:
                    asked = True
                    await pubsub.ping()
        finally:
            self._pubsub = None
            await pubsub.aclose()  # type: ignore[no-untyped-call, unused-ignore]

    def _tell(self, message: dict[str, Any]) -> None:
        if message["channel"] is None:
            return
        channel = message["channel"].decode() if isinstance(message["channel"], bytes) else message["channel"]
        listener = self._listeners.get(channel)
        if listener is None:
            return
        if message["type"] == "message":
            listener.rung(message["data"])
        elif message["type"] == "subscribe":
            self._heard[channel].set()
            listener.missed()
