"""A hub that is killed and started again under a chat."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from hub.testing.process import hub_process
from tests.clihub import CliHub
from tests.tmuxpane import pane

CONFIG = '[plugins]\nenabled = []\n[agents.echo]\ntransport = "scripted"\n'


def test_a_killed_hub_is_told_of_and_what_became_of_the_turn_is_shown(tmp_path: Path) -> None:
    """What was said before stays, what is typed stays, the turn's end comes from the log, and the chat goes on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with hub_process(CONFIG, "--port", str(port)) as process:
        desk = CliHub(url=process.url, token=process.token, home=tmp_path)
        session = desk.new()
        environ = {name: value for name, value in desk.environ.items() if value is not None}
        with pane([sys.executable, "-m", "hub", "attach", session], environ, tmp_path) as chat:
            chat.see("/help says what there is")
            desk.start(session, {"text": "Before."}, {"hang": True})
            chat.see("\nBefore.")
            process.kill()
            chat.see("… the hub is away", "the hub is away")
            chat.type("kept words")
            chat.bottom("> kept words")
            chat.press("Enter")
            chat.see("A turn is running", "> kept words")
            process.start()
            chat.see("… the hub is back.", "✗ failed (owner_lost)", "/retry", "> kept words")
            chat.press("Enter")
            shown = chat.see("> kept words", "Echo: kept words", "✓ done")
            assert shown.count("\nBefore.") == 1
