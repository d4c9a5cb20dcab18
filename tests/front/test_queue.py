"""Waiting messages over HTTP: changed, taken back, begun when a failed turn left them standing."""

from __future__ import annotations

import pytest

from hub import ids
from tests.front.door import Door, problem

pytestmark = pytest.mark.anyio


async def test_a_waiting_message_is_changed(door: Door) -> None:
    """200 is the message as it waits now; empty words, unknown fields and unknown messages are refused by name."""
    session = await door.session()
    await door.running(session)
    waits = (await door.send(session, "first thought", on_busy="queue")).json()["message_id"]
    path = f"/v1/sessions/{session}/queue/{waits}"
    changed = await door.client.patch(path, json={"text": "second thought"})
    assert (changed.status_code, changed.json()) == (
        200,
        {"message_id": waits, "text": "second thought", "literal": True},
    )
    shown = (await door.client.get(f"/v1/sessions/{session}")).json()
    assert [one["text"] for one in shown["queue"]] == ["second thought"]
    await problem(await door.client.patch(path, json={"text": " "}), 422, "invalid")
    await problem(await door.client.patch(path, json={"words": "x"}), 422, "invalid")
    unknown = f"/v1/sessions/{session}/queue/{ids.message_id()}"
    await problem(await door.client.patch(unknown, json={"text": "x"}), 404, "not_found")


async def test_a_changed_message_is_sent_as_it_was_to_be(door: Door) -> None:
    """A change of its words says nothing about how they are sent."""
    session = await door.session()
    await door.running(session)
    waits = (await door.send(session, "/a", on_busy="queue", literal=False)).json()["message_id"]
    changed = await door.client.patch(f"/v1/sessions/{session}/queue/{waits}", json={"text": "/b"})
    assert changed.json() == {"message_id": waits, "text": "/b", "literal": False}


async def test_a_key_stands_for_its_message_whatever_was_made_of_it(door: Door) -> None:
    """The same request again, with the same key: the same message, then the same turn, though its words were
    changed while it waited."""
    session = await door.session()
    claim = await door.running(session)
    body, key = {"text": "one", "on_busy": "queue"}, {"Idempotency-Key": "k"}
    path = f"/v1/sessions/{session}/messages"
    waits = (await door.client.post(path, json=body, headers=key)).json()["message_id"]
    await door.client.patch(f"/v1/sessions/{session}/queue/{waits}", json={"text": "two"})
    again = await door.client.post(path, json=body, headers=key)
    assert (again.status_code, again.json()) == (202, {"turn": None, "message_id": waits})
    begun = await door.desk.finish(claim)
    again = await door.client.post(path, json=body, headers=key)
    assert (again.status_code, again.json()["turn"]["id"]) == (202, begun.next_turn)
    other = await door.client.post(path, json={**body, "text": "two"}, headers=key)
    await problem(other, 422, "idempotency_mismatch")


async def test_a_queue_that_stands_still_is_resumed(door: Door) -> None:
    """202 names the turn that began; without a waiting message 404; while a turn runs 409."""
    session = await door.session()
    path = f"/v1/sessions/{session}/queue/resume"
    await problem(await door.client.post(path), 404, "nothing_queued")
    claim = await door.running(session)
    waits = (await door.send(session, "next", on_busy="queue")).json()["message_id"]
    await problem(await door.client.post(path), 409, "turn_in_flight")
    await door.desk.finish(claim, go_on=False)
    answer = await door.client.post(path)
    assert (answer.status_code, answer.json()["message_id"]) == (202, waits)
    assert answer.json()["turn"]["state"] == "queued"
