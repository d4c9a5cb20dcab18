"""Coming late to a long turn, beside the naive form; and many live turns beside one.

``python -m benchmarks.attach [--quick] [--json] [--rounds N]``
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import uvloop
from msgspec import Struct
from redis.asyncio import Redis

from benchmarks.processes import Child, child, raise_limits, store
from benchmarks.publisher import PlainWriter, TurnWriter, Writer, connect, flood
from benchmarks.report import Aim, Measure, Report, arguments, finish

_WARM_EVENTS = 1


class Size(Struct, frozen=True, kw_only=True):
    """How much is measured. ``events``: how long the turn is that ``subscribers`` come late to; ``spread``:
    how many events are spread over one turn, and over ``turns``."""

    rounds: int = 3
    subscribers: int = 100
    events: int = 2000
    turns: int = 2000
    spread: int = 8000


QUICK = Size(rounds=1, subscribers=10, events=100, turns=20, spread=100)


async def attach(variant: str, url: str, size: Size) -> dict[str, float]:
    """What it costs the server when many come at once to a turn that is long already."""
    connections, kept = connect(url)
    redis: Redis = Redis.from_url(url)
    try:
        turn = await TurnWriter.begin(kept)
        writer: Writer = turn if variant == "ours" else PlainWriter(redis, turn.claim)
        await flood(writer, size.events)
        async with (
            child("servers", variant, url, turn.claim.session_id) as server,
            child("clients") as clients,
        ):
            where = await server.hear()
            facts = {"port": where["port"], "headers": where["headers"], "events": size.events}
            await clients.ask("connect", paths=[where["path"]], **facts)  # what is loaded once is not counted
            await clients.ask("wait")
            await clients.ask("close")
            cpu = server.cpu_ns()
            await clients.ask("connect", paths=[where["path"]] * size.subscribers, **facts)
            await clients.ask("wait")
            return {"ms": (server.cpu_ns() - cpu) / 1e6 / size.subscribers}
    finally:
        await redis.aclose()
        await connections.close()


async def live(url: str, turns: int, spread: int) -> dict[str, float]:
    """What an event costs the server when ``turns`` run, each with one subscriber, at one rate for all."""
    connections, kept = connect(url)
    try:
        writers = [await TurnWriter.begin(kept) for _ in range(turns)]
        async with (
            child("servers", "ours", url, writers[0].claim.session_id) as server,
            child("clients") as clients,
        ):
            where = await server.hear()
            paths = [where["path"].replace(writers[0].claim.session_id, one.claim.session_id) for one in writers]
            await clients.ask("connect", paths=paths, port=where["port"], headers=where["headers"], events=0)
            await _written(clients, writers, turns * _WARM_EVENTS)
            cpu = server.cpu_ns()
            await _written(clients, writers, spread)
            return {"us": (server.cpu_ns() - cpu) / 1e3 / spread}
    finally:
        await connections.close()


async def _written(clients: Child, writers: Sequence[Writer], events: int) -> None:
    """Write ``events``, one at a time and in turn, and wait until they are there."""
    await clients.ask("expect", events=events // len(writers), keep=False)
    for number in range(events):
        await writers[number % len(writers)].write(1)
    await clients.ask("wait")


async def run(size: Size) -> list[Report]:
    """All rounds of both."""
    late, many = [], []
    for _ in range(size.rounds):
        with store() as url:
            late.append({variant: await attach(variant, url, size) for variant in ("naive", "ours")})
            counts = {"one turn": 1, "many turns": size.turns}
            many.append({name: await live(url, turns, size.spread) for name, turns in counts.items()})
    return [
        Report(
            f"{size.subscribers} come at once to a turn of {size.events} events",
            (Measure("ms", "CPU ms an attach", 2),),
            (Aim("ms", "ours", "naive", most=1 / 50),),
            late,
        ),
        Report(
            f"{size.spread} events over one live turn, and over {size.turns}, each with a subscriber",
            (Measure("us", "CPU µs an event"),),
            (Aim("us", "many turns", "one turn", most=1.3),),
            many,
        ),
    ]


def main() -> None:
    """Run as the command line says."""
    asked = arguments(__doc__).parse_args()
    size = QUICK if asked.quick else Size()
    raise_limits()
    reports = uvloop.run(run(msgspec.structs.replace(size, rounds=asked.rounds or size.rounds)))
    finish(reports, as_json=asked.json)


if __name__ == "__main__":
    main()
