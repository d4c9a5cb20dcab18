"""Which turns are sensitive: by the paths that they mention, and by what they say."""

from __future__ import annotations

import re

import pytest
from turnhub_distiller.secrecy import Rules, Spot

from hub import AnyEvent, Message, Text
from hub.testing import make_session

from .conftest import tool


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("secrets", "/repo/secrets/key.pem", True),
        ("secrets", "/repo/secretsauce/key.pem", False),
        ("*.pem", "a/b/key.pem", True),
        ("*.pem", "a/b/key.pem.txt", False),
        (".env", "src/.env", True),
        ("hr/private/**", "/repo/hr/private/x/y", True),
        ("hr/private/**", "/repo/hr/x/../private/y", True),
        ("hr/private/**", "/repo/hr/public/y", False),
        ("hr/**/pay.csv", "hr/2026/pay.csv", True),
        ("/srv/hr/**", "/srv/hr/x", True),
        ("/srv/hr/**", "/srv/hr", True),
        ("/srv/hr/**", "/home/srv/hr/x", False),
        ("/repo/hr", "hr/x", True),
        ("/repo/hr", "./hr", True),
        ("/**", "anything", True),
    ],
)
def test_a_pattern_covers_paths_as_in_a_shell(pattern: str, path: str, covered: bool) -> None:
    """A folder stands for what is in it; relative paths are seen from the working directory."""
    assert Spot.of(pattern).covers(path, "/repo") is covered


RULES = Rules(paths=(Spot.of("secrets/**"), Spot.of("/srv/hr/**")), content=(re.compile(r"(?i)salar(y|ies)"),))


@pytest.mark.parametrize(
    ("text", "cwd", "sensitive"),
    [
        ("hello", "/repo", False),
        ("what is the Salary of Bob?", "/repo", True),
        ("look into @secrets/plan.md, please", "/repo", True),
        ("look into 'secrets/plan.md'.", "/repo", True),
        ("hello", "/srv/hr/x", True),
        ("read x", "/srv", False),
        ("read hr/x", "/srv", True),
    ],
)
def test_a_message_makes_its_turn_sensitive(text: str, cwd: str, sensitive: bool) -> None:
    """By its words, by a path among them, or by where it works."""
    found = RULES.of_message(make_session(cwd=cwd), Message(id="m", text=text))
    assert (found is not None) is sensitive


@pytest.mark.parametrize(
    ("events", "sensitive"),
    [
        (tool(1, "Read", file_path="/repo/src/a.py"), False),
        (tool(1, "Read", file_path="/repo/secrets/a b.txt"), True),
        (tool(1, "Bash", command="cd secrets&&cat x"), True),
        (tool(1, "Bash", "secrets/x:1:hit", command="grep -r hit ."), True),
        (tool(1, "Bash", "name,salary\nbob,1", command="cat x"), True),
        (tool(1, "Tool", nested={"deep": [{"path": "secrets/x"}]}), True),
        ([Text(block=0, text="Bob's salary is 1.")], True),
    ],
)
def test_what_happens_later_makes_a_turn_sensitive(events: list[AnyEvent], sensitive: bool) -> None:
    """In inputs, outputs and words alike."""
    assert (RULES.of_events(make_session(cwd="/repo"), events) is not None) is sensitive
