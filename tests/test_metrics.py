"""What a hub counts."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hub.events import TurnCompleted, TurnFailed, TurnInterrupted
from hub.metrics import CONTENT_TYPE, Metrics


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return float(sample.value)
    return None


def test_turns_are_counted_by_agent_and_by_how_they_ended() -> None:
    """Started, running, ended; a failure has its code."""
    metrics = Metrics()
    with metrics.turn("a"), metrics.turn("a"), metrics.turn("b"):
        assert value(metrics, "turnhub_turns_running", agent="a") == 2
    assert value(metrics, "turnhub_turns_running", agent="a") == 0
    assert value(metrics, "turnhub_turns_started_total", agent="a") == 2
    metrics.turn_ended("a", TurnCompleted(stop_reason="end_turn", duration_ms=1500))
    metrics.turn_ended("a", TurnFailed(code="stalled", message="", retryable=True, duration_ms=0))
    metrics.turn_ended("a", TurnInterrupted(by="x", duration_ms=0))
    for outcome, code in (("completed", ""), ("failed", "stalled"), ("interrupted", "")):
        assert value(metrics, "turnhub_turns_ended_total", agent="a", outcome=outcome, code=code) == 1
    assert value(metrics, "turnhub_turn_seconds_sum", agent="a") == 1.5


def test_a_turn_that_raises_is_not_running_any_more() -> None:
    """The gauge comes down whichever way the turn is left."""
    metrics = Metrics()
    with pytest.raises(RuntimeError), metrics.turn("a"):
        raise RuntimeError
    assert value(metrics, "turnhub_turns_running", agent="a") == 0


def test_asks_are_counted_as_opened_waiting_and_settled() -> None:
    """By kind, and by who settled them."""
    metrics = Metrics()
    with metrics.ask("permission"):
        assert value(metrics, "turnhub_asks_waiting") == 1
    metrics.ask_settled("person")
    assert value(metrics, "turnhub_asks_waiting") == 0
    assert value(metrics, "turnhub_asks_opened_total", kind="permission") == 1
    assert value(metrics, "turnhub_asks_settled_total", by="person") == 1


def test_streams_are_counted_while_they_are_attached() -> None:
    """And those that were closed for being slow."""
    metrics = Metrics()
    with metrics.stream("turn"):
        assert value(metrics, "turnhub_streams", kind="turn") == 1
    metrics.stream_lagged()
    assert value(metrics, "turnhub_streams", kind="turn") == 0
    assert value(metrics, "turnhub_streams_lagged_total") == 1


def test_appends_count_their_events_and_their_size() -> None:
    """Two appends of three events in all."""
    metrics = Metrics()
    metrics.appended(1)
    metrics.appended(2)
    assert value(metrics, "turnhub_events_appended_total") == 3
    assert value(metrics, "turnhub_append_batch_events_count") == 2
    assert value(metrics, "turnhub_append_batch_events_bucket", le="1.0") == 1


def test_store_calls_are_measured_and_failed_ones_counted() -> None:
    """A call that raises is measured too."""
    metrics = Metrics()
    with metrics.store("append"):
        pass
    with pytest.raises(OSError, match="away"), metrics.store("append"):
        raise OSError("away")
    assert value(metrics, "turnhub_store_seconds_count", call="append") == 2
    assert value(metrics, "turnhub_store_errors_total", call="append") == 1


def test_two_hubs_of_one_process_count_apart() -> None:
    """Nothing is registered for the whole process."""
    one, other = Metrics(), Metrics()
    one.request("/v1/agents", 200)
    assert value(one, "turnhub_http_requests_total", route="/v1/agents", status="200") == 1
    assert value(other, "turnhub_http_requests_total", route="/v1/agents", status="200") is None
    assert CONTENT_TYPE.startswith("text/plain")
