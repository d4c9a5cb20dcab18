"""The store's calls about whole logs: read, and given to a new session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from hub import ids
from hub.archive import Line
from hub.asks import grant_of
from hub.errors import Invalid
from hub.events import (
    TERMINAL,
    By,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
    UserMessage,
    decode,
    now,
    to_json,
)
from hub.store import keys
from hub.store.common import StoreBase, check_asked
from hub.store.records import Entry, Hash, SessionRecord, fields_of, session_fields, session_record, stream_entries
from hub.store.transactions import Argument, clear_errors, flat, transact
from hub.store.turns import fingerprint

MOST_EVENTS: Final = 200_000
_PAGE: Final = 1000
_TURNS: Final = frozenset({"user_message", "turn_started", *TERMINAL})


class Copies(StoreBase):
    """Sessions come into being with a log."""

    async def whole_log(self, session_id: str) -> list[Entry]:
        """All durable events, by number. Empty for an unknown session too."""
        found: list[Entry] = []
        key, after = keys.session_key("log", session_id), 0
        while True:
            with clear_errors():
                raw = await self.redis.execute_command("XRANGE", key, f"({after}-0", "+", "COUNT", _PAGE)
            page = stream_entries(raw)
            found += page
            if len(page) < _PAGE:
                return found
            after = page[-1].seq

    async def copy_session(
        self, record: SessionRecord, lines: Sequence[Line], granted: Iterable[tuple[str, str | None]] = ()
    ) -> tuple[SessionRecord, bool]:
        """Create ``record`` with the log ``lines`` (its time of change is set here, and that of its creation where
        it has none); and whether it is new. ``granted``: tool and subject of what it may from the start. With an
        id that exists already the session that is there.

        Raises Invalid for more events than :data:`MOST_EVENTS`; IdempotencyMismatch where another request made the
        session that is there."""
        if len(lines) > MOST_EVENTS:
            raise Invalid(f"A log of {len(lines)} events is too long; {MOST_EVENTS} are the most.")
        at = now()
        fields = {
            **session_fields(record),
            "archived": "1" if record.archived else "0",
            "created_at": record.created_at or at,
            "updated_at": at,
            "copied": str(record.copied),
            "forked_from": to_json(record.forked_from).decode() if record.forked_from else "",
            "imported_from": record.imported_from or "",
            "inherited": to_json(dict(record.inherited)).decode(),
        }
        by = By(kind="policy", name="approval_allowlist")
        grants = [grant_of(tool, subject, ask_id=None, by=by, at=at) for tool, subject in granted]
        seeds: list[Argument] = [word for grant in grants for word in (grant.id, to_json(grant))]
        groups: list[Argument] = []
        for words in (seeds, flat(_last(lines)), flat(fields)):
            groups += [len(words), *words]
        events: list[Argument] = []
        for line in lines:
            events += [str(line.seq), line.type, line.turn_id, line.frame]
        status, *_ = await transact(self.redis, "copy", record.id, ids.request_id(), *groups, *events, at=at)
        with clear_errors():
            raw: Hash = await self.redis.execute_command("HGETALL", keys.session_key("session", record.id))
        stored = session_record(record.id, fields_of(raw))
        check_asked(stored, record)
        return stored, status == "ok"


def _last(lines: Sequence[Line]) -> dict[str, str]:
    """What the last turn of a log was, as a retry has to know it: ``done`` where it completed."""
    messages: dict[str, UserMessage] = {}
    begun: set[str] = set()
    last: dict[str, str] = {}
    for line in lines:
        if line.type not in _TURNS:
            continue
        match decode(line.json):
            case UserMessage() as message:
                messages[message.message_id] = message
                if message.turn_id not in begun:  # else it was said while that turn ran
                    last = _open(message, 0)
            case TurnStarted(message_id=str(message_id), attempt=attempt) as started:
                begun.add(started.turn_id)
                if found := messages.get(message_id):
                    last = _open(found, attempt)
            case TurnCompleted() | TurnFailed() | TurnInterrupted():
                done = "1" if line.type == "turn_completed" else "0"
                last = {**last, "done": done, "ended": line.type.removeprefix("turn_")} if last else {}
            case _:
                pass
    return last


def _open(message: UserMessage, attempt: int) -> dict[str, str]:
    return {
        "message_id": message.message_id,
        "text": message.text,
        "literal": "1",
        "origin": message.origin,
        "fingerprint": fingerprint(message.text, literal=True),
        "attempt": str(attempt),
        "done": "0",
    }
