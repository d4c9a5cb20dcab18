"""serve and demo: what they make of their options, and what they say when the hub is ready or cannot start."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from click.testing import CliRunner, Result

import hub.serve
from hub.cli.main import turnhub
from hub.config import Config
from hub.errors import ConfigError, StoreUnavailable
from hub.serve import ServeInfo


class Served:
    """What the hub was started with; ``error`` is raised instead of serving."""

    def __init__(self) -> None:
        self.config = Config()
        self.role = ""
        self.url = "http://127.0.0.1:8420"
        self.error: Exception | None = None

    async def serve(
        self, config: Config, *, role: str = "all", announce: Callable[[ServeInfo], None] | None = None
    ) -> None:
        self.config, self.role = config, role
        if self.error is not None:
            raise self.error
        assert announce is not None
        announce(ServeInfo(url=self.url, token="th_secret", version="1.2", agents=tuple(config.agents)))


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Stands in for the hub itself; logging is taken back afterwards."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stand_in = Served()
    monkeypatch.setattr(hub.serve, "serve", stand_in.serve)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    yield stand_in
    root.handlers[:] = before
    root.setLevel(level)
    structlog.reset_defaults()


def run(*args: str, **environ: str) -> Result:
    return CliRunner().invoke(turnhub, args, env=environ)


def test_options_override_environment_and_file(served: Served, tmp_path: Path) -> None:
    """Each option is a key of the configuration."""
    (tmp_path / "turnhub.toml").write_text('[server]\nport = 1\nhost = "0.0.0.0"\n[store]\nurl = "redis://a"\n')
    args = ("--port", "9", "--store", "unix:///x", "--state", "s", "--role", "front")
    assert run("serve", *args, TURNHUB_SERVER__PORT="2").exit_code == 0
    config = served.config
    assert (config.server.port, config.server.host, config.store.url) == (9, "0.0.0.0", "unix:///x")
    assert config.store.state == tmp_path / "s"
    assert served.role == "front"
    assert run("serve", "--config", "other.toml").exit_code == 2


def test_tls_and_a_bare_bind_can_be_asked_for(served: Served, tmp_path: Path) -> None:
    """The paths are those of where the command is typed; each option is a key of the configuration too."""
    (tmp_path / "etc").mkdir()
    file = tmp_path / "etc" / "turnhub.toml"
    file.write_text('[server]\ntls_cert = "hub.pem"\n')
    assert run("serve", "--config", str(file), TURNHUB_SERVER__TLS_KEY="hub.key").exit_code == 0
    assert served.config.server.tls_cert == tmp_path / "etc" / "hub.pem"
    assert served.config.server.tls_key == tmp_path / "etc" / "hub.key"
    assert not served.config.server.insecure_bind
    args = ("--tls-cert", "a.pem", "--tls-key", "a.key", "--insecure-bind")
    assert run("serve", "--config", str(file), *args).exit_code == 0
    server = served.config.server
    assert (server.tls_cert, server.tls_key) == (tmp_path / "a.pem", tmp_path / "a.key")
    assert server.insecure_bind
    told = run("serve", TURNHUB_SERVER__TLS_KEY="hub.key")
    assert told.exit_code == 2
    assert "server.tls_key: is of no use without server.tls_cert" in told.stderr


def test_a_person_is_shown_where_to_go(served: Served, tmp_path: Path) -> None:
    """One address with the token in it, the agents, the next command; all of it on stderr."""
    result = run("serve")
    assert result.stdout == ""
    assert "http://127.0.0.1:8420/?token=th_secret" in result.stderr
    assert "claude, rehearsal" in result.stderr
    assert "turnhub new rehearsal\n" in result.stderr  # which needs no account
    assert f"turnhub new rehearsal --state '{tmp_path / 'x y'}'\n" in run("serve", "--state", "x y").stderr
    result = run("serve", PATH=str(tmp_path))
    command = Path(sys.executable).with_name("turnhub")
    assert f"  try     {command} new rehearsal\n" in result.stderr


def test_a_runner_without_a_front_names_no_address(served: Served) -> None:
    """There is nothing to open."""
    served.url = ""
    assert "token" not in run("serve", "--role", "runner").stderr


@pytest.mark.parametrize("how", [{"args": ["--log-format", "json"]}, {"TURNHUB_LOG_FORMAT": "json"}])
def test_logs_for_machines_do_not_hold_the_token(served: Served, how: dict[str, Any]) -> None:
    """They are kept and shipped."""
    environ = {key: value for key, value in how.items() if key != "args"}
    result = run("serve", *how.get("args", []), **environ)
    line = json.loads(result.stderr)
    assert (line["message"], line["url"], line["version"]) == ("ready", "http://127.0.0.1:8420", "1.2")
    assert "th_secret" not in result.stderr


def test_demo_has_the_rehearsal_agent_only_and_its_own_data(served: Served, tmp_path: Path) -> None:
    """Neither a file nor the environment can make something else of it."""
    (tmp_path / "turnhub.toml").write_text("broken = = 1")
    result = run("demo", "--port", "0", TURNHUB_AGENTS__CLAUDE__TRANSPORT="sdk", TURNHUB_STORE__URL="redis://x")
    assert result.exit_code == 0
    config = served.config
    assert {name: one.options for name, one in config.agents.items()} == {"rehearsal": {"rehearsal": True}}
    assert (config.store.url, config.server.port, config.path) == ("embedded", 0, None)
    assert config.store.state == tmp_path / ".local/state/turnhub/demo"
    assert f"turnhub new rehearsal --state {config.store.state}" in result.stderr


def test_a_state_directory_that_is_typed_is_meant_from_here(served: Served, tmp_path: Path) -> None:
    """By demo, which reads no file, and by serve, wherever its file lies; ~ is the home."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/my.toml").write_text('[agents.a]\ntransport = "scripted"\n')
    for args in (["demo"], ["serve", "--config", "elsewhere/my.toml"]):
        for typed, meant in (("mine", "mine"), ("~/mine", "mine"), ("./a/../mine", "mine")):
            assert run(*args, "--state", typed).exit_code == 0
            assert served.config.store.state == tmp_path / meant


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigError("store.state: cannot be used."), 2), (StoreUnavailable("The store does not answer."), 1)],
)
def test_a_hub_that_cannot_start_says_why_in_one_line(served: Served, error: Exception, code: int) -> None:
    """Exit code 2 for what the user wrote, 1 for what the world did."""
    served.error = error
    result = run("serve")
    assert (result.exit_code, result.stderr) == (code, f"turnhub: {error}\n")
    served.error = ExceptionGroup("", [ExceptionGroup("", [error])])
    assert run("serve").stderr == f"turnhub: {error}\n"
