"""An agent's options: what they may be, and what is said when they are wrong."""

from __future__ import annotations

from typing import Any

import pytest
from turnhub_sdk import SdkTransport
from turnhub_sdk.options import TOOLS, options_of

from hub import ConfigError
from hub.testing import make_session


def _mistake(**options: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        SdkTransport().check(make_session("sdk", agent="claude", **options).agent)
    return raised.value.detail


def test_the_defaults_are_safe() -> None:
    """No settings of others, every permission asked, tools that end with their turn."""
    options = options_of(make_session("sdk").agent)
    assert options.setting_sources == ()
    assert options.permission_mode == "default"
    assert options.tools == TOOLS


def test_an_unknown_key_is_named_with_what_was_meant() -> None:
    """A typo is told with the agent, the key, and the key that was probably meant."""
    assert _mistake(modle="x") == (
        "[agents.claude] `modle`: the transport `sdk` has no such key. Did you mean `model`?"
    )
    assert "It has: " in _mistake(zzz=1)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("stall_s", "soon", "a number of seconds above 0, not 'soon'"),
        ("idle_s", 0, "a number of seconds above 0, not 0"),
        ("max_retries", -1, "a whole number, 0 or more, not -1"),
        ("model", 5, "a model's name in quotes, not 5"),
        ("tools", "some", "a list of tool names, or \"all\", not 'some'"),
        ("setting_sources", ["web"], 'a list with any of "user", "project", "local", not [\'web\']'),
        ("rehearsal", "yes", "true or false, not 'yes'"),
        ("config_dir", "", "a folder in quotes, not ''"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(key: str, value: object, expected: str) -> None:
    """Each mistake is one line: agent, key, what was expected, what was found."""
    assert _mistake(**{key: value}) == f"[agents.claude] `{key}`: expected {expected}."


def test_a_wrong_mode_is_told_with_all_that_there_are() -> None:
    """The modes are few: all are named."""
    assert '"bypassPermissions"' in _mistake(permission_mode="yolo")


def test_a_secret_in_the_environment_is_not_repeated() -> None:
    """What stands in ``env`` is nobody's to print, not even when it is wrong."""
    message = _mistake(env={"KEY": 123456})
    assert "123456" not in message
    assert "`env`: expected a table of texts" in message


def test_two_system_prompts_exclude_each_other() -> None:
    """One takes the place of Claude Code's own, the other stands behind it: not both."""
    assert "append_system_prompt" in _mistake(system_prompt="a", append_system_prompt="b")
