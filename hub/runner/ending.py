"""The end of a turn: what it really was, and writing it, however long the store is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
import structlog

from hub import events, ids
from hub.errors import Fenced, HubError, StoreReadOnly, StoreUnavailable
from hub.events import AnyEvent, Terminal, Unknown, stamp
from hub.runner.services import Services
from hub.store.records import Claim, Finished, Taken, TurnRecord
from hub.store.store import Store
from hub.turn import Ending, Failed, Interrupted, TurnTally, judge, terminal_event

_RETRY_S = 0.2
_HUBS_OWN = ("owner_lost", "cancelled_by_shutdown")


def conclude(tally: TurnTally, ending: Ending, sign: Failed | None) -> tuple[list[AnyEvent], Ending]:
    """Pure: what has to be written before the terminal event, and the ending that the turn really has."""
    closing = list(tally.closing("interrupted" if isinstance(ending, Interrupted) else "unknown"))
    for event in closing:
        tally.feed(event)
    return closing, judge(tally, ending, sign)


async def end_turn(
    services: Services,
    taken: Taken,
    tally: TurnTally,
    ending: Ending,
    *,
    sign: Failed | None = None,
    duration_ms: int | None = None,
) -> Terminal | None:
    """Write the end of a turn that we own, ring for the next one, and count it; the terminal event. None when
    somebody else owns the turn now. ``duration_ms``: until the turn was taken, unless given."""
    closing, judged = conclude(tally, ending, sign)
    if duration_ms is None:
        duration_ms = since_ms(taken.turn)
    terminal = terminal_event(judged, duration_ms=duration_ms, tools=tally.tools)
    go_on = _goes_on(terminal) or services.drains_after_failure(services.session_info(taken.session).policy)
    finished = await finish(services.store, taken.claim, closing, terminal, go_on=go_on)
    if finished is None:
        return None
    services.metrics.turn_ended(taken.session.agent, terminal)
    if finished.next_turn:
        await ring(services, taken.session.agent, taken.session.id, finished.next_turn)
    return terminal


def _goes_on(terminal: Terminal) -> bool:
    """Whether what waits begins after such an end by itself. What failed because of the hub says nothing against
    what waits; after any other failure a person looks first."""
    return not isinstance(terminal, events.TurnFailed) or terminal.code in _HUBS_OWN


async def finish(
    store: Store, claim: Claim, closing: list[AnyEvent], terminal: Terminal, *, go_on: bool = True
) -> Finished | None:
    """Write the end, however long the store is away: the slot is never free without its event. ``go_on``: the
    message that waits first begins with it. None when somebody else owns the turn now."""
    session_id, turn_id = claim.session_id, claim.turn_id
    stamped: Terminal = stamp(terminal, session_id, turn_id)  # type: ignore[assignment]
    before = [stamp(event, session_id, turn_id) for event in closing]
    interrupted = isinstance(terminal, events.TurnInterrupted)
    reason = "the turn was interrupted" if interrupted else "the turn ended"
    next_turn = ids.turn_id()
    told = False
    while True:
        try:
            return await store.finish(claim, before, stamped, next_turn=next_turn, reason=reason, go_on=go_on)
        except Fenced:
            return None
        except (StoreUnavailable, StoreReadOnly) as error:
            if not told:
                log = structlog.get_logger("hub.turn").bind(session_id=session_id, turn_id=turn_id)
                log.warning("the end of a turn cannot be written yet", error=error.detail)
                told = True
            await asyncio.sleep(_RETRY_S)


async def ring(services: Services, agent: str, session_id: str, turn_id: str) -> None:
    """Ring for a turn; if that fails, whoever reaps rings again."""
    try:
        await services.work.ring(agent, session_id, turn_id)
    except HubError as error:
        structlog.get_logger("hub.runner").warning("could not ring", turn_id=turn_id, error=error.detail)


async def written(
    store: Store, session_id: str, turn: TurnRecord
) -> AsyncIterator[tuple[int, AnyEvent | Unknown]]:
    """What a turn's live stream holds, with its numbers. An entry that no event can be read from does not keep
    a turn from its end: it is passed over."""
    after = turn.first - 1
    while page := await store.live_page(session_id, turn.id, after):
        for entry in page:
            try:
                event = events.decode(events.line_of(entry.frame))
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                log = structlog.get_logger("hub.turn").bind(session_id=session_id, turn_id=turn.id)
                log.error("an event cannot be read", seq=entry.seq, error=type(error).__name__)
            else:
                yield entry.seq, event
        after = page[-1].seq


def since_ms(turn: TurnRecord) -> int:
    """How old a turn was when its runner took it, in milliseconds, by the store's clock."""
    return max(0, turn.taken - turn.born) if turn.born else 0
