"""What waits after a turn: it goes on after a good one, and after a bad one as the policy says."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from hub.config import PolicyConfig
from hub.events import TurnCompleted, TurnFailed, UserMessage
from hub.testing.hub import hub_config
from tests.runner.conftest import Hubs
from tests.runner.test_steering import log, until

pytestmark = pytest.mark.anyio

FAILS: list[Any] = [{"text": "so far"}, {"sleep_ms": 150}, {"fail": {"code": "agent_error", "message": "no"}}]


@pytest.mark.parametrize("on_failure", ["pause", "continue", None])
async def test_a_failed_turn_drains_the_queue_only_where_the_policy_says_so(
    hubs: Hubs, on_failure: Literal["pause", "continue"] | None
) -> None:
    """By default it stands still, visibly, until somebody lets it go on; with `continue` it goes on by itself."""
    policies = {"base": PolicyConfig(on_failure=on_failure), "mine": PolicyConfig(extends=("base",))}
    async with hubs(hub_config(policies=policies)) as hub:
        session = await hub.session(policy="mine")
        begun = await hub.send(session, FAILS)
        for text in ("one", "two"):
            await hub.store.enqueue(session, text)
        assert isinstance(await hub.ending(begun), TurnFailed)
        if on_failure != "continue":
            waiting = await hub.store.snapshot(session, 0, whole=True, most=10)
            assert (waiting.turn, [one.text for one in waiting.queue]) == (None, ["one", "two"])
            resumed = await hub.store.resume_queue(session)
            await hub.work.ring("agent", session, resumed.turn_id)
        events = await until(
            hub, session, lambda events: sum(isinstance(one, TurnCompleted) for one in events) == 2
        )
        assert [one.text for one in events if isinstance(one, UserMessage)][1:] == ["one", "two"]
        assert await log(hub, session) == events
