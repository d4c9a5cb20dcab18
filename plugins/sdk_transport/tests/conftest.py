"""What all tests of this plugin share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

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


CONTRACT_ALWAYS = frozenset(
    {
        "test_a_session_can_be_opened_again",
        "test_an_edited_input_is_what_runs",
        "test_an_answer_reaches_the_agent",
        "test_a_withdrawn_call_does_not_run",
        "test_a_turn_runs_after_a_stopped_one",
        "test_cancellation_is_honoured",
        "test_connections_are_independent",
        "test_events_keep_the_rules",
        "test_an_agent_that_cannot_run_says_why",
        "test_wrong_options_are_a_mistake_in_the_configuration",
    }
)
"""The tests of the contract that each run makes on the real agent; the others are variants, for ``make full``."""


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """Leave variants of the contract to ``make full``."""
    for item in items:
        ours = Path(__file__).parent in item.path.parents and item.path.name == "test_contract.py"
        if ours and item.name not in CONTRACT_ALWAYS:
            item.add_marker(pytest.mark.full)
