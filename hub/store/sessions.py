"""The store's calls about sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hub import ids
from hub.asks import grant_of
from hub.errors import TurnInFlight
from hub.events import By, SessionCreated, encode_body, now, stamp, to_json
from hub.store import keys
from hub.store.common import StoreBase, check_asked, live_path, missing
from hub.store.records import Hash, SessionRecord, fields_of, session_fields, session_record
from hub.store.transactions import Argument, clear_errors, flat, transact

_REPEATABLE_S = 60
_PATCHABLE = frozenset({"title", "policy", "archived", "sensitive"})


class Sessions(StoreBase):
    """Sessions are made, changed, forgotten."""

    async def create_session(
        self, record: SessionRecord, granted: Iterable[tuple[str, str | None]] = ()
    ) -> tuple[SessionRecord, bool]:
        """Create ``record`` (its times are set here); and whether it is new. ``granted``: tool and subject of what
        it may from the start. With an id that exists already (made from an idempotency key) the session that is
        there. Raises IdempotencyMismatch when another request made that one."""
        at = now()
        fields = {
            **session_fields(record),
            "created_at": at,
            "updated_at": at,
        }
        created = SessionCreated(agent=record.agent, transport=record.transport, policy=record.policy)
        body = encode_body(stamp(created, record.id, None, at))
        by = By(kind="policy", name="approval_allowlist")
        grants = [grant_of(tool, subject, ask_id=None, by=by, at=at) for tool, subject in granted]
        seeds: list[Argument] = [len(grants)]
        for grant in grants:
            seeds += [grant.id, to_json(grant)]
        status, *_ = await transact(
            self.redis, "create", record.id, ids.request_id(), body, *seeds, *flat(fields), at=at
        )
        stored = await self.session(record.id)
        check_asked(stored, record)
        return stored, status == "ok"

    async def session(self, session_id: str) -> SessionRecord:
        """The session. Raises NotFound."""
        with clear_errors():
            raw: Hash = await self.redis.execute_command("HGETALL", keys.session_key("session", session_id))
        if not raw:
            missing("session", session_id)
        return session_record(session_id, fields_of(raw))

    async def patch_session(self, session_id: str, changes: Mapping[str, str]) -> SessionRecord:
        """Change fields (title, policy, archived and sensitive as "0" or "1"). A title that is given, or taken
        away, is never changed by the hub itself. Raises NotFound, ValueError for another field."""
        if foreign := changes.keys() - _PATCHABLE:
            raise ValueError(f"Not a field that can be changed: {sorted(foreign)}")
        if "title" in changes:
            changes = {**changes, "titled": "person"}
        status, *_ = await transact(self.redis, "patch", session_id, *flat(changes))
        if status == "missing":
            missing("session", session_id)
        return await self.session(session_id)

    async def delete_session(self, session_id: str, *, force: bool = False) -> None:
        """Forget the session. Raises NotFound; TurnInFlight while one runs, unless by force."""
        request = ids.request_id()
        status, *facts = await transact(
            self.redis, "delete", session_id, "1" if force else "0", request, _REPEATABLE_S
        )
        if status == "missing":
            missing("session", session_id)
        if status == "busy":
            turn_id, started_at, state = (fact.decode() for fact in facts)
            raise TurnInFlight(
                "A turn is running in this session. Interrupt it first, or delete with ?force=true.",
                turn_id=turn_id,
                started_at=started_at,
                state=state,
                live=live_path(session_id),
                same_message=False,
            )
