"""Fixtures of this distribution's tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from turnhub_tmux.screen.manifest import Manifest, load

# How long an example takes on a busy machine says nothing about the code.
settings.register_profile(
    "turnhub-tmux",
    parent=settings(),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=100,
)
settings.load_profile("turnhub-tmux")

DATA = Path(__file__).parent / "screen" / "data"


@pytest.fixture
def anyio_backend() -> str:
    """The hub runs on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def manifest_of() -> Callable[[str], Manifest]:
    """The manifest of a kind that comes along."""
    return cache(load)


@pytest.fixture(scope="session")
def claude(manifest_of: Callable[[str], Manifest]) -> Manifest:
    """The manifest of Claude Code."""
    return manifest_of("claude-code")


@pytest.fixture(scope="session")
def pane() -> Callable[[str], bytes]:
    """A saved screen by its name: those of ``data/real`` and ``data/panes``."""

    def read(name: str) -> bytes:
        found = [path for folder in ("real", "panes") if (path := DATA / folder / f"{name}.ansi").is_file()]
        return found[0].read_bytes()

    return read


@pytest.fixture(scope="session")
def cases() -> Callable[[str], list[Mapping[str, Any]]]:
    """The cases of a group in ``data/screen_cases.json``."""
    everything: list[dict[str, Any]] = msgspec.json.decode((DATA / "screen_cases.json").read_bytes())

    def of(group: str) -> list[Mapping[str, Any]]:
        return [case for case in everything if case["group"] == group]

    return of
