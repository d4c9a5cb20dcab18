"""Messages that wait: in order, changed and taken back until they begin, and never lost in a race with a turn's
end."""

from __future__ import annotations

import asyncio

import pytest

from hub import ids
from hub.errors import MessageBegun, NotFound, NothingQueued, TurnInFlight
from hub.events import MessageQueued, TurnCompleted, UserMessage
from tests.store.desk import Desk

pytestmark = pytest.mark.anyio


async def test_a_waiting_message_is_changed_in_its_place(desk: Desk) -> None:
    """Its words are the new ones when it begins, between those that waited before and behind it."""
    taken = await desk.taken()
    session = taken.session.id
    one, two, three = [await desk.store.enqueue(session, text) for text in ("one", "two", "three")]
    assert one is not None and two is not None and three is not None  # noqa: PT018
    changed = await desk.store.edit_queued(session, two.id, "zwei", literal=False)
    assert (changed.id, changed.text, changed.literal) == (two.id, "zwei", False)
    waiting = (await desk.store.snapshot(session, whole=True)).queue
    assert [(message.text, message.literal) for message in waiting] == [
        ("one", True),
        ("zwei", False),
        ("three", True),
    ]
    told = [event for event in await desk.events(session) if isinstance(event, MessageQueued)]
    assert [(event.message_id, event.text) for event in told[-1:]] == [(two.id, "zwei")]
    await desk.finish(taken.claim)
    with pytest.raises(MessageBegun):
        await desk.store.edit_queued(session, one.id, "too late")
    with pytest.raises(NotFound):
        await desk.store.edit_queued(session, ids.message_id(), "nobody")
    with pytest.raises(NotFound):
        await desk.store.edit_queued(ids.session_id(), two.id, "nowhere")


async def test_a_queue_that_stands_still_is_not_overtaken_and_goes_on_when_told(desk: Desk) -> None:
    """After a turn that lets nothing begin, who wants to wait waits behind the others; resumed, the first
    begins."""
    taken = await desk.taken()
    session = taken.session.id
    first = await desk.store.enqueue(session, "first")
    await desk.finish(taken.claim, go_on=False)
    second = await desk.store.enqueue(session, "second")
    assert first is not None and second is not None  # noqa: PT018
    assert [message.id for message in (await desk.store.snapshot(session, whole=True)).queue] == [
        first.id,
        second.id,
    ]
    begun = await desk.store.resume_queue(session)
    assert begun.message_id == first.id
    with pytest.raises(TurnInFlight):
        await desk.store.resume_queue(session)
    again = await desk.take_turn(session, begun.turn_id)
    assert (await desk.finish(again.claim)).next_message == second.id


async def test_of_two_that_interrupt_at_once_the_earlier_begins_and_the_later_ends_it(desk: Desk) -> None:
    """They begin in the order in which they came, before all that only wait; the turn of the first is to be
    stopped from its beginning, by who sent the second, as if that had come a moment later."""
    taken = await desk.taken()
    session, store = taken.session.id, desk.store
    waits = await store.enqueue(session, "waits")
    first = await store.enqueue(session, "first", interrupt="ann")
    second = await store.enqueue(session, "second", interrupt="bob")
    assert waits is not None and first is not None and second is not None  # noqa: PT018
    await store.edit_queued(session, second.id, "second, changed")
    order = [message.id for message in (await store.snapshot(session, whole=True)).queue]
    assert order == [first.id, second.id, waits.id]
    begun = await desk.finish(taken.claim, go_on=False)
    assert begun.next_message == first.id
    one = await desk.take_turn(session, begun.next_turn or "")
    assert one.turn.cancel_by == "bob"
    begun = await desk.finish(one.claim, go_on=False)
    assert begun.next_message == second.id
    two = await desk.take_turn(session, begun.next_turn or "")
    assert (two.turn.cancel_by, two.turn.message.text) == (None, "second, changed")
    assert (await desk.finish(two.claim, go_on=False)).next_message is None


async def test_words_that_the_agent_did_not_take_wait_behind_who_interrupts(desk: Desk) -> None:
    """They go before all that only wait, but who interrupted begins with the turn's end, as was promised."""
    taken = await desk.taken()
    session, store = taken.session.id, desk.store
    waits = await store.enqueue(session, "waits")
    words = await store.enqueue(session, "words", steer=True)
    assert waits is not None and words is not None  # noqa: PT018
    assert await store.steer(taken.claim, words.id) is not None
    interrupts = await store.enqueue(session, "stop", interrupt="ann")
    assert interrupts is not None
    await store.steered(taken.claim, words.id, None)
    order = [message.id for message in (await store.snapshot(session, whole=True)).queue]
    assert order == [interrupts.id, words.id, waits.id]


async def test_where_nothing_waits_there_is_nothing_to_go_on_with(desk: Desk) -> None:
    """Neither in an empty queue nor in no session."""
    with pytest.raises(NothingQueued):
        await desk.store.resume_queue(await desk.session())
    with pytest.raises(NotFound):
        await desk.store.resume_queue(ids.session_id())


@pytest.mark.parametrize("races", [500, pytest.param(10_000, marks=(pytest.mark.full, pytest.mark.timeout(600)))])
async def test_a_message_never_falls_between_two_turns(redis_desk: Desk, races: int) -> None:
    """A message that wants to wait meets the very end of the turn, again and again: it waits and begins with that
    end, or is told that there is nothing to wait for and begins by itself; each is said once, in a turn of its
    own."""
    store, desk = redis_desk.store, redis_desk

    async def race(number: int) -> None:
        taken = await desk.taken(text="before")
        session = taken.session.id
        enqueue = store.enqueue(session, "after")
        ending = desk.finish(taken.claim)
        pair = (enqueue, ending) if number % 2 else (ending, enqueue)
        queued, finished = (await asyncio.gather(*pair))[:: 1 if number % 2 else -1]
        turn_id = finished.next_turn
        if queued is None:
            assert turn_id is None
            turn_id = (await store.begin(session, "after")).turn_id
        elif turn_id is None:  # it came behind the end, and nothing of a turn is there: it may not wait for ever
            raise AssertionError("it waits for a turn that is over")
        again = await desk.take_turn(session, turn_id)
        await desk.finish(again.claim)
        said = [event.text for event in await desk.events(session) if isinstance(event, UserMessage)]
        assert said == ["before", "after"]
        assert sum(isinstance(event, TurnCompleted) for event in await desk.events(session)) == 2

    for start in range(0, races, 50):
        await asyncio.gather(*(race(number) for number in range(start, min(start + 50, races))))
