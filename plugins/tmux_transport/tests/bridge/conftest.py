"""Posts and rows that were recorded from the real agent, and a client that posts as it does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from turnhub_tmux.bridge.course import Course
from turnhub_tmux.bridge.facts import Fact
from turnhub_tmux.bridge.posts import Post, read

RECORDED = Path(__file__).parent.parent / "recorded"


@pytest.fixture(scope="session")
def recorded() -> Callable[[str], list[Post]]:
    """The posts of a recorded scene, as they came."""

    def of(name: str) -> list[Post]:
        lines = (RECORDED / f"{name}.posts.jsonl").read_bytes().splitlines()
        found = [read(line, f"ask-{number}") for number, line in enumerate(lines)]
        return [post for post in found if post is not None]

    return of


@pytest.fixture
def told(recorded: Callable[[str], list[Post]]) -> Callable[[str], list[Fact]]:
    """The facts of a recorded scene."""

    def of(name: str) -> list[Fact]:
        course = Course()
        return [fact for post in recorded(name) for fact in course.take(post)]

    return of


@pytest.fixture(scope="session")
def body() -> Callable[..., bytes]:
    """Makes a post's body: ``body("Stop", last_assistant_message="x")``."""

    def make(event: str, **fields: Any) -> bytes:
        common = {"session_id": "s", "prompt_id": "p", "transcript_path": "/t/s.jsonl", "cwd": "/t"}
        return json.dumps({**common, "hook_event_name": event, **fields}).encode()

    return make
