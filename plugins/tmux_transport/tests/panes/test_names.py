"""Nothing that people configure reaches tmux's own target syntax, its formats or a shell."""

from __future__ import annotations

import pytest
from turnhub_tmux.panes import names

from hub import ConfigError

PAYLOADS = [
    "a;kill-server",
    "a b",
    "$(id)",
    "`id`",
    "a'b",
    'a"b',
    "a|b",
    "a&b",
    "a\nb",
    "../a",
    "#{pane_id}",
    "#(id)",
    "a\x00b",
    "é",
    "",
    "x" * 129,
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_name_with_anything_else_than_word_characters_is_refused(payload: str) -> None:
    """Sessions and sockets alike."""
    with pytest.raises(ConfigError):
        names.session_name(payload)
    with pytest.raises(ConfigError):
        names.target(payload)
    with pytest.raises(ConfigError):
        names.target(f"work:{payload or ';'}")


@pytest.mark.parametrize(
    "target",
    ["%1", "$1", "@2", "{last}", "=x", "a:=b", "a:%1", "a:b.%1", "a:b.c", "a:", "a:b.", ":1", "a.1", "!", "a*:0"],
)
def test_a_target_in_tmux_own_syntax_is_refused(target: str) -> None:
    """What reaches any pane is nobody's configuration."""
    with pytest.raises(ConfigError):
        names.target(target)


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("work", "=work:"),
        ("work:1", "=work:1"),
        ("work:main", "=work:=main"),
        ("a-b_C:0.12", "=a-b_C:0.12"),
        ("-t", "=-t:"),
    ],
)
def test_a_target_is_looked_up_exactly(text: str, exact: str) -> None:
    """No prefixes, no patterns."""
    assert names.target(text).exact == exact


def test_what_is_refused_is_shown_bounded_and_harmless() -> None:
    """A megabyte of escapes makes a short line."""
    with pytest.raises(ConfigError) as refused:
        names.target("\x1b[31m" * 200_000)
    assert len(refused.value.detail) < 250
    assert "\x1b" not in refused.value.detail


@pytest.mark.parametrize("key", ["Enter", "Escape", "Tab", "BSpace", "C-u", "1", "y", "Up"])
def test_keys_that_agents_take_may_be_pressed(key: str) -> None:
    """By tmux's names."""
    assert names.key(key) == key


@pytest.mark.parametrize(
    "key", ["", "M-x", "; kill-server", "Enter Enter", "C-\\", "F13", "-X", "cancel", "é", "#"]
)
def test_other_keys_may_not(key: str) -> None:
    """Nor anything that is more than one key."""
    with pytest.raises(ValueError, match="no key"):
        names.key(key)
