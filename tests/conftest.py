"""Fixtures that all tests share."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# Properties run beside other tests on busy machines: how long an example takes says nothing about the code.
# The parent is the profile in force, which on a CI machine is hypothesis' own, without chance.
settings.register_profile(
    "turnhub", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("turnhub")


@pytest.fixture
def anyio_backend() -> str:
    """The hub runs on asyncio."""
    return "asyncio"
