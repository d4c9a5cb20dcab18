"""Coroutines that run beside a block of code, and end with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def pumping(pumps: Iterable[Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Run them for the block. One that fails ends the block, as a task of a group does."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(pump) for pump in pumps]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
