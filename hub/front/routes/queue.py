"""Messages that wait: changed, taken back, begun after a turn that failed."""

from __future__ import annotations

import re
from typing import Any, Final

from hub.errors import Invalid, NotFound
from hub.front import views
from hub.front.operations import Answer, Call, Operation, Outcome, Reply, operation
from hub.front.params import EVENT_STREAM, session_id
from hub.front.turns import answer, begin_able

_MESSAGE_ID: Final = re.compile(r"msg_[0-9a-z]{26}")


@operation(
    "PATCH",
    "/v1/sessions/{id}/queue/{message_id}",
    Reply(200, views.QueuedView),
    scope="send",
    body=views.QueuedChange,
    errors=["not_found", "message_begun"],
)
async def edit_queued(call: Call[views.QueuedChange, Any]) -> Answer:
    """Change the words of a waiting message; it keeps its place. 409 once its turn has begun."""
    name, message_id = session_id(call.path["id"]), _message_id(call)
    if not call.body.text.strip():
        raise Invalid("`text` is empty. Say something, or take the message back.", field="text")
    store = call.services.store
    message = await store.edit_queued(name, message_id, call.body.text, literal=call.body.literal)
    return Answer(200, views.queued_view(message))


@operation(
    "DELETE",
    "/v1/sessions/{id}/queue/{message_id}",
    Reply(204),
    scope="send",
    errors=["not_found", "message_begun"],
)
async def unqueue(call: Call[Any, Any]) -> Answer:
    """Take a waiting message back. 409 once its turn has begun."""
    await call.services.store.unqueue(session_id(call.path["id"]), _message_id(call))
    return Answer(204)


@operation(
    "POST",
    "/v1/sessions/{id}/queue/resume",
    Reply(202, views.Accepted),
    Reply(200, views.Frame, EVENT_STREAM),
    scope="send",
    takes=["Accept"],
    errors=["not_found", "turn_in_flight", "nothing_queued", "agent_unavailable"],
)
async def resume_queue(call: Call[Any, Any]) -> Outcome:
    """Begin the message that waits first, where a failed turn left the queue standing. Answers as a message
    does."""
    name = session_id(call.path["id"])
    agent = await begin_able(call.services, name)
    return await answer(call, await call.services.store.resume_queue(name), agent)


def _message_id(call: Call[Any, Any]) -> str:
    message_id = call.path["message_id"]
    if not _MESSAGE_ID.fullmatch(message_id):
        raise NotFound(f"There is no queued message {message_id[:80]!r}.")
    return message_id


OPERATIONS: Final[tuple[Operation, ...]] = (resume_queue, edit_queued, unqueue)  # `resume` is no message
