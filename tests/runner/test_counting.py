"""What a runner counts: turns, batches, asks and store calls, as they were."""

from __future__ import annotations

import re

import pytest

from hub.asks import settle
from hub.config import RunnerConfig
from hub.events import AskOpened, By, TurnFailed
from hub.testing.hub import hub_config
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio


def figures(rendered: bytes) -> dict[str, float]:
    """Names with labels, and their values."""
    lines = re.findall(r"^(turnhub_\S+) (\S+)$", rendered.decode(), re.MULTILINE)
    return {name: float(value) for name, value in lines}


async def test_a_runner_counts_what_it_did(hubs: Hubs) -> None:
    """Turns by outcome, every event once however it was batched, asks by kind and by who settled them."""
    async with hubs(hub_config(runner=RunnerConfig(lease_s=30))) as hub:
        session = await hub.session()
        await hub.run_turn(session, [{"text": "x" * 300, "deltas": 300}])
        begun = await hub.send(session, [{"tool": "Bash", "input": {"command": "ls"}, "ask": True}])
        opened = await hub.until(begun, AskOpened)
        counted = figures(hub.runners[0].metrics.render())
        assert counted["turnhub_asks_waiting"] == 1
        assert counted['turnhub_turns_running{agent="agent"}'] == 1
        record = await hub.store.ask(opened.ask.id)
        reply = settle(record.ask, {"decision": "deny"}, By(kind="person", name="ann"))
        await hub.store.settle_ask(record, reply)
        await hub.ending(begun)
        failed = await hub.run_turn(session, [{"raise": "x"}])
        assert isinstance(failed, TurnFailed)
        await hub.runners[0].stop()
        counted = figures(hub.runners[0].metrics.render())
    assert counted['turnhub_turns_started_total{agent="agent"}'] == 3
    assert counted['turnhub_turns_running{agent="agent"}'] == 0
    assert counted['turnhub_turns_ended_total{agent="agent",code="",outcome="completed"}'] == 2
    assert counted['turnhub_turns_ended_total{agent="agent",code="agent_error",outcome="failed"}'] == 1
    assert counted['turnhub_asks_opened_total{kind="permission"}'] == 1
    assert counted['turnhub_asks_settled_total{by="person"}'] == 1
    assert counted["turnhub_asks_waiting"] == 0
    # Delivered, 300 deltas and their text; delivered, a tool's start and end; delivered.
    assert counted["turnhub_events_appended_total"] == 302 + 3 + 1
    assert counted["turnhub_append_batch_events_sum"] == 306
    assert counted["turnhub_append_batch_events_count"] < 100
    assert counted['turnhub_store_seconds_count{call="append"}'] >= counted["turnhub_append_batch_events_count"]
    assert counted['turnhub_store_errors_total{call="append"}'] == 0
