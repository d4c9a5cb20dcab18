"""The life of asks, the same for every kind of agent: scripted, behind the SDK, in a terminal with hooks, in a
terminal by keys alone. Over HTTP with a real hub; the agents are real, only their models are scripted."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime
from typing import Final

import pytest

from hub.tokens import Tokens
from tests.e2e.asks.actors import QUICK_S, Play, Scenario, Stage, append, life, told

pytestmark = pytest.mark.anyio
DEVICES: Final = 50
PERSON_S: Final = 0.7
"""Seconds that a person takes at least, in which an agent asks about all of its parallel calls."""
EVERYWHERE: Final = ("scripted", "sdk", "hooks", pytest.param("keys", marks=pytest.mark.full))
MOSTLY: Final = ("scripted", *(pytest.param(agent, marks=pytest.mark.full) for agent in ("sdk", "hooks", "keys")))
"""Where the real agents show nothing in each run that they do not show elsewhere, too."""
_MARKS = itertools.count()


@pytest.fixture(scope="module", params=EVERYWHERE)
def actor(request: pytest.FixtureRequest, stage: Stage) -> Scenario:
    """Each kind of agent."""
    return stage.actors[request.param]


@pytest.fixture
def mark() -> str:
    """A word that no other call leaves behind."""
    return f"mark{next(_MARKS)}"


async def test_an_edited_call_runs_as_decided_and_all_three_inputs_are_kept(
    stage: Stage, actor: Scenario, mark: str
) -> None:
    """Allowed with another input, that one runs, once: what was proposed, decided and run are told. Where an edit
    cannot be conveyed it is refused in words, and the ask waits still."""
    play = await Play.begin(stage, actor, [append(mark)])
    ask = await play.ask()
    proposed = append(mark)["input"]
    edited = {**proposed, "command": f"echo {mark}-edited >> ran"}
    assert ask["ask"]["input"] == proposed or not actor.edits
    answer = await play.answer(ask, decision="allow", input=edited)
    if not actor.edits:
        assert answer.status_code == 422
        assert "its call can be allowed as it is, not changed" in answer.json()["detail"]
        await play.agree(ask, decision="allow")
    await play.end()
    assert await play.ran() == [f"{mark}-edited" if actor.edits else mark]
    kept = await stage.json("GET", f"/v1/asks/{ask['id']}")
    assert kept["state"] == "closed"
    assert kept["settlement"]["input"] == (edited if actor.edits else None)
    if actor.name in ("sdk", "hooks"):
        assert kept["effective"] == edited
    assert life(await play.log()) == [("opened",), ("settled", "person", "primary", "allow"), ("delivered",)]


async def test_a_denied_call_does_not_run_and_the_model_is_told_the_words(
    stage: Stage, actor: Scenario, mark: str
) -> None:
    """Nothing runs; the model gets the person's own words; the log says who said them."""
    play = await Play.begin(stage, actor, [append(mark)])
    await play.agree(await play.ask(), decision="deny", message="not today, please")
    await play.end()
    log = await play.log()
    assert await play.ran() == []
    assert "not today, please" in await actor.told(log)
    assert [event["status"] for event in told(log, "tool_finished")] == ["denied"]
    assert [event["message"] for event in told(log, "ask_settled")] == ["not today, please"]
    assert life(log) == [("opened",), ("settled", "person", "primary", "deny"), ("delivered",)]


async def test_three_parallel_calls_of_one_kind_are_one_prompt(stage: Stage, actor: Scenario, mark: str) -> None:
    """The same call three times in one answer of the model: a person is asked once, all three run, and each has
    been told the answer."""
    read = {"tool": "Read", "input": {"file_path": "/etc/hostname"}}
    play = await Play.begin(stage, actor, [read, read, read])
    await play.ask()
    await asyncio.sleep(PERSON_S)  # whoever waits behind the first one tells nobody
    asked = await play.each(decision="allow")
    await play.end()
    log = await play.log()
    assert len(asked) == 1, life(log)
    assert [event["status"] for event in told(log, "tool_finished")] == ["ok"] * 3
    first = {"kind": "person", "name": "primary"}
    again = {**first, "rule": f"as {asked[0]['id']}"}
    assert [event["by"] for event in told(log, "ask_settled")] == [first, again, again]
    assert len(told(log, "ask_delivered")) == 3


@pytest.mark.parametrize("actor", MOSTLY, indirect=True)
async def test_different_parallel_calls_are_asked_each_on_its_own(
    stage: Stage, actor: Scenario, mark: str
) -> None:
    """Three calls in one answer of the model: three prompts, each with its own command and its own answer."""
    marks = [f"{mark}-{number}" for number in range(3)]
    play = await Play.begin(stage, actor, [append(one) for one in marks])
    asked = await play.each(decision="allow")
    await play.end()
    assert sorted(ask["ask"]["subject"] for ask in asked) == [f"echo {one} >> ran" for one in marks]
    assert sorted(await play.ran()) == marks
    assert [event["by"]["name"] for event in told(await play.log(), "ask_settled")] == ["primary"] * 3


@pytest.mark.parametrize("actor", MOSTLY, indirect=True)
async def test_a_session_grant_answers_the_second_call_until_it_is_taken_back(
    stage: Stage, actor: Scenario, mark: str
) -> None:
    """The very same call is not asked again, and the log names the ask that allowed it; taken back it is asked."""
    first = await Play.begin(stage, actor, [append(mark)])
    ask = await first.ask()
    await first.agree(ask, decision="allow", scope="session")
    await first.end()
    second = await Play.begin(stage, actor, [append(mark)])
    await second.end()
    (settled,) = told(await second.log(), "ask_settled")
    assert settled["by"] == {"kind": "policy", "name": "grant", "rule": ask["id"]}
    (grant,) = await stage.json("GET", f"/v1/sessions/{first.session}/grants")
    assert (grant["ask_id"], grant["by"]["name"]) == (ask["id"], "primary")
    await stage.json("DELETE", f"/v1/sessions/{first.session}/grants/{grant['id']}")
    third = await Play.begin(stage, actor, [append(mark)])
    await third.agree(await third.ask(), decision="deny", message="no more")
    await third.end()
    assert await first.ran() == [mark, mark]
    assert life(await third.log())[1:] == [("settled", "person", "primary", "deny"), ("delivered",)]
    (revoked,) = told(await second.log(), "grant_revoked")
    assert (revoked["grant_id"], revoked["by"]["name"]) == (grant["id"], "primary")


@pytest.mark.parametrize("actor", MOSTLY, indirect=True)
async def test_an_unanswered_ask_is_denied_in_time_and_says_so(stage: Stage, actor: Scenario, mark: str) -> None:
    """A client sees until when it may be answered; then ``timeout`` denies it, in words, and nothing runs."""
    play = await Play.begin(stage, actor, [append(mark)], policy="quick")
    ask = await play.ask()
    left = datetime.fromisoformat(ask["ask"]["expires_at"]) - datetime.now(UTC)
    assert 0 < left.total_seconds() <= QUICK_S
    await play.end()
    log = await play.log()
    assert await play.ran() == []
    assert life(log) == [("opened",), ("settled", "timeout", "timeout", "deny"), ("delivered",)]
    assert "Nobody answered in time" in await actor.told(log)
    late = await play.answer(ask, decision="allow")
    assert (late.status_code, late.json()["code"]) == (409, "already_settled")


@pytest.mark.parametrize("actor", MOSTLY, indirect=True)
async def test_an_unattended_session_denies_at_once(stage: Stage, actor: Scenario, mark: str) -> None:
    """Nobody is asked where nobody is there: the denial names the policy, and the agent goes on with it."""
    play = await Play.begin(stage, actor, [append(mark)], policy="alone")
    await play.end()
    log = await play.log()
    assert await play.ran() == []
    assert life(log) == [("opened",), ("settled", "policy", "alone", "deny"), ("delivered",)]
    assert "Nobody attends this session" in await actor.told(log)


async def test_an_interrupt_withdraws_the_ask(stage: Stage, actor: Scenario, mark: str) -> None:
    """The turn stops, nothing runs, the ask says why it is over; answering it is a 410."""
    play = await Play.begin(stage, actor, [append(mark)])
    ask = await play.ask()
    await stage.json("POST", f"/v1/sessions/{play.session}/interrupt")
    item = await play.end()
    assert item["ending"]["type"] == "turn_interrupted"
    assert await play.ran() == []
    late = await play.answer(ask, decision="allow")
    assert (late.status_code, late.json()["code"]) == (410, "withdrawn")
    log = await play.log()
    assert life(log) == [("opened",), ("withdrawn",)]
    assert told(log, "ask_withdrawn")[0]["reason"] == "the turn was interrupted"


@pytest.mark.parametrize("actor", MOSTLY, indirect=True)
async def test_fifty_devices_answer_and_one_wins(stage: Stage, actor: Scenario, mark: str) -> None:
    """50 answers at once, each of a device of its own: one is taken, 49 are told whose it was and which; the
    agent takes one answer and runs its tool once."""
    tokens = Tokens(stage.hub.state, {})
    devices = [f"device-{mark}-{number}" for number in range(DEVICES)]
    secrets = [tokens.new(["approve", "read"], name) for name in devices]
    play = await Play.begin(stage, actor, [append(mark)])
    ask = await play.ask()
    body = {"decision": "allow"}
    path = f"/v1/asks/{ask['id']}/answer"
    answers = await asyncio.gather(*(stage.call("POST", path, body, token=secret) for secret in secrets))
    statuses = [answer.status_code for answer in answers]
    assert sorted(statuses) == [200] + [409] * (DEVICES - 1)
    winner = devices[statuses.index(200)]
    for answer in answers:
        if answer.status_code == 409:
            settlement = answer.json()["ask"]["settlement"]
            assert (settlement["by"]["name"], settlement["decision"]) == (winner, "allow")
            assert winner in answer.json()["detail"]
    await play.end()
    assert await play.ran() == [mark]
    assert life(await play.log()) == [("opened",), ("settled", "person", winner, "allow"), ("delivered",)]


async def test_a_killed_hub_leaves_no_ask_that_means_nothing(stage: Stage, actor: Scenario, mark: str) -> None:
    """kill -9 during an ask. An agent that outlives its hub has the very same ask under the next one, and another
    client answers it: one delivery, one run. Of any other agent the ask is withdrawn and says so, its turn has
    failed as ``owner_lost``, and can be tried again."""
    play = await Play.begin(stage, actor, [append(mark)])
    ask = await play.ask()
    other = Tokens(stage.hub.state, {}).new(["approve", "read"], f"other-{mark}")
    await asyncio.to_thread(stage.hub.kill)
    await asyncio.to_thread(stage.hub.start)
    if actor.lives_on:
        answer = await stage.call("POST", f"/v1/asks/{ask['id']}/answer", {"decision": "allow"}, token=other)
        assert answer.status_code == 200, answer.text
        await play.end()
        assert await play.ran() == [mark]
        settled = ("settled", "person", f"other-{mark}", "allow")
        assert life(await play.log()) == [("opened",), settled, ("delivered",)]
        return
    item = await play.end()
    assert (item["ending"]["code"], item["ending"]["retryable"]) == ("owner_lost", True)
    late = await stage.call("POST", f"/v1/asks/{ask['id']}/answer", {"decision": "allow"}, token=other)
    assert (late.status_code, late.json()["code"]) == (410, "withdrawn")
    log = await play.log()
    assert life(log) == [("opened",), ("withdrawn",)]
    assert told(log, "ask_withdrawn")[0]["reason"]
    assert await play.ran() == []
