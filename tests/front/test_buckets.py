"""Token buckets: never more than they hold, never less than promised, and little kept of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hub.front.buckets import Buckets, Rate, take

RATES = st.builds(Rate, per_s=st.floats(0.01, 1000), burst=st.integers(1, 50))
PAUSES = st.lists(st.floats(0, 5), max_size=80)


def taken(rate: Rate, pauses: list[float], begin: float) -> list[float]:
    """The times at which one was had, for somebody who asks after each pause."""
    now, full_at, had = begin, begin, []
    for pause in pauses:
        now += pause
        full_at, wait = take(full_at, now, rate)
        if not wait:
            had.append(now)
    return had


@given(rate=RATES, pauses=PAUSES, begin=st.floats(0, 1e7))
def test_in_no_span_of_time_more_is_had_than_burst_and_rate_allow(
    rate: Rate, pauses: list[float], begin: float
) -> None:
    """Whenever one asks."""
    had = taken(rate, pauses, begin)
    for first, start in enumerate(had):
        for last in range(first, len(had)):
            allowed = rate.burst + (had[last] - start) * rate.per_s
            assert last - first + 1 <= allowed + 0.01 * len(had)


@given(rate=RATES, begin=st.floats(0, 1e7))
def test_a_full_bucket_gives_its_burst_at_once_and_then_says_how_long_to_wait(rate: Rate, begin: float) -> None:
    """Not one less for rounding; after that wait there is one, and being refused costs nothing."""
    full_at = begin
    for _ in range(rate.burst):
        full_at, wait = take(full_at, begin, rate)
        assert not wait
    refused, wait = take(full_at, begin, rate)
    assert refused == full_at
    assert 0 < wait <= 1 / rate.per_s * 1.01
    assert not take(full_at, begin + wait * 1.001 + 1e-6, rate)[1]


@given(pauses=PAUSES)
def test_without_a_rate_there_is_no_bound(pauses: list[float]) -> None:
    """And nothing is kept."""
    assert len(taken(Rate(0, 1), pauses, 0)) == len(pauses)
    buckets = Buckets(Rate(0, 1))
    assert [buckets.take("a", 0) for _ in pauses] == [0.0] * len(pauses)
    assert len(buckets) == 0


def test_keys_have_buckets_of_their_own() -> None:
    """One who asks too often costs the others nothing; looking takes nothing."""
    buckets = Buckets(Rate(1, 2))
    assert [buckets.take("a", 10) for _ in range(3)] == [0.0, 0.0, 1.0]
    assert buckets.wait("a", 10) == 1.0
    assert buckets.wait("b", 10) == 0.0
    assert buckets.take("b", 10) == 0.0
    assert buckets.take("a", 11) == 0.0


def test_what_is_kept_is_bounded_however_many_ask() -> None:
    """A bucket that has filled up again is forgotten; of too many, the one that has not been asked longest."""
    buckets = Buckets(Rate(1, 2), most=100)
    for number in range(10_000):
        buckets.take(f"k{number}", 0)
    assert len(buckets) == 100
    assert buckets.take("k9999", 0) == 0.0
    assert buckets.take("k9999", 0) == 1.0
    buckets.take("later", 50)
    assert len(buckets) == 1
