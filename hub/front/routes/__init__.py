"""The routes, split by noun."""

from __future__ import annotations

from typing import Final

from hub.front.operations import Operation
from hub.front.routes import (
    asks,
    copies,
    grants,
    memory,
    messages,
    outputs,
    queue,
    rendering,
    screen,
    sessions,
    streams,
    system,
)

OPERATIONS: Final[tuple[Operation, ...]] = (
    *system.OPERATIONS,
    *copies.OPERATIONS,
    *sessions.OPERATIONS,
    *messages.OPERATIONS,
    *queue.OPERATIONS,
    *streams.OPERATIONS,
    *asks.OPERATIONS,
    *grants.OPERATIONS,
    *memory.OPERATIONS,
    *rendering.OPERATIONS,
    *outputs.OPERATIONS,
    *screen.OPERATIONS,
)
