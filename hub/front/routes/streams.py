"""Streams: the running turn, a session's log, the whole hub."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from hub.errors import BadCursor
from hub.events import line_of
from hub.front import views
from hub.front.instant import last_seq
from hub.front.joined import Joined
from hub.front.operations import Answer, Call, Operation, Outcome, Reply, operation
from hub.front.params import EVENT_STREAM, JSON, cursor, preferred, session_id
from hub.front.sse import EventStream

_STREAM: Final = Reply(200, views.Frame, EVENT_STREAM)


@operation(
    "GET",
    "/v1/sessions/{id}/live",
    _STREAM,
    Reply(204),
    scope="read",
    query=views.LiveQuery,
    takes=["Last-Event-ID"],
    errors=["not_found", "bad_cursor"],
)
async def follow_turn(call: Call[Any, views.LiveQuery]) -> Outcome:
    """The running turn's stream, from its first event or after the cursor, to its terminal event. 204 when no
    turn runs."""
    after = cursor(call.headers, call.params, "last_event_id")
    subscription = await call.services.feed.turn(session_id(call.path["id"]), after=after)
    if subscription is None:
        return Answer(204)
    return EventStream(subscription, counted=call.services.metrics.stream("turn"))


@operation(
    "GET",
    "/v1/sessions/{id}/events",
    _STREAM,
    Reply(200, views.EventsPage),
    scope="read",
    query=views.EventsQuery,
    takes=["Last-Event-ID", "Accept"],
    errors=["not_found", "bad_cursor"],
)
async def session_events(call: Call[Any, views.EventsQuery]) -> Outcome:
    """The session's durable events after the cursor, then what follows, across turns. With
    `Accept: application/json` one page of them."""
    name = session_id(call.path["id"])
    after = cursor(call.headers, call.params, "after")
    if preferred(call.headers, (EVENT_STREAM, JSON)) == JSON:
        return await _page(call, name, after)
    subscription = await call.services.feed.log(name, after=after)
    return EventStream(subscription, counted=call.services.metrics.stream("session"))


async def _page(call: Call[Any, views.EventsQuery], name: str, after: int) -> Answer:
    store, limit = call.services.store, call.query.limit
    if after > (stands := await last_seq(store, name)):
        raise BadCursor(f"Cursor {after} is ahead of this session, which stands at {stands}.")
    found = await store.log_page(name, after, limit + 1)
    following = found[limit - 1].seq if len(found) > limit else None
    lines = b",".join(line_of(entry.frame) for entry in found[:limit])
    return Answer(200, b'{"events":[' + lines + b'],"next":' + msgspec.json.encode(following) + b"}")


@operation(
    "GET",
    "/v1/events",
    _STREAM,
    scope="read",
    query=views.HubEventsQuery,
    takes=["Last-Event-ID"],
    errors=["not_found", "bad_cursor"],
)
async def hub_events(call: Call[Any, views.HubEventsQuery]) -> Outcome:
    """What changes in the whole hub (sessions, turns, asks), as hints to look again. With `session` also every
    event of that session behind the cursor, transient ones of a running turn included: all that a page needs, by
    one connection. Only events have an id, which is the cursor."""
    feed, counted = call.services.feed, call.services.metrics.stream("hub")
    if call.query.session is None:
        return EventStream(await feed.hub(), counted=counted)
    name = session_id(call.query.session)
    log = await feed.log(name, after=cursor(call.headers, call.params, "after"), transient=True)
    try:
        hints = await feed.hub()
    except BaseException:
        await log.close()
        raise
    return EventStream(Joined((hints, log)), counted=counted)


OPERATIONS: Final[tuple[Operation, ...]] = (follow_turn, session_events, hub_events)
