"""Whom a request comes from when a proxy hands it on, as pure ASGI middleware around the front.

``X-Forwarded-For`` and ``X-Forwarded-Proto`` can be written by anybody, so they are read of connections from
``server.trusted_proxies`` only. Of the addresses the last is what the nearest proxy saw, and so on backwards: the
first from there that is no trusted proxy is whom the request comes from, and what stands before it is hearsay.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_PORT: Final = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<v4>[0-9.]+))(?::[0-9]{1,5})?")
_SCHEMES: Final = frozenset({"http", "https"})


class Trusted:
    """The networks whose proxies are believed."""

    def __init__(self, networks: Iterable[str]) -> None:
        """Raises ValueError for what is neither an address nor a network."""
        self._networks: tuple[Network, ...] = tuple(ipaddress.ip_network(one) for one in networks)

    def __bool__(self) -> bool:
        """Whether anybody is believed."""
        return bool(self._networks)

    def has(self, client: Any) -> bool:
        """Whether ``client`` (host and port, as servers name it) is one of them."""
        try:
            address = address_of(str(client[0]))
        except (TypeError, IndexError):
            return False
        return address is not None and self.holds(address)

    def holds(self, address: Address) -> bool:
        """Whether ``address`` is in one of the networks."""
        return any(address in network for network in self._networks)


class Proxied:
    """Passes requests on as those of whom the trusted proxies name."""

    def __init__(self, app: ASGIApp, trusted: Trusted) -> None:
        self._app = app
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See whom it comes from, then pass on."""
        if scope["type"] == "http" and self._trusted.has(scope.get("client")):
            headers = Headers(scope=scope)
            scope = {**scope, **_client(headers, self._trusted), **_scheme(headers)}
        await self._app(scope, receive, send)


def address_of(text: str) -> Address | None:
    """The address in ``text``, which may have a port and a zone; an IPv4 address for one that is mapped into IPv6.
    None where it is none."""
    found = _PORT.fullmatch(text)
    bare = (found["v6"] or found["v4"]) if found else text
    try:
        address = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return (getattr(address, "ipv4_mapped", None)) or address


def _client(headers: Headers, trusted: Trusted) -> dict[str, Any]:
    """The client that the proxies name: {} where they name none, nobody in particular is then the proxy."""
    for said in reversed(",".join(headers.getlist("x-forwarded-for")).split(",")):
        address = address_of(said.strip())
        if address is None:
            return {}
        if not trusted.holds(address):
            return {"client": (str(address), 0)}
    return {}


def _scheme(headers: Headers) -> dict[str, Any]:
    """The scheme by which the nearest proxy was asked."""
    said = ",".join(headers.getlist("x-forwarded-proto")).rpartition(",")[2].strip().lower()
    return {"scheme": said} if said in _SCHEMES else {}
