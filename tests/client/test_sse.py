"""The parser of server-sent events: the standard, wherever the bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hub.client.sse import SseMessage, SseParser


def parse(*chunks: bytes) -> list[SseMessage]:
    parser = SseParser()
    return [message for chunk in chunks for message in parser.feed(chunk)]


def test_a_frame_is_a_message_with_its_id_type_and_data() -> None:
    """The three lines that the hub sends."""
    found = parse(b'id: 7\nevent: text\ndata: {"a":1}\n\n')
    assert found == [SseMessage(event="text", data='{"a":1}', id="7")]


def test_comments_and_frames_without_data_give_nothing() -> None:
    """Heartbeats, `retry:` alone, and a type without data are no messages."""
    assert parse(b": hello\n\n", b"retry: 500\n\n", b"event: x\n\n", b"\n\n", b"id: 3\n\n") == []


def test_a_retry_that_shares_a_frame_does_not_hide_its_message() -> None:
    """The first event's frame carries `retry:`."""
    assert parse(b"retry: 5\nid: 1\nevent: a\ndata: x\n\n") == [SseMessage(event="a", data="x", id="1")]


def test_several_data_lines_are_joined_by_line_feeds() -> None:
    """Also empty ones, and a field without a colon."""
    assert parse(b"data: a\ndata\ndata:b\ndata:  c\n\n") == [SseMessage(event="message", data="a\n\nb\n c")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_all_line_ends_of_the_standard_are_understood(end: bytes) -> None:
    """LF, CRLF and CR."""
    stream = end.join((b"id: 1", b"data: a", b"", b"data: b", b"", b"")) + b"data"
    assert [message.data for message in parse(stream)] == ["a", "b"]


def test_a_message_does_not_wait_for_the_second_half_of_a_line_end() -> None:
    """After CR the message is there; a LF that follows in the next chunk is no empty line of its own."""
    parser = SseParser()
    assert [one.data for one in parser.feed(b"data: a\r\n\r")] == ["a"]
    assert parser.feed(b"\ndata: b\r\n") == []
    assert [one.data for one in parser.feed(b"\r\n")] == ["b"]


def test_the_last_id_stays_and_the_type_does_not() -> None:
    """An id counts until the next one; a type for its own frame only; an id with NUL is none."""
    found = parse(b"id: 1\nevent: x\ndata: a\n\ndata: b\n\nid: 2\0\ndata: c\n\n")
    assert [(one.id, one.event) for one in found] == [("1", "x"), ("1", "message"), ("1", "message")]


def test_a_byte_order_mark_is_passed_over_and_broken_bytes_are_replaced() -> None:
    """Nothing in the bytes raises."""
    assert [one.data for one in parse(b"\xef\xbb\xbfdata: \xff\xc3\xa4\n\n")] == ["\ufffd\u00e4"]


def test_other_separators_of_unicode_are_no_line_ends() -> None:
    """U+2028, U+0085, form feed and such may stand in data."""
    data = "a\u2028b\u0085c\x0bd\x0ce\x1cf"
    assert [one.data for one in parse(f"data: {data}\n\n".encode())] == [data]


def test_a_message_that_outgrows_the_bound_is_refused() -> None:
    """In one line, or in many."""
    with pytest.raises(ValueError, match="larger than 10 bytes"):
        SseParser(10).feed(b"data: 12345")
    parser = SseParser(10)
    parser.feed(b"data: 1\n")
    with pytest.raises(ValueError, match="larger than 10 bytes"):
        parser.feed(b"data: 2\n")
    assert len(SseParser(10).feed(b"data: 1\n\n")) == 1


FIELDS = st.sampled_from(
    (b"data: ", b"data:", b"data", b"id: ", b"event: ", b"retry: ", b": ", b"", b"\xef\xbb\xbf")
)
ENDS = st.sampled_from((b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b"\r\r", b""))
LINES = st.tuples(FIELDS, st.text(max_size=4).map(str.encode), ENDS).map(b"".join)


@settings(deadline=None)
@given(lines=st.lists(LINES, max_size=20), data=st.data())
def test_the_messages_are_the_same_wherever_the_bytes_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    """Whole, byte by byte, or cut at any points."""
    stream = b"".join(lines)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole = parse(stream)
    assert parse(*chunks) == whole
    assert parse(*(bytes([byte]) for byte in stream)) == whole
