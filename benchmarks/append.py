"""Writing a turn's events: batches through the fenced transaction beside one awaited XADD each.

``python -m benchmarks.append [--quick] [--json] [--rounds N]``
"""

from __future__ import annotations

import time

import uvloop
from redis.asyncio import Redis

from benchmarks.processes import store
from benchmarks.publisher import BATCH, PlainWriter, TurnWriter, Writer, connect, flood
from benchmarks.report import Aim, Measure, Report, arguments, finish

MEASURES = (Measure("rate", "events/s", 0), Measure("us", "µs an event"))
AIMS = (
    Aim("rate", "ours", "plain", least=8.0),
    Aim("rate", "ours", "pipelined", least=1.0),
)


async def run(rounds: int, events: int) -> Report:
    """All rounds; the writers take turns."""
    with store() as url:
        connections, kept = connect(url)
        redis: Redis = Redis.from_url(url)
        try:
            samples = []
            for _ in range(rounds):
                turn = await TurnWriter.begin(kept)
                writers: dict[str, Writer] = {
                    "plain": PlainWriter(redis, turn.claim, pipelined=False),
                    "pipelined": PlainWriter(redis, turn.claim),
                    "ours": turn,
                }
                samples.append({name: await _written(writer, events) for name, writer in writers.items()})
        finally:
            await redis.aclose()
            await connections.close()
    title = f"{events} events, batches of {BATCH}; plain: one awaited XADD each"
    return Report(title, MEASURES, AIMS, samples)


async def _written(writer: Writer, events: int) -> dict[str, float]:
    begun = time.perf_counter()
    await flood(writer, events)
    seconds = time.perf_counter() - begun
    return {"rate": events / seconds, "us": seconds / events * 1e6}


def main() -> None:
    """Run as the command line says."""
    asked = arguments(__doc__).parse_args()
    rounds, events = (1, 320) if asked.quick else (5, 6400)
    finish([uvloop.run(run(asked.rounds or rounds, events))], as_json=asked.json)


if __name__ == "__main__":
    main()
