"""One turn at a time, and a message is never doubled or lost: over HTTP, on a real hub."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.e2e.door import Door, events, types

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

_WAIT = json.dumps({"steps": [{"text": "working"}, {"hang": True}]})


async def test_of_two_messages_at_once_one_wins_and_the_other_is_told_who(door: Door) -> None:
    """200 sessions, two POSTs at once in each: 200 turns, 200 409s that name the winner, 200 messages."""

    async def race() -> None:
        session = await door.new()
        answers = await asyncio.gather(*(door.send(session, _WAIT) for _ in range(2)))
        won, lost = sorted(answers, key=lambda answer: answer.status_code)
        assert (won.status_code, lost.status_code) == (202, 409)
        problem = lost.json()
        assert problem["code"] == "turn_in_flight"
        assert problem["turn_id"] == won.json()["turn"]["id"]
        assert problem["live"] == f"/v1/sessions/{session}/live"
        assert problem["same_message"] is True
        said = [event for event in await door.log(session) if event["type"] == "user_message"]
        assert [event["message_id"] for event in said] == [won.json()["message_id"]]
        assert (await door.post(f"/v1/sessions/{session}/interrupt")).status_code == 202

    for _ in range(10):
        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                group.create_task(race())


async def test_one_idempotency_key_is_one_turn_however_often_it_comes(door: Door) -> None:
    """50 identical requests with one key at once, and again after the end: one turn, one message."""
    session = await door.new()
    key = {"Idempotency-Key": "one-key"}
    answers = await asyncio.gather(*(door.send(session, "hello", **key) for _ in range(50)))
    assert {answer.status_code for answer in answers} == {202}
    await door.live(session)
    answers = [*answers, await door.send(session, "hello", **key)]
    assert len({(answer.json()["turn"]["id"], answer.json()["message_id"]) for answer in answers}) == 1
    said = [event for event in await door.log(session) if event["type"] == "user_message"]
    assert len(said) == 1


async def test_a_key_gives_its_turns_stream_again_after_the_end(door: Door) -> None:
    """The same key with ``Accept: text/event-stream`` replays the finished turn, to its terminal event."""
    session = await door.new()
    path = f"/v1/sessions/{session}/messages"
    seen = []
    for _ in range(2):
        answer = await door.post(path, {"text": "hi"}, **{"Idempotency-Key": "k", "Accept": "text/event-stream"})
        seen.append(answer.content)
    assert types(seen[0])[-1] == "turn_completed"
    assert events(seen[0]) == events(seen[1])


async def test_a_follow_up_at_the_instant_of_the_terminal_event_is_never_refused(door: Door) -> None:
    """100 messages in a row, each sent as soon as the last turn's terminal event is read: none is a 409."""
    session = await door.new()
    for number in range(100):
        async with door.stream("POST", f"/v1/sessions/{session}/messages", {"text": f"{number}"}) as answer:
            assert answer.status_code == 200
            async for line in answer.aiter_lines():
                if line.startswith("event: turn_completed"):
                    break
    log = await door.log(session)
    assert sum(event["type"] == "turn_completed" for event in log) >= 99


async def test_a_different_message_during_a_turn_is_not_a_double_click(door: Door) -> None:
    """``same_message`` is false for another text: the client keeps its draft."""
    session = await door.new()
    await door.send(session, _WAIT)
    refused = await door.send(session, "something else")
    assert refused.status_code == 409
    assert refused.json()["same_message"] is False
    assert (await door.post(f"/v1/sessions/{session}/interrupt")).status_code == 202


async def test_a_queued_message_has_one_turn_too_however_often_its_key_comes(door: Door) -> None:
    """With ``on_busy: queue`` and a key sent ten times while it waits, and once when it has run: one message,
    one turn, begun when the running one ended."""
    session = await door.new()
    await door.send(session, _WAIT)
    path, body = f"/v1/sessions/{session}/messages", {"text": "later", "on_busy": "queue"}
    answers = await asyncio.gather(*(door.post(path, body, **{"Idempotency-Key": "q"}) for _ in range(10)))
    assert {answer.status_code for answer in answers} == {202}
    assert [answer.json()["turn"] for answer in answers] == [None] * 10
    (message_id,) = {answer.json()["message_id"] for answer in answers}
    assert [waiting["message_id"] for waiting in (await door.session(session))["queue"]] == [message_id]
    assert (await door.post(f"/v1/sessions/{session}/interrupt")).status_code == 202
    async with door.stream("GET", f"/v1/sessions/{session}/events") as log:
        async for line in log.aiter_lines():
            if line == "event: turn_completed":
                break
    again = await door.post(path, body, **{"Idempotency-Key": "q"})
    assert (again.status_code, again.json()["message_id"]) == (202, message_id)
    said = [event for event in await door.log(session) if event["type"] == "user_message"]
    assert [event["message_id"] for event in said][1:] == [message_id]
    assert again.json()["turn"]["id"] == said[-1]["turn_id"]
