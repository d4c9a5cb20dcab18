"""A session at one instant, and a turn by its id: what several reads of the store make together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from hub.asks import AskRecord
from hub.errors import HubError
from hub.events import TurnStarted, decode, line_of
from hub.fold import Fold
from hub.front.views import SessionState, TurnView, queued_view, session_view, turn_view
from hub.store.records import Begun, Entry, TurnRecord
from hub.store.store import Store

_END_OF_TIME: Final = 1 << 53
_ENDED: Final[dict[str, Literal["completed", "failed", "interrupted"]]] = {
    "turn_completed": "completed",
    "turn_failed": "failed",
    "turn_interrupted": "interrupted",
}


async def last_seq(store: Store, session_id: str) -> int:
    """The number of the session's newest event. Raises NotFound."""
    return (await store.snapshot(session_id, _END_OF_TIME, most=1)).cursor


async def session_state(store: Store, session_id: str) -> SessionState:
    """The session as it is at one instant. Raises NotFound.

    What ended before a running turn is read from the log page by page: it does not change. From there on one
    snapshot tells everything, so that no transient event of an open block is passed over.
    """
    glance = await store.snapshot(session_id, _END_OF_TIME, most=1)
    settled = glance.turn.first - 1 if glance.turn else glance.cursor
    fold = Fold()
    while page := await store.log_page(session_id, fold.cursor):
        known = fold.cursor
        _apply(fold, (entry for entry in page if entry.seq <= settled))
        if page[-1].seq >= settled or fold.cursor == known:
            break
    while True:
        found = await store.snapshot(session_id, max(settled, fold.cursor), whole=True)
        _apply(fold, found.entries)
        if found.complete:
            break
    if found.session is None:  # pragma: no cover - the store keeps its word
        raise HubError("A whole snapshot came without its session.")
    return SessionState(
        session=session_view(found.session),
        items=fold.items(),
        turn=turn_view(found.turn),
        asks=tuple(ask for ask in found.asks if _waits(ask, found.turn)),
        queue=tuple(queued_view(message) for message in found.queue),
        cursor=found.cursor,
    )


def _waits(ask: AskRecord, turn: TurnRecord | None) -> bool:
    """Whether an ask waits for a person, or for the agent to take the answer, which it can while its turn runs."""
    return ask.state == "open" or (ask.state == "settled" and turn is not None and ask.turn_id == turn.id)


def _apply(fold: Fold, entries: Iterable[Entry]) -> None:
    for entry in entries:
        fold.apply(decode(line_of(entry.frame)))


async def begun_turn(store: Store, begun: Begun) -> TurnView:
    """The turn that a request has begun, as it stands now: it may have ended already. Raises NotFound."""
    running = turn_view(await store.turn(begun.session_id))
    if running is not None and running.id == begun.turn_id:
        return running
    started_at = ""
    cursor = begun.first - 1
    while page := await store.log_page(begun.session_id, cursor):
        for entry in page:
            if entry.turn_id != begun.turn_id:
                continue
            event = decode(line_of(entry.frame))
            if isinstance(event, TurnStarted):
                started_at = event.at
            if entry.type in _ENDED:
                return _view(begun, _ENDED[entry.type], started_at)
        cursor = page[-1].seq
    await store.session(begun.session_id)  # deleted meanwhile: NotFound
    return _view(begun, "queued", started_at)  # began this instant, behind our first look


def _view(
    begun: Begun, state: Literal["queued", "completed", "failed", "interrupted"], started_at: str
) -> TurnView:
    return TurnView(id=begun.turn_id, state=state, started_at=started_at, attempt=begun.attempt)
