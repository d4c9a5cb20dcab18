"""Odd and large things: they survive, or are refused clearly."""

from __future__ import annotations

import asyncio

import pytest
import redis as sync_redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hub import ids
from hub.events import TextDelta
from hub.store import keys
from hub.store.records import Entry, entry, merged
from hub.store.store import Bounds, Store
from tests.store.desk import LEASE_MS, Desk, connected, event_of, stamped, text

pytestmark = pytest.mark.anyio

ODD = [
    "100% %s %d %1 ${x}",
    "'single' \"double\" `back` \\ / \\u2028 \\n",
    "line\nline\r\nline\u2028line\u2029line\u0085line",
    "nul \0 bell \a escape \x1b del \x7f",
    "grüße 漢字 🙂 \U0010ffff",
    '"message_id":"x","text":"y"}\n\nid: 7\nevent: turn_completed\ndata: {}\n\n',
    "}' .. redis.call('FLUSHALL') --",
    "x" * (1 << 20),
    " ",
]


@pytest.mark.parametrize("words", ODD, ids=range(len(ODD)))
async def test_any_text_survives_every_way_through_the_store(desk: Desk, words: str) -> None:
    """A text as a message, waiting, as an event, as a title and in an ask's reason comes back as it was."""
    session_id = await desk.session(title=words)
    taken = await desk.taken(session_id, text=words)
    await desk.store.append(taken.claim, 1, [text(taken.claim, words)], LEASE_MS)
    await desk.store.enqueue(session_id, words)
    unwanted = await desk.store.enqueue(session_id, words)
    assert unwanted is not None
    await desk.store.unqueue(session_id, unwanted.id)
    await desk.opened(taken.claim)
    await desk.store.remember(taken.claim, {words[:100]: words})
    await desk.finish(taken.claim, reason=words)
    log = {event.__struct_config__.tag: event for event in await desk.events(session_id)}
    turn = await desk.store.turn(session_id)
    session = await desk.store.session(session_id)
    assert turn is not None
    assert session.title == words
    assert session.memory == {words[:100]: words}
    assert taken.turn.message.text == turn.message.text == words
    assert log["user_message"].text == log["text"].text == words
    assert log["message_queued"].text == log["message_unqueued"].text == words
    assert log["ask_withdrawn"].reason == words
    for one in await desk.store.log_page(session_id, 0):
        lines = one.frame.decode().splitlines()
        assert [line.split(":")[0] for line in lines] == ["id", "event", "data", ""], "one frame, one data line"


async def test_half_a_surrogate_pair_becomes_a_replacement_character(desk: Desk) -> None:
    """Text that is no Unicode text reaches the store from no side as an error."""
    session_id = await desk.session(title="a\ud800b")
    begun = await desk.store.begin(session_id, "a\ud800b", idempotency_key="\udc00")
    turn = await desk.store.turn(session_id)
    queued = await desk.store.enqueue(session_id, "\udfff")
    assert (await desk.store.begin(session_id, "a\ud800b", idempotency_key="\udc00")).turn_id == begun.turn_id
    assert turn is not None
    assert queued is not None
    assert turn.message.text == "a\ufffdb"
    assert (await desk.store.session(session_id)).title == "a\ufffdb"
    assert (await desk.store.snapshot(session_id, whole=True)).queue[0].text == "\ufffd"


async def test_a_batch_of_many_events_is_written_whole(desk: Desk) -> None:
    """append: 3,000 events (9,000 arguments, beyond what Lua can unpack) in one call."""
    taken = await desk.taken()
    events = [stamped(taken.claim, TextDelta(block=0, text=str(n))) for n in range(3_000)]
    assert (await desk.store.append(taken.claim, 1, events, LEASE_MS)).last == 3_003
    live = await desk.store.live_page(taken.session.id, taken.turn.id, 3, 20_000)
    assert [event_of(one).text for one in live] == [str(n) for n in range(3_000)]
    await desk.store.trim(taken.claim, range(4, 3_004))
    assert len(await desk.store.live_page(taken.session.id, taken.turn.id, 0, 20_000)) == 2


async def test_a_turn_with_many_asks_and_closing_events_ends(desk: Desk) -> None:
    """finish: 100 open asks and 2,700 closing events are one transaction."""
    taken = await desk.taken()
    for _ in range(100):
        await desk.opened(taken.claim)
    closing = [text(taken.claim, str(n), n) for n in range(2_700)]
    finished = await desk.finish(taken.claim, closing=closing)
    kinds = await desk.kinds(taken.session.id)
    assert (len(kinds), kinds.count("ask_withdrawn")) == (finished.last, 100)


async def test_a_long_session_is_read_in_parts_without_loss(desk: Desk) -> None:
    """snapshot with a limit: parts that are not complete go on where they ended; together they are all."""
    taken = await desk.taken()
    for batch in range(1, 30):
        await desk.store.append(
            taken.claim,
            batch,
            [stamped(taken.claim, TextDelta(block=batch, text="a")), text(taken.claim, "a", batch)],
            LEASE_MS,
        )
    whole = await desk.store.snapshot(taken.session.id)
    assert whole.complete
    for most in (1, 2, 7, 32, 33, 1000):
        cursor, seen, complete = 0, list[Entry](), False
        while not complete:
            part = await desk.store.snapshot(taken.session.id, cursor, most=most)
            assert part.cursor > cursor or part.complete
            seen += part.entries
            cursor, complete = part.cursor, part.complete
        assert seen == list(whole.entries)
        assert cursor == whole.cursor


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from(["", "t1", "t2"])), max_size=60),
    st.integers(1, 20),
)
def test_streams_read_in_parts_join_to_one(kinds: list[tuple[bool, str]], most: int) -> None:
    """merged: whatever the limit, parts that follow on each other give every event once, in order."""
    streams: dict[str, list[Entry]] = {"log": [], "t1": [], "t2": []}
    every: list[int] = []
    for seq, (durable, turn) in enumerate(kinds, 1):
        if not durable and not turn:
            continue
        made = Entry(seq, turn, "text" if durable else "text_delta", b"")
        every.append(seq)
        if durable:
            streams["log"].append(made)
        if turn:
            streams[turn].append(made)
    cursor, seen, complete = 0, list[int](), False
    while not complete:
        cut = [[one for one in stream if one.seq > cursor][:most] for stream in streams.values()]
        part, complete = merged(cut, most)
        seen += [one.seq for one in part]
        cursor = part[-1].seq if part else cursor
    assert seen == every


@given(st.text(max_size=40))
def test_the_bucket_is_what_a_cluster_would_compute(name: str) -> None:
    """bucket: CRC-16/XMODEM modulo 64, bit by bit."""
    crc = 0
    for byte in name.encode():
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    assert keys.bucket(name) == crc % 64


def test_all_keys_of_a_session_share_a_slot_and_buckets_are_spread(cluster_url: str) -> None:
    """CLUSTER KEYSLOT says the same slot for every key of a session; 64 buckets reach all three nodes."""
    nodes = set()
    with sync_redis.Redis.from_url(cluster_url.replace("redis+cluster", "redis")) as node:
        for number in range(50):
            session_id = ids.session_id(str(number))
            names = [*keys.transaction_keys(session_id), keys.live_key(session_id, ids.turn_id())]
            slots: set[int] = {node.execute_command("CLUSTER", "KEYSLOT", name) for name in names}
            assert len(slots) == 1
            assert all(f"{{{keys.bucket(session_id)}}}" in name for name in names)
            nodes.add(slots.pop() * 3 // 16384)
    assert nodes == {0, 1, 2}


async def test_a_session_on_each_node_of_a_cluster_works(cluster_url: str) -> None:
    """Sessions of many buckets go through a whole turn, whichever node has them."""
    buckets: set[int] = set()
    async with connected(cluster_url) as connections:
        desk = Desk(Store(connections.commands))
        while len(buckets) < 20:
            taken = await desk.taken()
            await desk.append(taken.claim, 1, "x")
            await desk.finish(taken.claim)
            buckets.add(keys.bucket(taken.session.id))


async def test_a_live_stream_is_gone_after_its_grace(redis_desk: Desk) -> None:
    """finish: the live stream expires by itself, what is durable stays."""
    store = Store(redis_desk.store.redis, Bounds(live_grace_ms=30))
    desk = Desk(store)
    taken = await desk.taken()
    await desk.append(taken.claim, 1, "a")
    await desk.finish(taken.claim)
    async with asyncio.timeout(5):
        while await store.live_page(taken.session.id, taken.turn.id, 0):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
    snapshot = await store.snapshot(taken.session.id, also=(taken.turn.id,))
    assert [one.seq for one in snapshot.entries] == [1, 2, 3, 5]
    assert snapshot.complete


@given(st.integers(1, 2**53), st.sampled_from(["text", "text_delta", "turn_completed"]), st.binary(max_size=50))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_frame_says_its_number_and_type(seq: int, kind: str, rest: bytes) -> None:
    """entry: number and type are read from the frame's first lines, whatever follows."""
    made = entry("t", b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, kind.encode(), rest))
    assert (made.seq, made.type, made.turn_id) == (seq, kind, "t")
    assert (made.durable, made.terminal) == (kind != "text_delta", kind == "turn_completed")
