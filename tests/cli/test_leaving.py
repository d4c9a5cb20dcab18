"""Leaving: whatever a plugin's tasks do, the process ends when the hub has."""

from __future__ import annotations

import subprocess
import sys
import time

SCRIPT = """
import asyncio
from hub.cli.serve import _to_the_end

async def stubborn():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            print("no", flush=True)

async def serving():
    {tasks}
    await asyncio.sleep(0)
    print("served", flush=True)

asyncio.run(_to_the_end(serving(), within_s=0.2))
print("left in order", flush=True)
"""


def left(tasks: str) -> tuple[int, str, float]:
    """Exit code, words, and seconds of a process that serves with such tasks."""
    start = time.monotonic()
    command = [sys.executable, "-c", SCRIPT.format(tasks=tasks)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr, time.monotonic() - start


def test_a_task_that_does_not_end_does_not_keep_the_process() -> None:
    """A plugin's task swallows every cancellation: the process says so and leaves, with success."""
    code, words, seconds = left("asyncio.get_running_loop().stubborn = asyncio.create_task(stubborn())")
    assert code == 0
    assert "served" in words
    assert "do not end" in words
    assert "left in order" not in words
    assert seconds < 30


def test_tasks_that_end_are_waited_for() -> None:
    """Tasks that can be cancelled, or none: the process leaves in order."""
    for tasks in ("pass", "asyncio.get_running_loop().calm = asyncio.create_task(asyncio.sleep(60))"):
        code, words, _ = left(tasks)
        assert (code, words) == (0, "served\nleft in order\n")
