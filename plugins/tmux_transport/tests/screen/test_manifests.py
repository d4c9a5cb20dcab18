"""Manifests: those that come along, those of a person, and what is said of mistakes in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from turnhub_tmux.screen.manifest import load, names
from turnhub_tmux.screen.patterns import Patterns
from turnhub_tmux.screen.places import folders
from turnhub_tmux.screen.reader import read

from hub import ConfigError


def test_the_kinds_that_come_along() -> None:
    """All can be loaded."""
    assert set(names()) == {"claude-code", "codex", "gemini", "grok", "opencode"}
    assert [load(name).name for name in names()] == list(names())


def test_a_manifest_of_ones_own_adds_an_agent(tmp_path: Path) -> None:
    """A file is all it takes: no code."""
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[composer]\nframes = ["bare"]\nprompts = ["»"]\n', encoding="utf-8")
    for manifest in (load(str(path)), load("mine", [tmp_path])):
        assert read("hello\n» draft", manifest).composer.text == "draft"


def test_a_manifest_may_say_only_what_differs(tmp_path: Path) -> None:
    """A file of the same name extends the one that comes along."""
    path = tmp_path / "claude-code.toml"
    path.write_text(
        'name = "claude-code"\nextends = "claude-code"\n[busy]\nbelow = ["*stop me*"]\n', encoding="utf-8"
    )
    manifest = load("claude-code", [tmp_path])
    screen = "● x\n──────\n❯ hello\n──────\n  press Q to stop me"
    seen = read(screen, manifest)
    assert (seen.state, seen.composer.text) == ("busy", "hello")


@pytest.mark.parametrize(
    ("text", "key", "what"),
    [
        ("[composer\n", "is no TOML", ""),
        ("title = 1\nname = 'x'", "title", "Expected `str`"),
        ("[busy]\nbelow = []", "(top)", "name"),
        ("name = 'x'\n[composer]\nprompt = ['>']", "composer", "prompt"),
        ("name = 'x'\n[composer]\nframes = ['round']", "composer.frames", "round"),
        ("name = 'x'\n[composer]\nprompts = []", "composer.prompts", "at least one"),
        ("name = 'x'\n[composer]\nprompts = [' ']", "composer.prompts", "blank"),
        ("name = 'x'\n[busy]\nbelow = ['*']", "busy.below", "matches everything"),
        ("name = 'x'\n[busy]\nbelow = ['*a*b*c*d*e*']", "busy.below", "stars"),
        ("name = 'x'\n[dialog]\ndigits = 'maybe'", "dialog.digits", "maybe"),
        ("name = 'x'\n[[dialog.kinds]]\nkind = 'war'", "dialog.kinds", "war"),
        ("name = 'x'\nextends = 'nothing-of-the-kind'", "no screen manifest", "nothing-of-the-kind"),
        ("name = 'x'\nextends = 3", "extends", "expected"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(text: str, key: str, what: str, tmp_path: Path) -> None:
    """So that it can be mended."""
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(str(path))
    assert "\n" not in caught.value.detail
    assert key in caught.value.detail
    assert what in caught.value.detail
    assert "wrong.toml" in caught.value.detail or key == "no screen manifest"


def test_a_manifest_that_extends_itself_is_refused(tmp_path: Path) -> None:
    """Also in a circle."""
    (tmp_path / "a.toml").write_text(f"name = 'a'\nextends = '{tmp_path / 'b.toml'}'", encoding="utf-8")
    (tmp_path / "b.toml").write_text(f"name = 'b'\nextends = '{tmp_path / 'a.toml'}'", encoding="utf-8")
    with pytest.raises(ConfigError, match="extends"):
        load(str(tmp_path / "a.toml"))


def test_a_file_that_is_not_there() -> None:
    """Named, with the reason."""
    with pytest.raises(ConfigError, match="No such file"):
        load("/nowhere/at/all.toml")


def test_where_manifests_are_looked_for(tmp_path: Path) -> None:
    """The environment first, then a person's configuration."""
    got = folders({"TURNHUB_MANIFESTS": f"{tmp_path}:/b", "XDG_CONFIG_HOME": "/c"})
    assert got == (tmp_path, Path("/b"), Path("/c/turnhub/manifests"))


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("esc to *", "Esc to cancel", True),
        ("esc to *", "press esc to cancel", False),
        ("*esc to*", "  press  ESC to cancel", True),
        ("+{n} lines", "+12 lines", True),
        ("+{n} lines", "+ lines", False),
        ("don't", "Don’t", True),
        ("a.c", "abc", False),
        ("{*} *…", "* Baking…", True),
        ("{*} *…", "● Baking…", False),
        ("(", "(", True),
    ],
)
def test_patterns(pattern: str, text: str, matches: bool) -> None:
    """A star is anything, {n} a number, the rest itself; case, blanks and curly quotes do not matter."""
    assert Patterns([pattern]).match(text) is matches
