"""The real file system, as the judge asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from turnhub_permissions.engine import Engine, source_of
from turnhub_permissions.files import Files
from turnhub_permissions.testing import policies


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in a home, with links that lead out of it."""
    home = tmp_path / "home"
    place = home / "project"
    (place / "src").mkdir(parents=True)
    (home / ".ssh").mkdir()
    (home / ".ssh/id_rsa").touch()
    (place / "src/a.py").touch()
    (place / "out").symlink_to("/etc")
    (place / "keys").symlink_to(home / ".ssh")
    (place / "key").symlink_to(home / ".ssh/id_rsa")
    (place / "loop").symlink_to("loop")
    (place / "gone").symlink_to(home / "nowhere")
    (place / "here").symlink_to(place)
    return place


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("cat src/a.py", "allow"),
        ("cat src/new.py", "allow"),
        ("cat here/src/a.py", "allow"),
        ("cat here/here/src/a.py", "allow"),
        ("cat src/*.py", "allow"),
        ("cat out/passwd", "ask"),
        ("cat out/new", "ask"),
        ("cat keys/id_rsa", "ask"),
        ("cat key", "ask"),
        ("cat k*", "ask"),
        ("cat keys/../x", "ask"),
        ("cat gone", "ask"),
        ("cat loop", "allow"),
        ("cat src/../../.ssh/id_rsa", "ask"),
        ("touch src/new.py", "allow"),
        ("touch gone", "ask"),
        ("touch out/x", "ask"),
        ("cp src/a.py out", "ask"),
        ("cd keys && cat id_rsa", "ask"),
        ("cd out && cat passwd", "ask"),
        ("cd here/src && cat a.py", "allow"),
    ],
)
def test_links_are_followed_before_anything_is_allowed(project: Path, command: str, wanted: str) -> None:
    """What lies behind a link is judged where it is."""
    engine = Engine(source_of(policies({})))
    found = engine.judge(
        engine.policy("edits"), "Bash", {"command": command}, str(project), home=str(project.parent)
    )
    assert found.verdict == wanted, found.why


def test_a_working_directory_that_is_a_link_is_the_place_behind_it(project: Path) -> None:
    """Both names of it are inside."""
    link = project.parent.parent / "link"
    link.symlink_to(project)
    engine = Engine(source_of(policies({})))
    policy = engine.policy("edits")
    for path in (f"{link}/src/x", f"{project}/src/x", "src/x"):
        assert (
            engine.judge(policy, "Write", {"file_path": path}, str(link), home=str(project.parent)).verdict
            == "allow"
        )


def test_a_wildcard_that_a_file_turns_into_a_flag_asks(project: Path) -> None:
    """A file called like a flag makes `*` one."""
    engine = Engine(source_of(policies({})))
    policy = engine.policy("reads")
    assert engine.judge(policy, "Bash", {"command": "sort src/*"}, str(project)).verdict == "allow"
    (project / "src/--compress-program=sh").touch()
    assert engine.judge(policy, "Bash", {"command": "sort src/*"}, str(project)).verdict == "allow"
    assert engine.judge(policy, "Bash", {"command": "cd src && sort *"}, str(project)).verdict == "ask"


def test_paths_that_cannot_be_looked_at_are_taken_as_named() -> None:
    """Too long, or with a null byte: no exception."""
    files = Files()
    assert files.real("/" + "x" * 10_000).startswith("/x")
    assert files.real("/a\0b/../c")
    assert files.folds("/" + "x" * 10_000) in (True, False)


def test_too_many_wildcards_are_not_looked_up() -> None:
    """A pattern does not go through the whole disk."""
    assert Files().expand("/*/*/*/*") is None
    assert Files().expand("/**/x") is None


def test_what_lies_below_is_looked_through_for_secrets(project: Path) -> None:
    """At any depth, but not in what packages brought along; and links that lead out where they are followed."""
    engine = Engine(source_of(policies({})))
    policy = engine.policy("reads")

    def verdict(command: str) -> str:
        return engine.judge(policy, "Bash", {"command": command}, str(project), home=str(project.parent)).verdict

    assert (
        verdict("grep -r x src") == verdict("diff -r src other") == verdict("find src -exec cat {} +") == "allow"
    )
    (project / "src/node_modules").mkdir()
    (project / "src/node_modules/.env").touch()
    assert verdict("grep -r x src") == "allow"
    (project / "src/out").symlink_to("/etc")
    assert verdict("grep -r x src") == "allow"
    assert verdict("diff -r src other") == verdict("find src -exec cat {} +") == "ask"
    assert verdict("find src -name '*.py' -exec cat {} +") == "allow"
    (project / "src/deep/down").mkdir(parents=True)
    (project / "src/deep/down/.env").touch()
    assert verdict("grep -r x src") == "ask"
    assert verdict("grep -r --include='*.py' x src") == "allow"


def test_a_directory_with_too_much_in_it_is_not_looked_through(tmp_path: Path) -> None:
    """A person is asked, and soon."""
    for number in range(11_000):
        (tmp_path / f"{number}").touch()
    assert Files().below(str(tmp_path)) is None
    assert Files().below(str(tmp_path / "1")) == ()


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("mv dir other && cat other/away/passwd", "ask"),
        ("cp -a dir other && cat other/away/passwd", "ask"),
        ("cp -r dir other && echo x > other/away/x", "ask"),
        ("cp -P here other && cat other/x", "ask"),
        ("mv here other", "ask"),
        ("mv src other && cat other/a.py", "allow"),
        ("cp -r src other && cat other/a.py", "allow"),
        ("cp -r kit/. .", "ask"),
        ("cp -rT kit .", "ask"),
        ("cp -r kit/x .", "ask"),
        ("cp -r src/. other", "allow"),
        ("rsync -a kit/x/ .", "ask"),
    ],
)
def test_what_is_taken_along_is_looked_at(project: Path, command: str, wanted: str) -> None:
    """Links, which mean another place elsewhere, and files that decide what is run where they come to lie."""
    (project / "dir").mkdir()
    (project / "dir/away").symlink_to("/etc")
    (project / "kit/x").mkdir(parents=True)
    (project / "kit/x/.envrc").touch()
    (project / "kit/lefthook.yml").touch()
    engine = Engine(source_of(policies({})))
    found = engine.judge(
        engine.policy("edits"), "Bash", {"command": command}, str(project), home=str(project.parent)
    )
    assert found.verdict == wanted, found.why
