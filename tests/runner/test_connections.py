"""Connections by session: two who want the same one at the same time."""

from __future__ import annotations

import asyncio

import pytest

from hub.errors import HubError
from hub.runner.connections import Connections
from hub.testing import make_session
from hub.testing.scripted import ScriptedTransport
from hub.transport import Connection, SessionInfo

pytestmark = pytest.mark.anyio
SESSION = make_session()


class Slow(ScriptedTransport):
    """A transport whose first connection takes as long as the test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = 0
        self.go = asyncio.Event()

    async def open(self, session: SessionInfo) -> Connection:
        """A connection."""
        self.opened += 1
        if self.opened == 1:
            await self.go.wait()
        return await super().open(session)


@pytest.mark.parametrize("idle", [True, False], ids=["watched", "in use"])
async def test_a_turn_gets_the_connection_that_was_opened_to_watch_meanwhile(*, idle: bool) -> None:
    """A hub that starts looks after its sessions while their first messages come: none of them fails by that. One
    that is in use belongs to a newer turn."""
    connections, transport = Connections(60.0), Slow()
    turn = asyncio.create_task(connections.borrow(transport, SESSION, after="me"))
    await asyncio.sleep(0)
    other = await connections.borrow(transport, SESSION, after="me")
    if idle:
        connections.give_back(other, after="me")
    transport.go.set()
    if idle:
        assert await turn is other
        assert other.busy
    else:
        with pytest.raises(HubError, match="too late"):
            await turn
    await connections.close()
