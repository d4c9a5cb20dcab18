"""An agent's terminal, as it is now: looked at by the runner that has it."""

from __future__ import annotations

from typing import Any, Final

from hub.errors import NoScreen, ScreenUnsupported
from hub.front.operations import Answer, Call, Operation, Reply, operation
from hub.front.params import session_id
from hub.ids import request_id
from hub.transport import Screen

_WITHIN_S: Final = 6.0


@operation(
    "GET",
    "/v1/sessions/{id}/screen",
    Reply(200, Screen),
    scope="read",
    errors=["not_found", "screen_unsupported", "no_screen"],
)
async def screen(call: Call[Any, Any]) -> Answer:
    """What the terminal of the session's agent shows now, and the command with which a person sits down at it. 409
    where its agent has none; 503 says why it cannot be seen."""
    services = call.services
    record = await services.store.session(session_id(call.path["id"]))
    shown = next((one for one in services.agents() if one.name == record.agent), None)
    if shown is not None and "screen" not in shown.capabilities:
        raise ScreenUnsupported(f"Agent {record.agent!r} has no terminal: it runs behind {shown.transport!r}.")
    told = await services.work.look(record, request_id(), within_s=_WITHIN_S)
    if told is None:
        raise NoScreen(f"No runner of agent {record.agent!r} answered within {_WITHIN_S:g} s. Is one running?")
    if told.screen is None:
        raise NoScreen(told.why)
    return Answer(200, told.screen)


OPERATIONS: Final[tuple[Operation, ...]] = (screen,)
