"""Bodies: bounded in size and time, and told clearly what is wrong with them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.types import Message, Receive

from hub.errors import BadRequest, HubError, Invalid
from hub.front.body import check_media_type, parse_object, read_body, typed
from hub.front.operations import Nothing
from hub.front.problems import BadJson, BodyTooLarge, BodyTooSlow, UnsupportedMediaType
from hub.front.views import NewMessage, NewSession, Retry, SessionsQuery

NONE = Headers({})


def parts(*bodies: bytes) -> Receive:
    """A body that comes in these parts."""
    left = list(bodies)

    async def receive() -> Message:
        part = left.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(left)}

    return receive


@pytest.mark.anyio
async def test_a_body_is_read_up_to_its_limit_and_not_beyond() -> None:
    """Exactly the limit passes; one byte more does not, whether or not a length was announced."""
    assert await read_body(NONE, parts(b"123", b"45"), 5) == b"12345"
    with pytest.raises(BodyTooLarge) as caught:
        await read_body(NONE, parts(b"123", b"456"), 5)
    assert caught.value.facts == {"limit": 5}


@pytest.mark.anyio
async def test_an_announced_length_beyond_the_limit_is_refused_unread() -> None:
    """Nothing is read, so that a client that waits for 100 Continue sends nothing."""

    async def unread() -> Message:
        raise AssertionError("The body was read.")

    with pytest.raises(BodyTooLarge):
        await read_body(Headers({"content-length": "6"}), unread, 5)


@pytest.mark.anyio
async def test_a_body_that_does_not_come_is_given_up() -> None:
    """Nobody can hold a request open by sending half of its body."""

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(BodyTooSlow):
        await read_body(NONE, never, 5, timeout_s=0.01)


@pytest.mark.anyio
async def test_a_body_cut_off_by_its_client_is_a_bad_request() -> None:
    """What came is not taken for the whole."""

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    with pytest.raises(BadRequest):
        await read_body(NONE, gone, 5)


@pytest.mark.parametrize(
    ("raw", "error", "told"),
    [
        (b'{"decision": "deny", "decision": "allow"}', Invalid, "`decision` stands twice"),
        (b'{"input": [{"a": 1, "\\u0061": 2}]}', Invalid, "`a` stands twice"),
        (b"", BadJson, "empty"),
        (b" \n ", BadJson, "empty"),
        (b'{"text": }', BadJson, "line 1, column 10 (byte 9)"),
        (b'{"a": 1,\n "b": x}', BadJson, "line 2, column 7 (byte 15)"),
        (b'{"text": "hi"', BadJson, "byte 13"),
        (b'{"a": 1} x', BadJson, "byte 9"),
        (b'{"a": NaN}', BadJson, "byte 6"),
        (b'\xef\xbb\xbf{"a": 1}', BadJson, "byte 0"),
        (b'{"a": "\xff"}', BadJson, "byte 7"),
        (b'{"a": "\\ud800"}', BadJson, "half a surrogate pair at line 1, column 8"),
        (b'{"a": "\\ud83d\\ude00\\udc00x"}', BadJson, "half a surrogate pair at line 1, column 20"),
        (b"[" * 50_000, BadJson, "nested"),
        (b'{"a": ' * 65 + b"1" + b"}" * 65, BadJson, "nested"),
        (b'{"a": ' * 900 + b"1" + b"}" * 900, BadJson, "nested"),
        (b"[]", Invalid, "an array"),
        (b"null", Invalid, "null"),
        (b"true", Invalid, "a boolean"),
        (b"1.5", Invalid, "a number"),
        (b'"text"', Invalid, "a string"),
        (b'{"a": 1e999}', Invalid, "too large"),
        (b'{"a": %s}' % (b"9" * 5000), Invalid, "too large"),
        (b'{"a": [1, 9223372036854775808]}', Invalid, "`a[1]`"),
        (b'{"a": {"b": "x\\u0000"}}', Invalid, "`a.b`"),
        (b'{"a\\u0000": 1}', Invalid, "NUL"),
    ],
)
def test_what_is_wrong_with_a_body_is_named(raw: bytes, error: type[HubError], told: str) -> None:
    """Malformed JSON is a bad request and names its place; what nothing can carry is not acceptable."""
    with pytest.raises(error) as caught:
        parse_object(raw)
    assert type(caught.value) is error
    assert told in caught.value.detail


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b'{"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]}',
        b'{"a": -9223372036854775808}',
        b'{"a": "\\ud83d\\ude00 \\u2028"}',
    ],
)
def test_odd_but_sound_objects_pass(raw: bytes) -> None:
    """The same name in objects of their own, the lowest number, emoji as surrogates: all of it is JSON."""
    assert isinstance(parse_object(raw), dict)


@pytest.mark.parametrize(
    ("value", "kind", "told"),
    [
        ({"text": "a", "colour": 1, "size": 2}, NewMessage, ("`colour`", "`size`")),
        ({}, NewMessage, ("`text`",)),
        ({"text": 5}, NewMessage, ("`text`", "`int`")),
        ({"text": None}, NewMessage, ("`text`",)),
        (
            {"text": "a", "on_busy": "wait"},
            NewMessage,
            ("`on_busy`", "'wait'", "attach, interrupt, queue, reject, steer"),
        ),
        ({"text": "a", "literal": "yes"}, NewMessage, ("`literal`",)),
        ({"agent": "claude", "title": "x" * 501}, NewSession, ("`title`", "500")),
        ({"agent": ""}, NewSession, ("`agent`",)),
        ({"mode": "again"}, Retry, ("`mode`", "rerun, resume")),
        ({"x": 1, "y": 2}, Nothing, ("`x`", "`y`", "There are: none")),
    ],
)
def test_a_field_that_does_not_fit_is_named(value: dict[str, Any], kind: type[Any], told: tuple[str, ...]) -> None:
    """All unknown fields at once, a wrong one by its name."""
    with pytest.raises(Invalid) as caught:
        typed(value, kind)
    for word in told:
        assert word in caught.value.detail


def test_query_parameters_come_as_text() -> None:
    """Numbers are read from text, within their bounds."""
    assert typed({"limit": "7"}, SessionsQuery, strict=False).limit == 7
    for bad in ("x", "0", "501", "1e3", "9" * 40):
        with pytest.raises(Invalid, match="limit"):
            typed({"limit": bad}, SessionsQuery, strict=False)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "application/json"},
        {"content-type": "Application/JSON; charset=UTF-8"},
        {"content-type": "application/merge-patch+json"},
        {"content-encoding": "identity"},
    ],
)
def test_json_passes_however_it_is_said(headers: dict[str, str]) -> None:
    """Also a body that does not say what it is."""
    check_media_type(Headers(headers))


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "text/plain"},
        {"content-type": "multipart/form-data; boundary=x"},
        {"content-type": "application/json; charset=latin-1"},
        {"content-encoding": "gzip"},
    ],
)
def test_what_is_not_json_is_refused_by_its_type(headers: dict[str, str]) -> None:
    """What a page of another site can send without asking is never taken for JSON."""
    with pytest.raises(UnsupportedMediaType):
        check_media_type(Headers(headers))
