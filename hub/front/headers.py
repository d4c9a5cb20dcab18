"""What every answer that is no page says to browsers, so that nothing in it is taken for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import Message

HARDENED: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def hardened(start: Message) -> Message:
    """The beginning of a response with those headers that it does not set itself."""
    headers = MutableHeaders(raw=list(start.get("headers", ())))
    for name, value in HARDENED.items():
        headers.setdefault(name, value)
    return {**start, "headers": headers.raw}
