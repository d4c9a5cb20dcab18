"""The README's words are so: what it shows can be run as it stands."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
from turnhub_tmux import TmuxTransport

from hub import AgentInfo, Completed, Transport
from hub.cli.main import turnhub
from hub.configload import load
from hub.testing import FakeTurn, make_session
from hub.turn import FAILURES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def transport() -> Transport:
    """The transport that the README shows, as its module registers it."""
    module = ModuleType("my_module")
    exec(compile(blocks("python")[0], "README.md", "exec"), vars(module))
    registered: list[Transport] = []
    module.register_transports(registered.append)
    assert len(registered) == 1
    return registered[0]


@pytest.mark.anyio
async def test_the_transport_in_the_readme_works() -> None:
    """Copied as it stands it answers a message and keeps the rules of the hub."""
    loud = transport()
    turn = FakeTurn("hello you", session=make_session(loud.name))
    connection = await loud.open(turn.session)
    assert await turn.play(connection) == Completed()
    await connection.close()
    assert turn.text == "HELLO YOU"
    assert turn.problems == []
    assert turn.judged == Completed()


def test_the_transport_in_the_readme_is_as_short_as_it_says() -> None:
    """A whole transport is some thirty lines."""
    assert len(blocks("python")[0].splitlines()) <= 30


def test_the_configuration_in_the_readme_names_the_transport_it_shows() -> None:
    """Entry point, enabled plugin and agent fit together."""
    (text,) = (block for block in blocks("toml") if "entry-points" in block)
    shown: dict[str, Any] = tomllib.loads(text)
    (entry,) = shown["project"]["entry-points"]["turnhub"]
    assert entry in shown["plugins"]["enabled"]
    assert {agent["transport"] for agent in shown["agents"].values()} == {transport().name}


def test_the_agent_in_the_readme_is_one_that_its_transport_takes(tmp_path: Path) -> None:
    """As a whole turnhub.toml: the hub reads it, and the transport knows every key."""
    (text,) = (block for block in blocks("toml") if "[agents.pane]" in block)
    (tmp_path / "turnhub.toml").write_text(text)
    (name, agent), *others = load(cwd=tmp_path, environ={}).agents.items()
    assert (name, agent.transport, others) == ("pane", "tmux", [])
    TmuxTransport().check(AgentInfo(name=name, transport="tmux", cwd=str(tmp_path), options=agent.options))


def test_the_documents_name_only_commands_of_the_command_line() -> None:
    """Whatever stands as `turnhub x` in a document or in a failure's advice can be typed."""
    advice = [kind.message for kind in FAILURES.values()]
    pages = [path.read_text() for path in (ROOT / "docs").glob("*.md")]
    named = {name for text in (README, *advice, *pages) for name in re.findall(r"`turnhub (\w+)", text)}
    assert {"new", "send", "doctor"} <= named
    context = click.Context(turnhub)
    assert [name for name in sorted(named) if turnhub.get_command(context, name) is None] == []
