"""Writing a running turn: events are gathered for a few milliseconds and appended in one fenced batch.

The writer also keeps the lease, and says when it can keep it no more; and it keeps the tally of what the turn
has shown. A batch keeps its number until the store has taken it, so that one whose reply was lost is written
once; what is unwritten when the lease is lost is kept for :meth:`Writer.settle`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct

from hub.errors import Fenced, HubError, StoreReadOnly, StoreUnavailable
from hub.events import AnyEvent, stamp
from hub.metrics import Metrics
from hub.runner.sound import said
from hub.runner.superseded import Superseded
from hub.store.records import Appended, Claim
from hub.store.store import Store
from hub.turn import TurnTally

_BATCH_EVENTS = 256
_BATCH_BYTES = 1024 * 1024
_PENDING_EVENTS = 1024
_PENDING_BYTES = 8 * 1024 * 1024
RETRY_S = 0.1
AWAY = (StoreUnavailable, StoreReadOnly)

T = TypeVar("T")


class LeaseLost(HubError):
    """The turn cannot be written any more: it has to be stopped before somebody else takes it."""

    code = "lease_lost"


class WriterBounds(Struct, frozen=True, kw_only=True):
    """Seconds: the lease, how much of it is left for stopping the transport, how long events are gathered.
    ``live_most``: events in the live stream before superseded deltas go."""

    lease_s: float = 10.0
    stop_s: float = 2.0
    batch_s: float = 0.004
    live_most: int = 20_000


class Writer:
    """The only way events of one turn reach the store. :meth:`run` has to be running. ``heard`` is told what
    each append reports back."""

    def __init__(
        self,
        store: Store,
        claim: Claim,
        bounds: WriterBounds,
        *,
        heard: Callable[[Appended], None],
        metrics: Metrics,
    ) -> None:
        self.tally = TurnTally()
        self._store = store
        self._claim = claim
        self._bounds = bounds
        self._heard = heard
        self._metrics = metrics
        self._pending: list[tuple[AnyEvent, int]] = []
        self._batch: list[AnyEvent] = []
        self._number = 0
        self._bytes = self._put = self._done = 0
        self._superseded = Superseded()
        self._something = asyncio.Event()
        self._poked = self._closed = False
        self._changed = asyncio.Condition()
        self._lost: LeaseLost | None = None
        self._clock = asyncio.get_running_loop().time
        self._renewed_at = self._clock()

    # For those who write

    async def put(self, event: AnyEvent, size: int) -> None:
        """Take in an event of about ``size`` bytes. Waits while too much is unwritten. Raises LeaseLost."""
        self._check()
        stamped = stamp(event, self._claim.session_id, self._claim.turn_id)
        self.tally.feed(stamped)
        self._pending.append((stamped, size))
        self._bytes += size
        self._put += 1
        self._something.set()
        if self._full:
            await self._until(lambda: not self._full)

    async def flush(self) -> None:
        """Return when everything taken in so far is written. Raises LeaseLost."""
        number = self._put
        await self._until(lambda: self._done >= number)

    async def persist(self, call: Callable[[], Awaitable[T]]) -> T:
        """``await call()``, again and again while the store is away, as long as the lease holds. ``call`` must
        bear being repeated. Raises LeaseLost."""
        while True:
            self._check()
            try:
                return await call()
            except AWAY:
                await asyncio.sleep(RETRY_S)

    def recall(self, event: AnyEvent, seq: int) -> None:
        """Take into account what the turn had written before it was taken over."""
        self.tally.feed(event)
        self._superseded.wrote(event, seq)

    def poke(self) -> None:
        """Renew now: what is to be heard from the store is heard at once."""
        self._poked = True
        self._something.set()

    @property
    def behind(self) -> bool:
        """Whether something waits to be written."""
        return self._done < self._put

    @property
    def _full(self) -> bool:
        return len(self._pending) >= _PENDING_EVENTS or self._bytes >= _PENDING_BYTES

    def _check(self) -> None:
        if self._lost:
            raise self._lost

    async def _until(self, reached: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: reached() or self._lost is not None)
        if not reached():
            self._check()

    # Its life

    def close(self) -> None:
        """:meth:`run` returns once everything is written."""
        self._closed = True
        self._something.set()

    async def run(self) -> None:
        """Write and renew until closed. Raises LeaseLost, whatever it was that went wrong: whoever waits for
        something to be written is then told."""
        try:
            while not (self._closed and self._done == self._put):
                await self._wait()
                if self._pending or not self._closed:
                    await self._write()
        except Exception as error:
            lost = error if isinstance(error, LeaseLost) else LeaseLost(_sentence(error))
            async with self._changed:
                self._lost = lost
                self._changed.notify_all()
            raise lost from error

    async def settle(self) -> None:
        """When :meth:`run` has lost the lease: write what is left, however long the store is away. The turn
        may be ours still. Raises Fenced when it is not."""
        while self._next_batch():
            try:
                appended = await self._append()
            except AWAY:
                await asyncio.sleep(RETRY_S)
            else:
                await self._wrote(appended)

    async def _wait(self) -> None:
        """Until there is an event (and a moment more: others follow it), or the lease wants renewal: a third
        of it has gone, or somebody poked."""
        if not (self._pending or self._poked or self._closed):
            self._something.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._renewed_at + self._bounds.lease_s / 3):
                    await self._something.wait()
        if self._pending and len(self._pending) < _BATCH_EVENTS and not self._closed:
            await asyncio.sleep(self._bounds.batch_s)
        self._poked = False

    async def _write(self) -> None:
        self._next_batch()
        appended = await self._within_lease(self._append)
        await self._wrote(appended)
        self._heard(appended)
        await self._trim()

    def _next_batch(self) -> bool:
        """Have a batch to write, if there is anything; whether there is."""
        if self._batch or not self._pending:
            return bool(self._batch)
        size = taken = 0
        while taken < min(len(self._pending), _BATCH_EVENTS) and (taken == 0 or size < _BATCH_BYTES):
            size += self._pending[taken][1]
            taken += 1
        self._batch = [event for event, _ in self._pending[:taken]]
        del self._pending[:taken]
        self._bytes -= size
        self._number += 1
        return True

    async def _append(self) -> Appended:
        number, asked_at = self._number if self._batch else 0, self._clock()
        with self._metrics.store("append"):
            appended = await self._store.append(self._claim, number, self._batch, int(self._bounds.lease_s * 1000))
        self._renewed_at = asked_at
        return appended

    async def _within_lease(self, call: Callable[[], Awaitable[T]]) -> T:
        """``await call()``, repeated while the store is away: until the lease is too short to stop in."""
        end = self._renewed_at + self._bounds.lease_s - self._bounds.stop_s
        why = "The store does not answer."
        with suppress(TimeoutError):
            async with asyncio.timeout_at(end):
                while True:
                    try:
                        return await call()
                    except AWAY as error:
                        why = error.detail
                        await asyncio.sleep(RETRY_S)
        raise LeaseLost(f"Its lease could not be renewed. {why}")

    async def _wrote(self, appended: Appended) -> None:
        if not self._batch:
            return
        batch, self._batch = self._batch, []
        for place, event in enumerate(batch):
            self._superseded.wrote(event, appended.last - len(batch) + 1 + place)
        self._metrics.appended(len(batch))
        async with self._changed:
            self._done += len(batch)
            self._changed.notify_all()

    async def _trim(self) -> None:
        """Drop deltas that nobody needs."""
        if droppable := self._superseded.droppable(self._bounds.live_most):
            await self._within_lease(lambda: self._store.trim(self._claim, droppable))
            self._superseded.dropped()


def _sentence(error: Exception) -> str:
    return error.detail if isinstance(error, Fenced) else f"It could not be written ({said(error)})."
