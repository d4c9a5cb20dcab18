"""An agent's terminal, seen over HTTP."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from hub.testing import hub_process, wait_for

CONFIG = """
[plugins]
enabled = ["tmux"]
[agents.pane]
transport = "tmux"
command = "sh -c 'echo Here I am; exec sleep 600'"
kind = "codex"
socket = "{folder}/tmux"
[agents.echo]
transport = "scripted"
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name, gone in the end with the tmux in it."""
    made = Path(tempfile.mkdtemp(prefix="th-"))
    yield made
    subprocess.run(["tmux", "-S", str(made / "tmux"), "kill-server"], capture_output=True, check=False)
    shutil.rmtree(made, ignore_errors=True)


def test_the_terminal_of_a_session_is_seen_from_elsewhere(folder: Path) -> None:
    """Before it is there the hub says so; then its rows are shown with what is read from them, and the command
    that is named for it reaches it; agents without a terminal are refused by their name."""
    with hub_process(CONFIG.format(folder=folder)) as hub:
        headers = {"Authorization": f"Bearer {hub.token}"}
        with httpx.Client(base_url=hub.url, headers=headers, trust_env=False, timeout=30) as client:
            session = client.post("/v1/sessions", json={"agent": "pane"}).json()["id"]
            path = f"/v1/sessions/{session}/screen"
            none = client.get(path)
            assert (none.status_code, none.json()["code"]) == (503, "no_screen")
            assert "with the next message" in none.json()["detail"]
            client.post(f"/v1/sessions/{session}/messages", json={"text": "hello"})
            wait_for(lambda: "Here I am" in client.get(path).text, 30)
            seen = client.get(path).json()
            assert seen["rows"][0] == "Here I am"
            assert seen["columns"] >= 80
            command = shlex.split(seen["attach"])
            command[command.index("attach")] = "has-session"
            assert subprocess.run(command, check=False).returncode == 0
            other = client.post("/v1/sessions", json={"agent": "echo"}).json()["id"]
            refused = client.get(f"/v1/sessions/{other}/screen")
            assert (refused.status_code, refused.json()["code"]) == (409, "screen_unsupported")
            assert "'echo'" in refused.json()["detail"]
            client.post(f"/v1/sessions/{session}/interrupt", json={})
