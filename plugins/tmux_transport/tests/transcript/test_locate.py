"""Where a transcript is: by the working directory, by its name, by what a hook tells."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from turnhub_tmux.transcript.locate import (
    config_folder,
    project_name,
    sessions,
    told_path,
    transcript_path,
)

SESSION = "3c676b1f-e3f9-4211-9410-0e08e8d22080"


def test_the_folder_is_named_after_the_working_directory(tmp_path: Path) -> None:
    """All but letters and digits become a hyphen; a link counts as what it leads to."""
    assert project_name("/home/dev/my_project.v2") == "-home-dev-my-project-v2"
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    assert project_name(str(tmp_path / "link")) == project_name(str(real))


def test_a_transcript_that_is_not_there_yet_has_its_place(tmp_path: Path) -> None:
    """One that is somewhere else already is found by its name."""
    expected = tmp_path / "projects" / "-home-dev-a" / f"{SESSION}.jsonl"
    assert transcript_path(tmp_path, "/home/dev/a", SESSION) == expected
    elsewhere = tmp_path / "projects" / "-home-dev-b" / f"{SESSION}.jsonl"
    elsewhere.parent.mkdir(parents=True)
    elsewhere.touch()
    assert transcript_path(tmp_path, "/home/dev/a", SESSION) == elsewhere
    for wrong in ("../x", "", "a/b", "*"):
        with pytest.raises(ValueError, match="no session id"):
            transcript_path(tmp_path, "/home/dev/a", wrong)


def test_the_sessions_of_a_directory_come_newest_first(tmp_path: Path) -> None:
    """Also of a directory whose name is so long that it is cut."""
    for cwd in ("/home/dev/a", "/home/" + "long/" * 60):
        folder = tmp_path / "projects" / (project_name(cwd) + ("-1a2b3c" if "long" in cwd else ""))
        folder.mkdir(parents=True)
        for number, name in enumerate(("old", "new")):
            (folder / f"{name}.jsonl").touch()
            os.utime(folder / f"{name}.jsonl", (number, number))
        assert [path.stem for path in sessions(tmp_path, cwd)] == ["new", "old"]
    assert sessions(tmp_path, "/home/dev/nothing") == []


def test_only_a_whole_path_of_a_transcript_is_believed() -> None:
    """A hook's word is data, not a way into other files."""
    assert told_path("/home/dev/.claude/projects/p/s.jsonl") == Path("/home/dev/.claude/projects/p/s.jsonl")
    for wrong in ("", "s.jsonl", "/etc/passwd", "/a/../etc/s.jsonl"):
        assert told_path(wrong) is None


def test_the_configuration_is_where_the_agents_environment_says() -> None:
    """Its own folder first, else its home's."""
    assert config_folder({"CLAUDE_CONFIG_DIR": "/c", "HOME": "/h"}) == Path("/c")
    assert config_folder({"HOME": "/h"}) == Path("/h/.claude")
