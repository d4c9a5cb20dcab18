"""End to end: a real hub process with its embedded store, and clients that speak HTTP to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from hub.testing.process import HubProcess, hub_process
from tests.e2e.door import Door

CONFIG = """
[runner]
lease_s = 6.0

[agents.echo]
transport = "scripted"

[agents.rehearsal]
transport = "sdk"
rehearsal = true
"""


@pytest.fixture(scope="module")
def shared_hub() -> Iterator[HubProcess]:
    """One hub for the tests of a module that leave it as it was."""
    with hub_process(CONFIG, environ={"IS_SANDBOX": "1"}) as hub:
        yield hub


@pytest.fixture
def own_hub() -> Iterator[HubProcess]:
    """A hub that a test may kill."""
    with hub_process(CONFIG, environ={"IS_SANDBOX": "1"}) as hub:
        yield hub


@pytest.fixture
async def door(shared_hub: HubProcess) -> AsyncIterator[Door]:
    """A client of the shared hub."""
    async with Door(shared_hub) as door:
        yield door
