"""Real processes: one is killed, one is frozen and comes back."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hub.config import RunnerConfig
from hub.events import Text, TextDelta, TurnCompleted, TurnFailed
from hub.testing.hub import TestHub, hub_config
from tests.runner.conftest import Hubs

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LEASE_S = 2.0
STEPS = [{"text": "so far so good", "deltas": 4}, {"text": "more " * 100, "deltas": 100, "every_ms": 50}]


@contextmanager
def solo(url: str) -> Iterator[subprocess.Popen[bytes]]:
    """A runner in a process of its own; gone at the end."""
    command = [sys.executable, str(Path(__file__).with_name("solo.py")), url, str(LEASE_S)]
    root = Path(__file__).parent.parent.parent
    process = subprocess.Popen(command, cwd=root, env={"PYTHONPATH": str(root), "PATH": ""})
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


async def heard(hub: TestHub, since: float) -> None:
    """Return when a runner has been heard of after ``since`` (the store's clock)."""
    async with asyncio.timeout(20):
        while not any(one.seen > since for one in await hub.work.runners()):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)


async def test_a_process_that_is_killed_leaves_one_honest_end(hubs: Hubs, redis_url: str) -> None:
    """kill -9 in the middle of a turn: within a lease and a sweep its partial text is kept and marked, and the
    turn ends, once."""
    async with hubs(hub_config(runner=RunnerConfig(lease_s=LEASE_S)), runners=0) as hub:
        with solo(redis_url) as process:
            session = await hub.session()
            begun = await hub.send(session, STEPS)
            await hub.until(begun, lambda event: isinstance(event, TextDelta) and event.block == 1)
            process.kill()
            killed_at = time.monotonic()
            hub.add_runner()
            events = await hub.events(begun)
            assert time.monotonic() - killed_at < LEASE_S * 4 / 3 + 2
        assert isinstance(events[-1], TurnFailed)
        assert events[-1].code == "owner_lost"
        texts = [event for event in events if isinstance(event, Text)]
        assert [(text.block, text.partial) for text in texts] == [(0, False), (1, True)]
        pieces = [event.text for event in events if isinstance(event, TextDelta) and event.block == 1]
        assert texts[1].text == "".join(pieces)
        assert isinstance(await hub.run_turn(session), TurnCompleted)


async def test_a_process_that_was_frozen_comes_back_too_late(hubs: Hubs, redis_url: str) -> None:
    """SIGSTOP past the lease: another runner ends the turn and runs the next. After SIGCONT the first writes
    nothing into what is over, and works on as a runner like any other."""
    async with hubs(hub_config(runner=RunnerConfig(lease_s=LEASE_S)), runners=0) as hub:
        with solo(redis_url) as process:
            session = await hub.session()
            begun = await hub.send(session, STEPS)
            await hub.until(begun, lambda event: isinstance(event, TextDelta) and event.block == 1)
            process.send_signal(signal.SIGSTOP)
            other = hub.add_runner()
            ending = await hub.ending(begun)
            assert isinstance(ending, TurnFailed)
            assert ending.code == "owner_lost"
            await other.stop()
            log = await hub.store.log_page(session, 0)
            since = await hub.work.clock()
            process.send_signal(signal.SIGCONT)
            await heard(hub, since)
            assert isinstance(await hub.run_turn(session), TurnCompleted)
            now = await hub.store.log_page(session, 0)
            assert now[: len(log)] == log
            assert {entry.turn_id for entry in now[len(log) :]} & {begun.turn_id} == set()
