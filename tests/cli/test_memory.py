"""What is kept of a session's turns, as the command line shows it."""

from __future__ import annotations

import json
from pathlib import Path

from hub.cli.memory import lines
from hub.testing.process import HubProcess
from tests.clihub import CliHub


def test_the_memory_of_a_session_can_be_shown(real: HubProcess, tmp_path: Path) -> None:
    """As JSON, and for a person; an unknown session is a mistake of the caller."""
    hub = CliHub(url=real.url, token=real.token, home=tmp_path)
    session = hub.run("new", "echo", "--sensitive").stdout.strip().splitlines()[-1]
    found = json.loads(hub.run("memory", session, "--json").stdout)
    assert found == {"memory": [], "pending": []}
    assert hub.run("memory", session).exit_code == 0
    assert hub.run("memory", "ses_01m8n0a252p9dn1xhpsvr7k5wx").exit_code == 2


def test_a_person_reads_who_made_it_and_what_failed() -> None:
    """Failures stand before what was made all the same."""
    entry = {
        "turn_id": "trn_1",
        "at": "2030-01-01T00:00:00Z",
        "route": "extractive",
        "model": None,
        "failure": {"code": "timeout", "message": "Too slow."},
        "distillate": {
            "summary": "Asked: x\nAnswered: y",
            "files_changed": ["a.py"],
            "failures": [{"what": "pytest", "why": "1 failed"}],
            "key_findings": ["It works."],
        },
    }
    assert list(lines(entry)) == [
        "trn_1  2030-01-01T00:00:00Z  by extractive",
        "  failed: timeout: Too slow.",
        "  Asked: x",
        "  Answered: y",
        "  changed: a.py",
        "  trouble: pytest: 1 failed",
        "  found: It works.",
    ]
    only = {**entry, "route": "cheap", "model": "small", "failure": None, "distillate": None}
    assert list(lines(only)) == ["trn_1  2030-01-01T00:00:00Z  by cheap (small)"]
