"""The real Claude Code on the page, behind the SDK and in a terminal; its model is scripted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import expect
from turnhub_tmux.testing import bundled_claude, trust

from hub.testing import Use, ask_user, claude_environment, reply
from hub.testing.model_script import Rule, Rules
from hub.testing.process import HubProcess, hub_process
from tests.web.test_looks import findings
from tests.web.visitor import PHONE, Visitors

pytestmark = [pytest.mark.slow, pytest.mark.real]

TOPPINGS = {"question": "Which toppings?", "header": "Top", "options": ["Cheese", "Ham"], "multiSelect": True}
MODEL = Rules(
    rules=(
        Rule(
            when="Write it.*",
            answers=(
                reply(Use("Write", {"file_path": "{cwd}/note.txt", "content": "first line\nsecond line\n"})),
                reply("It **is** written."),
            ),
        ),
        Rule(when="Ask me.*", answers=(reply(ask_user(TOPPINGS)), reply("Thank you."))),
    ),
    otherwise=(reply("Nothing to say to that.", times=None),),
)
AGENT = """
[agents.{name}]
{transport}
cwd = {cwd}
[agents.{name}.env]
{env}
"""


@pytest.fixture
def model(folder: Path) -> Iterator[str]:
    """The address of a model that says what the rules say."""
    cwd = folder / "work"
    cwd.mkdir()
    script = folder / "rules.json"
    script.write_bytes(msgspec.json.encode(MODEL).replace(b"{cwd}", str(cwd).encode()))
    command = [sys.executable, "-m", "hub.testing.model", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.fixture
def claude_hub(folder: Path, model: str) -> Iterator[HubProcess]:
    """A hub with Claude Code behind the SDK and in a terminal."""
    pane = f'transport = "tmux"\ncommand = "{bundled_claude()} --permission-mode default"\nkind = "claude-code"'
    transports = {"behind": 'transport = "sdk"', "pane": f'{pane}\nsocket = "{folder}/tmux"'}
    config = '[plugins]\nenabled = ["tmux", "sdk"]\n'
    for name, transport in transports.items():
        env = claude_environment(model, folder / name)
        trust(folder / name / ".claude", folder / "work")
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in env.items())
        config += AGENT.format(name=name, transport=transport, cwd=json.dumps(str(folder / "work")), env=lines)
    with hub_process(config, environ={"IS_SANDBOX": "1"}) as hub:
        yield hub


@pytest.mark.timeout(240)
@pytest.mark.parametrize("agent", [pytest.param("behind", marks=pytest.mark.full), "pane"])
def test_a_real_claude_code_is_talked_to(
    claude_hub: HubProcess, visitors: Visitors, folder: Path, agent: str
) -> None:
    """A file that it wants to write is shown as the change that it is, and written once that is allowed on the
    phone; a question with several answers is answered; beside each message stands its verdict and the proof. The
    terminal is shown on demand with the command to sit down at it; axe finds nothing in any of it, in the dark."""
    me = visitors.come(claude_hub, PHONE, color_scheme="dark")
    me.open()
    me.page.get_by_role("button", name="Sessions").click()
    me.begin(agent)
    me.say("Write it, please.")
    expect(me.open_asks.get_by_text("Write wants to run")).to_be_visible(timeout=90_000)
    expect(me.open_asks.locator(".diff .added")).to_have_text(["+ first line\n", "+ second line\n"])
    assert findings(me) == []
    me.open_asks.get_by_role("button", name="Allow once").click()
    turn = me.ended(1)
    expect(turn.locator(".markdown strong")).to_have_text("is")
    assert (folder / "work/note.txt").read_text() == "first line\nsecond line\n"
    proof = {"behind": "delivered · shown by sdk", "pane": "delivered · shown by (hook|transcript)"}[agent]
    expect(me.page.locator("article.user .facts").first).to_have_text(re.compile(proof))
    turn.locator(".activity > summary").click()
    turn.locator(".tool > summary").click()
    expect(turn.locator(".tool .added").first).to_have_text("+ first line\n")
    assert findings(me) == []
    me.say("Ask me, please.")
    me.open_asks.get_by_label("Cheese").check()
    me.open_asks.get_by_label("Ham").check()
    me.open_asks.get_by_role("button", name="Send the answer").click()
    expect(me.ended(2).locator(".ask")).to_contain_text("Which toppings? Cheese, Ham · by primary")
    terminal = me.page.get_by_role("button", name="Terminal", exact=True)
    if agent == "behind":
        expect(terminal).to_be_hidden()
        return
    terminal.click()
    window = me.page.get_by_role("dialog", name="The agent's terminal")
    expect(window.locator("pre")).to_contain_text("Thank you.")
    expect(window.locator("code")).to_have_text(re.compile(r"^tmux -S \S+ attach -t =turnhub-ses_\w+$"))
    expect(window).to_contain_text("It is read as: ready.")
    assert findings(me) == []
