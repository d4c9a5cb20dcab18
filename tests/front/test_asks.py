"""Asks over HTTP: all listed, any order, settled once."""

from __future__ import annotations

import asyncio

import pytest

from hub import ids
from hub.events import Ask, Question, QuestionOption, Status
from hub.store.records import Claim
from tests.front.door import Door, Json, problem
from tests.store.desk import LEASE_MS, stamped

pytestmark = pytest.mark.anyio

QUESTION = Question(question="Tea?", options=(QuestionOption(label="Yes"), QuestionOption(label="No")))


async def question(door: Door, claim: Claim) -> str:
    ask = Ask(id=ids.ask_id(claim.session_id), kind="question", tool="AskUserQuestion", questions=(QUESTION,))
    await door.services.store.open_ask(claim, ask)
    return ask.id


async def listed(door: Door) -> list[str]:
    response = await door.client.get("/v1/asks?state=open")
    assert response.status_code == 200
    return [ask["id"] for ask in response.json()]


async def answer(door: Door, ask: str, **body: object) -> Json:
    response = await door.client.post(f"/v1/asks/{ask}/answer", json=body)
    assert response.status_code == 200, response.text
    record: Json = response.json()
    return record


async def test_an_answer_that_no_agent_took_waits_for_nobody_once_its_turn_has_ended(door: Door) -> None:
    """While the turn runs it is shown with the session, for the agent to take it; afterwards it is no longer among
    what waits, and the ask itself says that it was settled and never delivered."""
    sid = await door.session()
    claim = await door.running(sid)
    ask = await door.desk.opened(claim)
    await answer(door, ask, decision="allow")

    async def waiting() -> list[str]:
        return [one["id"] for one in (await door.client.get(f"/v1/sessions/{sid}")).json()["asks"]]

    assert await waiting() == [ask]
    await door.desk.finish(claim)
    assert await waiting() == []
    again = await door.running(sid)
    assert await waiting() == []
    await door.desk.finish(again)
    record = (await door.client.get(f"/v1/asks/{ask}")).json()
    assert (record["state"], record["delivered_at"]) == ("settled", None)


async def test_open_asks_of_all_sessions_are_listed_oldest_first(door: Door) -> None:
    """With and without the filter; what is settled is listed no more, wherever it stood."""
    first = await door.running(await door.session())
    second = await door.running(await door.session())
    asks = []
    for opening in (door.desk.opened(first), question(door, second), door.desk.opened(first)):
        asks.append(await opening)
        await asyncio.sleep(0.002)  # of two in one millisecond none is older
    assert await listed(door) == asks
    assert [ask["id"] for ask in (await door.client.get("/v1/asks")).json()] == asks
    await answer(door, asks[1], response="No, thanks")
    assert await listed(door) == [asks[0], asks[2]]
    await problem(await door.client.get("/v1/asks?state=closed"), 422, "invalid")


async def test_an_answer_is_recorded_with_who_gave_it(door: Door) -> None:
    """200 is the ask, settled; the log tells it."""
    claim = await door.running(await door.session())
    ask = await door.desk.opened(claim)
    async with door.client_with("approve") as client:
        body = {"decision": "allow", "scope": "session", "message": "go on", "input": {"command": "ls -l"}}
        record = (await client.post(f"/v1/asks/{ask}/answer", json=body)).json()
    assert record["state"] == "settled"
    assert record["settlement"]["by"] == {"kind": "person", "name": "approve"}
    assert (await door.client.get(f"/v1/asks/{ask}")).json() == record
    event = (await door.desk.events(claim.session_id))[-1]
    assert (event.ask_id, event.decision, event.scope, event.input) == (ask, "allow", "session", body["input"])


async def test_of_many_answers_at_once_one_counts(door: Door) -> None:
    """The others are told who settled it, and how."""
    claim = await door.running(await door.session())
    ask = await door.desk.opened(claim)
    path = f"/v1/asks/{ask}/answer"
    bodies = [{"decision": "allow" if number % 2 else "deny"} for number in range(10)]
    many = await asyncio.gather(*(door.client.post(path, json=body) for body in bodies))
    won = [response for response in many if response.status_code == 200]
    assert len(won) == 1
    for response in many:
        if response is not won[0]:
            told = await problem(response, 409, "already_settled")
            assert told["ask"]["settlement"] == won[0].json()["settlement"]
            assert "primary" in told["detail"]
    await door.services.store.append(claim, 1, [stamped(claim, Status(state="resumed"))], LEASE_MS)
    await door.services.store.deliver_ask(claim, ask)
    await problem(await door.client.post(path, json={}), 409, "already_settled")


async def test_a_withdrawn_ask_is_gone(door: Door) -> None:
    """410 with the reason, also for an answer that would not fit."""
    claim = await door.running(await door.session())
    ask = await door.desk.opened(claim)
    await door.services.store.withdraw_ask(claim, ask, "the turn ended")
    for body in ({"decision": "allow"}, {"nonsense": 1}):
        told = await problem(await door.client.post(f"/v1/asks/{ask}/answer", json=body), 410, "withdrawn")
        assert told["reason"] == "the turn ended"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"decision": "maybe"},
        {"decision": "allow", "because": "x"},
        {"decision": "deny", "scope": "session"},
        {"decision": "deny", "input": {}},
        {"decision": "allow", "input": "ls"},
        {"answers": {"Tea?": "Yes"}},
    ],
)
async def test_an_answer_that_does_not_fit_leaves_the_ask_open(door: Door, body: Json) -> None:
    """422 says what is wrong, and somebody can still answer."""
    claim = await door.running(await door.session())
    ask = await door.desk.opened(claim)
    await problem(await door.client.post(f"/v1/asks/{ask}/answer", json=body), 422, "invalid")
    assert await listed(door) == [ask]
    assert (await answer(door, ask, decision="deny", message="no"))["settlement"]["decision"] == "deny"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"decision": "allow"},
        {"answers": {}},
        {"answers": {"Coffee?": "Yes"}},
        {"answers": {"Tea?": ["Yes", "No"]}},
        {"answers": {"Tea?": 5}},
        {"answers": {"Tea?": "Yes"}, "response": "Yes"},
        {"response": "  "},
    ],
)
async def test_a_question_wants_words(door: Door, body: Json) -> None:
    """Answers to the very questions, or one response; free text counts."""
    ask = await question(door, await door.running(await door.session()))
    await problem(await door.client.post(f"/v1/asks/{ask}/answer", json=body), 422, "invalid")
    settled = await answer(door, ask, answers={"Tea?": "Only if it is green"})
    assert settled["settlement"]["answers"] == {"Tea?": "Only if it is green"}


@pytest.mark.parametrize("ask", [f"ask_{'0' * 26}_{'0' * 26}", "x", "ask_", "%00", "ask_x_y", "a" * 3000])
async def test_what_is_not_there_is_not_found(door: Door, ask: str) -> None:
    """Looking and answering."""
    await problem(await door.client.get(f"/v1/asks/{ask}"), 404, "not_found")
    await problem(await door.client.post(f"/v1/asks/{ask}/answer", json={"decision": "allow"}), 404, "not_found")
