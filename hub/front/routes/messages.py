"""Messages: send, try again, interrupt, take back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from hub import ids
from hub.errors import Invalid, MessageBegun, NotFound, SteerUnsupported, StillQueued, TurnInFlight
from hub.events import MessageUnqueued, TurnStarted, decode_frames
from hub.front import views
from hub.front.instant import last_seq
from hub.front.operations import Answer, Call, Operation, Outcome, Reply, operation
from hub.front.params import EVENT_STREAM, idempotency_key, session_id
from hub.front.problems import ResumeUnsupported
from hub.front.services import Services
from hub.front.turns import answer, attach, begin_able, steered
from hub.store.records import Begun
from hub.store.subscription import Subscription
from hub.transport import Capability

_TRIES: Final = 5
_STOP_EXTRA_S: Final = 10.0
_TAKEN: Final = Reply(202, views.Accepted)
_STREAM: Final = Reply(200, views.Frame, EVENT_STREAM)
_BEGIN_ERRORS: Final = (
    "not_found",
    "turn_in_flight",
    "idempotency_mismatch",
    "bad_idempotency_key",
    "agent_unavailable",
)


@operation(
    "POST",
    "/v1/sessions/{id}/messages",
    _TAKEN,
    _STREAM,
    Reply(200, views.Accepted),
    scope="send",
    body=views.NewMessage,
    takes=["Idempotency-Key", "Accept"],
    errors=[*_BEGIN_ERRORS, "steer_unsupported", "overloaded"],
)
async def send_message(call: Call[views.NewMessage, Any]) -> Outcome:
    """Send a message, which starts a turn. With `Accept: text/event-stream` the answer is the turn's stream
    from its first event, else 202 at once. The same Idempotency-Key gives the same turn, always. `on_busy`
    says what to do while another turn runs: reject (409), attach (200: that turn, nothing written), queue
    (202, begins by itself), steer (words into that turn), interrupt (ends that turn first)."""
    name, body, store = session_id(call.path["id"]), call.body, call.services.store
    key = idempotency_key(call.headers)
    if not body.text.strip():
        raise Invalid("`text` is empty. Say something.", field="text")
    agent = await begin_able(call.services, name)

    async def begin() -> Begun:
        attach = body.on_busy == "attach"
        return await store.begin(name, body.text, literal=body.literal, idempotency_key=key, attach=attach)

    try:
        try:
            begun = await begin()
        except TurnInFlight as busy:
            return await _when_busy(call, name, agent, busy, begin)
    except StillQueued as waits:
        return Answer(202, views.Accepted(turn=None, message_id=waits.facts["message_id"]))
    return await answer(call, begun, agent)


async def _when_busy(
    call: Call[views.NewMessage, Any],
    name: str,
    agent: str,
    busy: TurnInFlight,
    begin: Callable[[], Awaitable[Begun]],
) -> Outcome:
    match call.body.on_busy:
        case "attach":
            return await attach(call, name, busy)
        case "queue":
            return await _queue(call, name, agent, begin)
        case "interrupt":
            return await _interrupt(call, name, agent, busy)
        case "steer":
            return await _steer(call, name, agent, busy, begin)
        case _:
            raise busy


async def _queue(
    call: Call[views.NewMessage, Any], name: str, agent: str, begin: Callable[[], Awaitable[Begun]]
) -> Outcome:
    """Let the message wait; where the turn ends before it can, begin. Each may just miss the other."""
    for _ in range(_TRIES):
        key = idempotency_key(call.headers)
        queued = await call.services.store.enqueue(
            name, call.body.text, literal=call.body.literal, idempotency_key=key
        )
        if queued is not None:
            return Answer(202, views.Accepted(turn=None, message_id=queued.id))
        try:
            return await answer(call, await begin(), agent)
        except TurnInFlight as still:
            busy = still
    raise busy


def _can(services: Services, agent: str, capability: Capability) -> bool:
    shown = next((one for one in services.agents() if one.name == agent), None)
    return shown is not None and capability in shown.capabilities


async def _steer(
    call: Call[views.NewMessage, Any],
    name: str,
    agent: str,
    busy: TurnInFlight,
    begin: Callable[[], Awaitable[Begun]],
) -> Outcome:
    """Give the message to the running turn, where its transport takes any."""
    if not _can(call.services, agent, "steer"):
        raise SteerUnsupported(
            f"Agent {agent!r} takes no words into a running turn. Use on_busy `queue` or `interrupt`.",
            **busy.facts,
        )
    for _ in range(_TRIES):
        key = idempotency_key(call.headers)
        queued = await call.services.store.enqueue(
            name, call.body.text, literal=call.body.literal, idempotency_key=key, steer=True
        )
        if queued is not None:
            return await steered(call, name, busy, queued.id)
        try:
            return await answer(call, await begin(), agent)
        except TurnInFlight as still:
            busy = still
    raise busy


async def _interrupt(call: Call[views.NewMessage, Any], name: str, agent: str, busy: TurnInFlight) -> Outcome:
    """End the running turn; the message begins with that end, before all that wait. Where the end does not come in
    time the message is taken back, and TurnInFlight raised."""
    body, services, store = call.body, call.services, call.services.store
    key = idempotency_key(call.headers) or ids.request_id()  # by which the message's turn is found
    for _ in range(_TRIES):
        # From before the message is there: so its beginning is surely seen.
        news = await services.feed.log(name, after=await last_seq(store, name))
        async with news:
            queued = await store.enqueue(
                name, body.text, literal=body.literal, idempotency_key=key, interrupt=call.token.name
            )
            if queued is not None and not await _begins(services, news, queued.id):
                with suppress(MessageBegun, NotFound):  # it has begun, or somebody took it back
                    await store.unqueue(name, queued.id, refused=True)
                    raise busy
        try:
            begun = await store.begin(name, body.text, literal=body.literal, idempotency_key=key)
        except TurnInFlight as still:
            busy = still
        else:
            return await answer(call, begun, agent)
    raise busy


async def _begins(services: Services, news: Subscription, message_id: str) -> bool:
    """Wait until a message begins, or is taken back; whether one of them came in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(services.config.runner.interrupt_grace_s + _STOP_EXTRA_S):
            while (frames := await news.read()) is not None:
                for event in decode_frames(frames):
                    if isinstance(event, TurnStarted | MessageUnqueued) and event.message_id == message_id:
                        return True
            return True
    return False


@operation(
    "POST",
    "/v1/sessions/{id}/retry",
    _TAKEN,
    _STREAM,
    scope="send",
    body=views.Retry,
    optional=True,
    takes=["Idempotency-Key", "Accept"],
    errors=[*_BEGIN_ERRORS, "no_retryable_turn", "resume_unsupported"],
)
async def retry(call: Call[views.Retry, Any]) -> Outcome:
    """A new attempt for the last user message, where no completed turn follows it. Answers as a message does."""
    name = session_id(call.path["id"])
    key = idempotency_key(call.headers)
    agent = await begin_able(call.services, name)
    resume = call.body.mode == "resume"
    if resume and not _can(call.services, agent, "resume"):
        raise ResumeUnsupported(f"Agent {agent!r} cannot go on where it stopped. Use mode `rerun`.")
    return await answer(call, await call.services.store.retry(name, resume=resume, idempotency_key=key), agent)


@operation(
    "POST",
    "/v1/sessions/{id}/interrupt",
    Reply(202, views.Stopping),
    scope="send",
    errors=["not_found", "no_active_turn"],
)
async def interrupt(call: Call[Any, Any]) -> Answer:
    """Ask the running turn to stop. Its end comes over its stream."""
    turn_id = await call.services.store.cancel(session_id(call.path["id"]), call.token.name)
    return Answer(202, views.Stopping(turn_id=turn_id))


OPERATIONS: Final[tuple[Operation, ...]] = (send_message, retry, interrupt)
