"""What every store keeps: sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hub import ids
from hub.asks import AskRecord
from hub.errors import IdempotencyMismatch, NotFound, TurnInFlight
from hub.store import keys
from hub.store.records import SessionRecord
from tests.store.desk import Desk, completed, event_of

pytestmark = pytest.mark.anyio


def _record(session_id: str, **details: str) -> SessionRecord:
    fields = {"agent": "claude", "transport": "sdk", **details}
    return SessionRecord(id=session_id, **fields)  # type: ignore[arg-type]


async def test_a_session_begins_its_log(desk: Desk) -> None:
    """create: what was given is kept, and session_created is event 1."""
    session_id = ids.session_id()
    record, new = await desk.store.create_session(
        _record(session_id, policy="careful", title='50% "quoted" \0 \u2028', cwd="/tmp/a b")
    )
    assert new
    assert record == await desk.store.session(session_id)
    assert (record.policy, record.title, record.cwd) == ("careful", '50% "quoted" \0 \u2028', "/tmp/a b")
    (created,) = await desk.events(session_id)
    assert (created.seq, created.agent, created.policy, created.at) == (1, "claude", "careful", record.created_at)


async def test_creating_a_session_that_is_there_changes_nothing(desk: Desk) -> None:
    """create: the same id gives the session that is there; another agent's is refused."""
    session_id = ids.session_id("a key")
    if await _known(desk, session_id):  # the cluster is not emptied
        await desk.store.delete_session(session_id)
    first, _ = await desk.store.create_session(_record(session_id, title="first"))
    again, new = await desk.store.create_session(_record(session_id, title="second"))
    assert (again, new) == (first, False)
    with pytest.raises(IdempotencyMismatch):
        await desk.store.create_session(_record(session_id, agent="pane"))
    assert await desk.kinds(session_id) == ["session_created"]


async def _known(desk: Desk, session_id: str) -> bool:
    try:
        await desk.store.session(session_id)
    except NotFound:
        return False
    return True


async def test_a_session_is_patched_field_by_field(desk: Desk) -> None:
    """patch: only what is named changes, and the change is the newest."""
    session_id = await desk.session(title="old")
    changed = await desk.store.patch_session(session_id, {"title": "new", "archived": "1"})
    assert (changed.title, changed.archived, changed.agent) == ("new", True, "claude")
    assert (await desk.store.patch_session(session_id, {"archived": "0"})).archived is False
    with pytest.raises(ValueError, match="seq"):
        await desk.store.patch_session(session_id, {"seq": "7"})


async def test_what_is_durable_makes_a_session_the_newest(desk: Desk) -> None:
    """Durable events and patches change ``updated_at`` and the place among all sessions; deltas do not."""
    session_id = await desk.session()
    place = ("ZSCORE", keys.bucket_key("sessions", keys.bucket(session_id)), session_id)

    async def changed() -> tuple[str, int]:
        await asyncio.sleep(0.002)  # times are in milliseconds
        record = await desk.store.session(session_id)
        return record.updated_at, int(await desk.store.redis.execute_command(*place))

    seen = [await changed()]
    taken = await desk.taken(session_id)
    seen.append(await changed())
    await desk.append(taken.claim, 1, "delta")
    assert await changed() == seen[-1]
    await desk.finish(taken.claim)
    seen.append(await changed())
    await desk.store.patch_session(session_id, {"title": "x"})
    seen.append(await changed())
    assert seen == sorted(set(seen))


async def test_an_unknown_session_is_not_found_by_any_call(desk: Desk) -> None:
    """Every call on a session that is not there raises NotFound and makes no key."""
    session_id, store = ids.session_id(), desk.store
    calls = [
        store.session(session_id),
        store.patch_session(session_id, {"title": "x"}),
        store.delete_session(session_id),
        store.begin(session_id, "hello"),
        store.retry(session_id),
        store.cancel(session_id, "ann"),
        store.enqueue(session_id, "hello"),
        store.unqueue(session_id, ids.message_id()),
        store.snapshot(session_id),
        store.ask(ids.ask_id(session_id)),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            await call
    assert await store.turn(session_id) is None
    assert await store.log_page(session_id, 0) == []
    for key in keys.transaction_keys(session_id):
        if session_id in key:
            assert not await store.redis.execute_command("EXISTS", key)


async def test_a_session_with_a_turn_is_deleted_by_force_only(desk: Desk) -> None:
    """delete: refused while a turn runs; by force everything goes, consent too, and its runner is fenced."""
    taken = await desk.taken()
    session_id = taken.session.id
    ask_id = await desk.opened(taken.claim)
    grants = keys.session_key("grants", session_id)
    await desk.store.redis.execute_command("HSET", grants, "Bash", "yes")
    with pytest.raises(TurnInFlight) as refused:
        await desk.store.delete_session(session_id)
    assert refused.value.facts["turn_id"] == taken.turn.id
    assert refused.value.facts["state"] == "running"
    pubsub: Any = desk.store.redis.pubsub()
    await pubsub.subscribe(keys.channel(session_id))
    await desk.store.delete_session(session_id, force=True)
    assert not await _known(desk, session_id)
    assert not await desk.renew(taken.claim)
    assert await desk.store.live_page(session_id, taken.turn.id, 0) == []
    assert [message["data"] async for message in _heard(pubsub)] == [b""], "whoever watches it is woken"
    assert not await desk.store.redis.execute_command("EXISTS", grants)
    number = keys.bucket(session_id)
    for kind, member in (("sessions", session_id), ("leases", session_id), ("pending", ask_id)):
        score = await desk.store.redis.execute_command("ZSCORE", keys.bucket_key(kind, number), member)
        assert score is None
    with pytest.raises(NotFound):
        await desk.store.delete_session(session_id)


async def _heard(pubsub: Any) -> AsyncIterator[Any]:
    """The one message that is expected."""
    async with asyncio.timeout(10):
        while (message := await pubsub.get_message(ignore_subscribe_messages=True, timeout=1)) is None:
            pass
    yield message
    await pubsub.aclose()


async def test_a_deleted_session_can_be_made_again_and_begins_anew(desk: Desk) -> None:
    """A session made again under its old id has an empty past."""
    session_id = await desk.session()
    taken = await desk.taken(session_id)
    await desk.finish(taken.claim)
    await desk.store.delete_session(session_id)
    await desk.session(id=session_id)
    assert await desk.kinds(session_id) == ["session_created"]
    again = await desk.taken(session_id)
    await desk.append(again.claim, 1, "x")
    await desk.finish(again.claim)


async def test_a_snapshot_is_the_whole_session(desk: Desk) -> None:
    """snapshot: session, turn, asks, queue and every event, in order and once."""
    taken = await desk.taken(text="first")
    session_id, store = taken.session.id, desk.store
    await desk.append(taken.claim, 1, "a", "b")
    ask_id = await desk.opened(taken.claim)
    queued = await store.enqueue(session_id, "second")
    whole = await store.snapshot(session_id, whole=True)
    assert [entry.seq for entry in whole.entries] == list(range(1, whole.cursor + 1))
    assert (whole.complete, whole.session and whole.session.id) == (True, session_id)
    assert whole.turn == await store.turn(session_id)
    assert whole.turn is not None
    assert (whole.turn.message.text, whole.turn.first) == ("first", 2)
    assert whole.asks == (await store.ask(ask_id),)
    assert [message.id for message in whole.queue] == [queued.id if queued else None]
    later = await store.snapshot(session_id, 5)
    assert [entry.seq for entry in later.entries] == list(range(6, whole.cursor + 1))
    assert (later.session, later.asks, later.queue) == (None, (), ())


async def test_a_snapshot_holds_the_live_stream_of_ended_turns_that_are_named(desk: Desk) -> None:
    """snapshot: transient events of a turn that has ended are there for those who ask for that turn."""
    taken = await desk.taken()
    await desk.append(taken.claim, 1, "a", "b")
    await desk.finish(taken.claim)
    plain = await desk.store.snapshot(taken.session.id)
    assert [e.type for e in plain.entries if not e.durable] == []
    also = await desk.store.snapshot(taken.session.id, also=(taken.turn.id, taken.turn.id, "trn_gone"))
    assert [entry.seq for entry in also.entries] == list(range(1, also.cursor + 1))


async def test_asks_in_a_snapshot_are_the_oldest_first(desk: Desk) -> None:
    """snapshot: asks of all turns, in the order in which they were opened."""
    first = await desk.taken()
    wanted = [await desk.opened(first.claim) for _ in range(3)]
    await desk.finish(first.claim)
    second = await desk.taken(first.session.id)
    wanted.append(await desk.opened(second.claim))
    asks = (await desk.store.snapshot(first.session.id, whole=True)).asks
    assert [ask.id for ask in asks] == wanted
    assert [ask.state for ask in asks] == ["withdrawn"] * 3 + ["open"]
    assert all(isinstance(ask, AskRecord) for ask in asks)


async def test_pages_of_log_and_live_stream_follow_on_each_other(desk: Desk) -> None:
    """log_page and live_page: at most as many as asked for, after a cursor."""
    taken = await desk.taken()
    await desk.append(taken.claim, 1, *"abcde")
    live = await desk.store.live_page(taken.session.id, taken.turn.id, 0, 4)
    assert [event_of(entry).seq for entry in live] == [2, 3, 4, 5]
    rest = await desk.store.live_page(taken.session.id, taken.turn.id, live[-1].seq)
    assert [entry.seq for entry in rest] == [6, 7, 8]
    await desk.finish(taken.claim, completed())
    log = await desk.store.log_page(taken.session.id, 1, 2)
    assert [entry.type for entry in log] == ["user_message", "turn_started"]
    assert [entry.terminal for entry in await desk.store.log_page(taken.session.id, 3)] == [True]
