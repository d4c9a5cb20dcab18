"""Figures for Prometheus: one :class:`Metrics` for each hub, handed to those who count."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from hub.events import AskKind, Terminal, TurnFailed, type_of

StreamKind = Literal["turn", "session", "hub"]
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_BATCH: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_FAST_S: Final = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_LONG_S: Final = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)


class Metrics:
    """What one hub process counts. Cheap to call; every method is safe from any task."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        registry = self._registry
        ProcessCollector(registry=registry)
        self._started = Counter("turnhub_turns_started", "Turns taken.", ["agent"], registry=registry)
        self._ended = Counter(
            "turnhub_turns_ended",
            "Turns that ended; code is the failure's, empty for the others.",
            ["agent", "outcome", "code"],
            registry=registry,
        )
        self._took = Histogram(
            "turnhub_turn_seconds", "How long turns took.", ["agent"], buckets=_LONG_S, registry=registry
        )
        self._running = Gauge("turnhub_turns_running", "Turns running here.", ["agent"], registry=registry)
        self._opened = Counter("turnhub_asks_opened", "Asks opened.", ["kind"], registry=registry)
        self._settled = Counter("turnhub_asks_settled", "Asks settled, by whom.", ["by"], registry=registry)
        self._waiting = Gauge("turnhub_asks_waiting", "Asks that runs here wait for.", registry=registry)
        self._streams = Gauge("turnhub_streams", "Streams attached here.", ["kind"], registry=registry)
        self._lagged = Counter("turnhub_streams_lagged", "Streams closed, too far behind.", registry=registry)
        self._events = Counter("turnhub_events_appended", "Events written.", registry=registry)
        self._batch = Histogram(
            "turnhub_append_batch_events", "Events in one append.", buckets=_BATCH, registry=registry
        )
        self._store = Histogram(
            "turnhub_store_seconds", "Duration of store calls.", ["call"], buckets=_FAST_S, registry=registry
        )
        self._store_errors = Counter(
            "turnhub_store_errors", "Store calls that failed.", ["call"], registry=registry
        )
        self._undistilled = Gauge(
            "turnhub_distill_backlog", "Ended turns that wait for their distillation, hub-wide.", registry=registry
        )
        self._distilled = Counter(
            "turnhub_turns_distilled",
            "Turns distilled here, by route; code is the failure's, empty where there was none.",
            ["route", "code"],
            registry=registry,
        )
        self._requests = Counter(
            "turnhub_http_requests", "Requests answered.", ["route", "status"], registry=registry
        )

    @contextmanager
    def turn(self, agent: str) -> Iterator[None]:
        """Count a turn of ``agent`` as started, and as running for as long as the context lasts."""
        self._started.labels(agent).inc()
        with self._running.labels(agent).track_inprogress():
            yield

    def turn_ended(self, agent: str, ending: Terminal) -> None:
        """Count the ending of a turn, whoever ran it."""
        outcome = type_of(ending).removeprefix("turn_")
        self._ended.labels(agent, outcome, ending.code if isinstance(ending, TurnFailed) else "").inc()
        self._took.labels(agent).observe(ending.duration_ms / 1000)

    @contextmanager
    def ask(self, kind: AskKind) -> Iterator[None]:
        """Count an ask as opened, and as waiting for as long as the context lasts."""
        self._opened.labels(kind).inc()
        with self._waiting.track_inprogress():
            yield

    def ask_settled(self, by: str) -> None:
        """Count a settlement; ``by`` is person, policy, keyboard or timeout."""
        self._settled.labels(by).inc()

    def distill_backlog(self, turns: int) -> None:
        """Show how many turns wait for their distillation."""
        self._undistilled.set(turns)

    def distilled(self, route: str, code: str) -> None:
        """Count a turn as distilled by ``route`` ("" by none), with the code of what failed ("" for nothing)."""
        self._distilled.labels(route, code).inc()

    @contextmanager
    def stream(self, kind: StreamKind) -> Iterator[None]:
        """Count a stream as attached for as long as the context lasts."""
        with self._streams.labels(kind).track_inprogress():
            yield

    def stream_lagged(self) -> None:
        """Count a stream that was closed because its reader was too slow."""
        self._lagged.inc()

    def appended(self, events: int) -> None:
        """Count one append of so many events."""
        self._events.inc(events)
        self._batch.observe(events)

    @contextmanager
    def store(self, call: str) -> Iterator[None]:
        """Measure the store call inside; one that raises counts as an error too."""
        start = time.perf_counter()
        try:
            with self._store_errors.labels(call).count_exceptions():
                yield
        finally:
            self._store.labels(call).observe(time.perf_counter() - start)

    def request(self, route: str, status: int) -> None:
        """Count an answered request; ``route`` is the pattern, never the path: there are endless paths."""
        self._requests.labels(route, str(status)).inc()

    def render(self) -> bytes:
        """All figures in Prometheus' text format (:data:`CONTENT_TYPE`)."""
        return generate_latest(self._registry)
