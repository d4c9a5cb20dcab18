"""Words for a running turn, over HTTP: given to it, told of with a verdict, once however often they are sent."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.e2e.door import Door

pytestmark = pytest.mark.anyio

LONG = json.dumps({"steps": [{"text": "begun"}, {"sleep_ms": 800}, {"text": "done"}]})


async def test_words_for_a_running_turn_are_in_it(door: Door) -> None:
    """202 names the running turn; the words stand in its conversation with the verdict, and begin no turn."""
    session = await door.new()
    path = f"/v1/sessions/{session}"
    begun = (await door.send(session, LONG)).json()["turn"]["id"]
    steer = {"text": "hurry", "on_busy": "steer"}
    sent = [await door.post(f"{path}/messages", steer, **{"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in sent] == [202, 202]
    assert sent[0].json()["turn"]["id"] == begun
    assert sent[0].json()["message_id"] == sent[1].json()["message_id"]
    async with asyncio.timeout(20):
        while (found := await door.session(session))["turn"] is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    users = [
        (item["text"], item["turn_id"], item["delivery"]) for item in found["items"] if item["kind"] == "user"
    ]
    assert users[1] == ("hurry", begun, {"verdict": "submitted", "proof": "sdk", "detail": None})
    (turn,) = (item for item in found["items"] if item["kind"] == "assistant")
    assert [block["text"] for block in turn["blocks"]] == ["begun", "Steered: hurry", "done"]
    assert found["queue"] == []


async def test_without_a_turn_words_begin_one(door: Door) -> None:
    """There is nothing to be steered: the message is a turn of its own."""
    session = await door.new()
    answer = await door.post(f"/v1/sessions/{session}/messages", {"text": "hello", "on_busy": "steer"})
    assert answer.status_code == 202
    assert answer.json()["turn"] is not None
