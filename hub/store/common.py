"""What the parts of the store share: its bounds, its words for what is missing or refused."""

from __future__ import annotations

from typing import Any, NoReturn

from msgspec import Struct

from hub.config import RunnerConfig
from hub.errors import Fenced, IdempotencyMismatch, NotFound, TurnInFlight
from hub.events import Event, encode_body, to_json
from hub.store.connect import AnyRedis
from hub.store.records import Claim, SessionRecord


class Bounds(Struct, frozen=True, kw_only=True):
    """Times and sizes of the store. ``ring_ms``: how long a begun turn may wait for a runner before it is
    rung again; ``live_grace_ms``: how long a turn's live stream outlives it; ``output_keep_ms``: how long the
    whole output of a tool is kept (0: not at all), of which ``output_most`` bytes at most, and ``outputs_most`` in
    all of a session."""

    ring_ms: int = 2_000
    live_grace_ms: int = 300_000
    idem_ttl_s: int = 86_400
    idem_most: int = 1_000
    queue_most: int = 100
    output_keep_ms: int = 3_600_000
    output_most: int = 1 << 20
    outputs_most: int = 16 << 20


def store_bounds(config: RunnerConfig, **others: int) -> Bounds:
    """The bounds that the configuration sets."""
    return Bounds(
        live_grace_ms=int(config.live_grace_s * 1000),
        output_keep_ms=int(config.output_keep_s * 1000),
        output_most=config.output_most_bytes,
        outputs_most=config.outputs_most_bytes,
        **others,
    )


class StoreBase:
    """One Redis and its bounds. All methods of its parts raise StoreUnavailable or StoreReadOnly."""

    def __init__(self, redis: AnyRedis, bounds: Bounds | None = None) -> None:
        self.redis = redis
        self.bounds = bounds or Bounds()


def body_from(event: Event, after: str) -> str:
    """The end of an event's body from field ``after`` on: for events that a transaction completes."""
    body = encode_body(event).decode()
    return body[body.index(f'"{after}":') :]


def inside(text: str) -> str:
    """``text`` as the inside of a JSON string."""
    return to_json(text).decode()[1:-1]


def check_fence(claim: Claim, answer: list[Any]) -> None:
    """Raise Fenced when the transaction said so."""
    if answer[0] == "fenced":
        raise Fenced(f"{claim.runner} does not own {claim.turn_id} any more.")


def check_asked(stored: SessionRecord, wanted: SessionRecord) -> None:
    """Raise IdempotencyMismatch where ``stored``, which has the id of ``wanted``, was asked for by another
    request. Of sessions that an older hub made only agent and origin are known."""
    known = bool(stored.asked and wanted.asked)
    same = stored.asked == wanted.asked if known else _made_like(stored) == _made_like(wanted)
    if not same:
        raise IdempotencyMismatch(
            "This Idempotency-Key came before with another request for a session. Use a new key for a new one.",
            session_id=stored.id,
        )


def _made_like(record: SessionRecord) -> tuple[str, str | None]:
    return record.agent, record.forked_from.session_id if record.forked_from else None


def live_path(session_id: str) -> str:
    """Where the running turn of a session is followed."""
    return f"/v1/sessions/{session_id}/live"


def in_flight(session_id: str, facts: list[str]) -> TurnInFlight:
    """Who runs already, from what ``begin`` says."""
    turn_id, started_at, state, same, _, attempt = facts
    return TurnInFlight(
        f"Turn {turn_id} is {state} in this session. Follow it at {live_path(session_id)}.",
        turn_id=turn_id,
        started_at=started_at,
        state=state,
        attempt=int(attempt),
        live=live_path(session_id),
        same_message=same == "1",
    )


def missing(kind: str, name: str) -> NoReturn:
    """Raise NotFound."""
    raise NotFound(f"There is no {kind} {name!r}.")
