"""What every store keeps: turns, one at a time, each with one end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from hub import ids
from hub.errors import (
    Fenced,
    HubError,
    IdempotencyMismatch,
    MessageBegun,
    NoActiveTurn,
    NoRetryableTurn,
    NotFound,
    Overloaded,
    TurnInFlight,
)
from hub.events import Text, TextDelta, ToolFinished
from hub.store import keys
from hub.store.records import Taken
from hub.store.store import Bounds, Store
from tests.store.desk import ALLOW, LEASE_MS, Desk, completed, failed, stamped, text

pytestmark = pytest.mark.anyio


async def test_a_turn_begins_with_its_message_and_its_start(desk: Desk) -> None:
    """begin: user message, turn_started and the entry are there at once."""
    session_id = await desk.session()
    begun = await desk.store.begin(session_id, "hello", literal=False)
    message, started = (await desk.events(session_id))[1:]
    assert (message.text, message.turn_id, message.seq) == ("hello", begun.turn_id, begun.first)
    assert (started.attempt, started.message_id) == (1, message.message_id)
    turn = await desk.store.turn(session_id)
    assert turn is not None
    assert (turn.id, turn.state, turn.attempt, turn.first) == (begun.turn_id, "queued", 1, begun.first)
    assert (turn.message.text, turn.message.literal, turn.message.origin) == ("hello", False, "api")
    assert (turn.runner, turn.cancel_by) == ("", None)


async def test_a_second_turn_is_refused_and_the_winner_named(desk: Desk) -> None:
    """begin and retry while a turn is there: who runs, since when, and whether it is the same message."""
    session_id = await desk.session()
    begun = await desk.store.begin(session_id, "hello")
    turn = await desk.store.turn(session_id)
    before = await desk.kinds(session_id)
    for call, same in (("hello", True), ("other", False), (None, False)):
        with pytest.raises(TurnInFlight) as refused:
            await (desk.store.begin(session_id, call) if call else desk.store.retry(session_id))
        facts = refused.value.facts
        assert (facts["turn_id"], facts["same_message"], facts["state"]) == (begun.turn_id, same, "queued")
        assert facts["live"] == f"/v1/sessions/{session_id}/live"
        assert turn is not None
        assert facts["started_at"] == turn.started_at
    assert await desk.kinds(session_id) == before


async def test_an_idempotency_key_means_one_turn_for_good(desk: Desk) -> None:
    """begin with a key: the same turn while it runs and after its end; another message is a mismatch."""
    session_id, store = await desk.session(), desk.store
    first = await store.begin(session_id, "hello", idempotency_key="k %s \0")
    again = await store.begin(session_id, "hello", idempotency_key="k %s \0")
    assert (again.turn_id, again.message_id, again.first, again.repeated) == (
        *(first.turn_id, first.message_id, first.first),
        True,
    )
    taken = await desk.take(first)
    await desk.finish(taken.claim)
    later = await store.begin(session_id, "hello", idempotency_key="k %s \0")
    assert (later.turn_id, later.repeated) == (first.turn_id, True)
    with pytest.raises(IdempotencyMismatch) as refused:
        await store.begin(session_id, "another", idempotency_key="k %s \0")
    assert refused.value.facts["turn_id"] == first.turn_id
    with pytest.raises(IdempotencyMismatch):
        await store.begin(session_id, "hello", literal=False, idempotency_key="k %s \0")
    assert (await store.begin(session_id, "hello", idempotency_key="other")).turn_id != first.turn_id


async def test_an_idempotency_key_cannot_meet_a_waiting_message(desk: Desk) -> None:
    """A client's key that looks like the mark of a queued message is a key like any other."""
    taken = await desk.taken()
    queued = await desk.store.enqueue(taken.session.id, "later")
    assert queued is not None
    await desk.finish(taken.claim, go_on=False)
    begun = await desk.store.begin(taken.session.id, "now", idempotency_key=f"message:{queued.id}")
    assert not begun.repeated


async def test_keys_are_kept_in_number_and_the_newest_stay(client_store: Store) -> None:
    """begin: when too many keys are kept the oldest go, never the one that just came."""
    desk = Desk(client_store)
    session_id = await desk.session()
    for number in range(9):
        begun = await desk.store.begin(session_id, "hello", idempotency_key=f"k{number}")
        await desk.finish((await desk.take(begun)).claim)
        again = await desk.store.begin(session_id, "hello", idempotency_key=f"k{number}")
        assert again.turn_id == begun.turn_id
        held = await desk.store.redis.execute_command("HLEN", keys.session_key("idem", session_id))
        assert held <= 4
    assert 0 < await desk.store.redis.execute_command("TTL", keys.session_key("idem", session_id)) <= 100


@pytest.fixture
def client_store(desk: Desk) -> Store:
    """A store with narrow bounds."""
    return Store(desk.store.redis, Bounds(idem_most=4, idem_ttl_s=100, queue_most=2))


async def test_a_key_is_forgotten_after_its_time(desk: Desk) -> None:
    """begin: a key that is older than its time to live begins a new turn."""
    session_id = await desk.session()
    begun = await desk.store.begin(session_id, "hello", idempotency_key="k")
    await desk.finish((await desk.take(begun)).claim)
    impatient = Store(desk.store.redis, Bounds(idem_ttl_s=-1))
    again = await impatient.begin(session_id, "hello", idempotency_key="k")
    assert again.turn_id != begun.turn_id


@pytest.mark.parametrize("ending", ["failed", "completed", "none"])
async def test_a_retry_answers_the_last_message_that_has_no_completed_turn(desk: Desk, ending: str) -> None:
    """retry: a new attempt under the same message; refused after a completed turn and without a message."""
    session_id, store = await desk.session(), desk.store
    if ending != "none":
        taken = await desk.taken(session_id, text="say %d")
        await desk.finish(taken.claim, failed() if ending == "failed" else completed())
    if ending != "failed":
        with pytest.raises(NoRetryableTurn):
            await store.retry(session_id)
        return
    begun = await store.retry(session_id, idempotency_key="again")
    assert (begun.attempt, begun.message_id) == (2, taken.turn.message.id)
    turn = await store.turn(session_id)
    assert turn is not None
    assert (turn.message, turn.attempt) == (taken.turn.message, 2)
    assert (await desk.kinds(session_id)).count("user_message") == 1
    assert (await store.retry(session_id, idempotency_key="again")).turn_id == begun.turn_id
    await desk.finish((await desk.take(begun)).claim, failed())
    assert (await store.retry(session_id)).attempt == 3


async def test_a_turn_is_taken_by_one_runner(desk: Desk) -> None:
    """take: the first gets it with a new fence, asking again gives it the same; others and the late get none."""
    session_id, store = await desk.session(), desk.store
    begun = await store.begin(session_id, "hello")
    taken = await desk.take(begun)
    assert (taken.turn.state, taken.claim.runner, taken.claim.fence) == ("running", "run_1", "1")
    assert taken.session.id == session_id
    assert (await desk.take(begun)).claim == taken.claim
    assert await store.take(session_id, begun.turn_id, "run_2", LEASE_MS) is None
    assert await store.take(session_id, ids.turn_id(), "run_1", LEASE_MS) is None
    await desk.finish(taken.claim)
    assert await store.take(session_id, begun.turn_id, "run_1", LEASE_MS) is None
    assert (await desk.taken(session_id)).claim.fence == "2"


async def test_events_are_numbered_without_holes_and_kept_where_they_belong(desk: Desk) -> None:
    """append: durable events in log and live stream, transient ones in the live stream, numbers rising by one."""
    taken = await desk.taken()
    claim, session_id = taken.claim, taken.session.id
    events = [stamped(claim, TextDelta(block=0, text="wo")), stamped(claim, Text(block=0, text="word"))]
    appended = await desk.store.append(claim, 1, events, LEASE_MS)
    assert (appended.last, appended.cancel_by, appended.answers) == (5, None, ())
    live = await desk.store.live_page(session_id, taken.turn.id, 3)
    assert [(entry.seq, entry.type) for entry in live] == [(4, "text_delta"), (5, "text")]
    assert (await desk.kinds(session_id))[-1] == "text"
    assert live[1] == (await desk.store.log_page(session_id, 4))[0]


async def test_a_batch_is_written_once_and_in_its_turn(desk: Desk) -> None:
    """append: a repeated batch is answered as before and not written; one out of order is refused."""
    taken = await desk.taken()
    first = await desk.append(taken.claim, 1, "a", "b")
    assert await desk.append(taken.claim, 1, "a", "b") == first
    assert await desk.append(taken.claim, 2, "c") == first + 1
    for batch in (1, 4):
        with pytest.raises(HubError, match="out of order"):
            await desk.append(taken.claim, batch, "x")
    live = await desk.store.live_page(taken.session.id, taken.turn.id, 0)
    assert len(live) == 5


async def test_a_batch_that_makes_no_sense_is_refused(desk: Desk) -> None:
    """append: no number, no events, or a terminal event: ValueError and nothing written."""
    taken = await desk.taken()
    for batch, events in (
        (0, [text(taken.claim, "x")]),
        (1, []),
        (1, [stamped(taken.claim, completed())]),
    ):
        with pytest.raises(ValueError, match=r"batch|terminal"):
            await desk.store.append(taken.claim, batch, events, LEASE_MS)
    assert len(await desk.store.live_page(taken.session.id, taken.turn.id, 0)) == 2


async def test_an_append_tells_of_cancellations_and_answers(desk: Desk) -> None:
    """append: reports who wants the turn stopped and which answers wait; an empty one only renews the lease."""
    taken = await desk.taken()
    ask_id = await desk.opened(taken.claim)
    await desk.store.settle_ask(await desk.store.ask(ask_id), ALLOW)
    assert await desk.store.cancel(taken.session.id, "ann") == taken.turn.id
    assert await desk.store.cancel(taken.session.id, "bob") == taken.turn.id
    renewed = await desk.store.append(taken.claim, 0, [], LEASE_MS)
    assert (renewed.cancel_by, renewed.answers) == ("ann", (ask_id,))
    await desk.store.deliver_ask(taken.claim, ask_id)
    assert (await desk.store.append(taken.claim, 0, [], LEASE_MS)).answers == ()


async def test_there_is_nothing_to_cancel_without_a_turn(desk: Desk) -> None:
    """cancel: NoActiveTurn before and after a turn."""
    session_id = await desk.session()
    with pytest.raises(NoActiveTurn):
        await desk.store.cancel(session_id, "ann")
    taken = await desk.taken(session_id)
    await desk.finish(taken.claim)
    with pytest.raises(NoActiveTurn):
        await desk.store.cancel(session_id, "ann")


async def test_a_turn_that_waits_can_be_cancelled(desk: Desk) -> None:
    """cancel: of a turn that no runner has; the one that takes it is told."""
    session_id = await desk.session()
    begun = await desk.store.begin(session_id, "hello")
    assert await desk.store.cancel(session_id, "ann") == begun.turn_id
    assert (await desk.take(begun)).turn.cancel_by == "ann"


async def test_a_turn_ends_with_what_was_open_closed(desk: Desk) -> None:
    """finish: closing events, withdrawn asks and the terminal event, then the slot is free."""
    taken = await desk.taken()
    claim, session_id = taken.claim, taken.session.id
    ask_id = await desk.opened(claim)
    closing = [stamped(claim, ToolFinished(tool_id="t", status="unknown"))]
    finished = await desk.finish(claim, failed(), closing=closing, reason='the "end" \u2028')
    log = await desk.events(session_id)
    assert [event.__struct_config__.tag for event in log[-3:]] == ["tool_finished", "ask_withdrawn", "turn_failed"]
    assert (log[-2].ask_id, log[-2].reason, log[-1].seq) == (ask_id, 'the "end" \u2028', finished.last)
    assert (await desk.store.ask(ask_id)).reason == 'the "end" \u2028'
    assert (finished.next_turn, finished.next_message) == (None, None)
    assert await desk.store.turn(session_id) is None
    number = keys.bucket(session_id)
    leases = await desk.store.redis.execute_command("ZSCORE", keys.bucket_key("leases", number), session_id)
    assert leases is None


async def test_the_live_stream_outlives_its_turn_for_a_while(desk: Desk) -> None:
    """finish: the live stream gets its grace and not more; the log none."""
    taken = await desk.taken()
    session_id, redis = taken.session.id, desk.store.redis
    live = keys.live_key(session_id, taken.turn.id)
    assert await redis.execute_command("PTTL", live) == -1
    await desk.finish(taken.claim)
    grace = desk.store.bounds.live_grace_ms
    assert grace - 10_000 < await redis.execute_command("PTTL", live) <= grace
    assert await redis.execute_command("PTTL", keys.session_key("log", session_id)) == -1


async def test_an_end_can_be_repeated(desk: Desk) -> None:
    """finish, again with the same claim: the same answer, also when the next turn began; nothing is written."""
    taken = await desk.taken()
    await desk.store.enqueue(taken.session.id, "second")
    next_turn = ids.turn_id()
    first = await desk.finish(taken.claim, next_turn=next_turn)
    assert await desk.finish(taken.claim, next_turn=next_turn) == first
    assert (await desk.kinds(taken.session.id)).count("turn_completed") == 1
    assert first.next_turn == next_turn


async def test_a_waiting_message_begins_when_the_turn_ends(desk: Desk) -> None:
    """enqueue, then finish: the end and the next beginning are one, in order, first come first."""
    taken = await desk.taken()
    session_id, store = taken.session.id, desk.store
    words = 'second "quoted" 100% \0 \u2028 ü'
    one = await store.enqueue(session_id, words, literal=False)
    two = await store.enqueue(session_id, "third")
    assert one is not None
    assert two is not None
    next_turn = ids.turn_id()
    finished = await desk.finish(taken.claim, next_turn=next_turn)
    assert (finished.next_turn, finished.next_message) == (next_turn, one.id)
    log = await desk.events(session_id)
    kinds = [event.__struct_config__.tag for event in log]
    assert kinds[-5:] == ["message_queued", "message_queued", "turn_completed", "user_message", "turn_started"]
    assert (log[-2].text, log[-2].origin, log[-2].message_id, log[-2].turn_id) == (
        words,
        "queue",
        one.id,
        next_turn,
    )
    assert log[-5].text == words
    turn = await store.turn(session_id)
    assert turn is not None
    assert (turn.state, turn.message.text, turn.message.literal, turn.message.origin) == (
        *("queued", words, False),
        "queue",
    )
    assert [m.id for m in (await store.snapshot(session_id, whole=True)).queue] == [two.id]


async def test_the_queue_can_be_left_alone(desk: Desk) -> None:
    """finish without going on: the message waits still, and begins after the next turn."""
    taken = await desk.taken()
    queued = await desk.store.enqueue(taken.session.id, "later")
    assert (await desk.finish(taken.claim, go_on=False)).next_turn is None
    again = await desk.taken(taken.session.id)
    assert queued is not None
    assert (await desk.finish(again.claim)).next_message == queued.id


async def test_nothing_waits_without_a_turn_and_not_too_much_with_one(desk: Desk) -> None:
    """enqueue: None without a turn; Overloaded beyond the bound."""
    session_id = await desk.session()
    assert await desk.store.enqueue(session_id, "x") is None
    await desk.taken(session_id)
    narrow = Store(desk.store.redis, Bounds(queue_most=2))
    await narrow.enqueue(session_id, "x")
    await narrow.enqueue(session_id, "x")
    with pytest.raises(Overloaded, match="2 messages wait"):
        await narrow.enqueue(session_id, "x")
    assert (await desk.kinds(session_id)).count("message_queued") == 2


async def test_a_waiting_message_can_be_taken_back(desk: Desk) -> None:
    """unqueue: once, while it waits; then it is not found; after its turn began it has begun."""
    taken = await desk.taken()
    session_id, store = taken.session.id, desk.store
    one, two = await store.enqueue(session_id, 'a "1"'), await store.enqueue(session_id, "b")
    assert one is not None
    assert two is not None
    await store.unqueue(session_id, one.id)
    unqueued = (await desk.events(session_id))[-1]
    assert (unqueued.message_id, unqueued.text) == (one.id, 'a "1"')
    for unknown in (one.id, ids.message_id()):
        with pytest.raises(NotFound):
            await store.unqueue(session_id, unknown)
    assert (await desk.finish(taken.claim)).next_message == two.id
    with pytest.raises(MessageBegun):
        await store.unqueue(session_id, two.id)


async def test_trimmed_events_are_gone_and_said_to_be(desk: Desk) -> None:
    """trim: the named events leave the live stream, and the turn says up to where."""
    taken = await desk.taken()
    await desk.append(taken.claim, 1, *(str(number) for number in range(3000)))
    await desk.store.trim(taken.claim, range(4, 2504))
    await desk.store.trim(taken.claim, [2600, 2550])
    await desk.store.trim(taken.claim, [2510])
    live = await desk.store.live_page(taken.session.id, taken.turn.id, 0, 10_000)
    assert [entry.seq for entry in live] == [
        *(2, 3),
        *(seq for seq in range(2504, 3004) if seq not in {2510, 2550, 2600}),
    ]
    turn = await desk.store.turn(taken.session.id)
    assert turn is not None
    assert turn.trimmed == 2600


async def test_what_a_transport_remembers_stays_with_its_session(desk: Desk) -> None:
    """remember: the values come back with the next turn."""
    taken = await desk.taken()
    await desk.store.remember(taken.claim, {"agent_session": "s 1", "a:b": ""})
    await desk.finish(taken.claim)
    again = await desk.taken(taken.session.id)
    assert again.session.memory == {"agent_session": "s 1", "a:b": ""}


async def _orphan(desk: Desk) -> Taken:
    taken = await desk.taken()
    await desk.append(taken.claim, 1, "a")
    await desk.overdue(taken.claim)
    return taken


@pytest.mark.parametrize("adopt", [True, False])
async def test_an_overdue_turn_is_taken_over_with_a_higher_fence(desk: Desk, adopt: bool) -> None:
    """reap: the new owner writes, the old one is fenced; an adopted turn goes on one attempt higher."""
    old = await _orphan(desk)
    session_id = old.session.id
    new = await desk.store.reap(session_id, old.turn.id, "run_2", LEASE_MS, adopt=adopt)
    assert new is not None
    assert new != "ring"
    assert (new.claim.runner, new.claim.fence, new.turn.id) == ("run_2", "2", old.turn.id)
    assert new.turn.attempt == (2 if adopt else 1)
    started = [event for event in await desk.events(session_id) if event.__struct_config__.tag == "turn_started"]
    assert [event.attempt for event in started] == ([1, 2] if adopt else [1])
    assert not await desk.renew(old.claim)
    other = await desk.store.reap(session_id, old.turn.id, "run_3", LEASE_MS, adopt=adopt)
    again = await desk.store.reap(session_id, old.turn.id, "run_2", LEASE_MS, adopt=adopt)
    assert (other, again) == (None, None)
    await desk.append(new.claim, 1, "b")
    await desk.finish(new.claim, failed())
    begun = await desk.store.retry(session_id)
    assert begun.attempt == (3 if adopt else 2)


async def test_a_turn_in_its_lease_or_gone_is_not_taken_over(desk: Desk) -> None:
    """reap: None while the lease holds, for another turn's id, and when the turn has ended."""
    taken = await desk.taken()
    session_id, turn_id, store = taken.session.id, taken.turn.id, desk.store
    assert await store.reap(session_id, turn_id, "run_2", LEASE_MS, adopt=True) is None
    assert await store.reap(session_id, ids.turn_id(), "run_2", LEASE_MS, adopt=True) is None
    await desk.finish(taken.claim)
    assert await store.reap(session_id, turn_id, "run_2", LEASE_MS, adopt=True) is None


async def test_a_turn_that_nobody_took_is_to_be_rung_again(desk: Desk) -> None:
    """reap of an overdue turn without a runner: "ring", then not again before its time; it can be taken."""
    hasty = Store(desk.store.redis, Bounds(ring_ms=-1))
    session_id = await desk.session()
    begun = await hasty.begin(session_id, "hello")
    assert await desk.store.reap(session_id, begun.turn_id, "run_2", LEASE_MS, adopt=True) == "ring"
    assert await desk.store.reap(session_id, begun.turn_id, "run_2", LEASE_MS, adopt=True) is None
    assert (await desk.take(begun)).claim.fence == "1"


async def test_a_turn_that_was_let_go_is_taken_over_at_once(desk: Desk) -> None:
    """release: another runner need not wait for the end of the lease."""
    taken = await desk.taken()
    await desk.store.release(taken.claim)
    reaped = await desk.store.reap(taken.session.id, taken.turn.id, "run_2", LEASE_MS, adopt=True)
    assert reaped
    assert not await desk.renew(taken.claim)


async def test_a_zombie_writes_nothing(desk: Desk) -> None:
    """Every fenced write with the claim of an owner that was replaced raises Fenced and changes nothing."""
    old = await desk.taken()
    claim, session_id, store = old.claim, old.session.id, desk.store
    ask_id, settled = await desk.opened(claim), await desk.opened(claim)
    await store.settle_ask(await store.ask(settled), ALLOW)
    await desk.append(claim, 1, "a")
    await desk.overdue(claim)
    assert await store.reap(session_id, old.turn.id, "run_2", LEASE_MS, adopt=True)
    before = await store.snapshot(session_id, whole=True)
    lease = ("ZSCORE", keys.bucket_key("leases", keys.bucket(session_id)), session_id)
    deadline: object = await store.redis.execute_command(*lease)
    writes: list[Callable[[], Awaitable[object]]] = [
        lambda: desk.append(claim, 1, "a"),
        lambda: desk.append(claim, 2, "b"),
        lambda: store.append(claim, 0, [], LEASE_MS),
        lambda: desk.finish(claim),
        lambda: store.release(claim),
        lambda: store.trim(claim, [4]),
        lambda: store.remember(claim, {"a": "b"}),
        lambda: desk.opened(claim),
        lambda: store.deliver_ask(claim, settled),
        lambda: store.withdraw_ask(claim, ask_id, "x"),
    ]
    for write in writes:
        with pytest.raises(Fenced):
            await write()
    assert await store.snapshot(session_id, whole=True) == before
    assert await store.redis.execute_command(*lease) == deadline


async def test_whoever_watches_the_hub_is_told_of_every_change(desk: Desk) -> None:
    """Sessions, turns and asks: a hint each on the hub's channel; the runner of a turn hears of cancellations,
    settlements and deletion on its own."""
    store, runner = desk.store, ids.runner_id()
    pubsub: Any = store.redis.pubsub()
    await pubsub.subscribe(keys.HUB_CHANNEL, keys.runner_channel(runner))
    session_id = await desk.session()
    begun = await store.begin(session_id, "x")
    taken = await store.take(session_id, begun.turn_id, runner, LEASE_MS)
    assert taken is not None
    settled, withdrawn = await desk.opened(taken.claim), await desk.opened(taken.claim)
    await store.settle_ask(await store.ask(settled), ALLOW)
    await store.deliver_ask(taken.claim, settled)
    await store.withdraw_ask(taken.claim, withdrawn, "x")
    queued = await store.enqueue(session_id, "y")
    assert queued is not None
    await store.unqueue(session_id, queued.id)
    await store.cancel(session_id, "ann")
    await store.patch_session(session_id, {"title": "x"})
    await desk.finish(taken.claim, failed())
    second = await store.retry(session_id)
    assert await store.take(session_id, second.turn_id, runner, LEASE_MS)
    await store.delete_session(session_id, force=True)
    hints: list[tuple[str, str, str | None]] = []
    told: list[str] = []
    async with asyncio.timeout(10):
        while len(hints) < 15 or len(told) < 3:
            message = await pubsub.get_message(ignore_subscribe_messages=True, timeout=1)
            if message is None:
                continue
            if message["channel"] != keys.HUB_CHANNEL.encode():
                told.append(message["data"].decode())
                continue
            hint = msgspec.json.decode(message["data"])
            if hint["session_id"] == session_id:
                hints.append((hint["type"], hint["state"], hint.get("turn_id") or hint.get("ask_id")))
    await pubsub.aclose()
    assert hints == [
        ("session", "created", None),
        ("turn", "queued", begun.turn_id),
        ("turn", "running", begun.turn_id),
        ("ask", "open", settled),
        ("ask", "open", withdrawn),
        ("ask", "settled", settled),
        ("ask", "delivered", settled),
        ("ask", "withdrawn", withdrawn),
        ("session", "queued", None),
        ("session", "unqueued", None),
        ("session", "changed", None),
        ("turn", "failed", begun.turn_id),
        ("turn", "queued", second.turn_id),
        ("turn", "running", second.turn_id),
        ("session", "deleted", None),
    ]
    assert told == [
        f"settled {session_id} {begun.turn_id} {settled}",
        f"cancel {session_id} {begun.turn_id}",
        f"cancel {session_id} {second.turn_id}",
    ]
