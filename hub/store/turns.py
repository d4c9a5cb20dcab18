"""The store's calls about turns, as a front makes them."""

from __future__ import annotations

import hashlib

from hub import ids
from hub.errors import (
    IdempotencyMismatch,
    NoActiveTurn,
    NoRetryableTurn,
    StillQueued,
)
from hub.events import Origin, UserMessage
from hub.store import keys
from hub.store.common import StoreBase, body_from, in_flight, missing
from hub.store.records import Begun, Hash, TurnRecord, fields_of, turn_record
from hub.store.transactions import Argument, clear_errors, encode_text, transact


def fingerprint(text: str, literal: bool) -> str:
    """What makes two messages the same message: SHA-256 of the text and of how it is sent (hex)."""
    return hashlib.sha256(b"%d\0" % literal + encode_text(text)).hexdigest()


class Turns(StoreBase):
    """Turns are begun, cancelled, waited for."""

    async def begin(
        self,
        session_id: str,
        text: str,
        *,
        literal: bool = True,
        origin: Origin = "api",
        idempotency_key: str | None = None,
        attach: bool = False,
    ) -> Begun:
        """Begin a turn for a new message. Raises NotFound; TurnInFlight, with nothing written;
        IdempotencyMismatch when the key belongs to another message; StillQueued when it came with a message
        that waits, or was taken back. ``attach``: where another turn runs, the
        key stands for that turn from then on, so that asking again never begins one."""
        message_id = ids.message_id()
        tail = body_from(UserMessage(message_id=message_id, text=text, origin=origin), "message_id")
        sent = [message_id, text, "1" if literal else "0", origin, fingerprint(text, literal), tail]
        return await self._begin("attach" if attach else "new", session_id, sent, idempotency_key)

    async def retry(self, session_id: str, *, resume: bool = False, idempotency_key: str | None = None) -> Begun:
        """Begin a new attempt for the last user message, from its start or (``resume``) from where the last
        attempt was cut off; check and claim are one. Raises NotFound, TurnInFlight, NoRetryableTurn;
        IdempotencyMismatch where the key came with the other kind."""
        how = "resume" if resume else "rerun"
        return await self._begin("retry", session_id, ["", "", "", "", how, ""], idempotency_key)

    async def _begin(self, mode: str, session_id: str, sent: list[str], key: str | None) -> Begun:
        bounds = self.bounds
        rest: list[Argument] = [key or "", bounds.idem_ttl_s, bounds.idem_most, bounds.ring_ms]
        answer = await transact(self.redis, "begin", session_id, mode, ids.turn_id(), *sent, *rest)
        status, facts = answer[0], [fact.decode() for fact in answer[1:]]
        match status:
            case "missing":
                missing("session", session_id)
            case "mismatch":
                raise IdempotencyMismatch(
                    "This Idempotency-Key came before with another message. Use a new key for a new message.",
                    turn_id=facts[0],
                )
            case "queued":
                raise still_queued(facts[0])
            case "busy":
                raise in_flight(session_id, facts)
            case "no_retry":
                raise NoRetryableTurn(
                    "There is nothing to retry: no message, or its turn completed. Send a message."
                )
        turn_id, message_id, attempt, first, how = facts
        return Begun(
            session_id=session_id,
            turn_id=turn_id,
            message_id=message_id,
            attempt=int(attempt),
            first=int(first),
            repeated=how == "repeated",
        )

    async def turn(self, session_id: str) -> TurnRecord | None:
        """The running turn, if there is one: presence of the entry is the fact."""
        with clear_errors():
            raw: Hash = await self.redis.execute_command("HGETALL", keys.session_key("turn", session_id))
        return turn_record(fields_of(raw))

    async def cancel(self, session_id: str, by: str) -> str:
        """Ask for the running turn to be stopped; its id. Raises NotFound, NoActiveTurn."""
        status, *facts = await transact(self.redis, "cancel", session_id, by, ids.request_id())
        if status == "missing":
            missing("session", session_id)
        if status == "none":
            raise NoActiveTurn("No turn is running in this session.")
        return str(facts[0].decode())


def still_queued(message_id: str) -> StillQueued:
    return StillQueued("This message was queued before, with the same Idempotency-Key.", message_id=message_id)
