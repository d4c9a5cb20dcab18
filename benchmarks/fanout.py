"""A thousand subscribers of one turn: the hub beside the naive form and a bare writer.

``python -m benchmarks.fanout [--quick] [--json] [--rounds N] [--subscribers N]``
"""

from __future__ import annotations

import asyncio
import time

import msgspec
import uvloop
from msgspec import Struct
from redis.asyncio import Redis

from benchmarks.processes import Child, child, raise_limits, store
from benchmarks.publisher import PlainWriter, TurnWriter, Writer, connect, flood, paced
from benchmarks.report import Aim, Measure, Report, arguments, finish

VARIANTS = ("naive", "ours", "bare")
MEASURES = (
    Measure("flood_us", "CPU µs a delivery, flood", 2),
    Measure("flood_rate", "deliveries/s, flood", 0),
    Measure("paced_us", "CPU µs a delivery, 20 events/s", 2),
    Measure("joined", "events a read, 20 events/s", 2),
    Measure("write_us", "CPU µs a write, 20 events/s", 2),
    Measure("p50_ms", "p50 delivery ms, 20 events/s"),
    Measure("p99_ms", "p99 delivery ms, 20 events/s"),
    Measure("memory_kb", "KB a subscriber"),
    Measure("idle_commands", "store commands while idle, all", 0),
)
AIMS = (
    Aim("flood_us", "ours", "naive", most=1 / 25),
    Aim("flood_us", "ours", "bare", most=1.5),
    Aim("paced_us", "ours", "bare", most=1.5),
    Aim("write_us", "ours", "bare", most=1.5),
    Aim("paced_us", "ours", "naive"),  # one write a delivery, whatever the server: bare is no better
    Aim("p99_ms", "ours", "naive", most=1 / 10),
    Aim("memory_kb", "ours", "naive", most=1.0),
)
_PER_SECOND = 20.0
_WARM = 8


class Size(Struct, frozen=True, kw_only=True):
    """How much is measured. ``naive_flood``: the naive form's flood, which would take minutes otherwise; what a
    delivery costs it does not depend on that. ``idle_s``: longer than the naive form's blocking read."""

    subscribers: int = 1000
    rounds: int = 3
    paced_events: int = 100
    flood_events: int = 2000
    naive_flood: int = 200
    idle_s: float = 6.0


QUICK = Size(subscribers=40, rounds=1, paced_events=10, flood_events=128, naive_flood=32, idle_s=0.3)


async def measure(variant: str, url: str, size: Size) -> dict[str, float]:
    """One variant's numbers."""
    connections, kept = connect(url)
    redis: Redis = Redis.from_url(url)
    turn = await TurnWriter.begin(kept)
    writer: Writer = turn if variant != "naive" else PlainWriter(redis, turn.claim)
    try:
        async with (
            child("servers", variant, url, turn.claim.session_id) as server,
            child("clients") as clients,
        ):
            memory = await _subscribe(server, clients, size.subscribers)
            idle = await _idle(redis, size.idle_s)
            steady = await _deliver(server, clients, size.subscribers, writer, size.paced_events, keep=True)
            events = size.naive_flood if variant == "naive" else size.flood_events
            flooded = await _deliver(server, clients, size.subscribers, writer, events, keep=False)
    finally:
        await redis.aclose()
        await connections.close()
    return {
        "flood_us": flooded["us"],
        "flood_rate": flooded["rate"],
        "paced_us": steady["us"],
        "joined": steady["joined"],
        "write_us": steady["us"] * steady["joined"],
        "p50_ms": steady["p50_ms"],
        "p99_ms": steady["p99_ms"],
        "memory_kb": memory / size.subscribers / 1024,
        "idle_commands": idle,
    }


async def _subscribe(server: Child, clients: Child, subscribers: int) -> int:
    """Connect everybody; the memory that this took. A few come first: what is loaded once is not counted."""
    where = await server.hear()
    facts = {"port": where["port"], "headers": where["headers"], "events": 0}
    await clients.ask("connect", paths=[where["path"]] * _WARM, **facts)
    await clients.ask("close")
    before = server.rss_bytes()
    await clients.ask("connect", paths=[where["path"]] * subscribers, **facts)
    return server.rss_bytes() - before


async def _idle(redis: Redis, seconds: float) -> int:
    """How many commands the store is sent while nothing happens."""
    await redis.config_resetstat()
    await asyncio.sleep(seconds)
    stats = await redis.info("commandstats")
    return sum(facts["calls"] for name, facts in stats.items() if name != "cmdstat_config|resetstat")


async def _deliver(
    server: Child, clients: Child, subscribers: int, writer: Writer, events: int, *, keep: bool
) -> dict[str, float]:
    """Write and wait until everybody has everything: steadily with ``keep``, else as a flood."""
    await clients.ask("expect", events=events, keep=keep)
    cpu, begun = server.cpu_ns(), time.monotonic_ns()
    await (paced(writer, events, _PER_SECOND) if keep else flood(writer, events))
    done = await clients.ask("wait")
    deliveries = events * subscribers
    return {
        **done,
        "us": (server.cpu_ns() - cpu) / 1e3 / deliveries,
        "rate": deliveries / (done["at"] - begun) * 1e9,
    }


async def run(size: Size) -> Report:
    """All rounds. Variants take turns, so that a busy moment of the machine meets all of them."""
    rounds = []
    for _ in range(size.rounds):
        with store() as url:
            rounds.append({variant: await measure(variant, url, size) for variant in VARIANTS})
    return Report(f"{size.subscribers} subscribers of one turn", MEASURES, AIMS, rounds)


def main() -> None:
    """Run as the command line says."""
    parser = arguments(__doc__)
    parser.add_argument("--subscribers", type=int)
    asked = parser.parse_args()
    size = QUICK if asked.quick else Size()
    wanted = {"rounds": asked.rounds, "subscribers": asked.subscribers}
    size = msgspec.structs.replace(size, **{name: value for name, value in wanted.items() if value})
    raise_limits()
    finish([uvloop.run(run(size))], as_json=asked.json)


if __name__ == "__main__":
    main()
