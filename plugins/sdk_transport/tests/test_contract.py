"""The transport keeps the contract of all transports, with the real Claude Code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from turnhub_sdk import SdkTransport

from hub import SessionInfo, Transport
from hub.testing import (
    Rule,
    Rules,
    Say,
    TransportContract,
    Use,
    ask_user,
    claude_environment,
    make_session,
    reply,
)

SCRIPT = Rules(
    rules=(
        Rule(when="endless", answers=(reply(Say("word " * 2000, every_s=0.02)),)),
        Rule(when="tool", answers=(reply(Use("Bash", {"command": "echo by itself"})), reply("Done."))),
        Rule(
            when="permission",
            answers=(reply("I will.", Use("Bash", {"command": "bash -c 'echo ran'"})), reply("Done.")),
        ),
        Rule(
            when="question",
            answers=(reply(ask_user({"question": "Which one?", "options": ["This", "That"]})), reply("Good.")),
        ),
    ),
    otherwise=(reply("Hello to you."),),
)


@pytest.fixture(scope="module")
def model_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scripted model in a process of its own: some tests of the contract have no event loop."""
    script = tmp_path_factory.mktemp("model") / "script.json"
    script.write_bytes(msgspec.json.encode(SCRIPT))
    command = [sys.executable, "-m", "hub.testing.model", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.mark.real
@pytest.mark.slow
class TestSdk(TransportContract):
    """All that turnhub asks of a transport."""

    within_s = 30.0

    @pytest.fixture
    def transport(self) -> Transport:
        """The transport under test."""
        return SdkTransport()

    @pytest.fixture
    def session(self, hub_session: Callable[..., SessionInfo], model_url: str, tmp_path: Path) -> SessionInfo:
        """A session whose agent talks to the scripted model."""
        return hub_session("sdk", env=claude_environment(model_url, tmp_path / "home"))

    def endless(self) -> str:
        """It speaks for 40 s."""
        return "endless"

    def tool(self) -> str:
        """A command that Claude Code runs without asking."""
        return "tool"

    def permission(self) -> str:
        """A command that needs somebody's word."""
        return "permission"

    def question(self) -> str:
        """A question."""
        return "question"

    def unavailable(self, session: SessionInfo) -> SessionInfo:
        """An agent without an executable."""
        return make_session("sdk", cwd=session.cwd, cli_path="/nowhere/claude")
