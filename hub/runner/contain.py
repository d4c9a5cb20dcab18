"""Calling into plugins: bounded in time, and nothing that they raise gets past here unnamed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from hub.errors import PluginError
from hub.runner.sound import said

_CANCELS = 4

T = TypeVar("T")


async def contained(call: Callable[[], Awaitable[T]]) -> T:
    """``await call()``, where a plugin cannot end the process: asyncio lets SystemExit out of the loop. Raises
    PluginError for it. KeyboardInterrupt is let through: that is a person at the keyboard."""
    try:
        return await call()
    except SystemExit as error:
        raise PluginError(f"It wanted to end the whole process ({said(error)}).") from error


async def stop(task: asyncio.Task[Any], *, within_s: float) -> bool:
    """Cancel ``task`` until it ends, some times over; whether it has ended. What it raised decides nothing."""
    for _ in range(_CANCELS):
        if task.done():
            break
        task.cancel()
        await asyncio.wait({task}, timeout=within_s / _CANCELS)
    task.add_done_callback(_seen)
    return task.done()


def _seen(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()


async def bounded(call: Callable[[], Awaitable[Any]], *, within_s: float) -> str | None:
    """Await ``call()`` for ``within_s`` seconds; what went wrong, in words, or None. Never raises, unless
    cancelled."""
    task = asyncio.create_task(contained(call))
    try:
        await asyncio.wait({task}, timeout=within_s)
    finally:
        late = not task.done()
        if late:
            task.cancel()
    if late:
        gone = await stop(task, within_s=1.0)
        return f"it did not return within {within_s:g} s" + ("" if gone else ", nor when cancelled")
    if task.cancelled():
        return "it was cancelled from within"
    error = task.exception()
    return None if error is None else said(error)
