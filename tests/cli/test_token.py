"""The command about tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hub.cli.main import turnhub
from hub.tokens import Tokens


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TURNHUB_TOKEN", raising=False)
    return tmp_path / "state"


def token(state: Path, *args: str) -> Result:
    return CliRunner().invoke(turnhub, ["token", "--state", str(state), *args])


def test_token_prints_the_primary_token_alone(state: Path) -> None:
    """On stdout only the secret; where it stands is talk."""
    result = token(state)
    assert result.exit_code == 0
    assert result.stdout == f"{Tokens(state).primary()}\n"
    assert str(state / "token") in result.stderr
    assert token(state, "show").stdout == result.stdout
    assert json.loads(token(state, "--json").stdout)["token"] == result.stdout.strip()


def test_a_new_token_is_shown_once_and_works(state: Path) -> None:
    """The list does not show it again."""
    result = token(state, "new", "--scope", "read", "--scope", "send", "--name", "phone")
    secret = result.stdout.strip()
    found = Tokens(state).verify(secret)
    assert found is not None
    assert (found.name, sorted(found.scopes)) == ("phone", ["read", "send"])
    assert "not shown again" in result.stderr
    listed = token(state, "list")
    assert listed.stdout.startswith("phone\tread, send\t")
    assert secret not in listed.stdout


def test_a_revoked_token_is_worthless(state: Path) -> None:
    """And a second time there is none to revoke."""
    secret = token(state, "new", "--scope", "read", "--name", "phone").stdout.strip()
    assert token(state, "revoke", "phone").exit_code == 0
    assert Tokens(state).verify(secret) is None
    assert token(state, "revoke", "phone").exit_code == 2


def test_wrong_wishes_exit_with_2_and_damaged_files_with_1(state: Path) -> None:
    """One line each."""
    assert token(state, "new", "--name", "x").exit_code == 2
    result = token(state, "new", "--scope", "root", "--name", "x")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "'root' is no scope" in result.stderr
    state.mkdir(exist_ok=True)
    (state / "tokens.json").write_text("{")
    assert token(state, "list").exit_code == 1
    (state / "token").write_text("")
    assert token(state).exit_code == 1
