"""Who can reach the front: this machine alone, or others too. Decided by the address that it listens on."""

from __future__ import annotations

import ipaddress

from hub.config import ServerConfig
from hub.errors import ConfigError


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this very machine, and no other can come by it."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_exposure(server: ServerConfig) -> None:
    """Raise ConfigError where others can reach the front, without TLS, and nobody has said that this is meant."""
    if is_loopback(server.host) or server.tls_cert is not None or server.insecure_bind:
        return
    raise ConfigError(
        f"server.host: {server.host!r} is reached from other machines, and without TLS everybody on the way reads "
        "along, tokens too. Name a certificate (server.tls_cert and server.tls_key, or --tls-cert and --tls-key), "
        "or listen on 127.0.0.1 behind a proxy or an SSH tunnel. --insecure-bind (server.insecure_bind) does it "
        "all the same."
    )


def warnings(server: ServerConfig) -> list[str]:
    """What is worth a warning at the start: one sentence each."""
    if is_loopback(server.host):
        return []
    found = []
    if server.tls_cert is None:
        found.append("Others can reach the hub, without TLS: whoever is on the way reads along, tokens too.")
    if all(is_loopback(name) for name in server.allowed_hosts):
        found.append(
            "server.allowed_hosts names this machine only, so others are refused: add the name that they use."
        )
    return found
