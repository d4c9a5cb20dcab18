"""The hooks in a person's own settings: put in and taken out, with every other character as it was."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from turnhub_tmux.bridge.access import Access
from turnhub_tmux.bridge.installed import NotSettings, installed, ours, removed
from turnhub_tmux.bridge.posts import EVENTS
from turnhub_tmux.commands_hooks import hooks, hooks_folder

ACCESS = Access(url="http://127.0.0.1:4711/turnhub/hooks/user", token="secret-1")
OTHER = Access(url="http://127.0.0.1:4712/turnhub/hooks/user", token="secret-2")
THEIRS = """{
    // no: JSON has none
}"""
HAND_MADE = """{
  "model": "opus",   "permissions": {"allow": ["Bash(ls)", "Read"] },
  "hooks": {
    "Stop": [
      { "hooks": [ {"type": "command", "command": "say done"} ] }
    ],
    "PreToolUse": []
  },
  "more": [1,2,   3]
}
"""


def test_a_hand_made_file_comes_back_as_it_was() -> None:
    """Its odd spacing, its own hooks and their order included."""
    with_ours = installed(HAND_MADE, ACCESS)
    parsed = json.loads(with_ours)
    assert parsed["hooks"]["Stop"][0] == json.loads(HAND_MADE)["hooks"]["Stop"][0]
    assert len(parsed["hooks"]["Stop"]) == 2
    assert '"allow": ["Bash(ls)", "Read"] }' in with_ours
    assert sorted(ours(with_ours)) == sorted(EVENTS)
    back = removed(with_ours)
    assert json.loads(back)["hooks"] == {"Stop": json.loads(HAND_MADE)["hooks"]["Stop"]}
    assert back == HAND_MADE.replace(',\n    "PreToolUse": []', "")


def test_doing_it_twice_changes_nothing_and_a_new_port_replaces_the_old() -> None:
    """There is one entry an event, whatever was there of ours."""
    once = installed(HAND_MADE, ACCESS)
    assert installed(once, ACCESS) == once
    other = installed(once, OTHER)
    assert "4711" not in other
    assert "secret-1" not in other
    assert other.count("4712") == len(EVENTS)
    assert removed(other) == removed(once)


def test_no_file_and_an_empty_one_become_settings() -> None:
    """And are empty settings when the hooks are out again."""
    for empty in ("", " \n", "{}\n"):
        assert json.loads(removed(installed(empty, ACCESS))) == {}


def test_a_hook_of_ours_beside_anothers_in_one_entry_is_left_alone() -> None:
    """A person has made that entry: only what is wholly ours is taken out."""
    mixed = {"hooks": [{"type": "http", "url": ACCESS.url}, {"type": "command", "command": "x"}]}
    text = json.dumps({"hooks": {"Stop": [mixed]}})
    assert removed(text) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (THEIRS, "no valid JSON"),
        ('{"hooks": {"Stop": [', "no valid JSON"),
        ("[1]", "JSON object"),
        ('{"hooks": 3}', '"hooks" is no object'),
        ('{"hooks": {"Stop": {}}}', "no list"),
        ('{"hooks": {}, "hooks": {}}', "twice"),
    ],
)
def test_what_is_no_settings_is_refused_with_words(text: str, why: str) -> None:
    """Nothing is guessed about a file that Claude Code would not read either."""
    with pytest.raises(NotSettings, match=why):
        installed(text, ACCESS)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
HOOKS = st.dictionaries(
    st.sampled_from(["Stop", "PreToolUse", "SessionStart"]),
    st.lists(st.just({"matcher": "*", "hooks": [{"type": "command", "command": "x"}]}), min_size=1, max_size=2),
    min_size=1,
)
NOT_HOOKS = st.text(max_size=6).filter(lambda key: key != "hooks")


@given(
    st.dictionaries(NOT_HOOKS, VALUES, max_size=4), st.none() | HOOKS, st.sampled_from([None, 0, 1, 2, 4, "\t"])
)
def test_any_settings_in_any_layout_come_back_as_they_were(
    settings: dict[str, Any], theirs: dict[str, Any] | None, indent: int | str | None
) -> None:
    """Putting in and taking out is no change at all, and what is put in is read as such."""
    if theirs is not None:
        settings = {**settings, "hooks": theirs}
    text = json.dumps(settings, indent=indent, ensure_ascii=False) + "\n"
    with_ours = installed(text, ACCESS)
    parsed = json.loads(with_ours)
    assert {**parsed, "hooks": settings.get("hooks", {})} == {"hooks": {}, **settings}
    assert set(ours(with_ours)) == set(EVENTS)
    assert installed(with_ours, ACCESS) == with_ours
    assert removed(with_ours) == text


# -- the command --------------------------------------------------------------------------------------------------


def listen(state: Path, port: int) -> None:
    """Leave what a hub leaves that has listened."""
    folder = hooks_folder(state)
    folder.mkdir(parents=True)
    (folder / "listener-0.json").write_text(json.dumps({"port": port}))


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Result]:
    """Runs ``turnhub hooks …`` with a state directory in which a hub has listened, and a configuration folder."""
    state = tmp_path / "state"
    listen(state, 4711)
    config = tmp_path / "claude"

    def call(name: str, *arguments: str) -> Result:
        where = [] if name == "print" else ["--config-dir", str(config)]
        return CliRunner().invoke(hooks, [name, *where, "--state", str(state), *arguments])

    return call


def test_install_and_remove_leave_the_file_as_it_was(run: Callable[..., Result], tmp_path: Path) -> None:
    """What was there is kept beside it, and only its owner can read the secret; a link stays a link."""
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text('{"model": "opus"}\n')
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "settings.json").symlink_to(real)
    result = run("install")
    assert result.exit_code == 0, result.output
    assert set(ours(real.read_text())) == set(EVENTS)
    assert "http://127.0.0.1:4711/turnhub/hooks/user" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert real.with_name("settings.json.before-turnhub").read_text() == '{"model": "opus"}\n'
    assert run("remove").exit_code == 0
    assert real.read_text() == '{"model": "opus"}\n'
    assert (tmp_path / "claude" / "settings.json").is_symlink()
    assert "no hooks of turnhub" in run("remove").output


def test_print_changes_nothing_and_shows_no_secret(run: Callable[..., Result], tmp_path: Path) -> None:
    """It is what install would add."""
    result = run("print")
    assert set(json.loads(result.stdout)["hooks"]) == set(EVENTS)
    assert "<secret>" in result.stdout
    assert not (tmp_path / "claude").exists()


def test_broken_settings_are_refused_in_one_line(run: Callable[..., Result], tmp_path: Path) -> None:
    """Exit 2, the file named, nothing changed."""
    path = tmp_path / "claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"model": ')
    for name in ("install", "remove"):
        result = run(name)
        assert result.exit_code == 2
        assert str(path) in result.output
        assert "nothing was changed" in result.output
        assert path.read_text() == '{"model": '


def test_without_a_hub_there_is_no_port_to_post_to(tmp_path: Path) -> None:
    """The sentence says what to do."""
    result = CliRunner().invoke(hooks, ["install", "--state", str(tmp_path), "--config-dir", str(tmp_path)])
    assert result.exit_code == 2
    assert "No hub has listened" in result.output
    assert not (tmp_path / "settings.json").exists()
