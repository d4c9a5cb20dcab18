"""The store's calls about asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hub import ids
from hub.asks import AskRecord, Grant, Settlement, grant_id, grant_of, settled_event
from hub.errors import AlreadySettled, HubError, Withdrawn
from hub.events import Ask, AskDelivered, AskOpened, By, GrantRevoked, encode_body, stamp, to_json
from hub.store import keys
from hub.store.common import StoreBase, check_fence, inside, missing
from hub.store.records import Claim, ask_record
from hub.store.transactions import Argument, clear_errors, transact

_FACTS: Final = (
    "state", "ask", "turn", "opened_at", "settlement", "settled_at", "delivered_at", "effective", "reason"
)  # fmt: skip
_grant: Final = msgspec.json.Decoder(Grant)


class Asks(StoreBase):
    """Asks are opened, settled once, delivered, withdrawn."""

    async def open_ask(self, claim: Claim, ask: Ask, settlement: Settlement | None = None) -> None:
        """Open ``ask`` in the running turn; with a ``settlement`` it is settled in the same instant, so that
        nobody sees it wait. Raises Fenced."""
        event = stamp(AskOpened(ask=ask), claim.session_id, claim.turn_id)
        facts: list[Argument] = [claim.turn_id, claim.fence, ask.id, to_json(ask), encode_body(event), "", ""]
        if settlement is not None:
            settled = stamp(settled_event(ask.id, settlement), claim.session_id, claim.turn_id, event.at)
            facts[-2:] = [to_json(settlement), encode_body(settled)]
        check_fence(claim, await transact(self.redis, "open_ask", claim.session_id, *facts, at=event.at))

    async def ask(self, ask_id: str) -> AskRecord:
        """The ask. Raises NotFound."""
        session_id = ids.session_of_ask(ask_id)
        if session_id is None:
            missing("ask", ask_id)
        with clear_errors():
            key = keys.session_key("asks", session_id)
            values: list[bytes | None] = await self.redis.execute_command(
                "HMGET", key, *(f"{ask_id}:{n}" for n in _FACTS)
            )
        fields = {f"{ask_id}:{n}": v.decode() for n, v in zip(_FACTS, values, strict=True) if v is not None}
        record = ask_record(session_id, ask_id, fields)
        if record is None:
            missing("ask", ask_id)
        return record

    async def settle_ask(self, record: AskRecord, settlement: Settlement) -> AskRecord:
        """Settle an ask, once; an allow with scope session grants the session that very call. Raises
        AlreadySettled with who and what, Withdrawn, NotFound."""
        event = stamp(settled_event(record.id, settlement), record.session_id, record.turn_id)
        facts: list[Argument] = [record.id, ids.request_id(), to_json(settlement), encode_body(event), "", ""]
        if settlement.decision == "allow" and settlement.scope == "session":
            ask = record.ask
            grant = grant_of(ask.tool, ask.subject, ask_id=ask.id, by=settlement.by, at=event.at)
            facts[-2:] = [grant.id, to_json(grant)]
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

    async def grant(self, session_id: str, tool: str, subject: str) -> Grant | None:
        """The session's grant of this very call; None where there is none."""
        with clear_errors():
            key, names = keys.session_key("grants", session_id), [grant_id(tool, subject), grant_id(tool, None)]
            found: list[bytes | None] = await self.redis.execute_command("HMGET", key, *names)
        return next((_grant.decode(one) for one in found if one is not None), None)

    async def grants(self, session_id: str) -> list[Grant]:
        """All grants of a session, oldest first. Raises NotFound."""
        with clear_errors():
            key = keys.session_key("session", session_id)
            if not await self.redis.execute_command("EXISTS", key):
                missing("session", session_id)
            raw: list[bytes] = await self.redis.execute_command("HVALS", keys.session_key("grants", session_id))
        return sorted(map(_grant.decode, raw), key=lambda one: (one.at, one.id))

    async def revoke_grant(self, session_id: str, name: str, by: By) -> None:
        """Take a grant back: from now on the call is judged without it. Raises NotFound."""
        found = next((one for one in await self.grants(session_id) if one.id == name), None)
        if found is None:
            missing("grant", name)
        revoked = GrantRevoked(grant_id=found.id, tool=found.tool, subject=found.subject, by=by)
        event = stamp(revoked, session_id, None)
        status, *_ = await transact(self.redis, "revoke", session_id, name, encode_body(event), at=event.at)
        if status == "missing":
            missing("session", session_id)

    async def deliver_ask(self, claim: Claim, ask_id: str, effective: Mapping[str, Any] | None = None) -> None:
        """Record that the agent took the settlement, and the input that its call runs with. Raises Fenced;
        HubError for an ask that is not settled or not of this turn."""
        told = None if effective is None else dict(effective)
        event = stamp(AskDelivered(ask_id=ask_id, input=told), claim.session_id, claim.turn_id)
        ran = b"" if told is None else to_json(told)
        facts: list[Argument] = [claim.turn_id, claim.fence, ask_id, encode_body(event), ran]
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
