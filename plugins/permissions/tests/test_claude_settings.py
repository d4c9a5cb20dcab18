"""The permissions of Claude Code's settings become a policy."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from turnhub_permissions.claude_settings import as_toml, import_settings, settings_files
from turnhub_permissions.engine import Engine, source_of
from turnhub_permissions.testing import policies

from hub import ConfigError


def settings(path: Path, **permissions: Any) -> Path:
    """A settings file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"permissions": permissions, "model": "x"}))
    return path


def test_a_users_and_a_projects_settings_are_put_together(tmp_path: Path) -> None:
    """All three files, each rule once, and the policy that is printed can be used."""
    project = tmp_path / "project"
    settings(
        tmp_path / ".claude/settings.json", allow=["Bash(git status)", "Read(~/docs/**)"], deny=["Read(//etc/**)"]
    )
    settings(
        project / ".claude/settings.json",
        allow=["Bash(npm run test:*)", "Bash(git status)"],
        ask=["Bash(git push:*)"],
    )
    settings(
        project / ".claude/settings.local.json",
        allow=["Edit(/src/**)", "WebFetch(domain:example.com)", "mcp__files"],
    )
    found = import_settings(settings_files(project, tmp_path / ".claude"), "mine")
    assert found.left_out == ()
    assert len(found.files) == 3
    written = tomllib.loads(as_toml(found.bundle, ["a comment"]))
    assert written == {
        "policies": {
            "mine": {
                "allow": [
                    "Bash(git status)",
                    "Read(~/docs/**)",
                    "Bash(npm run test:*)",
                    f"Edit({project}/src/**)",
                    "WebFetch(domain:example.com)",
                    "mcp__files",
                ],
                "deny": ["Read(/etc/**)"],
                "ask": ["Bash(git push:*)"],
            }
        }
    }
    engine = Engine(source_of(policies(written["policies"])))
    judged = engine.judge(engine.policy("mine"), "Write", {"file_path": "src/x"}, str(project))
    assert judged.verdict == "allow"


def test_what_cannot_be_taken_over_is_told(tmp_path: Path) -> None:
    """Each by itself, with its file; the rest is taken."""
    file = settings(
        tmp_path / "settings.json",
        allow=["Bash(ls)", "Bash(ls && rm *)", 5, "Foo(bar)"],
        defaultMode="bypassPermissions",
        additionalDirectories=["/x"],
    )
    found = import_settings([file], "mine")
    assert found.bundle.allow == ("Bash(ls)",)
    assert len(found.left_out) == 5
    assert all(str(file) in line for line in found.left_out)


@pytest.mark.parametrize("text", ["{", '{"permissions": []}', '{"permissions": {"allow": "x"}}', "[]", "\xff"])
def test_a_file_that_is_no_settings_is_named(tmp_path: Path, text: str) -> None:
    """One line with the file."""
    file = tmp_path / "settings.json"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(ConfigError, match=r"settings\.json"):
        import_settings([file], "mine")


def test_any_text_is_written_as_toml_reads_it() -> None:
    """Quotes, backslashes and control characters in rules and names."""
    from hub import PolicyBundle

    rules = ('Bash(echo "a\\b")', "Bash(x\ty\x7f)", "Bash(é)")
    bundle = PolicyBundle(name="a b.c", extends=("x", "y"), allow=rules)
    assert tomllib.loads(as_toml(bundle, ["one\ntwo"]))["policies"]["a b.c"] == {
        "extends": ["x", "y"],
        "allow": list(rules),
    }
