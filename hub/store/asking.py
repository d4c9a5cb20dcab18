"""The store's calls about asks."""

from __future__ import annotations

import msgspec

from hub import ids
from hub.asks import AskRecord, Settlement, grant_key, settled_event
from hub.errors import AlreadySettled, HubError, Withdrawn
from hub.events import Ask, AskDelivered, AskOpened, encode_body, stamp, to_json
from hub.store import keys
from hub.store.common import StoreBase, check_fence, inside, missing
from hub.store.records import Claim, ask_record
from hub.store.transactions import Argument, clear_errors, transact


class Asks(StoreBase):
    """Asks are opened, settled once, delivered, withdrawn."""

    async def open_ask(self, claim: Claim, ask: Ask) -> None:
        """Open ``ask`` in the running turn. Raises Fenced."""
        event = stamp(AskOpened(ask=ask), claim.session_id, claim.turn_id)
        facts: list[Argument] = [claim.turn_id, claim.fence, ask.id, to_json(ask), encode_body(event)]
        check_fence(claim, await transact(self.redis, "open_ask", claim.session_id, *facts, at=event.at))

    async def ask(self, ask_id: str) -> AskRecord:
        """The ask. Raises NotFound."""
        session_id = ids.session_of_ask(ask_id)
        if session_id is None:
            missing("ask", ask_id)
        names = ("state", "ask", "turn", "opened_at", "settlement", "settled_at", "delivered_at", "reason")
        with clear_errors():
            key = keys.session_key("asks", session_id)
            values: list[bytes | None] = await self.redis.execute_command(
                "HMGET", key, *(f"{ask_id}:{n}" for n in names)
            )
        fields = {f"{ask_id}:{n}": v.decode() for n, v in zip(names, values, strict=True) if v is not None}
        record = ask_record(session_id, ask_id, fields)
        if record is None:
            missing("ask", ask_id)
        return record

    async def settle_ask(self, record: AskRecord, settlement: Settlement) -> AskRecord:
        """Settle an ask, once; an allow with scope session grants the session that very call. Raises
        AlreadySettled with who and what, Withdrawn, NotFound."""
        event = stamp(settled_event(record.id, settlement), record.session_id, record.turn_id)
        granted = settlement.decision == "allow" and settlement.scope == "session"
        grant = grant_key(record.ask.tool, record.ask.subject) if granted else ""
        facts: list[Argument] = [record.id, ids.request_id(), to_json(settlement), encode_body(event), grant]
        status, *said = await transact(self.redis, "settle_ask", record.session_id, *facts, at=event.at)
        if status == "missing":
            missing("ask", record.id)
        if status == "withdrawn":
            reason = msgspec.json.decode(said[0], type=str)
            raise Withdrawn(f"This ask is over: {reason}.", reason=reason)
        stored = await self.ask(record.id)
        if status == "settled":
            by = stored.settlement.by.name if stored.settlement else "somebody"
            raise AlreadySettled(f"This ask was settled before, by {by}.", ask=stored)
        return stored

    async def grant(self, session_id: str, tool: str, subject: str) -> str | None:
        """The ask in which a person granted the session this very call; None where nobody did."""
        with clear_errors():
            key = keys.session_key("grants", session_id)
            found: bytes | None = await self.redis.execute_command("HGET", key, grant_key(tool, subject))
        return found.decode() if found is not None else None

    async def deliver_ask(self, claim: Claim, ask_id: str) -> None:
        """Record that the agent took the settlement. Raises Fenced; HubError for an ask that is not settled
        or not of this turn."""
        event = stamp(AskDelivered(ask_id=ask_id), claim.session_id, claim.turn_id)
        facts: list[Argument] = [claim.turn_id, claim.fence, ask_id, encode_body(event)]
        answer = await transact(self.redis, "deliver_ask", claim.session_id, *facts, at=event.at)
        check_fence(claim, answer)
        if answer[0] != "ok":
            raise HubError(f"{ask_id} cannot be delivered: it is {answer[0]}.")

    async def withdraw_ask(self, claim: Claim, ask_id: str, reason: str) -> None:
        """Withdraw an open ask of the turn; one that is settled stays so. Raises Fenced, NotFound."""
        facts = [claim.turn_id, claim.fence, ask_id, inside(reason)]
        answer = await transact(self.redis, "withdraw_ask", claim.session_id, *facts)
        check_fence(claim, answer)
        if answer[0] == "missing":
            missing("ask", ask_id)
