"""A reply that is lost makes redis-py send the transaction again, silently. It has happened once all the same,
and the caller is told what its first call did."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import hub.store
from hub import ids
from hub.archive import line_of_event
from hub.asks import AskRecord, grant_id
from hub.errors import Fenced, NotFound, StoreUnavailable
from hub.events import By, DistillFailed
from hub.store import keys
from hub.store.distilling import Undistilled
from hub.store.records import Appended, Begun, Finished, QueuedMessage, SessionRecord, Taken
from hub.store.store import Bounds, Store
from hub.testing.lossy import LossyProxy
from hub.transport import Verdict
from tests.store.desk import ALLOW, LEASE_MS, Desk, failed, text

pytestmark = pytest.mark.anyio

Act = Callable[[Store], Awaitable[Any]]
# What a case arranges: the session, what is done through the losing connection, how many events it writes, and
# what its answer has to be.
Case = tuple[str, Act, int, Callable[[Any], bool]]


async def _create(desk: Desk) -> Case:
    session_id = ids.session_id()
    record = SessionRecord(id=session_id, agent="a", transport="t")
    return session_id, lambda store: store.create_session(record), 1, lambda answer: answer[1] is True


async def _create_granted(desk: Desk) -> Case:
    session_id = ids.session_id()
    record = SessionRecord(id=session_id, agent="a", transport="t")
    granted = [("Bash", "ls"), ("mcp__files", None)]
    return session_id, lambda store: store.create_session(record, granted), 1, lambda answer: answer[1] is True


async def _revoke(desk: Desk) -> Case:
    session_id = ids.session_id()
    record = SessionRecord(id=session_id, agent="a", transport="t")
    await desk.store.create_session(record, [("Bash", "ls")])
    by = By(kind="person", name="ann")
    revoke = lambda store: store.revoke_grant(session_id, grant_id("Bash", "ls"), by)  # noqa: E731
    return session_id, revoke, 1, lambda answer: answer is None


async def _patch(desk: Desk) -> Case:
    session_id = await desk.session()
    return session_id, lambda s: s.patch_session(session_id, {"title": "x"}), 0, lambda r: r.title == "x"


async def _delete(desk: Desk) -> Case:
    session_id = await desk.session()
    return session_id, lambda store: store.delete_session(session_id), 0, lambda answer: answer is None


async def _begin(desk: Desk) -> Case:
    session_id = await desk.session()
    return session_id, lambda s: s.begin(session_id, "x"), 2, lambda b: not b.repeated and b.first == 2


async def _begin_with_a_key(desk: Desk) -> Case:
    session_id = await desk.session()
    return session_id, lambda s: s.begin(session_id, "x", idempotency_key="k"), 2, lambda b: b.first == 2


async def _retry(desk: Desk) -> Case:
    taken = await desk.taken()
    await desk.finish(taken.claim, failed())
    return taken.session.id, lambda s: s.retry(taken.session.id), 1, lambda b: b.attempt == 2 and not b.repeated


async def _take(desk: Desk) -> Case:
    session_id = await desk.session()
    begun = await desk.store.begin(session_id, "x")

    def act(store: Store) -> Awaitable[Taken | None]:
        return store.take(session_id, begun.turn_id, "run_1", LEASE_MS)

    return session_id, act, 0, lambda taken: taken.claim.fence == "1"


async def _append(desk: Desk) -> Case:
    taken = await desk.taken()

    def act(store: Store) -> Awaitable[Appended]:
        return store.append(taken.claim, 1, [text(taken.claim, "a"), text(taken.claim, "b")], LEASE_MS)

    return taken.session.id, act, 2, lambda appended: appended.last == 5


async def _renew(desk: Desk) -> Case:
    taken = await desk.taken()
    return taken.session.id, lambda s: s.append(taken.claim, 0, [], LEASE_MS), 0, lambda a: a.cancel_by is None


async def _finish(desk: Desk) -> Case:
    taken = await desk.taken()

    def act(store: Store) -> Awaitable[Finished]:
        return Desk(store).finish(taken.claim)

    return taken.session.id, act, 1, lambda f: (f.last, f.next_turn) == (4, None)


async def _finish_and_go_on(desk: Desk) -> Case:
    taken = await desk.taken()
    await desk.store.enqueue(taken.session.id, "next")

    def act(store: Store) -> Awaitable[Finished]:
        return Desk(store).finish(taken.claim, next_turn="trn_next")

    return taken.session.id, act, 3, lambda f: (f.last, f.next_turn) == (5, "trn_next")


def _reap(adopt: bool) -> Callable[[Desk], Awaitable[Case]]:
    async def arrange(desk: Desk) -> Case:
        taken = await desk.taken()
        await desk.overdue(taken.claim)

        def act(store: Store) -> Awaitable[Any]:
            return store.reap(taken.session.id, taken.turn.id, "run_2", LEASE_MS, adopt=adopt)

        return taken.session.id, act, int(adopt), lambda t: (t.claim.fence, t.claim.runner) == ("2", "run_2")

    return arrange


async def _reap_a_turn_that_waits(desk: Desk) -> Case:
    session_id = await desk.session()
    begun = await Store(desk.store.redis, Bounds(ring_ms=-1)).begin(session_id, "x")

    def act(store: Store) -> Awaitable[Any]:
        return store.reap(session_id, begun.turn_id, "run_2", LEASE_MS, adopt=True)

    return session_id, act, 0, lambda answer: answer == "ring"


async def _release(desk: Desk) -> Case:
    taken = await desk.taken()
    return taken.session.id, lambda s: s.release(taken.claim), 0, lambda answer: answer is None


async def _trim(desk: Desk) -> Case:
    taken = await desk.taken()
    await desk.append(taken.claim, 1, "a", "b")
    return taken.session.id, lambda s: s.trim(taken.claim, [4]), 0, lambda answer: answer is None


async def _remember(desk: Desk) -> Case:
    taken = await desk.taken()
    return taken.session.id, lambda s: s.remember(taken.claim, {"a": "b"}), 0, lambda answer: answer is None


async def _open_ask(desk: Desk) -> Case:
    taken = await desk.taken()
    return taken.session.id, lambda s: Desk(s).opened(taken.claim), 1, bool


async def _settle_ask(desk: Desk) -> Case:
    taken = await desk.taken()
    record = await desk.store.ask(await desk.opened(taken.claim))

    def act(store: Store) -> Awaitable[AskRecord]:
        return store.settle_ask(record, ALLOW)

    return taken.session.id, act, 1, lambda ask: ask.state == "settled"


async def _deliver_ask(desk: Desk) -> Case:
    taken = await desk.taken()
    ask_id = await desk.opened(taken.claim)
    await desk.store.settle_ask(await desk.store.ask(ask_id), ALLOW)
    return taken.session.id, lambda s: s.deliver_ask(taken.claim, ask_id), 1, lambda answer: answer is None


async def _withdraw_ask(desk: Desk) -> Case:
    taken = await desk.taken()
    ask_id = await desk.opened(taken.claim)
    return taken.session.id, lambda s: s.withdraw_ask(taken.claim, ask_id, "x"), 1, lambda answer: answer is None


async def _enqueue(desk: Desk) -> Case:
    taken = await desk.taken()
    return taken.session.id, lambda s: s.enqueue(taken.session.id, "x"), 1, lambda m: m.text == "x"


async def _unqueue(desk: Desk) -> Case:
    taken = await desk.taken()
    queued = await desk.store.enqueue(taken.session.id, "x")
    assert queued is not None
    return taken.session.id, lambda s: s.unqueue(taken.session.id, queued.id), 1, lambda answer: answer is None


async def _enqueue_steer(desk: Desk) -> Case:
    taken = await desk.taken()
    return taken.session.id, lambda s: s.enqueue(taken.session.id, "x", steer=True), 1, lambda m: m.text == "x"


async def _enqueue_interrupt(desk: Desk) -> Case:
    taken = await desk.taken()
    act = lambda store: store.enqueue(taken.session.id, "x", interrupt="ann")  # noqa: E731
    return taken.session.id, act, 1, lambda message: message.interrupts


async def _steer(desk: Desk) -> Case:
    taken = await desk.taken()
    queued = await desk.store.enqueue(taken.session.id, "x", steer=True)
    assert queued is not None
    return taken.session.id, lambda s: s.steer(taken.claim, queued.id), 0, lambda m: m.text == "x"


async def _steered(desk: Desk) -> Case:
    taken = await desk.taken()
    queued = await desk.store.enqueue(taken.session.id, "x", steer=True)
    assert queued is not None
    await desk.store.steer(taken.claim, queued.id)
    verdict = Verdict(verdict="submitted", proof="sdk")
    return taken.session.id, lambda s: s.steered(taken.claim, queued.id, verdict), 2, lambda answer: answer is None


async def _steered_back(desk: Desk) -> Case:
    taken = await desk.taken()
    queued = await desk.store.enqueue(taken.session.id, "x", steer=True)
    assert queued is not None
    await desk.store.steer(taken.claim, queued.id)
    return taken.session.id, lambda s: s.steered(taken.claim, queued.id, None), 0, lambda answer: answer is None


async def _joined(desk: Desk) -> Case:
    taken = await desk.taken()
    verdict = Verdict(verdict="submitted", proof="transcript")
    join = lambda store: store.joined(taken.claim, "typed there", "keyboard 1", verdict)  # noqa: E731
    return taken.session.id, join, 2, lambda answer: answer is None


async def _edit_queued(desk: Desk) -> Case:
    taken = await desk.taken()
    queued = await desk.store.enqueue(taken.session.id, "x")
    assert queued is not None
    edit = lambda store: store.edit_queued(taken.session.id, queued.id, "y")  # noqa: E731
    return taken.session.id, edit, 1, lambda message: message.text == "y"


async def _resume_queue(desk: Desk) -> Case:
    taken = await desk.taken()
    queued = await desk.store.enqueue(taken.session.id, "x")
    assert queued is not None
    await desk.finish(taken.claim, go_on=False)
    resume = lambda store: store.resume_queue(taken.session.id)  # noqa: E731
    return taken.session.id, resume, 2, lambda begun: begun.message_id == queued.id


async def _cancel(desk: Desk) -> Case:
    taken = await desk.taken()
    return taken.session.id, lambda s: s.cancel(taken.session.id, "ann"), 0, lambda t: t == taken.turn.id


async def _snapshot(desk: Desk) -> Case:
    taken = await desk.taken()
    return taken.session.id, lambda s: s.snapshot(taken.session.id), 0, lambda snap: snap.cursor == 3


async def _waiting(desk: Desk) -> Undistilled:
    """An ended turn that is claimed for its distillation."""
    taken = await desk.taken()
    await desk.store.mark(taken.claim, sensitive=False, most=10)
    await desk.finish(taken.claim)
    found = await desk.store.claim_distillation(taken.session.id, taken.turn.id, "req_1", LEASE_MS)
    assert found is not None
    return found


async def _mark(desk: Desk) -> Case:
    taken = await desk.taken()
    mark = lambda s: s.mark(taken.claim, sensitive=True, most=10)  # noqa: E731
    return taken.session.id, mark, 0, lambda answer: answer is None


async def _distill_claim(desk: Desk) -> Case:
    taken = await desk.taken()
    await desk.store.mark(taken.claim, sensitive=False, most=10)
    await desk.finish(taken.claim)

    def act(store: Store) -> Awaitable[Undistilled | None]:
        return store.claim_distillation(taken.session.id, taken.turn.id, "req_1", LEASE_MS)

    return taken.session.id, act, 0, lambda turn: turn.tries == 1


async def _distill_release(desk: Desk) -> Case:
    turn = await _waiting(desk)
    return turn.session.id, lambda s: s.release_distillation(turn), 0, lambda answer: answer is None


async def _distill_done(desk: Desk) -> Case:
    turn = await _waiting(desk)
    failed = DistillFailed(session_id=turn.session.id, turn_id=turn.turn_id, code="timeout", message="Too late.")
    return turn.session.id, lambda s: s.distilled(turn, [failed], "A title"), 1, lambda answer: answer is True


async def _copy(desk: Desk) -> Case:
    session_id = ids.session_id()
    record = SessionRecord(id=session_id, agent="a", transport="t")
    lines = [
        line_of_event(seq, {"type": "session_created", "session_id": session_id, "agent": "a", "transport": "t"})
        for seq in (1, 2)
    ]
    copy = lambda store: store.copy_session(record, lines, [("Bash", "ls")])  # noqa: E731
    return session_id, copy, 2, lambda answer: answer[1] is True


async def _keep_output(desk: Desk) -> Case:
    claim = (await desk.taken()).claim
    return claim.session_id, lambda s: s.keep_output(claim, "tool", "x"), 0, lambda answer: answer is None


async def _output(desk: Desk) -> Case:
    claim = (await desk.taken()).claim
    await desk.store.keep_output(claim, "tool", "x")
    return (
        claim.session_id,
        lambda s: s.output(claim.session_id, claim.turn_id, "tool"),
        0,
        lambda text: text == "x",
    )


CASES = {
    "copy": _copy,
    "keep_output": _keep_output,
    "output": _output,
    "mark": _mark,
    "distill_claim": _distill_claim,
    "distill_release": _distill_release,
    "distill_done": _distill_done,
    "create": _create,
    "create with grants": _create_granted,
    "enqueue to steer": _enqueue_steer,
    "enqueue to interrupt": _enqueue_interrupt,
    "edit_queued": _edit_queued,
    "resume_queue": _resume_queue,
    "steer": _steer,
    "steered": _steered,
    "steered back": _steered_back,
    "joined": _joined,
    "revoke": _revoke,
    "patch": _patch,
    "delete": _delete,
    "begin": _begin,
    "begin with a key": _begin_with_a_key,
    "retry": _retry,
    "take": _take,
    "append": _append,
    "renew": _renew,
    "finish": _finish,
    "finish and go on": _finish_and_go_on,
    "reap and adopt": _reap(True),
    "reap": _reap(False),
    "reap a turn that waits": _reap_a_turn_that_waits,
    "release": _release,
    "trim": _trim,
    "remember": _remember,
    "open_ask": _open_ask,
    "settle_ask": _settle_ask,
    "deliver_ask": _deliver_ask,
    "withdraw_ask": _withdraw_ask,
    "enqueue": _enqueue,
    "unqueue": _unqueue,
    "cancel": _cancel,
    "snapshot": _snapshot,
}


def test_every_transaction_is_lost_here_once() -> None:
    """There is a case for every file of transactions."""
    folder = Path(hub.store.__file__).parent / "lua"
    files = {path.stem for path in folder.glob("*.lua") if path.stem != "_lib"}
    assert files <= {case.split(" ")[0] for case in CASES}


async def _seq(store: Store, session_id: str) -> int:
    raw = await store.redis.execute_command("HGET", keys.session_key("session", session_id), "seq")
    return int(raw or 0)


@pytest.mark.parametrize("lost", [1, 3])
@pytest.mark.parametrize("name", CASES)
async def test_a_transaction_whose_reply_is_lost_has_happened_once(
    redis_desk: Desk, lossy_desk: Desk, lossy: LossyProxy, name: str, lost: int
) -> None:
    """The answer is that of the first call, and the events are there once, without a hole."""
    session_id, act, written, right = await CASES[name](redis_desk)
    before = await _seq(redis_desk.store, session_id)
    lossy.lose_next(lost)
    answer = await act(lossy_desk.store)
    assert lossy.lost == lost
    assert right(answer), answer
    if name == "delete":
        assert await _seq(redis_desk.store, session_id) == 0
        return
    after = await redis_desk.store.snapshot(session_id, also=("trn_next",))
    assert after.cursor == before + written
    turn_id = after.turn.id if after.turn else None
    seen = [entry.seq for entry in after.entries if entry.durable or entry.turn_id == turn_id]
    gone = {4} if name == "trim" else set()
    assert seen == [seq for seq in range(1, after.cursor + 1) if seq not in gone]


async def test_a_transaction_whose_replies_are_all_lost_is_unavailable(
    redis_desk: Desk, lossy_desk: Desk, lossy: LossyProxy
) -> None:
    """When no reply ever comes the caller is told so; what it asked for has happened once."""
    session_id = await redis_desk.session()
    lossy.lose_next(100)
    with pytest.raises(StoreUnavailable, match="does not answer"):
        await lossy_desk.store.begin(session_id, "x")
    assert await redis_desk.kinds(session_id) == ["session_created", "user_message", "turn_started"]


async def test_a_begun_turn_that_ended_before_the_reply_is_still_the_callers(
    redis_desk: Desk, lossy_desk: Desk, lossy: LossyProxy
) -> None:
    """begin and retry: the turn ended and another began meanwhile; the caller is told of its own."""
    session_id = await redis_desk.session()
    seen: list[Taken] = []

    async def another_turn_follows() -> None:
        turn = await redis_desk.store.turn(session_id)
        assert turn is not None
        taken = await redis_desk.take_turn(session_id, turn.id)
        seen.append(taken)
        await redis_desk.store.enqueue(session_id, "other")
        finished = await redis_desk.finish(taken.claim, failed())
        assert finished.next_turn is not None

    lossy.lose_next()
    lossy.meanwhile = another_turn_follows
    begun = await lossy_desk.store.begin(session_id, "first")
    assert _facts(begun) == _facts(seen[0].turn)
    running = await redis_desk.store.turn(session_id)
    assert running is not None
    await redis_desk.finish((await redis_desk.take_turn(session_id, running.id)).claim, failed())
    lossy.lose_next()
    retried = await lossy_desk.store.retry(session_id)
    assert _facts(retried) == _facts(seen[1].turn)
    assert retried.attempt == 2
    assert lossy.lost == 2


def _facts(turn: Any) -> tuple[str, str, int, int]:
    if isinstance(turn, Begun):
        return turn.turn_id, turn.message_id, turn.attempt, turn.first
    return turn.id, turn.message.id, turn.attempt, turn.first


async def test_a_cancellation_never_meets_the_next_turn(
    redis_desk: Desk, lossy_desk: Desk, lossy: LossyProxy
) -> None:
    """cancel: the turn that was meant ended meanwhile; the one that runs now is not cancelled."""
    taken = await redis_desk.taken()
    await redis_desk.store.enqueue(taken.session.id, "next")

    async def end() -> None:
        await redis_desk.finish(taken.claim)

    lossy.lose_next()
    lossy.meanwhile = end
    assert await lossy_desk.store.cancel(taken.session.id, "ann") == taken.turn.id
    running = await redis_desk.store.turn(taken.session.id)
    assert running is not None
    assert (running.message.text, running.cancel_by) == ("next", None)


async def test_an_end_is_told_although_the_next_turn_ended_too(
    redis_desk: Desk, lossy_desk: Desk, lossy: LossyProxy
) -> None:
    """finish: the next turn was run by another runner meanwhile; this one's end is still its own."""
    taken = await redis_desk.taken()
    await redis_desk.store.enqueue(taken.session.id, "next")

    async def run_the_next() -> None:
        await redis_desk.finish((await redis_desk.take_turn(taken.session.id, "trn_next")).claim)

    lossy.lose_next()
    lossy.meanwhile = run_the_next
    finished = await lossy_desk.finish(taken.claim, next_turn="trn_next")
    assert finished.last == 5
    assert (await redis_desk.kinds(taken.session.id)).count("turn_completed") == 2


async def test_a_runner_that_was_replaced_meanwhile_is_fenced(
    redis_desk: Desk, lossy_desk: Desk, lossy: LossyProxy
) -> None:
    """append, take and reap: another runner took over before the reply; the caller does not own the turn."""
    taken = await redis_desk.taken()

    async def take_over() -> None:
        await redis_desk.overdue((await redis_desk.take_turn(taken.session.id, taken.turn.id)).claim)
        assert await redis_desk.store.reap(taken.session.id, taken.turn.id, "run_9", -1, adopt=False)

    lossy.lose_next()
    lossy.meanwhile = take_over
    with pytest.raises(Fenced):
        await lossy_desk.append(taken.claim, 1, "a")
    assert len(await redis_desk.store.live_page(taken.session.id, taken.turn.id, 0)) == 3


async def test_a_waiting_message_that_began_meanwhile_was_queued(
    redis_desk: Desk, lossy_desk: Desk, lossy: LossyProxy
) -> None:
    """enqueue: the turn ended meanwhile and the message began; it is not queued a second time."""
    taken = await redis_desk.taken()

    async def end() -> None:
        await redis_desk.finish(taken.claim)

    lossy.lose_next()
    lossy.meanwhile = end
    queued = await lossy_desk.store.enqueue(taken.session.id, "next")
    running = await redis_desk.store.turn(taken.session.id)
    assert isinstance(queued, QueuedMessage)
    assert running is not None
    assert running.message.id == queued.id
    assert (await redis_desk.store.snapshot(taken.session.id, whole=True)).queue == ()


async def test_a_resumed_queue_is_not_resumed_again(redis_desk: Desk, lossy_desk: Desk, lossy: LossyProxy) -> None:
    """resume_queue: the turn that it began has failed meanwhile; it is the caller's, and what waits behind it
    waits on."""
    taken = await redis_desk.taken()
    session = taken.session.id
    first = await redis_desk.store.enqueue(session, "first")
    await redis_desk.store.enqueue(session, "second")
    await redis_desk.finish(taken.claim, go_on=False)

    async def fail() -> None:
        running = await redis_desk.store.turn(session)
        assert running is not None
        claim = (await redis_desk.take_turn(session, running.id)).claim
        await redis_desk.finish(claim, failed(), go_on=False)

    lossy.lose_next()
    lossy.meanwhile = fail
    begun = await lossy_desk.store.resume_queue(session)
    assert first is not None
    assert begun.message_id == first.id
    found = await redis_desk.store.snapshot(session, whole=True)
    assert (found.turn, [message.text for message in found.queue]) == (None, ["second"])


async def test_a_session_made_again_is_not_deleted_by_an_old_request(
    redis_desk: Desk, lossy_desk: Desk, lossy: LossyProxy
) -> None:
    """delete: the session was made again under its id meanwhile; the new one stays."""
    session_id = await redis_desk.session()

    async def make_again() -> None:
        await redis_desk.session(id=session_id)

    lossy.lose_next()
    lossy.meanwhile = make_again
    await lossy_desk.store.delete_session(session_id)
    assert await redis_desk.kinds(session_id) == ["session_created"]
    await redis_desk.store.delete_session(session_id)
    with pytest.raises(NotFound):
        await redis_desk.store.session(session_id)


@pytest.mark.slow
async def test_ten_thousand_appends_over_a_line_that_loses_replies(
    redis_desk: Desk, lossy_desk: Desk, lossy: LossyProxy
) -> None:
    """10,000 appends, two replies in a hundred lost: no event is lost, none is there twice."""
    dice = random.Random(7)
    lossy.lose = lambda: dice.random() < 0.02
    writers, each = 20, 500

    async def write(taken: Taken) -> None:
        for batch in range(1, each + 1):
            assert await lossy_desk.append(taken.claim, batch, str(batch)) == batch + 3

    turns = [await redis_desk.taken() for _ in range(writers)]
    async with asyncio.TaskGroup() as group:
        for taken in turns:
            group.create_task(write(taken))
    for taken in turns:
        live = await redis_desk.store.live_page(taken.session.id, taken.turn.id, 3, 100_000)
        assert [entry.seq for entry in live] == list(range(4, each + 4))
        assert all(f'"text":"{n}"'.encode() in entry.frame for n, entry in enumerate(live, 1))
    assert lossy.lost > 100
