"""The echo keeps the contract of all transports, and echoes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from turnhub_echo import EchoTransport

from hub import SessionInfo, Text, TextDelta, Transport
from hub.testing import FakeTurn, TransportContract


class TestEcho(TransportContract):
    """All that turnhub asks of a transport."""

    @pytest.fixture
    def transport(self) -> Transport:
        """The transport under test."""
        return EchoTransport()

    @pytest.mark.anyio
    async def test_it_says_everything_again(
        self, transport: Transport, hub_session: Callable[..., SessionInfo]
    ) -> None:
        """Word by word, then as a whole."""
        session = hub_session("echo")
        turn = FakeTurn("one  two", session=session)
        await turn.play(await transport.open(session))
        assert [delta.text for delta in turn.of(TextDelta)] == ["one ", " ", "two"]
        assert turn.of(Text) == [Text(block=0, text="one  two")]
