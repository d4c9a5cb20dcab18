"""Grants over HTTP: listed with who gave them, taken back by who may approve."""

from __future__ import annotations

import pytest

from hub.events import decode_frames
from tests.front.door import Door, problem

pytestmark = pytest.mark.anyio


async def test_a_grant_is_listed_and_taken_back(door: Door) -> None:
    """It says which ask made it and who answered; taking it back twice is a 404, and the log tells who did it."""
    session = await door.session()
    claim = await door.running(session)
    ask = await door.desk.opened(claim)
    path = f"/v1/sessions/{session}/grants"
    assert (await door.client.get(path)).json() == []
    await door.client.post(f"/v1/asks/{ask}/answer", json={"decision": "allow", "scope": "session"})
    (grant,) = (await door.client.get(path)).json()
    assert grant["ask_id"] == ask
    assert grant["by"]["kind"] == "person"
    assert grant["id"].startswith("grt_")
    async with door.client_with("read") as client:
        await problem(await client.delete(f"{path}/{grant['id']}"), 403, "missing_scope")
    async with door.client_with("approve") as client:
        assert (await client.delete(f"{path}/{grant['id']}")).status_code == 204
    assert (await door.client.get(path)).json() == []
    await problem(await door.client.delete(f"{path}/{grant['id']}"), 404, "not_found")
    found = await door.services.store.snapshot(session, 0, whole=True, most=100)
    (frame,) = (entry.frame for entry in found.entries if entry.type == "grant_revoked")
    (event,) = decode_frames(frame)
    assert (event.grant_id, event.by.kind) == (grant["id"], "person")  # type: ignore[union-attr]


async def test_grants_of_no_session_are_not_found(door: Door) -> None:
    """An unknown session is a 404 in both."""
    path = "/v1/sessions/ses_01m8n0a252p9dn1xhpsvr7k5wx/grants"
    await problem(await door.client.get(path), 404, "not_found")
    await problem(await door.client.delete(f"{path}/grt_x"), 404, "not_found")
