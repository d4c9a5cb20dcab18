"""What was made of a session's turns when they had ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from hub.events import AnyEvent, DistillFailed, TurnDistilled, Unknown, decode, line_of
from hub.front.operations import Answer, Call, Operation, Reply, operation
from hub.front.params import session_id
from hub.front.views import DistillProblem, Remembered, SessionMemory
from hub.store.store import Store


@operation("GET", "/v1/sessions/{id}/memory", Reply(200, SessionMemory), scope="read", errors=["not_found"])
async def session_memory(call: Call[Any, Any]) -> Answer:
    """What is kept of the session's turns, newest last: distillates with their route and model, and failures."""
    store, name = call.services.store, session_id(call.path["id"])
    await store.session(name)
    pending = await store.undistilled(name)
    return Answer(200, SessionMemory(memory=remembered(await _events(store, name)), pending=pending))


async def _events(store: Store, name: str) -> list[AnyEvent | Unknown]:
    events: list[AnyEvent | Unknown] = []
    after = 0
    while page := await store.memory_page(name, after):
        events += [decode(line_of(entry.frame)) for entry in page]
        after = page[-1].seq
    return events


def remembered(events: Iterable[AnyEvent | Unknown]) -> tuple[Remembered, ...]:
    """Pure: what was made of each turn, in the order in which it was made."""
    found: dict[str, Remembered] = {}
    for event in events:
        match event:
            case DistillFailed():
                known = found.pop(event.turn_id, Remembered(turn_id=event.turn_id, at=event.at))
                problem = DistillProblem(code=event.code, message=event.message)
                found[event.turn_id] = replace(known, at=event.at, failure=problem)
            case TurnDistilled():
                known = found.pop(event.turn_id, Remembered(turn_id=event.turn_id, at=event.at))
                found[event.turn_id] = replace(
                    known, at=event.at, distillate=event.distillate, route=event.route, model=event.model
                )
    return tuple(found.values())


OPERATIONS: Final[tuple[Operation, ...]] = (session_memory,)
