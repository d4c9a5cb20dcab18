"""Sessions over HTTP: made once, listed, shown at one instant, changed, forgotten."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import msgspec
import pytest

from hub import ids
from hub.events import TextDelta, decode, line_of
from hub.fold import Fold
from hub.items import decode_items, encode_items
from tests.front.door import Door, Json, problem
from tests.store.desk import LEASE_MS, failed, stamped

pytestmark = pytest.mark.anyio
NOBODYS = "ses_" + "0" * 26


async def shown(door: Door, sid: str) -> Json:
    response = await door.client.get(f"/v1/sessions/{sid}")
    assert response.status_code == 200, response.text
    state: Json = response.json()
    return state


async def test_a_session_is_made_with_what_its_agent_has(door: Door, tmp_path: Path) -> None:
    """201, its address, the agent's transport and policy, and nothing of its transport's memory."""
    response = await door.client.post("/v1/sessions", json={"agent": "claude", "title": "Tea"})
    session = response.json()
    assert response.status_code == 201
    assert response.headers["location"] == f"/v1/sessions/{session['id']}"
    assert set(session) == {
        *(
            "id",
            "agent",
            "transport",
            "policy",
            "title",
            "cwd",
            "created_at",
            "updated_at",
            "archived",
            "sensitive",
        ),
        *("forked_from", "imported_from"),
    }
    assert (session["transport"], session["policy"], session["title"]) == ("scripted", "careful", "Tea")
    assert session["cwd"] == str(tmp_path)
    assert (await shown(door, session["id"]))["session"] == session


async def test_a_working_directory_is_relative_to_the_agents(door: Door, tmp_path: Path) -> None:
    """Or absolute."""
    for given, meant in (("sub/../x", tmp_path / "x"), ("/srv", Path("/srv"))):
        response = await door.client.post("/v1/sessions", json={"agent": "claude", "cwd": given})
        assert response.json()["cwd"] == str(meant)


async def test_one_key_makes_one_session(door: Door) -> None:
    """50 at once and any later; with another agent the key is refused."""

    async def make(agent: str) -> httpx.Response:
        return await door.client.post("/v1/sessions", json={"agent": agent}, headers={"Idempotency-Key": "k1"})

    many = await asyncio.gather(*(make("claude") for _ in range(50)))
    assert {response.status_code for response in many} == {201}
    assert len({response.json()["id"] for response in many}) == 1
    assert len((await door.client.get("/v1/sessions")).json()) == 1
    await problem(await make("gone"), 422, "idempotency_mismatch")


async def test_a_key_that_came_with_another_body_is_refused(door: Door) -> None:
    """What was asked for is never silently left out: a title, a directory, that the session is sensitive."""
    key = {"Idempotency-Key": "k2"}
    first = await door.client.post("/v1/sessions", json={"agent": "claude", "title": "x"}, headers=key)
    for more in ({}, {"title": "y"}, {"title": "x", "cwd": "sub"}, {"title": "x", "sensitive": True}):
        refused = await door.client.post("/v1/sessions", json={"agent": "claude", **more}, headers=key)
        told = await problem(refused, 422, "idempotency_mismatch")
        assert told["session_id"] == first.json()["id"]
        assert "Use a new key" in told["detail"]
    # The same in other words.
    again = await door.client.post(
        "/v1/sessions", json={"sensitive": False, "title": "x", "agent": "claude"}, headers=key
    )
    assert again.json() == first.json()
    fork = await door.client.post(f"/v1/sessions/{first.json()['id']}/fork", headers=key)
    await problem(fork, 422, "idempotency_mismatch")


async def test_an_unknown_agent_is_named_with_those_there_are(door: Door) -> None:
    """An agent that cannot run here may still have sessions: its turns say what is missing."""
    told = await problem(await door.client.post("/v1/sessions", json={"agent": "nobody"}), 422, "unknown_agent")
    assert told["agents"] == ["claude", "gone"]
    assert "nobody" in told["detail"]
    assert (await door.client.post("/v1/sessions", json={"agent": "gone"})).status_code == 201


async def test_an_unknown_policy_is_named_with_those_there_are(door: Door) -> None:
    """When a session is made and when it is changed."""
    made = {"agent": "claude", "policy": "lax"}
    told = await problem(await door.client.post("/v1/sessions", json=made), 422, "unknown_policy")
    assert told["policies"] == ["careful", "open"]
    path = f"/v1/sessions/{await door.session()}"
    await problem(await door.client.patch(path, json={"policy": "lax"}), 422, "unknown_policy")


async def test_sessions_are_listed_newest_change_first_over_pages(door: Door) -> None:
    """Every one once; the Link header leads on and is missing at the end."""
    made = [await door.session(title=str(number)) for number in range(7)]
    await door.running(made[2])
    found: list[Json] = []
    path: str | None = "/v1/sessions?limit=3"
    while path:
        response = await door.client.get(path)
        found += response.json()
        path = response.links["next"]["url"] if "next" in response.links else None
    assert found[0]["id"] == made[2]
    assert found[0]["turn"]["state"] == "running"
    assert sorted(one["id"] for one in found) == sorted(made)
    assert [one["turn"] for one in found[1:]] == [None] * 6
    by_id = await door.client.get(f"/v1/sessions?before={found[5]['id']}")
    assert [one["id"] for one in by_id.json()] == [found[6]["id"]]


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=x", "limit=-1"])
async def test_a_bad_limit_is_not_acceptable(door: Door, query: str) -> None:
    """And is named."""
    assert "limit" in (await problem(await door.client.get(f"/v1/sessions?{query}"), 422, "invalid"))["detail"]


@pytest.mark.parametrize("before", ["x", "-1", "²." + NOBODYS, NOBODYS])
async def test_a_bad_page_is_a_bad_cursor(door: Door, before: str) -> None:
    """Also a session that is not there."""
    await problem(await door.client.get("/v1/sessions", params={"before": before}), 400, "bad_cursor")


async def test_a_session_is_one_instant(door: Door) -> None:
    """With a turn that streams: its open block, its ask, the queue, and the cursor to go on from."""
    sid = await door.session()
    claim = await door.running(sid, "hello")
    await door.say(claim, 1, "Hel", "lo")
    open_delta = stamped(claim, TextDelta(block=2, text="and"))
    await door.services.store.append(claim, 2, [open_delta], LEASE_MS)
    ask = await door.desk.opened(claim)
    queued = (await door.send(sid, "next", on_busy="queue")).json()["message_id"]
    state = await shown(door, sid)
    assert state["turn"] == {
        "id": claim.turn_id,
        "state": "running",
        "started_at": state["turn"]["started_at"],
        "attempt": 1,
    }
    assert [item["kind"] for item in state["items"]] == ["user", "assistant"]
    assert [(block["text"], block["open"]) for block in state["items"][1]["blocks"]] == [
        ("Hello", False),
        ("and", True),
    ]
    assert [one["id"] for one in state["asks"]] == [ask]
    assert state["queue"] == [{"message_id": queued, "text": "next", "literal": True}]
    assert state["cursor"] == (await door.services.store.snapshot(sid, 0)).cursor


async def test_an_instant_goes_on_from_its_cursor(door: Door) -> None:
    """What is shown, and the events behind its cursor, make what is shown later: at every step of two turns."""
    sid = await door.session()
    states = [await shown(door, sid)]
    claim = await door.running(sid)
    for batch in range(1, 4):
        await door.say(claim, batch, "a", "b")
        states.append(await shown(door, sid))
    await door.desk.finish(claim, failed())
    states.append(await shown(door, sid))
    retried = (await door.client.post(f"/v1/sessions/{sid}/retry")).json()["turn"]["id"]
    claim = (await door.desk.take_turn(sid, retried)).claim
    await door.say(claim, 1, "c")
    last = await shown(door, sid)
    everything = (await door.services.store.snapshot(sid, 0, also=[claim.turn_id])).entries
    for state in states:
        fold = Fold.resume(decode_items(encode_items_of(state)), state["cursor"])
        fold.extend(decode(line_of(entry.frame)) for entry in everything if entry.seq > state["cursor"])
        assert encode_items(fold.items()) == encode_items_of(last)


def encode_items_of(state: Json) -> bytes:
    """The items of a state, in the encoding of items."""
    return encode_items(decode_items(msgspec.json.encode(state["items"])))


async def test_a_long_log_is_shown_whole(door: Door) -> None:
    """Several pages of durable events, then a running turn, in one answer."""
    sid = await door.session()
    claim = await door.running(sid)
    for batch in range(1, 1301):
        await door.say(claim, batch, "x")
    await door.desk.finish(claim)
    claim = await door.running(sid, "more")
    await door.say(claim, 1, "y")
    items = (await shown(door, sid))["items"]
    assert [len(item.get("blocks", ())) for item in items] == [0, 1300, 0, 1]


async def test_a_session_is_changed_by_what_is_named(door: Door) -> None:
    """Null clears, what is not named stays, nothing named changes nothing."""
    sid = await door.session(title="Tea")
    path = f"/v1/sessions/{sid}"
    for change, expected in (
        ({"title": "Coffee"}, ("Coffee", "careful", False)),
        ({"archived": True}, ("Coffee", "careful", True)),
        ({"policy": "open", "archived": False}, ("Coffee", "open", False)),
        ({"title": None, "policy": None}, (None, None, False)),
        ({}, (None, None, False)),
    ):
        session = (await door.client.patch(path, json=change)).json()
        assert (session["title"], session["policy"], session["archived"]) == expected


async def test_deleting_waits_for_the_turn_or_for_force(door: Door) -> None:
    """409 names the turn; by force the session is gone, with everything in it."""
    sid = await door.session()
    claim = await door.running(sid)
    path = f"/v1/sessions/{sid}"
    told = await problem(await door.client.delete(path), 409, "turn_in_flight")
    assert (told["turn_id"], told["live"]) == (claim.turn_id, f"{path}/live")
    assert (await door.client.delete(f"{path}?force=true")).status_code == 204
    for method, at in (("GET", path), ("DELETE", path), ("GET", f"{path}/events"), ("GET", f"{path}/live")):
        await problem(await door.client.request(method, at), 404, "not_found")
    await problem(await door.client.delete(f"{path}?force=perhaps"), 422, "invalid")


@pytest.mark.parametrize("sid", [NOBODYS, "x", "ses_", "%00", "ses_%ff", "%2e%2e%2f", "a" * 3000])
async def test_what_is_not_there_is_not_found(door: Door, sid: str) -> None:
    """On every route of a session, however its id looks."""
    for method, rest, body in (
        ("GET", "", None),
        ("PATCH", "", {"title": "x"}),
        ("DELETE", "", None),
        ("POST", "/messages", {"text": "hi"}),
        ("POST", "/retry", {}),
        ("POST", "/interrupt", None),
        ("GET", "/live", None),
        ("GET", "/events", None),
        ("DELETE", f"/queue/{ids.message_id()}", None),
    ):
        path = f"/v1/sessions/{sid}{rest}"
        await problem(await door.client.request(method, path, json=body), 404, "not_found")
