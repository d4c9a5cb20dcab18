"""What all tests of this plugin share."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The hub runs on asyncio."""
    return "asyncio"
