"""What comes beside the body: cursors, the Idempotency-Key, what the client accepts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from starlette.datastructures import Headers, QueryParams

from hub.errors import BadCursor, NotFound
from hub.events import to_json
from hub.front.problems import BadIdempotencyKey
from hub.ids import is_session_id

EVENT_STREAM: Final = "text/event-stream"
JSON: Final = "application/json"
_CURSOR: Final = re.compile(r"[0-9]{1,16}")
_LAST_CURSOR: Final = 1 << 53
_KEY: Final = re.compile(r"[!-~]{1,255}")
_PAGE: Final = re.compile(r"[0-9]{1,15}\.(?P<session>.+)")


def parse_cursor(text: str, what: str) -> int:
    """The cursor in ``text``: a whole number from 0 to 2^53. Raises BadCursor, naming ``what`` it came from."""
    text = text.strip()
    if not _CURSOR.fullmatch(text) or int(text) > _LAST_CURSOR:
        raise BadCursor(f"{what} is the number of an event: a whole number, not {text[:40]!r}.")
    return int(text)


def cursor(headers: Headers, query: QueryParams, name: str) -> int:
    """Where to go on: ``Last-Event-ID`` (what an EventSource sends when it connects again, so it is newer than
    the address) before query parameter ``name``; 0 without either. Raises BadCursor."""
    for text, what in ((headers.get("last-event-id", ""), "Last-Event-ID"), (query.get(name, ""), f"`{name}`")):
        if text.strip():
            return parse_cursor(text, what)
    return 0


def page_cursor(text: str | None) -> str | None:
    """A cursor in the list of sessions, checked by its form. Raises BadCursor."""
    if not text:
        return None
    page = _PAGE.fullmatch(text)
    if not is_session_id(page["session"] if page else text):
        raise BadCursor("`before` is the id of a session, or what the last page's Link header names.")
    return text


def idempotency_key(headers: Headers) -> str | None:
    """The Idempotency-Key, None without one. Raises BadIdempotencyKey."""
    given = headers.getlist("idempotency-key")
    if not given:
        return None
    if len(given) > 1 or not _KEY.fullmatch(given[0]):
        raise BadIdempotencyKey("An Idempotency-Key is one word of 1 to 255 visible ASCII characters.")
    return given[0]


def asked(what: str, body: Struct) -> str:
    """What makes two requests the same one, where a key alone says that they are (SHA-256, hex)."""
    return hashlib.sha256(what.encode() + b"\0" + to_json(body)).hexdigest()


def session_id(text: str) -> str:
    """``text`` as a session's id. Raises NotFound where it cannot be one."""
    if not is_session_id(text):
        raise NotFound(f"There is no session {text[:80]!r}.")
    return text


def preferred(headers: Headers, offers: Sequence[str]) -> str:
    """Which of ``offers`` the client likes best, by its Accept header; the first where it does not say."""
    ranked: list[tuple[float, int, str]] = []
    for place, entry in enumerate(",".join(headers.getlist("accept")).split(",")):
        media, *parameters = (part.strip().lower() for part in entry.split(";"))
        if media in offers:
            ranked.append((-_quality(parameters), place, media))
    return min(ranked)[2] if ranked and min(ranked)[0] < 0 else offers[0]


def _quality(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
