"""The store's calls that read events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hub.store import keys
from hub.store.common import StoreBase, missing
from hub.store.records import (
    Entry,
    Snapshot,
    ask_records,
    fields_of,
    merged,
    queued_messages,
    session_record,
    stream_entries,
    turn_record,
)
from hub.store.transactions import clear_errors, transact

_PAGE = 1000


class Reading(StoreBase):
    """Snapshots, and pages of log and live stream."""

    async def snapshot(
        self,
        session_id: str,
        after: int = 0,
        *,
        whole: bool = False,
        also: Sequence[str] = (),
        most: int = 10 * _PAGE,
    ) -> Snapshot:
        """One instant: the turn, and what was written after a cursor. ``whole``: with session, asks and
        queue. ``also``: turns whose live streams count beside the running one's. Raises NotFound."""
        answer = await transact(self.redis, "snapshot", session_id, after, most, "1" if whole else "0", *also)
        if answer[0] == "missing":
            missing("session", session_id)
        cursor, turn, log, lives, *rest = answer[1:]
        entries, complete = merged([stream_entries(log), *(stream_entries(live) for live in lives)], most)
        return Snapshot(
            cursor=int(cursor) if complete else entries[-1].seq,
            turn=turn_record(fields_of(turn)),
            entries=tuple(entries),
            complete=complete,
            session=session_record(session_id, fields_of(rest[0])) if rest else None,
            asks=ask_records(session_id, fields_of(rest[1])) if rest else (),
            queue=queued_messages(rest[2]) if rest else (),
        )

    async def log_page(self, session_id: str, after: int, most: int = _PAGE) -> list[Entry]:
        """Durable events after a cursor, at most ``most``. Empty for an unknown session too."""
        return await self._range(keys.session_key("log", session_id), after, most)

    async def live_page(self, session_id: str, turn_id: str, after: int, most: int = _PAGE) -> list[Entry]:
        """What a turn's live stream holds after a cursor, at most ``most``."""
        return await self._range(keys.live_key(session_id, turn_id), after, most)

    async def _range(self, key: str, after: int, most: int) -> list[Entry]:
        with clear_errors():
            raw: list[Any] = await self.redis.execute_command("XRANGE", key, f"({after}-0", "+", "COUNT", most)
        return stream_entries(raw)
