"""A machine that does anything in any order, with the store and with a plain model, and compares the two."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import fakeredis
import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from hub import ids
from hub.errors import (
    AlreadySettled,
    Fenced,
    HubError,
    IdempotencyMismatch,
    MessageBegun,
    NoActiveTurn,
    NoRetryableTurn,
    NotFound,
    TurnInFlight,
    Withdrawn,
)
from hub.events import Ask, Text, TextDelta
from hub.store import keys
from hub.store.connect import Connections
from hub.store.records import Claim, Entry, SessionRecord, entry
from hub.store.store import Store
from hub.testing.stores import ServerProcess
from tests.store.desk import ALLOW, LEASE_MS, completed, event_of, failed, stamped
from tests.store.model import ModelAsk, ModelSession

RUNNERS = st.sampled_from(["run_1", "run_2"])
TEXTS = st.sampled_from(["hello", "again"])
pick = st.integers(0, 1000)


class StoreMachine(RuleBasedStateMachine):
    """One session, two runners, stale claims kept for later. ``url``: where; None for fakeredis."""

    url: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.connections = Connections(self.url) if self.url else None
        self.redis: Any = self.connections.commands if self.connections else fakeredis.FakeAsyncRedis()
        self.store = Store(self.redis)
        self.session = ids.session_id()
        self.model = ModelSession()
        self.claims: list[Claim] = []
        self.batches: dict[Claim, int] = {}
        self.queued: list[str] = []
        self.ended: dict[str, str] = {}  # turn -> fence of the claim that ended it
        self.pubsub = self.redis.pubsub()
        self.run(self.pubsub.subscribe(keys.channel(self.session)))
        record = SessionRecord(id=self.session, agent="a", transport="t")
        self.run(self.store.create_session(record))

    def run(self, call: Coroutine[Any, Any, Any]) -> Any:
        """Do it now."""
        return self.loop.run(call)

    def claim(self, number: int) -> Claim:
        """One of the claims that were ever given out, mostly the newest."""
        assume(self.claims)
        return self.claims[-1 - (number % len(self.claims) if number % 3 == 0 else 0)]

    def good(self, claim: Claim) -> bool:
        """Whether the model thinks that this claim counts."""
        return self.model.owns(claim.turn_id, claim.fence)

    def fenced(self, call: Coroutine[Any, Any, Any]) -> None:
        """The call must be refused."""
        with pytest.raises(Fenced):
            self.run(call)

    @rule(text=TEXTS, key=st.sampled_from([None, "k1", "k2"]))
    def begin(self, text: str, key: str | None) -> None:
        model, call = self.model, self.store.begin(self.session, text, idempotency_key=key)
        if key in model.keys:
            if model.keys[key][0] != text:
                with pytest.raises(IdempotencyMismatch):
                    self.run(call)
                return
            assert self.run(call).turn_id == model.keys[key][1]
            return
        if model.turn is not None:
            with pytest.raises(TurnInFlight) as refused:
                self.run(call)
            assert refused.value.facts["turn_id"] == model.turn.id
            return
        begun = self.run(call)
        assert begun.first == model.start(begun.turn_id, begun.message_id, 1)
        if key is not None:
            model.keys[key] = (text, begun.turn_id)

    @rule()
    def retry(self) -> None:
        model, call = self.model, self.store.retry(self.session)
        if model.turn is not None:
            with pytest.raises(TurnInFlight):
                self.run(call)
        elif model.last is None or model.last[2]:
            with pytest.raises(NoRetryableTurn):
                self.run(call)
        else:
            begun = self.run(call)
            message, attempt, _ = model.last
            assert (begun.message_id, begun.attempt) == (message, attempt + 1)
            assert begun.first == model.start(begun.turn_id, message, attempt + 1)

    @rule(runner=RUNNERS)
    def take(self, runner: str) -> None:
        turn = self.model.turn
        turn_id = turn.id if turn else ids.turn_id()
        taken = self.run(self.store.take(self.session, turn_id, runner, LEASE_MS))
        if turn is None or (turn.state == "running" and turn.runner != runner):
            assert taken is None
            return
        if turn.state == "queued":
            self.model.fence += 1
            turn.state, turn.runner, turn.fence = "running", runner, str(self.model.fence)
        turn.overdue = False
        assert (taken.claim.fence, taken.turn.attempt, taken.turn.cancel_by) == (
            *(turn.fence, turn.attempt),
            turn.cancel,
        )
        if taken.claim not in self.claims:
            self.claims.append(taken.claim)

    @precondition(lambda self: self.claims)
    @rule(number=pick, deltas=st.integers(0, 3), durable=st.booleans(), again=st.booleans())
    def append(self, number: int, deltas: int, durable: bool, again: bool) -> None:
        claim, model = self.claim(number), self.model
        events: list[Any] = [stamped(claim, TextDelta(block=0, text="d")) for _ in range(deltas)]
        events += [stamped(claim, Text(block=0, text="t"))] if durable else []
        batch = self.batches.get(claim, 0) + (not again)
        assume(bool(batch) or not events)
        call = self.store.append(claim, batch if events else 0, events, LEASE_MS)
        if not self.good(claim):
            self.fenced(call)
            return
        answer = self.run(call)
        turn = model.turn
        assert turn is not None
        turn.overdue = False
        settled = [ask.id for ask in model.own_asks(claim.turn_id, "settled")]
        assert (answer.cancel_by, sorted(answer.answers)) == (turn.cancel, sorted(settled))
        if events and not again:
            self.batches[claim] = batch
            for event in events:
                kind = event.__struct_config__.tag
                last = model.emit(kind, claim.turn_id, durable=kind == "text")
            assert answer.last == last

    @precondition(lambda self: self.claims)
    @rule(number=pick, well=st.booleans(), go_on=st.booleans(), twice=st.booleans())
    def finish(self, number: int, well: bool, go_on: bool, twice: bool) -> None:
        claim = self.claim(number)
        terminal: Any = stamped(claim, completed() if well else failed())
        next_turn = ids.turn_id()

        def call() -> Coroutine[Any, Any, Any]:
            return self.store.finish(claim, [], terminal, next_turn=next_turn, go_on=go_on)

        if not self.good(claim):
            if self.ended.get(claim.turn_id) == claim.fence:
                again = self.run(call())
                assert self.model.published[again.last - 1][1] == claim.turn_id
                assert again.next_turn is None
            else:
                self.fenced(call())
            return
        self.ended[claim.turn_id] = claim.fence
        seq, began = self.model.end(terminal.__struct_config__.tag, next_turn, go_on=go_on)
        for _ in range(1 + twice):
            finished = self.run(call())
            assert (finished.last, finished.next_turn) == (seq, began)

    @rule(text=TEXTS)
    def enqueue(self, text: str) -> None:
        queued = self.run(self.store.enqueue(self.session, text))
        assert (queued is None) == (self.model.turn is None and not self.model.queue)
        if queued:
            self.queued.append(queued.id)
            self.model.queue.append(queued.id)
            self.model.emit("message_queued")

    @precondition(lambda self: self.queued)
    @rule(number=pick)
    def unqueue(self, number: int) -> None:
        message = self.queued[number % len(self.queued)]
        call = self.store.unqueue(self.session, message)
        if message in self.model.queue:
            self.run(call)
            self.model.queue.remove(message)
            self.model.emit("message_unqueued")
            return
        with pytest.raises((MessageBegun, NotFound)):
            self.run(call)

    @rule(by=st.sampled_from(["ann", "bob"]))
    def cancel(self, by: str) -> None:
        turn, call = self.model.turn, self.store.cancel(self.session, by)
        if turn is None:
            with pytest.raises(NoActiveTurn):
                self.run(call)
            return
        assert self.run(call) == turn.id
        turn.cancel = turn.cancel or by

    @precondition(lambda self: self.claims)
    @rule(number=pick)
    def open_ask(self, number: int) -> None:
        claim = self.claim(number)
        ask = Ask(id=ids.ask_id(self.session), kind="permission", tool="Bash")
        if not self.good(claim):
            self.fenced(self.store.open_ask(claim, ask))
            return
        self.run(self.store.open_ask(claim, ask))
        self.model.asks[ask.id] = ModelAsk(ask.id, claim.turn_id)
        self.model.emit("ask_opened", claim.turn_id)

    def any_ask(self, number: int) -> str:
        """An ask that was ever opened, mostly the newest."""
        names = list(self.model.asks)
        return names[-1 - (number % len(names) if number % 2 else 0)]

    @precondition(lambda self: self.model.asks)
    @rule(number=pick)
    def settle_ask(self, number: int) -> None:
        ask = self.model.asks[self.any_ask(number)]
        record = self.run(self.store.ask(ask.id))
        assert record.state == ask.state
        call = self.store.settle_ask(record, ALLOW)
        if ask.state == "open":
            assert self.run(call).state == "settled"
            ask.state = "settled"
            self.model.emit("ask_settled", ask.turn)
            return
        with pytest.raises(Withdrawn if ask.state == "withdrawn" else AlreadySettled):
            self.run(call)

    @precondition(lambda self: self.model.asks and self.claims)
    @rule(number=pick, which=pick)
    def deliver_ask(self, number: int, which: int) -> None:
        claim, ask = self.claim(number), self.model.asks[self.any_ask(which)]
        call = self.store.deliver_ask(claim, ask.id)
        if not self.good(claim):
            self.fenced(call)
        elif ask.turn != claim.turn_id or ask.state not in {"settled", "delivered"}:
            with pytest.raises(HubError, match="cannot be delivered"):
                self.run(call)
        else:
            self.run(call)
            if ask.state == "settled":
                ask.state = "delivered"
                self.model.emit("ask_delivered", ask.turn)

    @precondition(lambda self: self.model.asks and self.claims)
    @rule(number=pick, which=pick)
    def withdraw_ask(self, number: int, which: int) -> None:
        claim, ask = self.claim(number), self.model.asks[self.any_ask(which)]
        call = self.store.withdraw_ask(claim, ask.id, "why")
        if not self.good(claim):
            self.fenced(call)
        elif ask.turn != claim.turn_id:
            with pytest.raises(NotFound):
                self.run(call)
        else:
            self.run(call)
            if ask.state == "open":
                ask.state = "withdrawn"
                self.model.emit("ask_withdrawn", ask.turn)

    @precondition(lambda self: self.model.turn)
    @rule()
    def lease_ends(self) -> None:
        turn = self.model.turn
        assert turn is not None
        turn.overdue = True
        leases = keys.bucket_key("leases", keys.bucket(self.session))
        self.run(self.redis.execute_command("ZADD", leases, 1, self.session))

    @precondition(lambda self: self.model.turn)
    @rule(runner=RUNNERS, adopt=st.booleans())
    def reap(self, runner: str, adopt: bool) -> None:
        turn = self.model.turn
        assert turn is not None
        reaped = self.run(self.store.reap(self.session, turn.id, runner, LEASE_MS, adopt=adopt))
        if not turn.overdue:
            assert reaped is None
            return
        turn.overdue = False
        if turn.state == "queued":
            assert reaped == "ring"
            return
        self.model.fence += 1
        turn.runner, turn.fence = runner, str(self.model.fence)
        if adopt:
            turn.attempt += 1
            assert self.model.last is not None
            self.model.last = (self.model.last[0], turn.attempt, False)
            self.model.emit("turn_started", turn.id)
        assert (reaped.claim.fence, reaped.turn.attempt) == (turn.fence, turn.attempt)
        self.claims.append(reaped.claim)

    @precondition(lambda self: self.claims)
    @rule(number=pick)
    def release(self, number: int) -> None:
        claim = self.claim(number)
        if not self.good(claim):
            self.fenced(self.store.release(claim))
            return
        self.run(self.store.release(claim))
        assert self.model.turn is not None
        self.model.turn.overdue = True

    @precondition(lambda self: self.model.turn)
    @rule(number=pick)
    def trim(self, number: int) -> None:
        claim = self.claim(number)
        live = self.model.live[claim.turn_id]
        transient = [seq for seq in live if self.model.published[seq - 1][0] == "text_delta"][:2]
        assume(transient)
        call = self.store.trim(claim, transient)
        if not self.good(claim):
            self.fenced(call)
            return
        self.run(call)
        live[:] = [seq for seq in live if seq not in transient]

    @rule(after=st.integers(0, 60), most=st.sampled_from([1, 3, 1000]))
    def read(self, after: int, most: int) -> None:
        turn = self.model.turn
        seen: list[Entry] = []
        complete = False
        while not complete:
            part = self.run(self.store.snapshot(self.session, after, most=most))
            seen += part.entries
            after_was, after, complete = after, part.cursor, part.complete
            assert complete or after > after_was
        assert after == len(self.model.published)
        first = seen[0].seq - 1 if seen else after
        held = set(self.model.log) | set(self.model.live[turn.id] if turn else ())
        assert [one.seq for one in seen] == sorted(seq for seq in held if seq > first)

    @invariant()
    def one_turn(self) -> None:
        turn, model = self.run(self.store.turn(self.session)), self.model.turn
        assert (turn is None) == (model is None)
        if model is not None:
            assert (turn.id, turn.state, turn.runner, turn.fence, turn.attempt, turn.message.id) == (
                *(model.id, model.state, model.runner, model.fence, model.attempt),
                model.message,
            )
        scored = self.run(
            self.redis.execute_command(
                "ZSCORE", keys.bucket_key("leases", keys.bucket(self.session)), self.session
            )
        )
        assert (scored is None) == (model is None), "a turn that runs has a deadline, and only that"

    def teardown(self) -> None:
        """Everything at the end: log, live streams, asks, queue, and what was published, in order."""
        try:
            self.run(self.compare())
        finally:
            self.run(self.close())
            self.loop.close()

    async def close(self) -> None:
        """Leave nothing open."""
        await self.pubsub.aclose()  # type: ignore[no-untyped-call]
        await (self.connections.close() if self.connections else self.redis.aclose())

    async def compare(self) -> None:
        """Store and model are the same."""
        model, store = self.model, self.store
        whole = await store.snapshot(self.session, whole=True, also=list(model.live))
        by_seq = {entry.seq: entry for entry in whole.entries}
        live = [seq for seqs in model.live.values() for seq in seqs]
        assert list(by_seq) == sorted({*model.log, *live})
        for seq, one in by_seq.items():
            assert (one.type, one.turn_id) == model.published[seq - 1]
            event = event_of(one)
            assert (event.seq, event.session_id) == (seq, self.session)
        assert [e.seq for e in await store.log_page(self.session, 0)] == model.log
        for turn, seqs in model.live.items():
            assert [e.seq for e in await store.live_page(self.session, turn, 0)] == seqs
            ends = [entry for entry in by_seq.values() if entry.turn_id == turn and entry.terminal]
            assert len(ends) == (model.turn is None or model.turn.id != turn), "one end for each turn that ended"
        assert {ask.id: ask.state for ask in whole.asks} == {ask.id: ask.state for ask in model.asks.values()}
        assert [message.id for message in whole.queue] == model.queue
        published = await self.heard()
        assert [(one.type, one.turn_id) for one in published] == model.published
        assert [one.seq for one in published] == list(range(1, len(model.published) + 1))
        assert all(by_seq.get(one.seq, one) == one for one in published), "the very bytes"

    async def heard(self) -> list[Entry]:
        """What came over the session's channel, up to a mark."""
        await self.redis.publish(keys.channel(self.session), b"mark")
        rest = b""
        async with asyncio.timeout(30):
            while not rest.endswith(b"mark"):
                message = await self.pubsub.get_message(ignore_subscribe_messages=True, timeout=1)
                rest += message["data"] if message else b""
        entries: list[Entry] = []
        while rest != b"mark":
            frame, _, rest = rest.partition(b"\n\n")
            turn, _, frame = frame.partition(b"\n")
            entries.append(entry(turn.decode(), frame + b"\n\n"))
        return entries


def _run(url: str | None, examples: int) -> None:
    class Machine(StoreMachine):
        pass

    Machine.url = url
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_fakeredis_is_the_model() -> None:
    """Any order of calls: the store on fakeredis and the model stay the same."""
    _run(None, 6)


def test_redis_is_the_model(redis_server: ServerProcess) -> None:
    """Any order of calls: the store on Redis and the model stay the same."""
    _run(redis_server.url, 40)


def test_valkey_is_the_model(valkey_server: ServerProcess) -> None:
    """Any order of calls: the store on Valkey and the model stay the same."""
    _run(valkey_server.url, 15)
