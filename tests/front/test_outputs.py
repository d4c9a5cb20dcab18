"""Whole outputs of tools over HTTP."""

from __future__ import annotations

import httpx
import pytest

from hub.digests import digest_of
from hub.events import AnyEvent, ToolFinished, ToolStarted
from hub.store import keys
from hub.store.records import Claim
from tests.front.door import Door, problem
from tests.store.desk import LEASE_MS, stamped

pytestmark = pytest.mark.anyio


async def ran(door: Door, claim: Claim, batch: int, text: str | None, tool: str = "tool_1") -> None:
    """A tool that has run, its output kept as a runner keeps it."""
    digest = None if text is None else digest_of(text)
    events: list[AnyEvent] = [
        ToolStarted(tool_id=tool, name="Bash"),
        ToolFinished(tool_id=tool, status="ok", digest=digest),
    ]
    await door.services.store.append(claim, batch, [stamped(claim, event) for event in events], LEASE_MS)
    if digest is not None and digest.truncated and text is not None:
        await door.services.store.keep_output(claim, tool, text)


async def output(door: Door, session: str, tool: str = "tool_1", accept: str = "*/*") -> httpx.Response:
    """GET it."""
    path = f"/v1/sessions/{session}/tools/{tool}/output"
    return await door.client.get(path, headers={"Accept": accept})


async def test_a_short_output_is_always_there(door: Door) -> None:
    """The log has it whole: as JSON with size and hash, or as plain text."""
    session = await door.session()
    claim = await door.running(session)
    await ran(door, claim, 1, "two files")
    found = await output(door, session)
    assert found.status_code == 200
    digest = digest_of("two files")
    assert found.json() == {
        "tool_id": "tool_1",
        "turn_id": claim.turn_id,
        "text": "two files",
        "bytes": digest.bytes,
        "sha256": digest.sha256,
        "truncated": False,
    }
    plain = await output(door, session, accept="text/plain")
    assert (plain.headers["content-type"], plain.text) == ("text/plain; charset=utf-8", "two files")


async def test_a_long_output_is_there_while_it_is_kept(door: Door) -> None:
    """Whole; then gone, which is told with its size and its hash."""
    session = await door.session()
    claim = await door.running(session)
    await ran(door, claim, 1, "ü" * 9000)
    found = (await output(door, session)).json()
    assert (found["text"], found["bytes"], found["truncated"]) == ("ü" * 9000, 18_000, False)
    redis = door.services.store.redis
    await redis.execute_command("DEL", keys.session_key("kept", session))
    told = await problem(await output(door, session), 410, "output_gone")
    assert (told["bytes"], told["sha256"]) == (18_000, found["sha256"])
    assert "18000 bytes" in told["detail"]


async def test_a_part_of_an_output_says_that_it_is_one(door: Door) -> None:
    """Where only the beginning could be kept."""
    session = await door.session()
    claim = await door.running(session)
    await ran(door, claim, 1, "x" * 9000)
    await door.services.store.keep_output(claim, "tool_1", "x" * 5000)
    found = (await output(door, session)).json()
    assert (len(found["text"]), found["bytes"], found["truncated"]) == (5000, 9000, True)


async def test_the_newest_call_of_an_id_is_meant_unless_a_turn_is_named(door: Door) -> None:
    """Ids of tools are unique within a turn only."""
    session = await door.session()
    claims = []
    for text in ("one", "two"):
        claims.append(await door.running(session))
        await ran(door, claims[-1], 1, text)
        await door.desk.finish(claims[-1])
    assert (await output(door, session)).json()["text"] == "two"
    path = f"/v1/sessions/{session}/tools/tool_1/output"
    assert (await door.client.get(path, params={"turn": claims[0].turn_id})).json()["text"] == "one"
    await problem(await door.client.get(path, params={"turn": "trn_x"}), 404, "not_found")


async def test_why_there_is_no_output_is_told(door: Door) -> None:
    """No such tool, no such session, a tool that still runs, one that gave nothing: each in its own words."""
    session = await door.session()
    claim = await door.running(session)
    await ran(door, claim, 1, None)
    started = stamped(claim, ToolStarted(tool_id="tool_2", name="Bash"))
    await door.services.store.append(claim, 2, [started], LEASE_MS)
    for tool, why in (("tool_1", "without an output"), ("tool_2", "not finished"), ("tool_3", "no tool 'tool_3'")):
        assert why in (await problem(await output(door, session, tool), 404, "not_found"))["detail"]
    await problem(await output(door, "ses_01m8n0a252p9dn1xhpsvr7k5wx"), 404, "not_found")
    async with door.client_with("send") as client:
        await problem(await client.get(f"/v1/sessions/{session}/tools/tool_1/output"), 403, "missing_scope")
