"""Pure: addresses at which a cloud hands out credentials, in all forms in which programs take them."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

_NAMES: Final = re.compile(
    r"metadata(?:\.google(?:\.internal)?)?|instance-data(?:\.ec2\.internal)?|.*a9fea9fe.*", re.IGNORECASE
)
_WRITTEN: Final = re.compile(r"(?<![\d.-])169[.-]254[.-]169[.-]254(?![\d])")
_NETWORKS: Final = tuple(
    ip_network(text)
    for text in ("169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32")
)
_HOST: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:[^/?#@\s]*@)?(\[[^\]\s]*\]|[^/?#:@\s]+)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"0x[0-9a-f]*|\d+", re.IGNORECASE)


def gives_credentials(address: str) -> bool:
    """Whether an address, or the host in it, is one that hands out credentials."""
    if _WRITTEN.search(address):
        return True
    found = _HOST.match(re.sub(r"^--?[\w-]+=", "", address))
    if found is None:
        return False
    host = found[1].strip("[]").rstrip(".")
    if _NAMES.fullmatch(host):
        return True
    number = _number(host)
    return number is not None and any(number in network for network in _NETWORKS)


def _number(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is, as ``inet_aton`` takes it: decimal, octal or hexadecimal, one part or four."""
    if ":" in host:
        try:
            found = ip_address(host.partition("%")[0])
        except ValueError:
            return None
        return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found
    parts = host.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    try:
        values = [_value(part) for part in parts]
    except ValueError:
        return None
    whole = values.pop()
    for place, value in enumerate(values):
        if value > 0xFF:
            return None
        whole += value << (24 - 8 * place)
    return IPv4Address(whole) if whole <= 0xFFFFFFFF else None


def _value(part: str) -> int:
    if part[:2].lower() == "0x":
        return int(part[2:] or "0", 16)
    return int(part, 8) if part[0] == "0" and len(part) > 1 else int(part)
