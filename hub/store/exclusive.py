"""One at a time, over all processes: a name that one holder has, kept in Redis with a time to live.

The holder renews it while it holds it and gives it up by comparing its own token. One that could not renew in
time knows it before anybody else can have the name: :meth:`Held.check` raises from then on. Within a process
those who wait stand in line; between processes they try again, a few times a second.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog
from msgspec import Struct

from hub import ids
from hub.errors import HubError
from hub.store.transactions import Redis, clear_errors
from hub.typist import PlaceLost, PlaceTaken

_TTL_S: Final = 20.0
_MARGIN: Final = 0.25  # part of the time to live in which nothing is begun any more: a key takes its time
_WITHIN_S: Final = 120.0
_RELEASE_S: Final = 2.0
_SOONEST_S: Final = 0.02
_LATEST_S: Final = 0.25

# Each may be repeated: the client does so silently when a reply is lost.
_TAKE: Final = """
local has = redis.call('GET', KEYS[1])
if has and has ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
_RENEW: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
_RELEASE: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""


class Held:
    """A name that is held. ``key`` is where it stands in the store, ``token`` the holder's own."""

    def __init__(self, key: str, token: str) -> None:
        self.key = key
        self.token = token
        self._clock = asyncio.get_running_loop().time
        self._until = 0.0

    @property
    def lost(self) -> bool:
        """Whether somebody else may have it by now."""
        return self._clock() >= self._until

    def check(self) -> None:
        """Raises PlaceLost when the name may be somebody else's, or nearly so."""
        if self.lost:
            raise PlaceLost("Another process may type into this terminal now, so this one stopped.")

    def renewed(self, until: float) -> None:
        """It is held up to ``until``, by the loop's clock."""
        self._until = until

    def lose(self) -> None:
        """It is somebody else's."""
        self._until = 0.0


class _Line(Struct, eq=False):
    """Those of this process who want one name."""

    lock: asyncio.Lock
    users: int = 0


class Exclusive:
    """The names of one store. ``ttl_s``: after how many seconds a name is free whose holder is gone."""

    def __init__(self, redis: Redis, *, ttl_s: float = _TTL_S) -> None:
        self._redis = redis
        self._ttl_s = ttl_s
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def hold(self, name: str, *, within_s: float = _WITHIN_S) -> AsyncIterator[Held]:
        """Hold ``name`` for the block. Waits for ``within_s`` seconds. Raises PlaceTaken, StoreUnavailable."""
        line = self._lines.setdefault(name, _Line(asyncio.Lock()))
        line.users += 1
        held = Held(_key(name), ids.ulid())
        try:
            await self._within(within_s, line, held)
            try:
                async with self._renewing(held):
                    yield held
            finally:
                line.lock.release()
        finally:
            line.users -= 1
            if not line.users:
                del self._lines[name]

    async def _within(self, within_s: float, line: _Line, held: Held) -> None:
        """Wait for our turn in the process, then for the name."""
        try:
            async with asyncio.timeout(within_s):
                await line.lock.acquire()
                try:
                    await self._take(held)
                except BaseException:
                    line.lock.release()
                    await self._release(held)  # the store may have given it to us all the same
                    raise
        except TimeoutError:
            told = f"Somebody else has been typing into this terminal for {within_s:g} s."
            raise PlaceTaken(told) from None

    async def _take(self, held: Held) -> None:
        wait_s = _SOONEST_S
        while not await self._run(_TAKE, held):
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LATEST_S)

    @asynccontextmanager
    async def _renewing(self, held: Held) -> AsyncIterator[None]:
        task = asyncio.create_task(self._renew(held), name="renew a lock")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})
            await self._release(held)

    async def _renew(self, held: Held) -> None:
        while True:
            await asyncio.sleep(self._ttl_s / 4)
            try:
                if not await self._run(_RENEW, held):
                    held.lose()
                    return
            except HubError as error:  # it runs out by itself, unless the store comes back in time
                structlog.get_logger("hub.exclusive").warning("could not renew a lock", error=error.detail)

    async def _release(self, held: Held) -> None:
        """Give it up. Where the store is away, it runs out."""
        with suppress(HubError, TimeoutError):
            async with asyncio.timeout(_RELEASE_S):
                await self._run(_RELEASE, held)

    async def _run(self, script: str, held: Held) -> bool:
        """Run a script on the name; whether it is (or was) ours."""
        asked_at = asyncio.get_running_loop().time()
        with clear_errors():
            ours = await self._redis.execute_command(
                "EVAL", script, 1, held.key, held.token, int(self._ttl_s * 1000)
            )
        if ours:
            held.renewed(asked_at + self._ttl_s * (1 - _MARGIN))
        return bool(ours)


def _key(name: str) -> str:
    """Where ``name`` stands: of bounded length, whatever is in it."""
    return f"th:lock:{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
