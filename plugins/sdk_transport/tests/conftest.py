"""What all tests of this plugin share."""

from __future__ import annotations

from collections.abc import Iterator

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


# What of the contract the live tests here show in each run, with the same agent.
SHOWN_ELSEWHERE = {
    "test_a_session_can_be_opened_again",
    "test_a_withdrawn_call_does_not_run",
    "test_an_answer_reaches_the_agent",
    "test_an_edited_input_is_what_runs",
    "test_cancellation_is_honoured",
    "test_connections_are_independent",
    "test_steering",
}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave variants of the contract to ``make full``."""
    if item.path.name == "test_contract.py" and item.name not in TransportContract.TELLING - SHOWN_ELSEWHERE:
        item.add_marker(pytest.mark.full)
