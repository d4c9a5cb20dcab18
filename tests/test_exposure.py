"""Who can reach the front: what is refused, and what is warned of."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.config import ServerConfig
from hub.errors import ConfigError
from hub.exposure import check_exposure, is_loopback, warnings

CERT = Path("hub.pem")


@pytest.mark.parametrize("host", ["localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])
def test_this_machine_alone_is_served_without_tls(host: str) -> None:
    """Nothing is refused, nothing is warned of."""
    check_exposure(ServerConfig(host=host))
    assert warnings(ServerConfig(host=host)) == []


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",
        "::",
        "",
        "192.168.1.2",
        "8.8.8.8",
        "[::]",
        "fe80::1",
        "hub.example",
        "localhost.example",
        "127.1",
    ],
)
def test_others_are_served_by_tls_or_by_a_word_that_it_is_meant(host: str) -> None:
    """Anything that is not surely this machine counts as open; the refusal names the keys and the options."""
    with pytest.raises(ConfigError) as caught:
        check_exposure(ServerConfig(host=host))
    for said in ("server.host", "server.tls_cert", "--tls-key", "127.0.0.1", "--insecure-bind"):
        assert said in caught.value.detail
    assert "\n" not in caught.value.detail
    check_exposure(ServerConfig(host=host, tls_cert=CERT))
    check_exposure(ServerConfig(host=host, insecure_bind=True))
    assert not is_loopback(host)


def test_what_is_meant_is_still_warned_of() -> None:
    """Without TLS; and where no name is configured by which others could come."""
    assert any("without TLS" in one for one in warnings(ServerConfig(host="0.0.0.0", insecure_bind=True)))
    (only,) = warnings(ServerConfig(host="0.0.0.0", tls_cert=CERT))
    assert "server.allowed_hosts" in only
    assert warnings(ServerConfig(host="0.0.0.0", tls_cert=CERT, allowed_hosts=("hub.example",))) == []
