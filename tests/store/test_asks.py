"""What every store keeps: asks, settled exactly once."""

from __future__ import annotations

import asyncio

import pytest

from hub import ids
from hub.asks import Settlement
from hub.errors import AlreadySettled, Fenced, HubError, NotFound, Withdrawn
from hub.events import Ask, Question
from hub.store import keys
from tests.store.desk import ALLOW, DENY, PERSON, Desk

pytestmark = pytest.mark.anyio


async def _pending(desk: Desk, ask_id: str, session_id: str) -> bool:
    key = keys.bucket_key("pending", keys.bucket(session_id))
    return await desk.store.redis.execute_command("ZSCORE", key, ask_id) is not None


async def test_an_ask_goes_from_open_to_closed(desk: Desk) -> None:
    """open_ask, settle_ask, deliver_ask, finish: each step once, each told by its event."""
    taken = await desk.taken()
    session_id, store = taken.session.id, desk.store
    ask_id = await desk.opened(taken.claim)
    opened = await store.ask(ask_id)
    assert (opened.state, opened.ask.tool, opened.turn_id) == ("open", "Bash", taken.turn.id)
    assert await _pending(desk, ask_id, session_id)
    settled = await store.settle_ask(opened, ALLOW)
    assert (settled.state, settled.settlement) == ("settled", ALLOW)
    assert settled.settled_at
    assert not await _pending(desk, ask_id, session_id)
    await store.deliver_ask(taken.claim, ask_id)
    await store.deliver_ask(taken.claim, ask_id)
    delivered = await store.ask(ask_id)
    assert delivered.state == "delivered"
    assert delivered.delivered_at
    await desk.finish(taken.claim)
    assert (await store.ask(ask_id)).state == "closed"
    assert (await desk.kinds(session_id))[3:] == [
        *("ask_opened", "ask_settled", "ask_delivered"),
        "turn_completed",
    ]


async def test_a_question_keeps_its_words(desk: Desk) -> None:
    """open_ask and settle_ask: any text survives, in the record and in the events."""
    taken = await desk.taken()
    words = 'Which "one"?\n 100% \0 \u2028 ü 🙂'
    ask = Ask(
        id=ids.ask_id(taken.session.id),
        kind="question",
        tool="AskUserQuestion",
        input={"a": [words]},
        questions=(Question(question=words),),
    )
    await desk.store.open_ask(taken.claim, ask)
    await desk.store.open_ask(taken.claim, ask)
    answer = Settlement(by=PERSON, answers={words: words})
    record = await desk.store.settle_ask(await desk.store.ask(ask.id), answer)
    assert (record.ask, record.settlement) == (ask, answer)
    opened, settled = (await desk.events(taken.session.id))[3:]
    assert opened.ask == ask
    assert settled.answers == {words: words}


async def test_an_ask_is_settled_by_the_first_of_many(desk: Desk) -> None:
    """settle_ask, many at once: one wins, the others are told who and what."""
    taken = await desk.taken()
    record = await desk.store.ask(await desk.opened(taken.claim))
    results = await asyncio.gather(
        *(desk.store.settle_ask(record, ALLOW if n % 2 else DENY) for n in range(20)), return_exceptions=True
    )
    wins = [result for result in results if not isinstance(result, BaseException)]
    losses = [result for result in results if isinstance(result, AlreadySettled)]
    assert (len(wins), len(losses)) == (1, 19)
    assert all(loss.facts["ask"] == wins[0] for loss in losses)
    assert wins[0].settlement is not None
    assert wins[0].settlement.by.name in str(losses[0])
    assert (await desk.kinds(taken.session.id)).count("ask_settled") == 1


async def test_a_withdrawn_ask_cannot_be_settled(desk: Desk) -> None:
    """withdraw_ask: the ask is over, with its reason as it was said."""
    taken = await desk.taken()
    ask_id = await desk.opened(taken.claim)
    record = await desk.store.ask(ask_id)
    await desk.store.withdraw_ask(taken.claim, ask_id, 'said "no"')
    await desk.store.withdraw_ask(taken.claim, ask_id, "again")
    with pytest.raises(Withdrawn) as refused:
        await desk.store.settle_ask(record, ALLOW)
    assert refused.value.facts["reason"] == 'said "no"'
    assert not await _pending(desk, ask_id, taken.session.id)
    assert (await desk.kinds(taken.session.id)).count("ask_withdrawn") == 1


async def test_a_settled_ask_is_not_withdrawn(desk: Desk) -> None:
    """withdraw_ask and finish: a settlement stays, also when the agent never took it."""
    taken = await desk.taken()
    ask_id = await desk.opened(taken.claim)
    await desk.store.settle_ask(await desk.store.ask(ask_id), ALLOW)
    await desk.store.withdraw_ask(taken.claim, ask_id, "late")
    await desk.finish(taken.claim)
    assert (await desk.store.ask(ask_id)).state == "settled"
    assert "ask_withdrawn" not in await desk.kinds(taken.session.id)


async def test_asks_that_are_not_there_are_not_found(desk: Desk) -> None:
    """ask, settle_ask, withdraw_ask, deliver_ask: an id that names nothing."""
    taken = await desk.taken()
    ask_id = await desk.opened(taken.claim)
    record = await desk.store.ask(ask_id)
    await desk.store.redis.execute_command("DEL", keys.session_key("asks", taken.session.id))
    for unknown in (ask_id, "ask_nonsense", ids.ask_id(ids.session_id())):
        with pytest.raises(NotFound):
            await desk.store.ask(unknown)
    with pytest.raises(NotFound):
        await desk.store.settle_ask(record, ALLOW)
    with pytest.raises(NotFound):
        await desk.store.withdraw_ask(taken.claim, ask_id, "x")
    with pytest.raises(HubError, match="missing"):
        await desk.store.deliver_ask(taken.claim, ask_id)


async def test_only_a_settled_ask_of_this_turn_is_delivered(desk: Desk) -> None:
    """deliver_ask: not an open one, not one of an earlier turn."""
    taken = await desk.taken()
    early = await desk.opened(taken.claim)
    with pytest.raises(HubError, match="open"):
        await desk.store.deliver_ask(taken.claim, early)
    await desk.store.settle_ask(await desk.store.ask(early), ALLOW)
    await desk.finish(taken.claim)
    with pytest.raises(Fenced):
        await desk.store.deliver_ask(taken.claim, early)
    later = await desk.taken(taken.session.id)
    with pytest.raises(HubError, match="missing"):
        await desk.store.deliver_ask(later.claim, early)
    assert "ask_delivered" not in await desk.kinds(taken.session.id)


async def test_an_ask_id_that_begins_like_another_is_its_own(desk: Desk) -> None:
    """Ids that contain each other or characters of patterns stay apart in every list."""
    taken = await desk.taken()
    stem = ids.ask_id(taken.session.id)
    names = [stem, stem + "x", stem + "%d", stem + ".*", "x" + stem]
    for name in names:
        await desk.store.open_ask(taken.claim, Ask(id=name, kind="permission", tool="Bash"))
    await desk.store.withdraw_ask(taken.claim, stem + "%d", "one")
    await desk.store.withdraw_ask(taken.claim, stem, "two")
    await desk.finish(taken.claim, reason="end")
    asks = (await desk.store.snapshot(taken.session.id, whole=True)).asks
    assert {ask.id: ask.reason for ask in asks} == {
        **dict.fromkeys(names, "end"),
        stem + "%d": "one",
        stem: "two",
    }
