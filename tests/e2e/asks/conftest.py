"""What the scenarios share: one stage for each module, with the real agents on it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator

import pytest
from turnhub_tmux.testing import bundled_claude

from tests.e2e.asks.actors import Stage, staged

MISSING = [
    what for what, there in (("tmux", shutil.which("tmux")), ("Claude Code", bundled_claude())) if not there
]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The hub runs on asyncio; the stage stands as long as the module."""
    return "asyncio"


@pytest.fixture(scope="module")
async def stage(anyio_backend: str) -> AsyncIterator[Stage]:
    """The hub and its agents."""
    async with staged() as stage:
        yield stage


def pytest_itemcollected(item: pytest.Item) -> None:
    """These need the real agents."""
    for mark in (pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(120)):
        item.add_marker(mark)
    if MISSING:
        item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(MISSING)}"))
