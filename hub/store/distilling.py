"""The store's calls about what is made of ended turns: which of them wait for it, and what was made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct

from hub.events import DistillFailed, Origin, TurnDistilled, encode_body, type_of
from hub.store import keys
from hub.store.common import StoreBase, check_fence
from hub.store.records import Claim, Entry, SessionRecord, fields_of, session_record, stream_entries
from hub.store.transactions import clear_errors, transact
from hub.transport import Message

_PAGE = 1000


class Undistilled(Struct, frozen=True, kw_only=True):
    """An ended turn that is claimed for its distillation. ``first`` and ``last`` are the numbers of its events;
    ``sensitive`` as it was kept with the turn; ``tries``: how often it was claimed, this time included."""

    session: SessionRecord
    turn_id: str
    claim: str
    tries: int
    first: int
    last: int
    kind: str
    sensitive: bool
    message: Message


class Distillations(StoreBase):
    """Turns are marked, wait, are claimed, and have their memory written, once."""

    async def mark(self, claim: Claim, *, sensitive: bool, most: int) -> None:
        """Have the running turn distilled once it has ended, unless ``most`` wait already. Whether it is
        ``sensitive`` only ever rises. Raises Fenced."""
        facts = [claim.turn_id, claim.fence, "1" if sensitive else "0", most]
        check_fence(claim, await transact(self.redis, "mark", claim.session_id, *facts))

    async def claim_distillation(
        self, session_id: str, turn_id: str, claim: str, lease_ms: int
    ) -> Undistilled | None:
        """Claim a turn for ``lease_ms`` milliseconds, or keep it for as long again; None when it waits no more, or
        is another's."""
        answer = await transact(self.redis, "distill_claim", session_id, turn_id, claim, lease_ms)
        if answer[0] != "ok":
            return None
        tries, first, last, kind, sensitive, message_id, text, literal, origin = map(_text, answer[2:])
        return Undistilled(
            session=session_record(session_id, fields_of(answer[1])),
            turn_id=turn_id,
            claim=claim,
            tries=int(tries),
            first=int(first),
            last=int(last),
            kind=kind,
            sensitive=sensitive != "0",
            message=Message(id=message_id, text=text, literal=literal == "1", origin=cast(Origin, origin)),
        )

    async def distilled(
        self, turn: Undistilled, events: Sequence[TurnDistilled | DistillFailed], title: str | None = None
    ) -> bool:
        """Write what was made of a claimed turn, stamped, and a title for a session that never had one; whether it
        was ours to write."""
        parts: list[str | bytes] = []
        for event in events:
            parts += [type_of(event), encode_body(event)]
        answer = await transact(
            self.redis, "distill_done", turn.session.id, turn.turn_id, turn.claim, title or "", *parts
        )
        return bool(answer[0] == "ok")

    async def release_distillation(self, turn: Undistilled) -> None:
        """Let go of a claimed turn: whoever looks next may have it."""
        await transact(self.redis, "distill_release", turn.session.id, turn.turn_id, turn.claim)

    async def memory_page(self, session_id: str, after: int = 0, most: int = _PAGE) -> list[Entry]:
        """What was made of the session's turns, after a cursor, at most ``most``. Empty for an unknown session."""
        key = keys.session_key("memory", session_id)
        with clear_errors():
            raw: list[Any] = await self.redis.execute_command("XRANGE", key, f"({after}-0", "+", "COUNT", most)
        return stream_entries(raw)

    async def undistilled(self, session_id: str) -> tuple[str, ...]:
        """The session's turns that wait for their distillation, oldest first."""
        with clear_errors():
            raw = await self.redis.execute_command("HGETALL", keys.session_key("distill", session_id))
        firsts = {name: int(value) for name, value in fields_of(raw).items() if name.endswith(":first")}
        return tuple(name.removesuffix(":first") for name in sorted(firsts, key=firsts.__getitem__))


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode()
