"""Whole outputs of tools: kept for a while, bounded, gone with their session."""

from __future__ import annotations

import pytest

from hub.errors import Fenced
from hub.store import keys
from hub.store.common import Bounds
from hub.store.connect import AnyRedis
from hub.store.store import Store
from tests.store.desk import Desk

pytestmark = pytest.mark.anyio


async def test_an_output_is_found_again_under_its_turn(client: AnyRedis) -> None:
    """Two turns may name their tools alike; a tool that was not kept has none."""
    store = Store(client)
    desk = Desk(store)
    session = await desk.session()
    for text in ("first", "second \ud83d ü"):
        claim = (await desk.taken(session)).claim
        await store.keep_output(claim, "tool_1", text)
        await desk.finish(claim)
        assert await store.output(session, claim.turn_id, "tool_1") == text.replace("\ud83d", "\ufffd")
    assert await store.output(session, claim.turn_id, "tool_2") is None
    assert await store.output(session, "trn_x", "tool_1") is None


async def test_an_output_is_kept_for_its_time_only(client: AnyRedis) -> None:
    """Its own time, also while younger ones are kept; and none at all where the bounds say so."""
    store = Store(client, Bounds(output_keep_ms=60_000))
    claim = (await Desk(store).taken()).claim
    await store.keep_output(claim, "a", "x")
    await store.keep_output(claim, "b", "y")
    kept = keys.session_key("kept", claim.session_id)
    await client.execute_command("HSET", kept, f"{claim.turn_id} a", "1 1")  # its time ended long ago
    assert await store.output(claim.session_id, claim.turn_id, "a") is None
    assert await client.execute_command("HLEN", kept) == 1
    assert await store.output(claim.session_id, claim.turn_id, "b") == "y"
    await Store(client, Bounds(output_keep_ms=0)).keep_output(claim, "c", "z")
    assert await store.output(claim.session_id, claim.turn_id, "c") is None
    left = await client.execute_command("PTTL", keys.session_key("outputs", claim.session_id))
    assert 0 < left <= 60_000


async def test_older_outputs_make_room(client: AnyRedis) -> None:
    """A session keeps so many bytes; the newest is kept, at most so much of it, and no character is cut."""
    claim = (await Desk(Store(client)).taken()).claim
    outputs = (("a", "aaaa"), ("b", "bbbb"), ("c", "cccc"), ("d", "üüüü"), ("d", "dü"), ("c", "üüüü"))
    for place, (name, text) in enumerate(outputs, 1):  # the end of its time tells which one is older
        store = Store(client, Bounds(output_most=5, outputs_most=12, output_keep_ms=place * 100_000))
        await store.keep_output(claim, name, text)
    found = [await store.output(claim.session_id, claim.turn_id, name) for name in "abcd"]
    assert found == [None, "bbbb", "üü", "dü"]


async def test_only_the_owner_keeps_and_nothing_outlives_the_session(client: AnyRedis) -> None:
    """A turn that is over keeps no more; a deleted session leaves nothing behind."""
    store = Store(client)
    desk = Desk(store)
    claim = (await desk.taken()).claim
    await store.keep_output(claim, "a", "x")
    await desk.finish(claim)
    with pytest.raises(Fenced):
        await store.keep_output(claim, "b", "y")
    await store.delete_session(claim.session_id)
    for kind in ("outputs", "kept"):
        key = keys.session_key(kind, claim.session_id)
        assert await client.execute_command("EXISTS", key) == 0
