"""What a session's log holds before a turn, for those who have to know what was said."""

from __future__ import annotations

from collections.abc import Iterable

from hub.events import AnyEvent, ForkedFrom, MessageDelivered, Unknown, decode, line_of
from hub.store.store import Store


async def log_before(store: Store, session_id: str, first: int) -> list[AnyEvent | Unknown]:
    """The durable events before number ``first``, from the session's beginning."""
    found: list[AnyEvent | Unknown] = []
    cursor = 0
    while page := await store.log_page(session_id, cursor):
        found += [decode(line_of(entry.frame)) for entry in page if entry.seq < first]
        cursor = page[-1].seq
        if cursor >= first:
            break
    return found


def has_taken(events: Iterable[AnyEvent | Unknown], copied: int) -> bool:
    """Whether an agent took a message after the event ``copied``: it knows then what stands before."""
    return any(
        isinstance(event, MessageDelivered) and event.seq > copied and event.verdict in ("submitted", "queued")
        for event in events
    )


async def has_moved_on(store: Store, origin: ForkedFrom) -> bool:
    """Whether the session that was forked has had a turn since: what its agent remembers is more than was copied
    then."""
    return any(entry.type == "turn_started" for entry in await store.log_page(origin.session_id, origin.seq))
