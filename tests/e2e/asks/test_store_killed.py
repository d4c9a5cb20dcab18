"""An ask outlives the store that it is written in."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest

from tests.e2e.asks.actors import Play, Stage, append, life, staged

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def stage(anyio_backend: str) -> AsyncIterator[Stage]:
    """A hub whose leases outlast a restart of its store."""
    async with staged(lease_s=20.0) as stage:
        yield stage


@pytest.mark.parametrize("name", ["scripted", "sdk", pytest.param("hooks", marks=pytest.mark.full)])
async def test_an_open_ask_outlives_a_killed_store(stage: Stage, name: str) -> None:
    """kill -9 of the embedded store under the hub: the ask is open still, with the same id; it is answered, taken
    by the agent and run once."""
    play = await Play.begin(stage, stage.actors[name], [append(f"store-{name}")])
    ask = await play.ask()
    before = _store(stage)
    os.kill(before, signal.SIGKILL)
    async with asyncio.timeout(20):
        while _store(stage) in (0, before) or (await stage.call("GET", "/readyz")).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    (same,) = await play.asks()
    assert (same["id"], same["state"]) == (ask["id"], "open")
    await play.agree(same, decision="allow")
    await play.end()
    assert await play.ran() == [f"store-{name}"]
    assert life(await play.log()) == [("opened",), ("settled", "person", "primary", "allow"), ("delivered",)]


def _store(stage: Stage) -> int:
    """The process id of the store; 0 while there is none."""
    path = stage.hub.state / "store" / "valkey.pid"
    return int(path.read_text() or "0") if path.exists() else 0
