"""Fixtures for plugin authors, there in every pytest run of an environment that has turnhub.

It is light to import and changes nothing for tests that do not ask for its fixtures. Which event loop a
project's own anyio tests run on is the project's affair (``anyio_backend`` in its conftest);
:class:`hub.testing.TransportContract` says asyncio for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hub import testing

if TYPE_CHECKING:
    from hub.testing.turns import FakeTurn
    from hub.transport import SessionInfo


@pytest.fixture
def hub_session(tmp_path: Path) -> Callable[..., SessionInfo]:
    """Makes sessions: ``hub_session("echo", model="x")``; working and state directories are temporary."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    cwd = tmp_path / "cwd"
    cwd.mkdir()

    def make(transport: str = "scripted", **details: Any) -> SessionInfo:
        return testing.make_session(transport, **{"cwd": cwd, "state_dir": state, **details})

    return make


@pytest.fixture
def hub_turn(hub_session: Callable[..., SessionInfo]) -> Callable[..., FakeTurn]:
    """Makes turns: ``hub_turn("hello", session=…, replies=[allow()])``. Use it inside an async test."""

    def make(text: str = "hello", **details: Any) -> FakeTurn:
        return testing.FakeTurn(text, **{"session": hub_session(), **details})

    return make
