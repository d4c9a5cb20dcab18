"""Messages: one turn at a time, one turn a key, and what each ``on_busy`` does to a busy session."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from hub import ids
from hub.config import RunnerConfig
from hub.errors import StoreUnavailable
from hub.events import TurnCompleted, TurnFailed, TurnInterrupted, UserMessage
from hub.front.app import create_app
from hub.store import keys
from hub.store.records import Claim
from hub.testing.asgi import asgi_client
from tests.front.door import SSE, Door, Json, kinds, problem, watching
from tests.store.desk import failed

pytestmark = pytest.mark.anyio


async def test_a_message_is_taken_and_a_runner_is_called(door: Door) -> None:
    """202 names turn and message; the log has them; one runner is called, once."""
    sid = await door.session()
    response = await door.send(sid)
    assert response.status_code == 202
    turn, message_id = response.json()["turn"], response.json()["message_id"]
    assert (turn["state"], turn["attempt"]) == ("queued", 1)
    message, started = (await door.desk.events(sid))[1:]
    assert (message.message_id, message.text, message.origin) == (message_id, "hello", "api")
    assert (started.turn_id, started.at) == (turn["id"], turn["started_at"])
    assert await door.rung() == [turn["id"]]


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000"])
async def test_an_empty_message_is_not_acceptable(door: Door, text: str) -> None:
    """Nothing is written for it."""
    sid = await door.session()
    assert (await problem(await door.send(sid, text), 422, "invalid"))["field"] == "text"
    assert await door.desk.kinds(sid) == ["session_created"]


@pytest.mark.parametrize(
    "text", ["/clear", "a\r\nb\n", "  \u2028 \u0085 x ", "e\u0301 🏳️‍🌈", '"\\', "\x1b[31m", "\x7f"]
)
async def test_a_message_is_kept_as_it_was_sent(door: Door, text: str) -> None:
    """To the character, and whether it is to be taken literally."""
    sid = await door.session()
    await door.send(sid, text, literal=False)
    turn = await door.services.store.turn(sid)
    assert turn is not None
    assert (turn.message.text, turn.message.literal) == (text, False)


async def test_two_messages_at_once_have_one_winner(door: Door) -> None:
    """The other gets 409 with the winner's turn, and has written nothing."""
    for _ in range(10):
        sid = await door.session()
        both = await asyncio.gather(door.send(sid, "a"), door.send(sid, "b"))
        won, lost = sorted(both, key=lambda response: response.status_code)
        assert won.status_code == 202
        told = await problem(lost, 409, "turn_in_flight")
        assert told["turn_id"] == won.json()["turn"]["id"]
        assert told["live"] == f"/v1/sessions/{sid}/live"
        assert (told["state"], told["same_message"]) == ("queued", False)
        assert told["started_at"] == won.json()["turn"]["started_at"]
        assert (await door.desk.kinds(sid)).count("user_message") == 1


async def test_a_double_click_is_told_from_another_message(door: Door) -> None:
    """The same text sent the same way, and nothing else."""
    sid = await door.session()
    await door.send(sid, "hello")
    for text, more, same in (("hello", {}, True), ("hello!", {}, False), ("hello", {"literal": False}, False)):
        told = await problem(await door.send(sid, text, **more), 409, "turn_in_flight")
        assert told["same_message"] is same


async def test_one_key_is_one_turn(door: Door) -> None:
    """50 at once, and again after its end: the same answer, one message in the log, one runner called."""
    sid = await door.session()
    keyed = {"Idempotency-Key": "k1"}
    many = await asyncio.gather(*(door.send(sid, headers=keyed) for _ in range(50)))
    assert {response.status_code for response in many} == {202}
    turns = {response.json()["turn"]["id"] for response in many}
    assert len(turns) == len({response.json()["message_id"] for response in many}) == 1
    assert await door.rung() == list(turns)
    claim = (await door.desk.take_turn(sid, turns.pop())).claim
    await door.desk.finish(claim)
    later = (await door.send(sid, headers=keyed)).json()["turn"]
    assert later == {**many[0].json()["turn"], "state": "completed"}
    assert (await door.desk.kinds(sid)).count("user_message") == 1
    assert await door.rung() == []


async def test_a_key_with_another_message_is_refused(door: Door) -> None:
    """One key is one message."""
    sid = await door.session()
    await door.send(sid, headers={"Idempotency-Key": "k1"})
    await problem(await door.send(sid, "other", headers={"Idempotency-Key": "k1"}), 422, "idempotency_mismatch")


async def test_the_stream_of_a_finished_turn_is_replayed_for_its_key(door: Door) -> None:
    """From the log, to the terminal event and a clean end."""
    sid = await door.session()
    keyed = {"Idempotency-Key": "k1"}
    turn = (await door.send(sid, headers=keyed)).json()["turn"]["id"]
    claim = (await door.desk.take_turn(sid, turn)).claim
    await door.say(claim, 1, "a", "b")
    await door.desk.finish(claim)
    response = await door.send(sid, headers={**keyed, **SSE})
    assert response.status_code == 200
    assert [kind for kind in kinds(response.content) if kind != "text_delta"] == [
        *("user_message", "turn_started", "text", "turn_completed")
    ]


async def test_a_follow_up_sent_at_the_terminal_event_is_never_refused(door: Door) -> None:
    """The slot is free when the terminal event is read."""
    sid = await door.session()
    for _ in range(10):
        claim = await door.running(sid)
        async with watching(door.client, f"/v1/sessions/{sid}/live") as live:
            await door.desk.finish(claim)
            await live.until(b"turn_completed")
            assert (await door.send(sid, "next")).status_code == 202
        turn = await door.services.store.turn(sid)
        assert turn is not None
        await door.desk.finish((await door.desk.take_turn(sid, turn.id)).claim)


async def test_a_failed_ring_does_not_fail_the_message(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    """The turn stands; whoever sweeps rings again. Both forms of the answer, and the log says so."""

    class Broken:
        async def ring(self, *_: str) -> None:
            raise StoreUnavailable("away")

    app = create_app(replace(door.services, work=Broken()))
    async with asgi_client(app, door.tokens.primary()) as client:
        path = f"/v1/sessions/{await door.session()}/messages"
        assert (await client.post(path, json={"text": "hi"})).status_code == 202
        path = f"/v1/sessions/{await door.session()}/messages"
        async with watching(client, path, "POST", json={"text": "hi"}) as stream:
            await stream.until(b"turn_started")
    assert caplog.text.count("no runner could be called") == 2


async def test_an_agent_taken_out_of_the_configuration_is_told(door: Door) -> None:
    """No runner would ever take the turn, so none begins."""
    sid = await door.desk.session(agent="former")
    assert "former" in (await problem(await door.send(sid), 503, "agent_unavailable"))["detail"]
    assert await door.desk.kinds(sid) == ["session_created"]


# on_busy


@pytest.mark.parametrize("on_busy", ["reject", "attach", "queue", "steer", "interrupt"])
async def test_an_idle_session_begins_whatever_busy_would_mean(door: Door, on_busy: str) -> None:
    """There is nothing to be busy with."""
    response = await door.send(await door.session(), on_busy=on_busy)
    assert response.status_code == 202
    assert response.json()["turn"]["state"] == "queued"


async def test_attach_shows_the_running_turn_and_writes_nothing(door: Door) -> None:
    """The same bytes as live; in JSON, 200 with that turn and its message."""
    sid = await door.session()
    claim = await door.running(sid, "first")
    path, body = f"/v1/sessions/{sid}/messages", {"text": "second", "on_busy": "attach"}
    async with (
        watching(door.client, path, "POST", json=body) as attached,
        watching(door.client, f"/v1/sessions/{sid}/live") as live,
    ):
        told = await door.send(sid, "second", on_busy="attach")
        await door.say(claim, 1, "a")
        await door.desk.finish(claim)
        assert await attached.rest() == await live.rest()
    assert told.status_code == 200
    assert told.json()["turn"]["id"] == claim.turn_id
    first = (await door.desk.events(sid))[1]
    assert told.json()["message_id"] == first.message_id
    assert (await door.desk.kinds(sid)).count("user_message") == 1


async def test_a_key_that_attached_stays_with_that_turn(door: Door) -> None:
    """Asking again, after a lost connection and the turn's end, replays it and never begins one."""
    sid = await door.session()
    claim = await door.running(sid, "first")
    keyed = {"Idempotency-Key": "k1"}
    assert (await door.send(sid, "second", on_busy="attach", headers=keyed)).status_code == 200
    await door.desk.finish(claim)
    again = await door.send(sid, "second", on_busy="attach", headers={**keyed, **SSE})
    assert kinds(again.content)[-1] == "turn_completed"
    assert claim.turn_id in again.text
    assert (await door.desk.kinds(sid)).count("user_message") == 1


async def test_a_queued_message_begins_by_itself(door: Door) -> None:
    """202 without a turn, whatever the client accepts; it begins with the end of the turn before."""
    sid = await door.session()
    claim = await door.running(sid)
    queued = [await door.send(sid, "b", on_busy="queue"), await door.send(sid, "c", on_busy="queue", headers=SSE)]
    assert [response.status_code for response in queued] == [202, 202]
    assert [response.json()["turn"] for response in queued] == [None, None]
    finished = await door.desk.finish(claim)
    assert finished.next_message == queued[0].json()["message_id"]


async def test_a_waiting_message_can_be_taken_back(door: Door) -> None:
    """204 once; 409 when it has begun; 404 for what never waited."""
    sid = await door.session()
    claim = await door.running(sid)
    one, two = [(await door.send(sid, text, on_busy="queue")).json()["message_id"] for text in "bc"]
    queue = f"/v1/sessions/{sid}/queue"
    assert (await door.client.delete(f"{queue}/{one}")).status_code == 204
    assert (await door.desk.finish(claim)).next_message == two
    await problem(await door.client.delete(f"{queue}/{two}"), 409, "message_begun")
    for unknown in (ids.message_id(), "x", "%00", "message:" + two):
        await problem(await door.client.delete(f"{queue}/{unknown}"), 404, "not_found")


async def test_steering_is_refused_where_no_transport_takes_words(door: Door) -> None:
    """409, with the turn that runs; nothing is written."""
    sid = await door.session()
    claim = await door.running(sid)
    told = await problem(await door.send(sid, "b", on_busy="steer"), 409, "steer_unsupported")
    assert told["turn_id"] == claim.turn_id
    assert (await door.desk.kinds(sid)).count("user_message") == 1


async def asked_to_stop(door: Door, claim: Claim) -> str:
    """Wait, as a runner does, until the turn is to be stopped; who asked."""
    pubsub: Any = door.services.store.redis.pubsub()
    async with pubsub as told:
        await told.subscribe(keys.runner_channel(claim.runner))
        async for _ in told.listen():  # the first thing heard is that it listens: what was asked before is there
            turn = await door.services.store.turn(claim.session_id)
            assert turn is not None
            if turn.cancel_by:
                return turn.cancel_by
    raise AssertionError("the store hung up")


async def end_when_cancelled(door: Door, claim: Claim, failure: TurnFailed | None = None) -> str:
    """Play the runner: end the turn as soon as it is asked to stop, interrupted unless it fails; who asked."""
    by = await asked_to_stop(door, claim)
    ending = failure or TurnInterrupted(by=by, duration_ms=1)
    await door.desk.finish(claim, ending, go_on=failure is None)
    return by


async def test_an_interrupting_message_ends_the_running_turn_first(door: Door) -> None:
    """Then it begins, as any message does."""
    sid = await door.session()
    claim = await door.running(sid)
    sending = door.send(sid, "stop that", on_busy="interrupt")
    response, by = await asyncio.gather(sending, end_when_cancelled(door, claim))
    assert by == "primary"
    assert response.status_code == 202
    kinds_of_log = await door.desk.kinds(sid)
    assert kinds_of_log[-3:] == ["turn_interrupted", "user_message", "turn_started"]


async def test_an_interrupting_message_goes_before_those_that_wait(door: Door) -> None:
    """It begins with the end of the turn that it stops, and those that wait come behind it, in their order; asked
    again with its key it is the same turn."""
    sid = await door.session()
    claim = await door.running(sid)
    for text in ("one", "two"):
        await door.send(sid, text, on_busy="queue")
    body, key = {"text": "stop that", "on_busy": "interrupt"}, {"Idempotency-Key": "k"}
    path = f"/v1/sessions/{sid}/messages"
    sending = door.client.post(path, json=body, headers=key)
    response, _ = await asyncio.gather(sending, end_when_cancelled(door, claim))
    assert response.status_code == 202, response.text
    turn = await door.services.store.turn(sid)
    assert turn is not None
    assert (turn.id, turn.message.text, turn.message.origin) == (
        response.json()["turn"]["id"],
        "stop that",
        "api",
    )
    again = await door.client.post(path, json=body, headers=key)
    assert again.json() == response.json()
    shown = (await door.client.get(f"/v1/sessions/{sid}")).json()
    assert [message["text"] for message in shown["queue"]] == ["one", "two"]


async def test_messages_that_interrupt_at_once_are_all_said(door: Door) -> None:
    """Each is told of a turn of its own, in which it is said, or that it waits: none is lost."""
    sid = await door.session()
    claim = await door.running(sid)
    sending = [door.send(sid, text, on_busy="interrupt") for text in ("a", "b", "c")]

    async def end_all() -> None:
        await end_when_cancelled(door, claim)
        while (turn := await door.services.store.turn(sid)) is not None:
            await door.desk.finish((await door.desk.take_turn(sid, turn.id)).claim)

    answers, _ = await asyncio.gather(asyncio.gather(*sending), end_all())
    assert [answer.status_code for answer in answers] == [202] * 3
    said = [event.message_id for event in await door.desk.events(sid) if isinstance(event, UserMessage)]
    assert sorted(said[1:]) == sorted(answer.json()["message_id"] for answer in answers)


async def test_an_interrupting_message_begins_though_the_turn_failed(door: Door) -> None:
    """What waits stands still after a failure; the message that ended the turn begins all the same."""
    sid = await door.session()
    claim = await door.running(sid)
    await door.send(sid, "one", on_busy="queue")

    sending = door.send(sid, "stop that", on_busy="interrupt")
    response, _ = await asyncio.gather(sending, end_when_cancelled(door, claim, failed()))
    assert response.status_code == 202, response.text
    turn = await door.services.store.turn(sid)
    assert turn is not None
    assert turn.message.text == "stop that"
    assert (
        await door.desk.finish((await door.desk.take_turn(sid, turn.id)).claim, failed(), go_on=False)
    ).next_turn is None


async def test_an_interruption_that_does_not_happen_in_time_is_told(door: Door) -> None:
    """409 with the turn that still runs; the message is not lost silently."""
    config = replace(door.services.config, runner=RunnerConfig(interrupt_grace_s=-9.9))
    app = create_app(replace(door.services, config=config))
    sid = await door.session()
    claim = await door.running(sid)
    async with asgi_client(app, door.tokens.primary()) as client:
        body, key = {"text": "stop", "on_busy": "interrupt"}, {"Idempotency-Key": "k"}
        for _ in range(2):  # the key of a request that was refused stands for nothing
            sent = await client.post(f"/v1/sessions/{sid}/messages", json=body, headers=key)
            assert (await problem(sent, 409, "turn_in_flight"))["turn_id"] == claim.turn_id
    assert (await door.desk.kinds(sid))[-2:] == ["message_queued", "message_unqueued"]  # it does not wait


# Interrupt and retry


async def test_interrupt_asks_the_turn_to_stop(door: Door) -> None:
    """202 with the turn, however often; 404 when none runs."""
    sid = await door.session()
    path = f"/v1/sessions/{sid}/interrupt"
    await problem(await door.client.post(path), 404, "no_active_turn")
    claim = await door.running(sid)
    for _ in range(2):
        response = await door.client.post(path)
        assert (response.status_code, response.json()) == (202, {"turn_id": claim.turn_id})
    assert await end_when_cancelled(door, claim) == "primary"
    await problem(await door.client.post(path), 404, "no_active_turn")


@pytest.mark.parametrize("body", [None, {}, {"mode": "rerun"}])
async def test_retry_is_a_new_attempt_for_the_last_message(door: Door, body: Json | None) -> None:
    """With or without a body; no second user message; a runner is called."""
    sid = await door.session()
    claim = await door.running(sid)
    await door.desk.finish(claim, failed())
    response = await door.client.post(f"/v1/sessions/{sid}/retry", json=body)
    assert response.status_code == 202
    assert response.json()["turn"]["attempt"] == 2
    assert response.json()["turn"]["id"] != claim.turn_id
    assert (await door.desk.kinds(sid)).count("user_message") == 1
    assert len(await door.rung()) == 2


async def test_retry_streams_like_a_message(door: Door) -> None:
    """From the first event of the new attempt to its end."""
    sid = await door.session()
    await door.desk.finish(await door.running(sid), failed())
    async with watching(door.client, f"/v1/sessions/{sid}/retry", "POST") as stream:
        await stream.until(b"turn_started")
        turn = await door.services.store.turn(sid)
        assert turn is not None
        await door.desk.finish((await door.desk.take_turn(sid, turn.id)).claim)
        await stream.rest()
    assert stream.kinds == ["turn_started", "turn_completed"]


async def test_what_cannot_be_retried_is_told(door: Door) -> None:
    """Nothing said yet, a completed turn, a running one."""
    sid = await door.session()
    path = f"/v1/sessions/{sid}/retry"
    await problem(await door.client.post(path), 409, "no_retryable_turn")
    claim = await door.running(sid)
    await problem(await door.client.post(path), 409, "turn_in_flight")
    await door.desk.finish(claim, TurnCompleted(stop_reason="end_turn", duration_ms=1))
    await problem(await door.client.post(path), 409, "no_retryable_turn")
    await problem(await door.client.post(path, json={"mode": "resume"}), 409, "resume_unsupported")
    await problem(await door.client.post(path, json={"mode": "again"}), 422, "invalid")


async def test_two_retries_at_once_have_one_winner(door: Door) -> None:
    """Check and claim are one; with one key both have won."""
    for headers, statuses in (({}, [202, 409]), ({"Idempotency-Key": "r1"}, [202, 202])):
        sid = await door.session()
        await door.desk.finish(await door.running(sid), failed())
        path = f"/v1/sessions/{sid}/retry"
        both: list[httpx.Response] = await asyncio.gather(
            *(door.client.post(path, headers=headers) for _ in range(2))
        )
        assert sorted(response.status_code for response in both) == statuses
        assert (await door.desk.kinds(sid)).count("turn_started") == 2
