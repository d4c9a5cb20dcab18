"""The doorbell: one pub/sub connection a process. It only saves reading; it is never the truth.

Whoever listens on a channel is told of every payload, and is told `missed` whenever the connection was made
anew (redis-py reconnects silently): what was published in between did not come, and has to be read.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Protocol

import structlog
from msgspec import Struct
from redis import exceptions
from redis.asyncio.client import PubSub

from hub.errors import StoreUnavailable
from hub.store.connect import Lines

_QUIET_S = 10.0
_RECONNECT_S = 0.2
_SUBSCRIBE_S = 5.0
_LEAVE_S = 1.0
_LOST = (exceptions.RedisError, OSError)


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


class _Heard(Struct, eq=False):
    """A listener, and whether the server has confirmed its subscription."""

    listener: Listener
    confirmed: asyncio.Event


class Doorbell:
    """The process's one pub/sub connection; :meth:`run` has to be running. ``quiet_s``: after how much silence
    the server is asked whether it is there still; after as much again the connection counts as lost."""

    def __init__(self, lines: Lines, *, quiet_s: float = _QUIET_S) -> None:
        self._connect = lines.pubsub
        self._quiet_s = quiet_s
        self._heard: dict[str, _Heard] = {"th:quiet": _Heard(_Silent(), asyncio.Event())}
        self._pubsub: PubSub | None = None
        self._sending = asyncio.Lock()
        self._lost = False
        self._log = structlog.get_logger("hub.doorbell")

    @property
    def channels(self) -> int:
        """On how many channels somebody listens."""
        return len(self._heard) - 1

    async def run(self) -> None:
        """Read until cancelled; connect again when the connection is lost."""
        while True:
            try:
                await self._read()
            except _LOST as error:
                if not self._lost:  # tell of each loss once
                    self._log.warning("doorbell lost, connecting again", error=str(error))
                self._lost = True
                await asyncio.sleep(_RECONNECT_S)

    async def listen(self, channel: str, listener: Listener) -> None:
        """Tell ``listener`` of everything on ``channel`` from now on: returns when the server has confirmed.
        Raises StoreUnavailable when it does not within 5 s."""
        heard = self._heard[channel] = _Heard(listener, asyncio.Event())
        try:
            async with asyncio.timeout(_SUBSCRIBE_S):
                await self._match(channel)
                await heard.confirmed.wait()
        except TimeoutError:
            self._forget(channel, listener)  # should the server confirm after all, it is unsubscribed then
            raise StoreUnavailable(
                "The store does not answer: no subscription could be made. Try again."
            ) from None
        except BaseException:
            await self.leave(channel, listener)
            raise

    async def leave(self, channel: str, listener: Listener) -> None:
        """Stop telling ``listener``."""
        if self._forget(channel, listener):
            with suppress(TimeoutError):  # then the connection is as good as lost, and made anew without it
                async with asyncio.timeout(_LEAVE_S):
                    await self._match(channel)

    def _forget(self, channel: str, listener: Listener) -> bool:
        heard = self._heard.get(channel)
        if heard is None or heard.listener is not listener:
            return False
        del self._heard[channel]
        return True

    async def _match(self, channel: str) -> None:
        """Have the server know whether somebody listens: one command at a time, for what holds when it is
        sent. Without a connection there is nothing to send: :meth:`_read` subscribes to all when it has one."""
        async with self._sending:
            if self._pubsub is None:
                return
            with suppress(*_LOST):  # the reader sees the same loss, and subscribes anew
                if channel in self._heard:
                    await self._pubsub.subscribe(channel)
                else:
                    await self._pubsub.unsubscribe(channel)

    async def _read(self) -> None:
        pubsub = self._connect()
        try:
            async with self._sending:
                await pubsub.subscribe(*self._heard)
                self._pubsub = pubsub
            asked = self._lost = False
            while True:
                message = await pubsub.get_message(timeout=self._quiet_s)
                if message is not None:
                    asked = False
                    await self._tell(message)
                elif asked:
                    raise exceptions.ConnectionError("no answer to a ping")
                else:
                    asked = True
                    await pubsub.ping()
        finally:
            async with self._sending:  # nobody may dial anew with what is closed
                self._pubsub = None
                await pubsub.aclose()  # type: ignore[no-untyped-call, unused-ignore]

    async def _tell(self, message: dict[str, Any]) -> None:
        kind, channel = message["type"], message["channel"]
        if kind not in {"message", "subscribe"}:
            return None
        name = channel.decode() if isinstance(channel, bytes) else str(channel)
        heard = self._heard.get(name)
        if heard is None:
            return await self._match(name)  # nobody listens any more
        try:
            if kind == "message":
                heard.listener.rung(message["data"])
            elif heard.confirmed.is_set():
                heard.listener.missed()
            heard.confirmed.set()
        except Exception as error:  # noqa: BLE001 - one listener must not make all others deaf
            self._log.error("a listener failed", channel=name, error=type(error).__name__)
            self._log.debug("that error", exc_info=error)
        return None
