"""The options of an agent in a pane, and where its program is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from turnhub_tmux import TmuxTransport, program
from turnhub_tmux.options import options_of

from hub import ConfigError
from hub.testing import make_session


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"no_such_option": True}, "`no_such_option`"),
        ({"hook": True}, "Did you mean `hooks`?"),
        ({"hooks": "yes"}, "`hooks`: expected true or false"),
        ({"width": 5}, "`width`: expected a number of columns from 20 to 1000"),
        ({"command": "claude", "target": "a:b"}, "`target`: expected only without `command`"),
        ({"target": "a b"}, "`target`"),
        ({"target": "%1"}, "`target`"),
        ({"command": "claude 'open"}, "`command`: expected a command line"),
        ({"command": " "}, "`command`"),
        ({"socket": "#(rm)"}, "`socket`"),
        ({"kind": "no-such-kind"}, "`kind`: There is no screen manifest"),
        ({"env": {"KEY": 1}}, "`env`: expected a table of texts."),
        ({"stall_s": 0}, "`stall_s`"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_option_is_named_with_what_was_expected(options: dict[str, Any], said: str) -> None:
    """``check`` raises ConfigError with the agent, the key and what was expected."""
    agent = make_session("tmux", agent="pane", **options).agent
    with pytest.raises(ConfigError, match=r"\[agents\.pane\] ") as raised:
        TmuxTransport().check(agent)
    assert said in raised.value.detail


def test_an_environment_is_never_shown() -> None:
    """What stands in ``env`` may be a secret: the mistake does not repeat it."""
    with pytest.raises(ConfigError) as raised:
        options_of(make_session("tmux", env={"KEY": ["hush"]}).agent)
    assert "hush" not in raised.value.detail


def test_a_missing_program_is_named_with_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tmux, no Claude Code, no such command: each has its sentence."""
    monkeypatch.setattr(shutil, "which", lambda name, path=None: "/bin/tmux" if name == "tmux" else None)
    monkeypatch.setattr(program, "bundled_cli", lambda: None)
    transport = TmuxTransport()
    assert "pip install claude-agent-sdk" in (transport.check(make_session("tmux").agent) or "")
    assert "'codex'" in (transport.check(make_session("tmux", command="codex --x").agent) or "")
    assert transport.check(make_session("tmux", target="work:1").agent) is None
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    assert "tmux is not installed" in (transport.check(make_session("tmux", target="work:1").agent) or "")


def test_claude_is_looked_for_in_path_first_then_where_the_sdk_brings_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The agent's own PATH counts; without a ``claude`` there it is the bundled one."""
    own = tmp_path / "claude"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o700)
    monkeypatch.setattr(program, "bundled_cli", lambda: Path("/bundled/claude"))
    here = options_of(make_session("tmux", env={"PATH": str(tmp_path)}).agent)
    assert program.executable(here) == str(own)
    elsewhere = options_of(make_session("tmux", env={"PATH": "/nowhere"}).agent)
    assert program.executable(elsewhere) == "/bundled/claude"


def test_the_agent_gets_no_secret_of_the_hub_and_speaks_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's token would let an agent approve its own asks."""
    monkeypatch.setenv("TURNHUB_TOKEN", "hush")
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("TMUX", "somewhere")
    made = program.environment(options_of(make_session("tmux", env={"A": "b"}, config_dir="/c").agent))
    assert "TURNHUB_TOKEN" not in made
    assert "TMUX" not in made
    assert (made["A"], made["CLAUDE_CONFIG_DIR"], made["LC_ALL"]) == ("b", "/c", "C.UTF-8")
