"""The transport keeps the contract of all transports, with the real Claude Code in a real tmux."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest
import turnhub_tmux
from turnhub_tmux import TmuxTransport

from hub import SessionInfo
from hub.testing import Rule, Rules, Say, ScriptedModel, TransportContract, Use, ask_user, reply

from .conftest import World

SCRIPT = Rules(
    rules=(
        Rule(when="endless", answers=(reply(Say("word\n" * 2000, every_s=0.02)),)),
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


@pytest.mark.timeout(240)
class TestTmux(TransportContract):
    """Claude Code in its pane. Edited inputs and words come back by its hooks."""

    within_s = 60.0
    stop_within_s = 6.0

    @pytest.fixture
    async def world(self, anyio_backend: str) -> AsyncIterator[World]:
        """A folder, a tmux server and a model of its own."""
        folder = Path(tempfile.mkdtemp(prefix="th-"))
        async with ScriptedModel(SCRIPT) as model:
            made = World(folder, model)
            made.trust()
            try:
                yield made
            finally:
                await made.close()
                shutil.rmtree(folder, ignore_errors=True)

    @pytest.fixture
    def transport(self, world: World) -> TmuxTransport:
        """The transport under test."""
        return world.transport

    @pytest.fixture
    def session(self, world: World) -> SessionInfo:
        """A session whose agent can run."""
        return world.session

    def plugins(self) -> Sequence[object]:
        """The transport's own ladder and sources."""
        return [turnhub_tmux]

    def endless(self) -> str:
        """A message that is answered at length."""
        return "endless"

    def tool(self) -> str:
        """A message on which a harmless command runs."""
        return "tool"

    def permission(self) -> str:
        """A message on which the agent wants to run something."""
        return "permission"

    def question(self) -> str:
        """A message on which the agent asks."""
        return "question"

    def unavailable(self, session: SessionInfo) -> SessionInfo | None:
        """An agent that is not installed."""
        options = {**session.agent.options, "command": "/no/such/agent"}
        return msgspec.structs.replace(session, agent=msgspec.structs.replace(session.agent, options=options))
