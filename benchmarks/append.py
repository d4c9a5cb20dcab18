"""Writing a turn's events: batches through the fenced transaction beside one awaited XADD each.

``python -m benchmarks.append [--quick] [--json] [--rounds N]``
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

import uvloop
from redis.asyncio import Redis

from benchmarks.processes import store
from benchmarks.publisher import BATCH, LEASE_MS, begin, connect, delta, naive_key
from benchmarks.report import Aim, Measure, Report, arguments, finish
from hub.events import AnyEvent, encode
from hub.store.records import Claim
from hub.store.store import Store

MEASURES = (Measure("rate", "events/s", 0), Measure("us", "µs an event"))
AIMS = (
    Aim("rate", "ours", "plain", least=8.0),
    Aim("rate", "ours", "pipelined", least=1.0),
)
Write = Callable[[Sequence[AnyEvent]], Awaitable[None]]


def plain(redis: Redis, claim: Claim) -> Write:
    """One XADD an event, each awaited before the next."""
    key = naive_key(claim.session_id)

    async def write(events: Sequence[AnyEvent]) -> None:
        for event in events:
            await redis.xadd(key, {"event": "text_delta", "data": encode(event)})

    return write


def pipelined(redis: Redis, claim: Claim) -> Write:
    """One XADD an event, a batch in one round trip."""
    key = naive_key(claim.session_id)

    async def write(events: Sequence[AnyEvent]) -> None:
        for start in range(0, len(events), BATCH):
            async with redis.pipeline(transaction=False) as pipe:
                for event in events[start : start + BATCH]:
                    pipe.xadd(key, {"event": "text_delta", "data": encode(event)})
                await pipe.execute()

    return write


def ours(kept: Store, claim: Claim) -> Write:
    """A batch in one transaction: fenced, numbered, published, the lease renewed."""

    async def write(events: Sequence[AnyEvent]) -> None:
        for number, start in enumerate(range(0, len(events), BATCH), 1):
            await kept.append(claim, number, events[start : start + BATCH], LEASE_MS)

    return write


async def run(rounds: int, count: int) -> Report:
    """All rounds; the writers take turns, with the same events."""
    with store() as url:
        connections, kept = connect(url)
        redis: Redis = Redis.from_url(url)
        try:
            samples = []
            for _ in range(rounds):
                claim = await begin(kept)
                events = [delta(claim) for _ in range(count)]
                writers = {
                    "plain": plain(redis, claim),
                    "pipelined": pipelined(redis, claim),
                    "ours": ours(kept, claim),
                }
                samples.append({name: await _timed(write, events) for name, write in writers.items()})
        finally:
            await redis.aclose()
            await connections.close()
    title = f"{count} events, batches of {BATCH}; plain: one awaited XADD each"
    return Report(title, MEASURES, AIMS, samples)


async def _timed(write: Write, events: Sequence[AnyEvent]) -> dict[str, float]:
    begun = time.perf_counter()
    await write(events)
    seconds = time.perf_counter() - begun
    return {"rate": len(events) / seconds, "us": seconds / len(events) * 1e6}


def main() -> None:
    """Run as the command line says."""
    asked = arguments(__doc__).parse_args()
    rounds, count = (1, 320) if asked.quick else (9, 6400)
    finish([uvloop.run(run(asked.rounds or rounds, count))], as_json=asked.json)


if __name__ == "__main__":
    main()
