"""docs/terminal.md is so: its commands run as they stand, and its table has what the chat's own help has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from hub.cli.chat.commands import HELP
from tests.hubhome import home_with_hub

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/terminal.md").read_text()


def test_its_commands_run_as_they_stand() -> None:
    """In a shell without a terminal, one after the other."""
    (script,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    with home_with_hub() as home:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=home.hub.folder,
            env={**home.environment, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
    assert done.returncode == 0, done.stderr
    ended, row, idle = done.stdout.splitlines()
    assert '"type":"turn_completed"' in ended
    assert row.split("\t")[1:3] == ["idle", "rehearsal"]
    assert idle == "1"
    assert "No turn is running" in done.stderr


def test_its_table_has_every_command_of_the_chat() -> None:
    """And no others."""
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    shown = {word for row in rows for word in re.findall(r"/[a-zA-Z/]+(?: TEXT| N TEXT| N| /CLEAR)?", row)}
    helped = {line.split("  ")[1].strip() for line in HELP.splitlines() if line.startswith("  /")}
    assert shown == helped
