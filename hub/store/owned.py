"""The store's calls about a turn that a runner owns. Each but the first carries its claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hub import ids
from hub.errors import HubError
from hub.events import AnyEvent, MessageDelivered, Terminal, UserMessage, encode_body, is_durable, stamp, type_of
from hub.store.common import StoreBase, body_from, check_fence, inside
from hub.store.records import (
    Appended,
    Claim,
    Finished,
    QueuedMessage,
    Taken,
    fields_of,
    queued_messages,
    session_record,
    turn_record,
)
from hub.store.transactions import Argument, flat, transact
from hub.transport import Verdict

_TRIMMED_AT_ONCE = 1000


class OwnedTurns(StoreBase):
    """Turns are taken, written, ended, taken over."""

    async def take(self, session_id: str, turn_id: str, runner: str, lease_ms: int) -> Taken | None:
        """Own a turn that waits; None when it is gone or another runner has it."""
        answer = await transact(self.redis, "take", session_id, turn_id, runner, lease_ms)
        return _taken(session_id, answer) if answer[0] == "ok" else None

    async def append(self, claim: Claim, batch: int, events: Sequence[AnyEvent], lease_ms: int) -> Appended:
        """Write stamped events as batch number ``batch`` (1, 2, …; 0 with no events renews the lease only).
        Raises Fenced; HubError for a batch out of order; ValueError for events without a batch number, a batch
        without events, and for a terminal event, which only :meth:`finish` writes."""
        if bool(batch) != bool(events):
            raise ValueError(f"Batch {batch} of {len(events)} events: a batch has a number from 1, and events.")
        parts: list[str | bytes] = []
        for event in events:
            if isinstance(event, Terminal):
                raise ValueError("A terminal event is written by finish, never by append.")  # noqa: TRY004
            kind = type_of(event)
            parts += [kind, "d" if is_durable(kind) else "", encode_body(event)]
        answer = await transact(
            self.redis, "append", claim.session_id, claim.turn_id, claim.fence, batch, lease_ms, *parts
        )
        if answer[0] == "order":
            raise HubError(
                f"Batch {batch} of {claim.turn_id} came out of order, after batch {answer[1].decode()}."
            )
        check_fence(claim, answer)
        last, cancel_by, answers, steers = (fact.decode() for fact in answer[1:])
        return Appended(
            last=int(last),
            cancel_by=cancel_by or None,
            answers=tuple(answers.split()),
            steers=tuple(steers.split()),
        )

    async def steer(self, claim: Claim, message_id: str) -> QueuedMessage | None:
        """Take a message that is meant for this turn out of the queue; None where somebody took it back. Raises
        Fenced; HubError while another one is under way."""
        answer = await transact(self.redis, "steer", claim.session_id, claim.turn_id, claim.fence, message_id)
        check_fence(claim, answer)
        if answer[0] == "busy":
            raise HubError("Another message is being given to this turn.")
        return queued_messages(answer[1:])[0] if answer[0] == "ok" else None

    async def steered(self, claim: Claim, message_id: str, verdict: Verdict | None) -> None:
        """Say what became of it: with a verdict it is a user message of this turn; without one the agent does not
        have it, and it waits again, before all others. Raises Fenced."""
        told = MessageDelivered(verdict="unverified", message_id=message_id)
        if verdict is not None:
            told = MessageDelivered(
                verdict=verdict.verdict, proof=verdict.proof, detail=verdict.detail, message_id=message_id
            )
        event = stamp(told, claim.session_id, claim.turn_id)
        facts: list[Argument] = [claim.turn_id, claim.fence, message_id, "1" if verdict else "0"]
        facts += [encode_body(event), self.bounds.idem_ttl_s, self.bounds.idem_most]
        check_fence(claim, await transact(self.redis, "steered", claim.session_id, *facts, at=event.at))

    async def joined(self, claim: Claim, text: str, key: str, verdict: Verdict) -> None:
        """Words that were typed at the agent's own keyboard and taken into this turn: a user message of it, unless
        a message with this idempotency key is known. Raises Fenced."""
        message_id = ids.message_id()
        said = UserMessage(message_id=message_id, text=text, origin="keyboard")
        told = MessageDelivered(
            verdict=verdict.verdict, proof=verdict.proof, detail=verdict.detail, message_id=message_id
        )
        event = stamp(told, claim.session_id, claim.turn_id)
        facts: list[Argument] = [claim.turn_id, claim.fence, message_id, body_from(said, "message_id")]
        facts += [encode_body(event), key, self.bounds.idem_ttl_s, self.bounds.idem_most]
        check_fence(claim, await transact(self.redis, "joined", claim.session_id, *facts, at=event.at))

    async def finish(
        self,
        claim: Claim,
        closing: Sequence[AnyEvent],
        terminal: Terminal,
        *,
        next_turn: str,
        reason: str = "the turn ended",
        go_on: bool = True,
    ) -> Finished:
        """End the turn: closing events, withdrawal of open asks with ``reason``, the terminal event, the free
        slot and the next queued message (as ``next_turn``, if ``go_on``) are one. Raises Fenced."""
        parts: list[str | bytes] = []
        for event in (*closing, terminal):
            parts += [type_of(event), encode_body(event)]
        bounds = self.bounds
        head: list[Argument] = [
            bounds.live_grace_ms,
            next_turn,
            bounds.ring_ms,
            inside(reason),
            "1" if go_on else "0",
            bounds.idem_ttl_s,
            bounds.idem_most,
        ]
        answer = await transact(self.redis, "finish", claim.session_id, claim.turn_id, claim.fence, *head, *parts)
        check_fence(claim, answer)
        last, turn_id, message_id = (fact.decode() for fact in answer[1:])
        return Finished(last=int(last), next_turn=turn_id or None, next_message=message_id or None)

    async def reap(
        self, session_id: str, turn_id: str, runner: str, lease_ms: int, *, adopt: bool
    ) -> Taken | Literal["ring"] | None:
        """Take over an overdue turn; "ring" when it only waits for a runner still; None when there is
        nothing to take over. With ``adopt`` it goes on, one attempt higher."""
        facts: list[Argument] = [turn_id, runner, lease_ms, "1" if adopt else "0", self.bounds.ring_ms]
        answer = await transact(self.redis, "reap", session_id, *facts, ids.request_id())
        if answer[0] == "ring":
            return "ring"
        return _taken(session_id, answer) if answer[0] == "ok" else None

    async def release(self, claim: Claim) -> None:
        """Let go of a running turn without ending it: it is overdue at once, and whoever sweeps next takes it
        over. Raises Fenced."""
        check_fence(claim, await transact(self.redis, "release", claim.session_id, claim.turn_id, claim.fence))

    async def trim(self, claim: Claim, seqs: Sequence[int]) -> None:
        """Drop these transient events from the live stream. Raises Fenced."""
        for start in range(0, len(seqs), _TRIMMED_AT_ONCE):
            part = seqs[start : start + _TRIMMED_AT_ONCE]
            check_fence(
                claim, await transact(self.redis, "trim", claim.session_id, claim.turn_id, claim.fence, *part)
            )

    async def remember(self, claim: Claim, values: Mapping[str, str]) -> None:
        """Keep small values with the session. Raises Fenced."""
        answer = await transact(
            self.redis, "remember", claim.session_id, claim.turn_id, claim.fence, *flat(values)
        )
        check_fence(claim, answer)


def _taken(session_id: str, answer: list[Any]) -> Taken:
    turn = turn_record(fields_of(answer[1]))
    if turn is None:  # pragma: no cover - the transaction has just written it
        raise HubError(f"The turn of {session_id} vanished inside a transaction.")
    claim = Claim(session_id=session_id, turn_id=turn.id, runner=turn.runner, fence=turn.fence)
    return Taken(claim=claim, turn=turn, session=session_record(session_id, fields_of(answer[2])))
