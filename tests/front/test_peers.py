"""Who is counted as one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.front.peers import peer_of


@pytest.mark.parametrize(
    ("host", "peer"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::ffff", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("127.0.0.1", None),
        ("127.8.8.8", None),
        ("::1", None),
        ("::ffff:127.0.0.1", None),
    ],
)
def test_an_address_stands_for_whoever_can_choose_it(host: str, peer: str | None) -> None:
    """Of IPv6 a whole network, since its addresses cost nothing; this machine for nobody in particular."""
    assert peer_of((host, 1)) == peer


@pytest.mark.parametrize("client", [None, (), ("", 0), ("/run/hub.sock", 0), ("unknown",)])
def test_what_is_no_address_is_nobody_in_particular(client: Any) -> None:
    """As servers leave it out, or name a socket."""
    assert peer_of(client) is None


@given(st.text())
def test_any_text_is_somebody_or_nobody(text: str) -> None:
    """Nothing raises."""
    assert peer_of((text, 1)) is None or peer_of((text, 1))
