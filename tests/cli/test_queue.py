"""What waits in a session: listed, changed, taken back, and let go on after a failure."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from hub.client import Address, Client
from hub.events import type_of
from hub.testing.process import HubProcess
from tests.clihub import BASH, CliHub

HELD: tuple[Any, ...] = (BASH, {"fail": {"code": "agent_error", "message": "no", "retryable": True}})


def test_what_waits_is_listed_changed_and_let_go_on(real: HubProcess, tmp_path: Path) -> None:
    """Two messages wait behind a turn that fails once it is answered: one is changed, one taken back; what is left
    stands still after the failure, and runs when the queue is resumed."""
    hub = CliHub(url=real.url, token=real.token, home=tmp_path)
    session = hub.new()
    hub.start(session, *HELD)
    ask = hub.asked(session)
    for text in ("one", "two"):
        hub.post(f"sessions/{session}/messages", text=text, on_busy="queue")
    first, second = json.loads(hub.run("queue", session, "--json").stdout)
    assert (first["text"], second["text"]) == ("one", "two")
    assert hub.run("queue", session, "--edit", first["message_id"], "uno").exit_code == 0
    assert hub.run("queue", session, "--remove", second["message_id"]).exit_code == 0
    assert hub.run("queue", session, "--edit", "x", "y", "--resume").exit_code == 2
    assert asyncio.run(ending(hub, session, ask)) == "turn_failed"
    assert "uno" in hub.run("queue", session).stdout
    assert hub.run("queue", session, "--resume").exit_code == 0
    hub.run("attach", session)
    assert "Echo: uno" in hub.run("show", session).stdout
    assert hub.run("queue", session, "--resume").exit_code == 2


async def ending(hub: CliHub, session: str, ask: str) -> str:
    """Answer the ask of the running turn, and see that turn to its end: how it ended."""
    async with Client(Address(url=hub.url, token=hub.token)) as client, client.attach(session) as stream:
        last = ""
        async for one in stream:
            if not last:
                await client.answer(ask, {"decision": "allow"})
            last = type_of(one.event)
    return last
