"""What can be told about Claude Code without starting it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from turnhub_sdk import SdkTransport, cli
from turnhub_sdk.cli import MINIMUM, find_cli, reason_against, too_old
from turnhub_sdk.environment import agent_environment, rehearsal_environment
from turnhub_sdk.options import Options

from hub import AgentUnavailable
from hub.testing import make_session


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nobody is logged in; returns its configuration folder."""
    for name in cli._CREDENTIALS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(cli, "_MANAGED", tmp_path / "managed.json")
    folder = tmp_path / "home" / ".claude"
    folder.mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    return folder


def test_the_sdks_own_executable_is_found() -> None:
    """The one that the SDK brings along is taken, wherever PATH leads."""
    found = find_cli(Options())
    assert found is not None
    assert "_bundled" in found


def test_a_path_that_leads_nowhere_is_named() -> None:
    """`cli_path` is believed: when there is nothing, that is said, with what mends it."""
    reason = reason_against(Options(cli_path="/nowhere/claude"))
    assert reason == "There is no executable at `cli_path` = '/nowhere/claude'. Correct it or leave it out."


def test_a_machine_without_claude_code_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither bundled nor on PATH: the line that installs it."""
    monkeypatch.setattr(cli, "bundled_cli", lambda: None)
    monkeypatch.setenv("PATH", "")
    assert "pip install claude-agent-sdk" in str(reason_against(Options()))


def test_a_machine_without_the_sdk_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin without its SDK is not usable, and says so."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert "pip install claude-agent-sdk" in str(reason_against(Options()))


def test_nobody_logged_in_is_told_with_the_line_that_mends_it(nobody: Path) -> None:
    """Without any trace of a login the agent is unavailable, and the way to log in is named."""
    reason = str(reason_against(Options()))
    assert "not logged in" in reason
    assert "/login" in reason
    assert "ANTHROPIC_API_KEY" in reason
    mine = str(reason_against(Options(config_dir=str(nobody))))
    assert f"CLAUDE_CONFIG_DIR={nobody} " in mine


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".credentials.json", "{}"),
        ("settings.json", '{"apiKeyHelper": "pass key"}'),
        (".claude.json", '{"primaryApiKey": "x"}'),
        ("../.claude.json", '{"primaryApiKey": "x"}'),
    ],
)
def test_any_trace_of_a_login_counts(nobody: Path, name: str, content: str) -> None:
    """Where somebody may be logged in nothing is held against the agent."""
    (nobody / name).write_text(content)
    assert reason_against(Options()) is None


def test_a_login_that_cannot_be_read_counts(nobody: Path) -> None:
    """What cannot be read may be a login."""
    (nobody / ".credentials.json").mkdir()
    assert reason_against(Options()) is None


def test_a_key_in_the_environment_counts(nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the hub's own environment or of the agent's is a login; so are other providers."""
    assert reason_against(Options(env={"ANTHROPIC_API_KEY": "x"})) is None
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", "1")
    assert reason_against(Options()) is None


def test_macos_keeps_its_logins_elsewhere(nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where logins lie in a keychain nothing can be said against the agent."""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cli.may_be_logged_in(Options())


def test_a_rehearsal_needs_no_login(nobody: Path) -> None:
    """Only the executable has to be there."""
    assert reason_against(Options(rehearsal=True)) is None


@pytest.mark.anyio
async def test_opening_says_the_same(nobody: Path, tmp_path: Path) -> None:
    """What ``check`` has against an agent, ``open`` raises; so it does for a folder that is not there."""
    with pytest.raises(AgentUnavailable, match="not logged in"):
        await SdkTransport().open(make_session("sdk", cwd=tmp_path))
    with pytest.raises(AgentUnavailable, match=r"working directory .* does not exist"):
        await SdkTransport().open(make_session("sdk", cwd=tmp_path / "gone", rehearsal=True))


def test_the_plugin_is_light_until_a_session_is_opened() -> None:
    """Looking at plugins must not cost the second that the SDK's import takes."""
    probe = "import sys, turnhub_sdk; sys.exit('claude_agent_sdk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_versions_are_compared_as_numbers() -> None:
    """Literal messages need a version that knows them."""
    assert not too_old(".".join(map(str, MINIMUM)))
    assert not too_old("2.10.0")
    assert too_old("2.1.99")
    assert too_old(None)


def test_the_hubs_own_secrets_are_not_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that could read the hub's token could approve its own asks."""
    monkeypatch.setenv("TURNHUB_TOKEN", "secret")
    assert agent_environment(Options())["TURNHUB_TOKEN"] == ""


def test_the_agents_environment_has_the_last_word() -> None:
    """Bounds and folders come from the options, unless ``env`` says otherwise."""
    options = Options(max_retries=3, api_timeout_s=2.5, config_dir="/x", env={"API_TIMEOUT_MS": "7"})
    values = agent_environment(options)
    assert (values["CLAUDE_CODE_MAX_RETRIES"], values["API_TIMEOUT_MS"]) == ("3", "7")
    assert values["CLAUDE_CONFIG_DIR"] == "/x"


def test_a_rehearsal_knows_nothing_of_the_persons_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither keys nor proxies of the person's own environment lead the rehearsal away."""
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "mine")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    values = rehearsal_environment({"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"})
    assert (values["ANTHROPIC_AUTH_TOKEN"], values["HTTPS_PROXY"]) == ("", "")
    assert values["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert values["NO_PROXY"] == "127.0.0.1"
