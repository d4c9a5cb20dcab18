"""What was made of a session's turns, over HTTP; and which sessions are sensitive."""

from __future__ import annotations

from typing import Any

import pytest

from hub.events import Distillate, DistillFailed, TurnDistilled, stamp
from hub.store.distilling import Undistilled
from tests.front.door import Door, problem

pytestmark = pytest.mark.anyio


async def waiting(door: Door, session: str) -> Undistilled:
    """A turn that has ended and is claimed for its distillation."""
    store, claim = door.services.store, await door.running(session)
    await store.mark(claim, sensitive=False, most=10)
    await door.desk.finish(claim)
    found = await store.claim_distillation(session, claim.turn_id, "req_1", 10_000)
    assert found is not None
    return found


async def written(door: Door, turn: Undistilled, *events: TurnDistilled | DistillFailed) -> None:
    """Write what was made of a turn."""
    stamped: Any = [stamp(event, turn.session.id, turn.turn_id) for event in events]
    assert await door.services.store.distilled(turn, stamped)


async def test_the_memory_of_a_session_is_shown_newest_last(door: Door) -> None:
    """A turn that waits, one that was distilled, one that only failed, and one where another route stood in."""
    session = await door.session()
    path = f"/v1/sessions/{session}/memory"
    assert (await door.client.get(path)).json() == {"memory": [], "pending": []}
    first = await waiting(door, session)
    assert (await door.client.get(path)).json() == {"memory": [], "pending": [first.turn_id]}
    made = TurnDistilled(distillate=Distillate(summary="one"), route="cheap", model="small")
    failed = DistillFailed(code="token_cap", message="Spent.")
    await written(door, first, made)
    second = await waiting(door, session)
    await written(door, second, failed)
    third = await waiting(door, session)
    await written(door, third, failed, TurnDistilled(distillate=Distillate(summary="three"), route="extractive"))
    found = (await door.client.get(path)).json()
    assert found["pending"] == []
    assert [one["turn_id"] for one in found["memory"]] == [first.turn_id, second.turn_id, third.turn_id]
    told = [(one["route"], one["model"], one["failure"] and one["failure"]["code"]) for one in found["memory"]]
    assert told == [("cheap", "small", None), (None, None, "token_cap"), ("extractive", None, "token_cap")]
    assert found["memory"][1]["distillate"] is None
    assert found["memory"][2]["distillate"]["summary"] == "three"


async def test_the_memory_wants_scope_read_and_a_session(door: Door) -> None:
    """As every look at a session does."""
    session = await door.session()
    async with door.client_with("send") as client:
        await problem(await client.get(f"/v1/sessions/{session}/memory"), 403, "missing_scope")
    async with door.client_with("read") as client:
        assert (await client.get(f"/v1/sessions/{session}/memory")).status_code == 200
        missing = "/v1/sessions/ses_01m8n0a252p9dn1xhpsvr7k5wx/memory"
        await problem(await client.get(missing), 404, "not_found")


async def test_a_session_is_made_sensitive_by_anybody_and_less_so_by_who_may_approve(door: Door) -> None:
    """To let its turns go elsewhere again is consent."""
    session = await door.session(sensitive=True)
    path = f"/v1/sessions/{session}"
    assert (await door.client.get(path)).json()["session"]["sensitive"] is True
    async with door.client_with("send") as client:
        await problem(await client.patch(path, json={"sensitive": False}), 403, "missing_scope")
        assert (await client.patch(path, json={"sensitive": True})).json()["sensitive"] is True
    assert (await door.client.patch(path, json={"sensitive": False})).json()["sensitive"] is False
    assert (await door.services.store.session(session)).sensitive is False


async def test_the_backlog_is_among_the_figures(door: Door) -> None:
    """As the store has it, whoever distills."""
    await waiting(door, await door.session())
    assert "turnhub_distill_backlog 1.0" in (await door.client.get("/metrics")).text
