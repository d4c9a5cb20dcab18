"""What waits in a session: listed, changed, taken back, and let go on after a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hub.testing.process import HubProcess
from tests.clihub import CliHub

FAILING: tuple[Any, ...] = (
    {"sleep_ms": 1500},
    {"fail": {"code": "agent_error", "message": "no", "retryable": True}},
)


def test_what_waits_is_listed_changed_and_let_go_on(real: HubProcess, tmp_path: Path) -> None:
    """Two messages wait behind a turn that fails: one is changed, one taken back; resumed, the other runs."""
    hub = CliHub(url=real.url, token=real.token, home=tmp_path)
    session = hub.new()
    hub.start(session, *FAILING)

    for text in ("one", "two"):
        hub.post(f"sessions/{session}/messages", text=text, on_busy="queue")
    first, second = json.loads(hub.run("queue", session, "--json").stdout)
    assert (first["text"], second["text"]) == ("one", "two")
    assert hub.run("queue", session, "--edit", first["message_id"], "uno").exit_code == 0
    assert hub.run("queue", session, "--remove", second["message_id"]).exit_code == 0
    assert hub.run("queue", session, "--edit", "x", "y", "--resume").exit_code == 2
    assert hub.run("attach", session).exit_code == 1
    assert "uno" in hub.run("queue", session).stdout
    assert hub.run("queue", session, "--resume").exit_code == 0
    hub.run("attach", session)
    assert "Echo: uno" in hub.run("show", session).stdout
    assert hub.run("queue", session, "--resume").exit_code == 2
