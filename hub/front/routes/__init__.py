"""The routes, split by noun."""

from __future__ import annotations

from typing import Final

from hub.front.operations import Operation
from hub.front.routes import asks, grants, messages, sessions, streams, system

OPERATIONS: Final[tuple[Operation, ...]] = (
    *system.OPERATIONS,
    *sessions.OPERATIONS,
    *messages.OPERATIONS,
    *streams.OPERATIONS,
    *asks.OPERATIONS,
    *grants.OPERATIONS,
)
