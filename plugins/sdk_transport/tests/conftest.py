"""What all tests of this plugin share."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The hub runs on asyncio."""
    return "asyncio"


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test that starts agents leaves one running."""
    yield
    if request.node.get_closest_marker("real") is None:
        return
    left = [child for child in psutil.Process().children(recursive=True) if "claude" in child.name()]
    _, alive = psutil.wait_procs(left, timeout=3)
    for child in alive:
        child.kill()
    assert not alive, f"agents left running: {alive}"
