"""Following: whatever is lost, late, repeated or cut, a subscriber sees every event once, in order, to the end."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping
from typing import Any

import pytest
import redis
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hub.errors import BadCursor, NotFound, StoreUnavailable
from hub.events import Gap, TextDelta, decode_frames
from hub.fold import fold
from hub.store import keys
from hub.store.channels import FeedBounds
from hub.store.records import entry
from hub.testing import stores
from hub.testing.hub import Process
from tests.gates import GatedLines
from tests.store.watching import Author, joined, read_all, read_until, watching

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """What is logged, and nowhere else."""
    with structlog.testing.capture_logs() as entries:
        yield entries


@pytest.fixture
def url(redis_server: stores.ServerProcess) -> str:
    """The system's Redis, empty."""
    with redis_server.client() as client:
        client.flushall()
    return redis_server.url


@pytest.fixture
async def author(url: str) -> AsyncIterator[Author]:
    """Who writes, with connections of their own, in a session of theirs."""
    async with watching(url) as process:
        author = Author(process.store)
        await author.session()
        yield author


@pytest.fixture
async def watcher(url: str) -> AsyncIterator[Process]:
    """A process that watches."""
    async with watching(url) as process:
        yield process


def gate(process: Process) -> Any:
    """The gate in front of a process's store."""
    assert isinstance(process.lines, GatedLines)
    return process.lines.gate


# Attach at every offset


async def test_a_finished_turn_is_replayed_from_every_offset(author: Author, watcher: Process) -> None:
    """Joined bytes equal what was written, after each cursor, from any process; then the stream ends."""
    turns = [await author.turn() for _ in range(3)]
    for turn_id in turns:
        truth = await author.live(turn_id)
        for cursor in range(truth[-1].seq):
            seen = await read_all(await watcher.feed.turn(author.session_id, turn_id=turn_id, after=cursor))
            assert seen == joined([one for one in truth if one.seq > cursor])


async def test_a_running_turn_is_followed_from_every_offset(author: Author, url: str) -> None:
    """Attached at each offset while it is written, in two processes: replay and live together are the log, each
    event once, in order."""
    await author.turn()
    turn_id = await author.begin()
    async with watching(url) as one, watching(url) as other:
        reading: list[tuple[int, asyncio.Task[bytes]]] = []
        for number in range(15):
            last = await author.write(TextDelta(block=0, text=f"{number} "))
            for process, cursor in ((one, last), (other, number), (one, 0)):
                sub = await process.feed.turn(author.session_id, after=cursor)
                reading.append((cursor, asyncio.create_task(read_all(sub))))
        await author.finish()
        truth = await author.live(turn_id)
        for cursor, task in reading:
            assert await task == joined([entry for entry in truth if entry.seq > cursor])


async def test_the_log_is_followed_across_turns_from_every_offset(author: Author, watcher: Process) -> None:
    """Durable events only, from each cursor, over finished turns into one that runs."""
    await author.turn()
    await author.begin()
    reading = []
    for cursor in range(10):
        sub = await watcher.feed.log(author.session_id, after=cursor)
        reading.append((cursor, sub, asyncio.create_task(read_until(sub, b"turn_completed"))))
    await author.say(0, "x", "y")
    await author.finish()
    await author.turn()
    truth = await author.log()
    for cursor, sub, task in reading:
        seen = await task
        while len(seen) < len(joined([entry for entry in truth if entry.seq > cursor])):
            seen += await sub.read() or b""
        assert seen == joined([entry for entry in truth if entry.seq > cursor])
        await sub.close()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_any_writing_and_any_attaching_give_each_event_once(url: str, data: st.DataObject) -> None:
    """Turns of any length, subscribers that come and go at any moment with the cursor they had: nobody misses
    or repeats anything."""
    steps = data.draw(st.lists(st.sampled_from(["write", "finish", "attach", "leave", "yield"]), max_size=30))
    async with watching(url) as process, watching(url) as watcher:
        author = Author(process.store)
        await author.session()
        turn_id, seen, sub = await author.begin(), b"", None
        turns = [turn_id]
        for step in steps:
            if step == "write":
                await author.write(TextDelta(block=0, text="x"))
            elif step == "finish":
                await author.finish()
                turns.append(await author.begin())
            elif step == "attach" and sub is None:
                cursor = int(seen.rpartition(b"id: ")[2].split(b"\n")[0] or b"0")
                sub = await watcher.feed.turn(author.session_id, turn_id=turn_id, after=cursor)
                assert sub is not None
                if joined([one for one in await author.live(turn_id) if one.seq > cursor]):
                    async with asyncio.timeout(10):
                        seen += await sub.read() or b""
            elif step == "leave" and sub is not None:
                await sub.close()
                sub = None
            else:
                await asyncio.sleep(0)
        await author.finish()
        if sub is None:
            cursor = int(seen.rpartition(b"id: ")[2].split(b"\n")[0] or b"0")
            sub = await watcher.feed.turn(author.session_id, turn_id=turn_id, after=cursor)
        assert seen + await read_all(sub) == joined(await author.live(turn_id))


# What rings is lost, late, repeated


@pytest.mark.parametrize("seed", range(6))
async def test_lost_repeated_and_disordered_rings_cost_nothing(author: Author, url: str, seed: int) -> None:
    """A third of what is published is lost, some comes twice, some in the wrong order: every subscriber gets
    every event once, in order, and the terminal event too."""
    chance = random.Random(seed)
    held: list[Any] = []

    def sift(message: Any) -> list[Any]:
        held.append(message)
        if chance.random() < 0.4:
            return []  # it comes later, with the next one
        out = [one for one in held if chance.random() > 0.33]
        held.clear()
        chance.shuffle(out)
        return out + [one for one in out if chance.random() < 0.2]

    turn_id = await author.begin()
    async with watching(url, sift=sift) as watcher:
        subs = [await watcher.feed.turn(author.session_id, after=cursor) for cursor in (0, 0, 2)]
        log = await watcher.feed.log(author.session_id)
        reading = [asyncio.create_task(read_all(sub)) for sub in subs]
        following = asyncio.create_task(read_until(log, b"event: turn_completed"))
        for block in range(12):
            await author.say(block, "a", "b", "c")
            await asyncio.sleep(0)
        await author.finish()
        truth = await author.live(turn_id)
        for task, cursor in zip(reading, (0, 0, 2), strict=True):
            assert await task == joined([entry for entry in truth if entry.seq > cursor])
        assert await following == joined(await author.log())
        await log.close()


async def test_with_no_ring_at_all_the_end_still_comes(author: Author, url: str) -> None:
    """Everything published is lost: quiet turns are read, and end."""
    turn_id = await author.begin()
    async with watching(url, sift=lambda message: []) as watcher:
        reading = asyncio.create_task(read_all(await watcher.feed.turn(author.session_id)))
        await author.say(0, "a", "b")
        await author.finish()
        assert await reading == joined(await author.live(turn_id))


async def test_killed_connections_cost_nothing(author: Author, watcher: Process, redis_look: redis.Redis) -> None:
    """The server kills all pub/sub connections again and again while a turn is written and followed."""
    turn_id = await author.begin()
    reading = [asyncio.create_task(read_all(await watcher.feed.turn(author.session_id))) for _ in range(3)]
    for block in range(20):
        await author.say(block, "a", "b")
        if block % 4 == 1:
            await asyncio.to_thread(redis_look.execute_command, "CLIENT", "KILL", "TYPE", "pubsub")
    await author.finish()
    truth = joined(await author.live(turn_id))
    for task in reading:
        assert await task == truth


async def test_a_store_that_is_away_ends_no_stream(
    author: Author, watcher: Process, redis_look: redis.Redis
) -> None:
    """The watching process cannot read for a while, just when it has to (its rings were lost too): the stream
    goes on when it can, and new subscribers meanwhile get a clear error."""
    turn_id = await author.begin()
    reading = asyncio.create_task(read_all(await watcher.feed.turn(author.session_id)))
    log = await watcher.feed.log(author.session_id)
    following = asyncio.create_task(read_until(log, b"event: turn_completed"))
    await author.say(0, "a")
    gate(watcher).set("away")
    await asyncio.to_thread(redis_look.execute_command, "CLIENT", "KILL", "TYPE", "pubsub")
    await author.say(1, "b")
    await author.finish()
    with pytest.raises(StoreUnavailable):
        await watcher.feed.turn(author.session_id)
    await gate(watcher).refused_one.wait()
    gate(watcher).set("open")
    assert await reading == joined(await author.live(turn_id))
    assert await following == joined(await author.log())
    await log.close()


# Subscribing races with everything


class Interloper:
    """Does something just before or after the n-th command that a process sends."""

    def __init__(self, process: Process, number: int, when: str, deed: Callable[[], Any]) -> None:
        self._redis: Any = process.store.redis
        self._send = self._redis.execute_command
        self._left = number
        self._when = when
        self._deed = deed
        self.done = False
        setattr(self._redis, "execute_command", self._execute)  # noqa: B010 - it is the instance's from now on

    async def _execute(self, *args: Any, **options: Any) -> Any:
        mine = self._left == 0
        self._left -= 1
        if mine and self._when == "before":
            await self._act()
        answer = await self._send(*args, **options)
        if mine and self._when == "after":
            await self._act()
        return answer

    async def _act(self) -> None:
        self.done = True
        await self._deed()


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("deed", ["append", "finish", "next turn", "nothing"])
@pytest.mark.parametrize("first", ["running", "ended", "none"])
async def test_what_happens_while_one_attaches_is_seen_once(
    author: Author, url: str, number: int, when: str, deed: str, first: str
) -> None:
    """Between any two steps of attaching something is written, ends, or begins anew: the subscriber sees its
    turn whole, and the log whole."""
    turn_id = await author.begin() if first != "none" else ""
    if turn_id:
        await author.say(0, "a", "b")
    if first == "ended":
        await author.finish()

    async def act() -> None:
        if deed == "nothing":
            return
        if author.claim is None:
            await author.begin("another")
        await author.write(TextDelta(block=7, text="meanwhile"))
        if deed in ("finish", "next turn"):
            await author.finish()
        if deed == "next turn":
            await author.begin("next")
            await author.write(TextDelta(block=0, text="of the next"))

    async with watching(url) as watcher:
        Interloper(watcher, number, when, act)
        log = await watcher.feed.log(author.session_id)
        sub = await watcher.feed.turn(author.session_id, turn_id=turn_id or None)
        reading = asyncio.create_task(read_all(sub)) if sub else None
        if author.claim is None:
            await author.begin("last")
        await author.write(TextDelta(block=9, text="at last"))
        await author.finish()
        await author.turn()
        truth = joined(await author.log())
        seen = b""
        async with asyncio.timeout(10):
            while len(seen) < len(truth):
                seen += await log.read() or b""
        assert seen == truth
        await log.close()
        if reading is not None:
            whole = await reading
            watched = turn_id or whole.split(b'"turn_id":"')[1].split(b'"')[0].decode()
            assert whole == joined(await author.live(watched))


async def test_a_follow_up_never_leaks_into_the_turn_before(author: Author, watcher: Process) -> None:
    """The next turn begins in the same transaction or right after: a subscriber of the first sees nothing of
    it, and its stream ends."""
    turn_id = await author.begin()
    subs = [await watcher.feed.turn(author.session_id) for _ in range(3)]
    await author.store.enqueue(author.session_id, "queued")
    await author.say(0, "a")
    await author.finish()
    truth = joined(await author.live(turn_id))
    for sub in subs:
        assert await read_all(sub) == truth
    assert await author.store.turn(author.session_id) is not None


async def test_a_follow_up_at_the_terminal_event_is_never_refused(author: Author, watcher: Process) -> None:
    """500 times: the moment the terminal event is read, the next message is sent; it is never in flight
    still."""
    for number in range(500):
        sub = await watcher.feed.turn(author.session_id, turn_id=await author.begin(f"message {number}"))
        assert sub is not None
        finishing = asyncio.create_task(author.finish())
        await read_until(sub, b"event: turn_completed")
        begun = await watcher.store.begin(author.session_id, "follow-up")
        await sub.close()
        await finishing
        author.claim = (await author.desk.take(begun)).claim
        await author.finish()


# What is no longer held


async def items(frames: bytes) -> Any:
    """What a client shows of these frames."""
    return fold(event for event in decode_frames(frames) if not isinstance(event, Gap))


async def test_a_trimmed_turn_folds_to_the_same_items(author: Author, url: str) -> None:
    """Deltas of written blocks were dropped: a fresh subscriber sees what folds to the same items as an
    undisturbed one; a returning one is told of the gap, and folds to the same too."""
    turn_id = await author.begin()
    async with watching(url) as before, watching(url) as after:
        undisturbed = asyncio.create_task(read_all(await before.feed.turn(author.session_id)))
        dropped: list[int] = []
        for block in range(5):
            last = await author.say(block, *"abcdef")
            dropped += range(last - 6, last)
        assert author.claim is not None
        await author.store.trim(author.claim, dropped)
        fresh = await after.feed.turn(author.session_id)
        middle = dropped[8]
        back = await after.feed.turn(author.session_id, after=middle)
        held = await before.feed.turn(author.session_id, after=middle)
        beyond = await after.feed.turn(author.session_id, after=dropped[-1])
        page = await after.feed.log(author.session_id, after=middle, transient=True)
        await author.finish()
        truth = await undisturbed
        whole, rest, kept, tail = [await read_all(sub) for sub in (fresh, back, held, beyond)]
        assert await items(whole) == await items(truth)
        assert whole.count(b"text_delta") == 0
        gaps = [event for event in decode_frames(rest) if isinstance(event, Gap)]
        assert [(gap.after, gap.before) for gap in gaps] == [(middle, dropped[-1] + 1)]
        assert rest.startswith(b"event: gap\n")
        earlier = joined([entry for entry in _entries(truth) if entry.seq <= middle])
        assert await items(earlier + rest) == await items(truth)
        assert (await page.read() or b"").startswith(b"event: gap\n"), "a page is told of it too"
        await page.close()
        assert b"event: gap" not in tail
        assert b"event: gap" not in kept, "this process holds them all still"
        assert earlier + kept == truth
        assert turn_id


def _entries(frames: bytes) -> list[Any]:

    return [entry("", part + b"\n\n") for part in frames.split(b"\n\n") if part]


async def test_a_finished_turn_is_replayed_from_the_log_days_later(
    author: Author, watcher: Process, redis_look: redis.Redis
) -> None:
    """Its live stream has expired: the durable events are replayed, from any cursor, to the terminal event;
    among other turns it is found alone."""
    await author.turn()
    turn_id = await author.turn()
    await author.turn()
    for key in redis_look.scan_iter(f"{keys.live_prefix(author.session_id)}*"):
        redis_look.delete(key)
    truth = [entry for entry in await author.log() if entry.turn_id == turn_id]
    for cursor in (0, truth[0].seq, truth[1].seq, truth[-2].seq):
        sub = await watcher.feed.turn(author.session_id, turn_id=turn_id, after=cursor)
        assert await read_all(sub) == joined([entry for entry in truth if entry.seq > cursor])
    nothing = await watcher.feed.turn(author.session_id, turn_id=turn_id, after=truth[-1].seq)
    assert await read_all(nothing) == b""


async def test_a_long_log_is_replayed_in_pages(author: Author, url: str) -> None:
    """More than a page of the log and more than is held in memory: whole, in order, then live."""
    for _ in range(6):
        await author.begin()
        for batch in range(5):
            await author.write(*(TextDelta(block=0, text="x" * 50) for _ in range(250)))
            await author.say(batch, "durable " * 30)
        await author.finish()
    async with watching(url, FeedBounds(held_bytes=5_000, reread_s=0.3)) as watcher:
        sub = await watcher.feed.log(author.session_id)
        truth = await author.log()
        assert await read_until(sub, truth[-1].frame) == joined(truth)
        await author.turn(1)
        more = joined(await author.log(truth[-1].seq))
        assert await read_until(sub, b"event: turn_completed") == more
        await sub.close()


async def test_a_slow_subscriber_is_closed_and_comes_back_with_its_cursor(author: Author, url: str) -> None:
    """Beyond the bounded lag its stream ends, without a terminal event; with its cursor it misses nothing.
    Others are not held up, and memory stays bounded."""
    turn_id = await author.begin()
    async with watching(url, FeedBounds(held_bytes=20_000, reread_s=0.3)) as watcher:
        slow = await watcher.feed.turn(author.session_id)
        assert slow is not None
        seen = await slow.read() or b""
        quick = asyncio.create_task(read_all(await watcher.feed.turn(author.session_id)))
        for _ in range(50):
            await author.write(*(TextDelta(block=0, text="x" * 100) for _ in range(10)))
            await asyncio.sleep(0)
        await author.finish()
        truth = joined(await author.live(turn_id))
        assert await quick == truth
        while (frames := await slow.read()) is not None:
            seen += frames
        assert b"turn_completed" not in seen
        await slow.close()
        again = await watcher.feed.turn(author.session_id, turn_id=turn_id, after=slow.cursor)
        assert seen + await read_all(again) == truth


# The end of everything


async def test_a_deleted_session_ends_its_streams(author: Author, watcher: Process) -> None:
    """By force, while a turn runs and while none does: every stream ends, and there is no such session."""
    await author.begin()
    await author.say(0, "a")
    turn, log = await watcher.feed.turn(author.session_id), await watcher.feed.log(author.session_id)
    reading = [asyncio.create_task(read_all(sub)) for sub in (turn, log)]
    await author.store.delete_session(author.session_id, force=True)
    for task in reading:
        assert b"turn_completed" not in await task
    with pytest.raises(NotFound):
        await watcher.feed.log(author.session_id)
    assert watcher.feed.watched == 0
    assert watcher.doorbell.channels == 0


async def test_a_store_that_went_back_ends_the_streams_of_what_it_lost(
    author: Author, watcher: Process, redis_look: redis.Redis
) -> None:
    """It was restored, or a replica that lacked the latest took over: nobody is told new events under numbers that
    they have seen already; who comes back with a cursor beyond it is told that it is ahead."""
    await author.turn()
    cursor = (await author.store.snapshot(author.session_id, 1 << 53, most=1)).cursor
    log = await watcher.feed.log(author.session_id)
    await read_until(log, b"turn_completed")
    session, entries = keys.session_key("session", author.session_id), keys.session_key("log", author.session_id)
    redis_look.hset(session, "seq", str(cursor - 3))
    for number in range(cursor - 2, cursor + 1):
        redis_look.xdel(entries, f"{number}-0")
    redis_look.execute_command("XSETID", entries, f"{cursor - 3}-0")  # type: ignore[no-untyped-call]
    reading = asyncio.create_task(read_all(log))
    await asyncio.to_thread(redis_look.execute_command, "CLIENT", "KILL", "TYPE", "pubsub")
    assert b"id:" not in await reading
    with pytest.raises(BadCursor, match="is ahead of this session"):
        await watcher.feed.log(author.session_id, after=cursor)
    again = await watcher.feed.log(author.session_id, after=cursor - 3)
    await author.begin("anew")
    seen = await read_until(again, b"turn_started")
    assert seen.startswith(b"id: %d\n" % (cursor - 2))
    await again.close()


async def test_who_attaches_while_others_hold_what_was_lost_is_told_to_come_again(
    author: Author, watcher: Process, redis_look: redis.Redis
) -> None:
    """The next try sees what there is."""
    await author.turn()
    log = await watcher.feed.log(author.session_id)
    await read_until(log, b"turn_completed")
    redis_look.hset(keys.session_key("session", author.session_id), "seq", "3")
    with pytest.raises(StoreUnavailable, match="has lost events"):
        await watcher.feed.log(author.session_id)
    assert await read_all(log) == b""
    async with await watcher.feed.log(author.session_id, after=3):
        assert watcher.feed.watched == 1


async def test_draining_ends_every_stream_at_once_and_new_ones_too(author: Author, watcher: Process) -> None:
    """Nobody waits for anything; what was not read is had again by cursor, elsewhere."""
    await author.begin()
    log, hub = await watcher.feed.log(author.session_id, after=2), await watcher.feed.hub()
    turn = await watcher.feed.turn(author.session_id, after=2)
    reading = [asyncio.create_task(read_all(sub)) for sub in (log, hub, turn)]
    await asyncio.sleep(0)
    watcher.feed.drain()
    async with asyncio.timeout(2):
        await asyncio.gather(*reading)
        assert await read_all(await watcher.feed.log(author.session_id)) == b""
        assert await read_all(await watcher.feed.turn(author.session_id)) == b""
        assert await read_all(await watcher.feed.hub()) == b""


async def test_there_is_no_endless_wait(author: Author, watcher: Process) -> None:
    """An unknown turn, a turn that has ended, no turn at all, a cursor ahead, an unknown session: each is
    answered at once."""
    async with asyncio.timeout(5):
        assert await watcher.feed.turn(author.session_id) is None
        turn_id = await author.turn()
        assert await watcher.feed.turn(author.session_id) is None
        assert await read_all(await watcher.feed.turn(author.session_id, turn_id="trn_unknown")) == b""
        last = (await author.log())[-1].seq
        done = await watcher.feed.turn(author.session_id, turn_id=turn_id, after=last)
        assert await read_all(done) == b""
        for after in (last + 1, 1 << 60):
            with pytest.raises(BadCursor):
                await watcher.feed.turn(author.session_id, turn_id=turn_id, after=after)
            with pytest.raises(BadCursor):
                await watcher.feed.log(author.session_id, after=after)
        for call in (watcher.feed.turn, watcher.feed.log):
            with pytest.raises(NotFound):
                await call("ses_" + "0" * 26)
    assert watcher.feed.watched == 0


async def test_a_quiet_stream_has_comments(author: Author, url: str) -> None:
    """Nothing happens: within the heartbeat each subscriber is due a comment."""
    async with watching(url, FeedBounds(heartbeat_s=0.3)) as watcher:
        sub = await watcher.feed.log(author.session_id, after=1)
        async with asyncio.timeout(5), sub:
            assert [await sub.read() for _ in range(3)] == [b""] * 3


async def test_hints_come_to_whoever_watches_the_hub(
    author: Author, watcher: Process, redis_look: redis.Redis
) -> None:
    """Sessions, turns and asks over all sessions, from now on; after a lost connection everybody is told to
    look."""
    sub = await watcher.feed.hub()
    async with sub:
        await author.turn()
        seen = await read_until(sub, b'"state":"completed"')
        assert seen.startswith(b"event: turn\ndata: {")
        assert author.session_id.encode() in seen
        await asyncio.to_thread(redis_look.execute_command, "CLIENT", "KILL", "TYPE", "pubsub")
        assert (
            await read_until(sub, b"reconnected") == b'event: hub\ndata: {"type":"hub","state":"reconnected"}\n\n'
        )
        await author.session()
        assert b'"state":"created"' in await read_until(sub, b"event: session")


# What it costs


async def test_a_thousand_idle_subscribers_send_no_command(
    author: Author, url: str, redis_look: redis.Redis
) -> None:
    """1000 subscribers of sessions where nothing happens, and of the hub: not one command goes to Redis."""
    async with watching(url, FeedBounds(heartbeat_s=0.5, reread_s=0.1)) as watcher:
        await author.turn()
        sessions = [author.session_id, *[await author.session() for _ in range(9)]]
        subs = [await watcher.feed.log(sessions[number % 10]) for number in range(990)]
        subs += [await watcher.feed.hub() for _ in range(10)]
        for sub in subs[:10]:
            await sub.read()
        await asyncio.to_thread(redis_look.config_resetstat)
        await asyncio.sleep(1)
        stats: Any = await asyncio.to_thread(redis_look.info, "commandstats")
        assert set(stats) <= {"cmdstat_config|resetstat", "cmdstat_info"}
        assert watcher.feed.watched == 11
        for sub in subs:
            await sub.close()
        assert watcher.feed.watched == 0


async def test_nothing_is_left_of_those_who_left(
    author: Author, watcher: Process, redis_look: redis.Redis
) -> None:
    """Subscribers that end, leave early, or are cancelled while they wait: no task, no subscription, no frames
    stay behind."""
    before = asyncio.all_tasks()
    await author.begin()

    async def come_and_go() -> None:
        sub = await watcher.feed.turn(author.session_id)
        assert sub is not None
        reading = asyncio.create_task(read_all(sub))
        await asyncio.sleep(0.001)
        reading.cancel()
        await asyncio.wait([reading])
        attaching = asyncio.create_task(watcher.feed.turn(author.session_id))
        await asyncio.sleep(0)
        attaching.cancel()
        await asyncio.wait([attaching])
        if not attaching.cancelled() and (late := attaching.result()) is not None:
            await late.close()

    for _ in range(30):
        await come_and_go()
    assert watcher.feed.watched == 0
    assert watcher.doorbell.channels == 0
    assert asyncio.all_tasks() == before
    channels: Any = await asyncio.to_thread(redis_look.pubsub_channels, "th:{*")
    assert channels == []
    gc.collect()
    kinds = [type(one).__name__ for one in gc.get_objects()]
    assert kinds.count("SessionChannel") == 0
    assert kinds.count("Subscription") == 0


async def test_one_sessions_trouble_is_its_own(author: Author, watcher: Process, redis_look: redis.Redis) -> None:
    """Rubbish is published in one session and stands in its stream: its streams end or go on, the other
    session's are untouched."""
    sick, bell = author.session_id, keys.channel(author.session_id)
    await author.begin()
    first = await watcher.feed.log(sick, transient=True)
    ill = asyncio.create_task(read_all(first))
    other = Author(author.store)
    await other.session()
    await other.begin()
    well = await watcher.feed.turn(other.session_id)
    for rubbish in (b"\xff", b"no newline", b"t\nid: x\nevent: y\ndata: z\n\n", b"t\nid: 99\n\n"):
        redis_look.publish(bell, rubbish)
    redis_look.xadd(keys.session_key("log", sick), {"f": b"rubbish", "t": b""}, id="500-0")
    redis_look.publish(bell, b"")
    await other.finish()
    assert b"turn_completed" in await read_all(well)
    async with asyncio.timeout(10):
        await ill
