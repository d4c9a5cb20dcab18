"""What a session may without asking: listed with who gave it, and taken back."""

from __future__ import annotations

import json
from pathlib import Path

from hub.testing.process import HubProcess
from tests.cli.test_answer import ask
from tests.clihub import BASH, CliHub


def test_a_grant_is_listed_and_taken_back(real: HubProcess, tmp_path: Path) -> None:
    """Given with an answer, shown with its ask; taken back, the same call is asked about again."""
    hub = CliHub(url=real.url, token=real.token, home=tmp_path)
    session, ask_id = ask(hub, BASH)
    assert hub.run("grants", session).stdout.strip().splitlines()[1:] == []
    hub.run("answer", ask_id, "--allow", "--scope", "session")
    hub.run("attach", session)
    (grant,) = json.loads(hub.run("grants", session, "--json").stdout)
    assert (grant["tool"], grant["ask_id"]) == ("Bash", ask_id)
    assert ask_id in hub.run("grants", session).stdout
    revoked = hub.run("grants", session, "--revoke", grant["id"])
    assert revoked.exit_code == 0
    assert "asked for again" in revoked.stderr
    again = hub.run("grants", session, "--revoke", grant["id"])
    assert again.exit_code == 2
    assert grant["id"] in again.stderr
    hub.start(session, BASH)
    assert hub.asked(session) != ask_id
