"""The terminal of an agent in tmux, seen from the page."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from hub.testing.process import HubProcess, hub_process
from tests.web.visitor import Visitor, Visitors, client

CONFIG = """
[plugins]
enabled = ["tmux"]
[agents.pane]
transport = "tmux"
command = "sh -c 'read x < gate; echo Seen twice; exec sleep 600'"
kind = "codex"
socket = "{folder}/tmux"
[agents.echo]
transport = "scripted"
"""

pytestmark = [pytest.mark.slow]


@pytest.fixture
def terminal_hub(folder: Path) -> Iterator[HubProcess]:
    """A hub with an agent in a terminal."""
    with hub_process(CONFIG.format(folder=folder)) as hub:
        subprocess.run(["mkfifo", str(hub.folder / "gate")], check=True)
        yield hub


def test_the_terminal_is_shown_while_one_looks_and_what_is_new_in_it(
    terminal_hub: HubProcess, visitors: Visitors
) -> None:
    """The button is there for agents that have a terminal. The window says why there is nothing yet, then shows
    the terminal as it changes, and the command to sit down at it; closed, nobody looks any more."""
    me: Visitor = visitors.come(terminal_hub)
    me.expected = {"503"}
    me.open()
    me.begin("echo")
    button = me.page.get_by_role("button", name="Terminal", exact=True)
    expect(button).to_be_hidden()
    session = me.begin("pane")
    button.click()
    window = me.page.get_by_role("dialog", name="The agent's terminal")
    expect(window).to_contain_text("The agent has no terminal now.")
    with client(terminal_hub) as http:
        http.post(f"/v1/sessions/{session}/messages", json={"text": "hello"})
    expect(window).to_contain_text("It is read as:")
    expect(window.locator("code")).to_have_text(re.compile(rf"^tmux -S \S+ attach -t =turnhub-{session}$"))
    (terminal_hub.folder / "gate").write_text("go\n")
    expect(window.locator("pre")).to_contain_text("Seen twice")
    me.page.keyboard.press("Escape")
    expect(window).to_be_hidden()
    looks: list[str] = []
    me.page.on("request", lambda request: looks.append(request.url) if request.url.endswith("/screen") else None)
    me.page.locator("body").press("t")
    expect(window.locator("pre")).to_contain_text("Seen twice")
    me.page.get_by_role("button", name="Close", exact=True).click()
    seen = len(looks)
    me.page.wait_for_timeout(1500)
    assert len(looks) == seen
    with client(terminal_hub) as http:
        http.post(f"/v1/sessions/{session}/interrupt", json={})
