"""Host and Origin checks around everything (DNS rebinding, cross-site requests), as pure ASGI middleware.

A request has to name the hub by one of its own names. A browser's request has to come from the hub's own
pages, or from a page of ``server.allowed_origins``, which then gets the CORS headers it needs. Clients that
are no browsers send no Origin and are asked for a token like everybody.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hub.errors import HubError
from hub.front.problems import BadHost, ForeignHost, ForeignOrigin, problem

_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_ORIGIN: Final = re.compile(r"(https?)://([^/?#@\s]+)", re.IGNORECASE)
_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Accept",
    "Access-Control-Max-Age": "600",
}


class Authority(Struct, frozen=True):
    """A host, normalised, and its port where one is named."""

    host: str
    port: int | None = None


def authority(text: str) -> Authority | None:
    """The host and port in ``text`` (``name``, ``name:port``, ``[v6]:port``); None where it is neither."""
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    host, port = found[1].lower(), found[2]
    if host.startswith("["):
        try:
            host = f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]"
        except ValueError:
            return None
    return Authority(host.removesuffix("."), int(port) if port else None)


def _configured(names: Iterable[str]) -> frozenset[Authority]:
    """Configured names; a bare IPv6 address counts with and without its brackets."""
    found = (authority(f"[{name}]" if name.count(":") > 1 and "[" not in name else name) for name in names)
    return frozenset(one for one in found if one is not None)


class Guard:
    """Lets through what names the hub rightly and comes from where it may."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], origins: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = _configured(hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then pass on."""
        if scope["type"] != "http":
            return  # no lifespan, no websockets: nothing here speaks them
        headers = Headers(scope=scope)
        try:
            origin = self._check(headers)
        except HubError as error:
            await problem(error)(scope, receive, send)
            return
        if origin is None:
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            answer = Response(status_code=204, headers=_PREFLIGHT)
            await answer(scope, receive, _sharing(send, origin))
        else:
            await self._app(scope, receive, _sharing(send, origin))

    def _check(self, headers: Headers) -> str | None:
        """The Origin that CORS headers are wanted for, None without one."""
        given = headers.getlist("host")
        host = authority(given[0].strip()) if len(given) == 1 else None
        if host is None:
            raise BadHost("A request needs one Host header that names a host.")
        if host not in self._hosts and Authority(host.host) not in self._hosts:
            raise ForeignHost(
                f"The hub is not known as {host.host!r} here; server.allowed_hosts says which names it has."
            )
        return self._origin(headers, host)

    def _origin(self, headers: Headers, host: Authority) -> str | None:
        given = headers.getlist("origin")
        if not given:
            if headers.get("sec-fetch-site") in {"cross-site", "same-site"} and not _navigates(headers):
                raise ForeignOrigin("This request was made by another site's page.")
            return None
        if len(given) == 1 and given[0].lower() in self._origins:
            return given[0]
        if len(given) > 1 or not _same(given[0], host):
            raise ForeignOrigin(
                f"Pages of {given[0][:100]!r} may not talk to this hub; server.allowed_origins says which may."
            )
        return None


def _navigates(headers: Headers) -> bool:
    """Whether a person follows a link, which shows them a page and tells the other site nothing."""
    return headers.get("sec-fetch-mode") == "navigate"


def _same(origin: str, host: Authority) -> bool:
    found = _ORIGIN.fullmatch(origin)
    named = authority(found[2]) if found else None
    if found is None or named is None:
        return False
    default = _PORTS[found[1].lower()]
    return named.host == host.host and (named.port or default) == (host.port or default)


def _sharing(send: Send, origin: str) -> Send:
    """``send`` with the headers that let a page of ``origin`` read the answer."""

    async def sharing(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message["headers"]))
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = "Link, Location, Retry-After"
            headers.add_vary_header("Origin")
            message = {**message, "headers": headers.raw}
        await send(message)

    return sharing
