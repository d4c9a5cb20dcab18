"""Answering for a turn that has begun, or runs already: its stream, or a word about it."""

from __future__ import annotations

import logging
from typing import Any

from hub.errors import AgentUnavailable, HubError, NotFound, StoreReadOnly, StoreUnavailable, TurnInFlight
from hub.front.instant import begun_turn
from hub.front.operations import Answer, Call, Outcome
from hub.front.params import EVENT_STREAM, JSON, preferred
from hub.front.services import Services
from hub.front.sse import EventStream
from hub.front.views import Accepted, TurnView, turn_view
from hub.store.records import Begun

log = logging.getLogger(__name__)


async def begin_able(services: Services, session_id: str) -> str:
    """The session's agent, where it can be asked at all. Raises NotFound; AgentUnavailable where it was taken
    out of the configuration: no runner would ever take its turn."""
    agent = (await services.store.session(session_id)).agent
    if agent not in services.config.agents:
        raise AgentUnavailable(
            f"Agent {agent!r} of this session is not configured any more. Put [agents.{agent}] back, or open a "
            "session with another agent."
        )
    return agent


async def answer(call: Call[Any, Any], begun: Begun, agent: str) -> Outcome:
    """What the caller of a begun turn gets; a runner is called for it, once."""

    async def ring() -> None:
        if not begun.repeated:
            await _ring(call.services, begun, agent)

    if _wants_stream(call):
        try:
            subscription = await call.services.feed.turn(begun.session_id, turn_id=begun.turn_id)
        except HubError:
            await ring()
            raise
        if subscription is None:
            raise NotFound(f"There is no turn {begun.turn_id!r} any more.")
        return EventStream(subscription, then=ring, counted=call.services.metrics.stream("turn"))
    await ring()
    turn = await begun_turn(call.services.store, begun)
    return Answer(202, Accepted(turn=turn, message_id=begun.message_id))


async def attach(call: Call[Any, Any], session_id: str, busy: TurnInFlight) -> Outcome:
    """The turn that runs, for a caller whose message was not taken."""
    facts, services = busy.facts, call.services
    if _wants_stream(call):
        subscription = await services.feed.turn(session_id, turn_id=facts["turn_id"])
        if subscription is None:
            raise NotFound(f"There is no turn {facts['turn_id']!r} any more.")
        return EventStream(subscription, counted=services.metrics.stream("turn"))
    turn = TurnView(
        id=facts["turn_id"], state=facts["state"], started_at=facts["started_at"], attempt=facts["attempt"]
    )
    running = await services.store.turn(session_id)
    if running is None or running.id != turn.id:
        raise busy  # it has ended since: the caller's message can be sent now
    return Answer(200, Accepted(turn=turn, message_id=running.message.id))


async def steered(call: Call[Any, Any], session_id: str, busy: TurnInFlight, message_id: str) -> Outcome:
    """The turn that a message was given to; where it has ended meanwhile, the message waits or has begun."""
    facts, services = busy.facts, call.services
    if _wants_stream(call):
        subscription = await services.feed.turn(session_id, turn_id=facts["turn_id"])
        if subscription is not None:
            return EventStream(subscription, counted=services.metrics.stream("turn"))
    running = await services.store.turn(session_id)
    return Answer(202, Accepted(turn=turn_view(running), message_id=message_id))


async def _ring(services: Services, begun: Begun, agent: str) -> None:
    try:
        await services.work.ring(agent, begun.session_id, begun.turn_id)
    except (StoreUnavailable, StoreReadOnly) as error:
        # The turn stands in the store: whoever sweeps for overdue turns rings again.
        log.warning("no runner could be called for %s yet: %s", begun.turn_id, error.code)


def _wants_stream(call: Call[Any, Any]) -> bool:
    return preferred(call.headers, (JSON, EVENT_STREAM)) == EVENT_STREAM
