"""Cursors, idempotency keys and Accept headers, as clients really send them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers, QueryParams

from hub.errors import BadCursor, NotFound
from hub.front.params import EVENT_STREAM, JSON, cursor, idempotency_key, page_cursor, preferred, session_id
from hub.front.problems import BadIdempotencyKey
from hub.ids import session_id as new_session_id

NOTHING = QueryParams("")


@pytest.mark.parametrize(
    "bad", ["-1", "x", "1.0", "1e3", "0x1", "²", "٣", "9007199254740993", "1" * 30, "1 2", "+1"]
)
def test_what_is_no_cursor_is_refused(bad: str) -> None:
    """Negative, not a number, beyond what JSON numbers can hold: each is told, none is guessed at."""
    with pytest.raises(BadCursor):
        cursor(Headers(raw=[]), QueryParams([("after", bad)]), "after")
    if bad.isascii():
        with pytest.raises(BadCursor):
            cursor(Headers({"last-event-id": bad}), NOTHING, "after")


def test_the_header_is_newer_than_the_address() -> None:
    """An EventSource that connects again keeps its address and adds the header."""
    assert cursor(Headers({"last-event-id": "9"}), QueryParams("after=3"), "after") == 9
    assert cursor(Headers({"last-event-id": ""}), QueryParams("after=3"), "after") == 3
    assert cursor(Headers({}), QueryParams("after="), "after") == 0
    assert cursor(Headers({}), QueryParams("after=9007199254740992"), "after") == 1 << 53


@given(st.text())
def test_any_text_is_a_cursor_or_a_bad_one(text: str) -> None:
    """Nothing else ever comes out."""
    with suppress(BadCursor):
        assert 0 <= cursor(Headers({}), QueryParams([("after", text)]), "after") <= 1 << 53


@given(st.text())
def test_any_text_is_a_page_or_a_bad_one(text: str) -> None:
    """Nothing else ever comes out."""
    with suppress(BadCursor):
        page_cursor(text)


def test_a_page_is_named_by_a_session_or_by_the_last_page() -> None:
    """Both are taken as they stand."""
    name = new_session_id()
    assert page_cursor(name) == name
    assert page_cursor(f"1700000000000.{name}") == f"1700000000000.{name}"
    assert page_cursor(None) is None
    for bad in ("²." + name, "." + name, "x", f"{'1' * 16}.{name}"):
        with pytest.raises(BadCursor):
            page_cursor(bad)


@pytest.mark.parametrize("bad", ["", " ", "a b", "é", "x" * 256, "a\tb"])
def test_what_is_no_idempotency_key_is_refused(bad: str) -> None:
    """1 to 255 visible characters, nothing else."""
    with pytest.raises(BadIdempotencyKey):
        idempotency_key(Headers({"idempotency-key": bad}))


def test_an_idempotency_key_is_taken_as_it_stands() -> None:
    """Also the longest, and the quoted form of the draft; two of them are none."""
    assert idempotency_key(Headers({})) is None
    assert idempotency_key(Headers({"idempotency-key": '"8e03"'})) == '"8e03"'
    assert idempotency_key(Headers({"idempotency-key": "x" * 255})) == "x" * 255
    with pytest.raises(BadIdempotencyKey):
        idempotency_key(Headers(raw=[(b"idempotency-key", b"a"), (b"idempotency-key", b"b")]))


@pytest.mark.parametrize(
    ("accept", "best"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("text/event-stream", EVENT_STREAM),
        ("Text/Event-Stream ; q=0.5", EVENT_STREAM),
        ("application/json, text/event-stream", JSON),
        ("text/event-stream, application/json", EVENT_STREAM),
        ("application/json;q=0.5, text/event-stream;q=0.9", EVENT_STREAM),
        ("text/event-stream;q=0, */*", JSON),
        ("text/event-stream;q=nonsense", JSON),
        ("text/html, */*;q=0.8", JSON),
        (",;,", JSON),
    ],
)
def test_the_answer_is_what_the_client_likes_best(accept: str, best: str) -> None:
    """Where it does not say, the first that is offered."""
    assert preferred(Headers({"accept": accept}), (JSON, EVENT_STREAM)) == best


def test_what_cannot_be_a_session_is_not_looked_for() -> None:
    """An id of another form is simply not there."""
    for bad in ("", "ses_", "ses_" + "u" * 26, "x" * 10_000, "ses_\0", new_session_id().upper()):
        with pytest.raises(NotFound):
            session_id(bad)
