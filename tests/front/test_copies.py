"""Forks, exports and imports over HTTP."""

from __future__ import annotations

import msgspec
import pytest

from hub.events import ToolFinished, ToolStarted, TurnCompleted, UserMessage, decode
from hub.masking import MASK
from tests.front.door import Door, problem
from tests.store.desk import LEASE_MS, failed, stamped

pytestmark = pytest.mark.anyio

LINES = {"Content-Type": "application/x-ndjson"}


async def talked(door: Door, *texts: str) -> str:
    """A session with a completed turn for each message."""
    session = await door.session(title="A talk")
    for text in texts:
        claim = await door.running(session, text)
        await door.say(claim, 1, "I ", "see ", text)
        await door.desk.finish(claim)
    return session


async def words(door: Door, session: str) -> list[str]:
    """What was said, in order."""
    items = (await door.client.get(f"/v1/sessions/{session}")).json()["items"]
    return [
        text
        for item in items
        for text in ([item["text"]] if item["kind"] == "user" else [b["text"] for b in item["blocks"]])
    ]


async def test_a_fork_is_a_session_that_shows_where_it_comes_from(door: Door) -> None:
    """Without a point it has the whole conversation; it says of which session, and the log says it too."""
    session = await talked(door, "one", "two")
    response = await door.client.post(f"/v1/sessions/{session}/fork", json={"title": "Another way"})
    assert response.status_code == 201, response.text
    fork = response.json()
    assert response.headers["location"] == f"/v1/sessions/{fork['id']}"
    cursor = (await door.client.get(f"/v1/sessions/{session}")).json()["cursor"]
    assert (fork["agent"], fork["title"], fork["policy"]) == ("claude", "Another way", "careful")
    assert fork["forked_from"] == {"session_id": session, "seq": cursor}
    shown = (await door.client.get(f"/v1/sessions/{fork['id']}")).json()
    assert shown["session"]["forked_from"] == fork["forked_from"]
    assert shown["turn"] is None
    assert await words(door, fork["id"]) == ["one", "I see one", "two", "I see two"]
    first, *copies = await door.desk.events(fork["id"])
    assert msgspec.to_builtins(first.forked_from) == fork["forked_from"]
    assert all(isinstance(event.copied, int) for event in copies)
    listed = (await door.client.get("/v1/sessions")).json()
    assert {one["id"]: one["forked_from"] for one in listed}[fork["id"]] == fork["forked_from"]


async def test_a_fork_goes_on_by_itself(door: Door) -> None:
    """New turns of the fork follow its own numbers, and the other session knows nothing of them."""
    session = await talked(door, "one")
    fork = (await door.client.post(f"/v1/sessions/{session}/fork")).json()["id"]
    claim = await door.running(fork, "two")
    await door.say(claim, 1, "fine")
    await door.desk.finish(claim)
    assert await words(door, fork) == ["one", "I see one", "two", "fine"]
    assert await words(door, session) == ["one", "I see one"]
    seqs = [event.seq for event in await door.desk.events(fork)]
    assert seqs == sorted(set(seqs))


async def test_a_fork_from_a_point(door: Door) -> None:
    """After a turn by its id, or after any event; a point that is none is refused with what is wrong."""
    session = await talked(door, "one", "two")
    path = f"/v1/sessions/{session}/fork"
    events = await door.desk.events(session)
    turn = next(event.turn_id for event in events if getattr(event, "turn_id", ""))
    for after in (turn, next(event.seq for event in events if "completed" in type(event).__name__.lower())):
        made = (await door.client.post(path, json={"after": after})).json()
        assert await words(door, made["id"]) == ["one", "I see one"]
    await problem(await door.client.post(path, json={"after": 10_000}), 400, "bad_cursor")
    await problem(await door.client.post(path, json={"after": "trn_x"}), 422, "invalid")
    await problem(await door.client.post(path, json={"after": -1}), 422, "invalid")
    await problem(await door.client.post(path, json={"agent": "nobody"}), 422, "unknown_agent")
    await problem(await door.client.post("/v1/sessions/ses_01m8n0a252p9dn1xhpsvr7k5wx/fork"), 404, "not_found")


async def test_a_fork_with_another_agent_is_that_agents(door: Door) -> None:
    """Its transport, its policy, its directory; and nothing of the memory that the first agent had."""
    session = await talked(door, "one")
    claim = await door.running(session, "two")
    await door.services.store.remember(claim, {"own": "1"})
    await door.desk.finish(claim)
    path = f"/v1/sessions/{session}/fork"
    other = (await door.client.post(path, json={"agent": "gone"})).json()
    assert (other["agent"], other["transport"], other["policy"], other["cwd"]) == ("gone", "tmux", None, "/srv")
    store = door.services.store
    assert (await store.session(other["id"])).inherited == {}
    same = (await door.client.post(path)).json()
    assert (await store.session(same["id"])).inherited == {"own": "1"}
    early = (await door.client.post(path, json={"after": 3})).json()
    assert (await store.session(early["id"])).inherited == {}


async def test_a_fork_while_a_turn_runs_leaves_it_alone(door: Door) -> None:
    """The running turn is not taken over, nor its queue; cut in its middle on purpose, it is ended in the copy."""
    session = await talked(door, "one")
    claim = await door.running(session, "two")
    await door.say(claim, 1, "half")
    await door.send(session, "three", on_busy="queue")
    fork = (await door.client.post(f"/v1/sessions/{session}/fork")).json()["id"]
    assert await words(door, fork) == ["one", "I see one"]
    cursor = (await door.client.get(f"/v1/sessions/{session}")).json()["cursor"]
    cut = (await door.client.post(f"/v1/sessions/{session}/fork", json={"after": cursor})).json()["id"]
    shown = (await door.client.get(f"/v1/sessions/{cut}")).json()
    assert (shown["turn"], shown["queue"], shown["items"][-1]["status"]) == (None, [], "interrupted")
    assert (await door.client.get(f"/v1/sessions/{session}")).json()["turn"]["state"] == "running"
    await door.desk.finish(claim)


async def test_what_failed_can_be_tried_again_in_a_fork(door: Door) -> None:
    """The last message of the copy, as long as no completed turn follows it; and not what completed."""
    session = await talked(door, "one")
    claim = await door.running(session, "two")
    await door.desk.finish(claim, failed())
    fork = (await door.client.post(f"/v1/sessions/{session}/fork")).json()["id"]
    again = await door.client.post(f"/v1/sessions/{fork}/retry")
    assert again.status_code == 202, again.text
    assert again.json()["turn"]["attempt"] == 2
    taken = await door.desk.take_turn(fork, again.json()["turn"]["id"])
    assert (taken.turn.message.text, taken.turn.message.literal) == ("two", True)
    await door.desk.finish(taken.claim)
    early = next(event for event in await door.desk.events(session) if isinstance(event, TurnCompleted))
    body = {"after": early.turn_id}
    done = (await door.client.post(f"/v1/sessions/{session}/fork", json=body)).json()["id"]
    await problem(await door.client.post(f"/v1/sessions/{done}/retry"), 409, "no_retryable_turn")


async def test_a_message_that_a_fork_cuts_off_from_its_turn_can_be_tried(door: Door) -> None:
    """A cut right behind a message leaves a message that no completed turn follows: it can be tried, as a first
    attempt; a fork of that fork has it all."""
    session = await talked(door, "one", "two")
    message = [event for event in await door.desk.events(session) if isinstance(event, UserMessage)][-1]
    forked = await door.client.post(f"/v1/sessions/{session}/fork", json={"after": message.seq})
    fork = forked.json()["id"]
    shown = (await door.client.get(f"/v1/sessions/{fork}")).json()["items"]
    assert [item.get("status", item.get("text")) for item in shown] == ["one", "completed", "two", "interrupted"]
    again = await door.client.post(f"/v1/sessions/{fork}/retry")
    assert again.status_code == 202, again.text
    taken = await door.desk.take_turn(fork, again.json()["turn"]["id"])
    assert (taken.turn.message.text, taken.turn.attempt) == ("two", 1)
    await door.desk.finish(taken.claim)
    whole = (await door.client.post(f"/v1/sessions/{fork}/fork")).json()["id"]
    assert (await door.desk.kinds(whole))[-1] == "turn_completed"


async def test_a_fork_takes_no_consent_along(door: Door) -> None:
    """Grants stay behind; a policy that somebody chose for the session wants scope approve."""
    session = await talked(door, "one")
    claim = await door.running(session, "two")
    ask = await door.desk.opened(claim)
    await door.client.post(f"/v1/asks/{ask}/answer", json={"decision": "allow", "scope": "session"})
    await door.desk.finish(claim)
    fork = (await door.client.post(f"/v1/sessions/{session}/fork")).json()["id"]
    assert (await door.client.get(f"/v1/sessions/{fork}/grants")).json() == []
    await door.client.patch(f"/v1/sessions/{session}", json={"policy": "open"})
    async with door.client_with("send") as client:
        await problem(await client.post(f"/v1/sessions/{session}/fork"), 403, "missing_scope")
    assert (await door.client.post(f"/v1/sessions/{session}/fork")).json()["policy"] == "open"


async def test_the_same_key_makes_one_fork(door: Door) -> None:
    """Repeated with its key it is the same session, also when the other one has gone on meanwhile; another
    session's key is refused, and so is the key of another cut."""
    session, other = await talked(door, "one"), await talked(door, "two")
    key = {"Idempotency-Key": "k"}
    first = await door.client.post(f"/v1/sessions/{session}/fork", headers=key)
    await door.desk.finish(await door.running(session, "meanwhile"))
    again = await door.client.post(f"/v1/sessions/{session}/fork", headers=key)
    assert (first.status_code, first.json()["id"]) == (again.status_code, again.json()["id"])
    refused = await door.client.post(f"/v1/sessions/{other}/fork", headers=key)
    await problem(refused, 422, "idempotency_mismatch")
    for body in ({"after": 3}, {"title": "another"}, {"agent": "gone"}):
        refused = await door.client.post(f"/v1/sessions/{session}/fork", json=body, headers=key)
        await problem(refused, 422, "idempotency_mismatch")
    await problem(
        await door.client.post("/v1/sessions", json={"agent": "claude"}, headers=key), 422, "idempotency_mismatch"
    )


async def test_an_export_comes_back_in_as_an_archived_session(door: Door) -> None:
    """The same conversation, under a new id; exported again it is the same file but for the id."""
    session = await talked(door, "one", "two")
    exported = await door.client.get(f"/v1/sessions/{session}/export?mask=false")
    assert exported.headers["content-type"] == "application/x-ndjson"
    assert exported.headers["content-disposition"] == f'attachment; filename="{session}.jsonl"'
    response = await door.client.post("/v1/sessions/import", content=exported.content, headers=LINES)
    assert response.status_code == 201, response.text
    made = response.json()
    assert (made["imported_from"], made["archived"], made["title"]) == (session, True, "A talk")
    assert await words(door, made["id"]) == await words(door, session)
    again = await door.client.get(f"/v1/sessions/{made['id']}/export?mask=false")
    assert again.content.replace(made["id"].encode(), session.encode()) == exported.content


async def test_a_sensitive_session_is_sensitive_wherever_it_goes(door: Door) -> None:
    """In its forks, and where its export is imported."""
    session = await door.session(sensitive=True)
    await door.desk.finish(await door.running(session, "one"))
    fork = (await door.client.post(f"/v1/sessions/{session}/fork")).json()
    exported = await door.client.get(f"/v1/sessions/{session}/export")
    headers = {"Content-Type": "application/x-ndjson"}
    imported = await door.client.post("/v1/sessions/import", content=exported.content, headers=headers)
    assert (fork["sensitive"], imported.json()["sensitive"]) == (True, True)


async def test_an_export_masks_secrets_unless_told_otherwise(door: Door) -> None:
    """In both forms; with mask=false everything is there."""
    session = await talked(door, "API_KEY=abcdef123456")
    path = f"/v1/sessions/{session}/export"
    for form in ("jsonl", "markdown"):
        masked = (await door.client.get(path, params={"format": form})).text
        assert "abcdef123456" not in masked
        assert MASK in masked.replace("\\", "")
        assert "abcdef123456" in (await door.client.get(path, params={"format": form, "mask": "false"})).text
    await problem(await door.client.get(path, params={"format": "pdf"}), 422, "invalid")


async def test_markdown_is_for_people(door: Door) -> None:
    """Its media type, its name, tools folded."""
    session = await door.session()
    claim = await door.running(session, "go")
    tool = ToolStarted(tool_id="x", name="Bash", input={"command": "ls"})
    events = [stamped(claim, tool), stamped(claim, ToolFinished(tool_id="x", status="ok"))]
    await door.services.store.append(claim, 1, events, LEASE_MS)
    await door.desk.finish(claim)
    response = await door.client.get(f"/v1/sessions/{session}/export?format=markdown")
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    assert f'filename="{session}.md"' in response.headers["content-disposition"]
    assert "<summary>Bash: ok</summary>" in response.text


async def test_a_bad_import_names_its_line_and_leaves_nothing(door: Door) -> None:
    """Wrong media type, wrong scope, too large, a wrong line: each is told, and no session comes of it."""
    session = await talked(door, "one")
    content = (await door.client.get(f"/v1/sessions/{session}/export?mask=false")).content
    path = "/v1/sessions/import"
    broken = content.replace(b'"user_message"', b'"later"', 1)
    told = await problem(await door.client.post(path, content=broken, headers=LINES), 422, "bad_archive")
    assert told["line"] == 3
    await problem(await door.client.post(path, json={}), 415, "unsupported_media_type")
    await problem(await door.client.post(path, content=content), 415, "unsupported_media_type")
    large = content + b"\n" * 200_000
    await problem(await door.client.post(path, content=large, headers=LINES), 413, "body_too_large")
    async with door.client_with("read", "send", "approve") as client:
        await problem(await client.post(path, content=content, headers=LINES), 403, "missing_scope")
    assert len((await door.client.get("/v1/sessions")).json()) == 1


async def test_an_imported_event_is_the_event_that_was_exported(door: Door) -> None:
    """Event for event, numbers and times included."""
    session = await talked(door, "one")
    content = (await door.client.get(f"/v1/sessions/{session}/export?mask=false")).content
    made = (await door.client.post("/v1/sessions/import", content=content, headers=LINES)).json()["id"]
    there = [decode(line) for line in content.splitlines()[1:]]
    here = await door.desk.events(made)
    assert [msgspec.structs.replace(event, session_id=session) for event in here] == there
