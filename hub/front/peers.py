"""Who an address stands for, where requests and connections are counted."""

from __future__ import annotations

import ipaddress
from typing import Any, Final

_SITE_BITS: Final = 64  # what one customer of a provider has at least, and may choose addresses from


def peer_of(client: Any) -> str | None:
    """Whoever is behind ``client`` (host and port, as servers name it): an IPv4 address, the network of an IPv6
    one. None: this machine, or nobody can tell; many share that, so that it is not counted."""
    try:
        address = ipaddress.ip_address(str(client[0]).partition("%")[0])
    except (TypeError, IndexError, ValueError):
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            network = ipaddress.IPv6Network((address, _SITE_BITS), strict=False)
            return None if address.is_loopback else str(network)
        address = address.ipv4_mapped
    return None if address.is_loopback else str(address)
