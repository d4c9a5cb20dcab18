"""Writing a running turn: events are gathered for a few milliseconds and appended in one fenced batch.

The writer also keeps the lease, and says when it can keep it no more; it keeps the tally of what the turn has
shown; and it drops deltas whose durable text is written once the live stream has grown past its bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct

from hub.errors import Fenced, HubError, StoreReadOnly, StoreUnavailable
from hub.events import AnyEvent, Reasoning, ReasoningDelta, Status, Text, TextDelta, stamp
from hub.store.records import Appended, Claim
from hub.store.store import Store
from hub.turn import TurnTally

_BATCH_MOST = 256
_PENDING_MOST = 1024
_RETRY_S = 0.1
_SAFE_PART_OF_LEASE = 0.8


class LeaseLost(HubError):
    """The turn cannot be written any more: it has to be stopped before somebody else takes it."""

    code = "lease_lost"


class WriterBounds(Struct, frozen=True, kw_only=True):
    """Seconds: the lease, and how long events are gathered. ``live_most``: events in the live stream before
    superseded deltas go."""

    lease_s: float = 15.0
    batch_s: float = 0.004
    live_most: int = 20_000


class Superseded:
    """Pure: which written deltas nobody needs any more, because their block's durable text is written (or
    because a retry made them void)."""

    def __init__(self) -> None:
        self.droppable: list[int] = []
        self._deltas: dict[tuple[type, int], list[int]] = {}

    def wrote(self, event: AnyEvent, seq: int) -> None:
        """Event ``event`` was written with number ``seq``."""
        match event:
            case TextDelta() | ReasoningDelta():
                self._deltas.setdefault((type(event), event.block), []).append(seq)
            case Text():
                self.droppable += self._deltas.pop((TextDelta, event.block), [])
            case Reasoning():
                self.droppable += self._deltas.pop((ReasoningDelta, event.block), [])
            case Status(state="retrying"):
                for seqs in self._deltas.values():
                    self.droppable += seqs
                self._deltas.clear()
            case _:
                pass


class Writer:
    """The only way events of one turn reach the store. :meth:`run` has to be running."""

    def __init__(
        self,
        store: Store,
        claim: Claim,
        bounds: WriterBounds,
        *,
        heard: Callable[[Appended], None],
        tally: TurnTally,
    ) -> None:
        self.tally = tally
        self.last_event_at = 0.0
        self._store = store
        self._claim = claim
        self._bounds = bounds
        self._heard = heard
        self._pending: list[AnyEvent] = []
        self._something = asyncio.Event()
        self._written = asyncio.Condition()
        self._put = self._done = 0
        self._batch = 0
        self._lost: LeaseLost | None = None
        self._closed = False
        self._live = 0
        self._superseded = Superseded()
        self._clock = asyncio.get_running_loop().time
        self._renewed_at = self.last_event_at = self._clock()

    async def put(self, event: AnyEvent) -> None:
        """Take an event in. Waits while too many are unwritten. Raises LeaseLost."""
        if self._lost:
            raise self._lost
        stamped = stamp(event, self._claim.session_id, self._claim.turn_id)
        self.tally.feed(stamped)
        self.last_event_at = self._clock()
        self._pending.append(stamped)
        self._put += 1
        self._something.set()
        if len(self._pending) >= _PENDING_MOST:
            await self._until(self._put - _PENDING_MOST // 2)

    async def flush(self) -> None:
        """Return when everything taken in so far is written. Raises LeaseLost."""
        await self._until(self._put)

    async def _until(self, number: int) -> None:
        async with self._written:
            await self._written.wait_for(lambda: self._done >= number or self._lost is not None)
        if self._lost and self._done < number:
            raise self._lost

    def poke(self) -> None:
        """Renew now: what is to be heard from the store is heard soon."""
        self._something.set()

    def close(self) -> None:
        """:meth:`run` returns once everything is written."""
        self._closed = True
        self._something.set()

    async def run(self) -> None:
        """Write and renew until closed. Raises LeaseLost."""
        try:
            while not self._closed or self._pending:
                if not self._pending:
                    await self._wait()
                if self._pending and len(self._pending) < _BATCH_MOST and not self._closed:
                    await asyncio.sleep(self._bounds.batch_s)
                await self._write()
        except (Fenced, LeaseLost) as error:
            lost = LeaseLost(error.detail)
            async with self._written:
                self._lost = lost
                self._written.notify_all()
            raise lost from error

    async def _wait(self) -> None:
        """Until there is an event, or the lease wants renewal (a third of it has gone)."""
        self._something.clear()
        try:
            async with asyncio.timeout_at(self._renewed_at + self._bounds.lease_s / 3):
                await self._something.wait()
        except TimeoutError:
            return

    async def _write(self) -> None:
        batch = self._pending[:_BATCH_MOST]
        number = self._batch + 1 if batch else 0
        appended = await self._append(number, batch)
        if batch:
            self._batch = number
            del self._pending[: len(batch)]
            self._learn(batch, appended.last)
            async with self._written:
                self._done += len(batch)
                self._written.notify_all()
            await self._trim()
        self._heard(appended)

    async def _append(self, number: int, batch: Sequence[AnyEvent]) -> Appended:
        """One append, repeated while the store is away, as long as the lease is safe."""
        lease_ms = int(self._bounds.lease_s * 1000)
        while True:
            asked_at = self._clock()
            try:
                appended = await self._store.append(self._claim, number, batch, lease_ms)
            except (StoreUnavailable, StoreReadOnly) as error:
                if self._clock() - self._renewed_at > self._bounds.lease_s * _SAFE_PART_OF_LEASE:
                    raise LeaseLost(f"The lease could not be renewed: {error.detail}") from error
                await asyncio.sleep(_RETRY_S)
            else:
                self._renewed_at = asked_at
                return appended

    def _learn(self, batch: Sequence[AnyEvent], last: int) -> None:
        self._live += len(batch)
        for place, event in enumerate(batch):
            self._superseded.wrote(event, last - len(batch) + 1 + place)

    async def _trim(self) -> None:
        droppable = self._superseded.droppable
        if self._live <= self._bounds.live_most or not droppable:
            return
        await self._store.trim(self._claim, sorted(droppable))
        self._live -= len(droppable)
        self._superseded.droppable = []
