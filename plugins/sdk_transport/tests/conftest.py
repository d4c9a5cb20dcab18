"""What all tests of this plugin share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil
import pytest

from hub.testing import TransportContract


@pytest.fixture
def anyio_backend() -> str:
    """The hub runs on asyncio."""
    return "asyncio"


def agents_running() -> set[psutil.Process]:
    """The agents below this process."""
    return {child for child in psutil.Process().children(recursive=True) if "claude" in child.name()}


@pytest.fixture(autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test that starts agents leaves one running; those of hubs that other tests here share are not its own."""
    before = agents_running()
    yield
    if request.node.get_closest_marker("real") is None:
        return
    _, alive = psutil.wait_procs(agents_running() - before, timeout=10)
    for child in alive:
        child.kill()
    assert not alive, f"agents left running: {alive}"


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """Leave variants of the contract to ``make full``."""
    for item in items:
        ours = Path(__file__).parent in item.path.parents and item.path.name == "test_contract.py"
        if ours and item.name not in TransportContract.TELLING:
            item.add_marker(pytest.mark.full)
