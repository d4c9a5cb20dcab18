"""Sessions: make, list, look at, change, delete."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import UNSET

from hub import ids
from hub.config import allowlisted
from hub.front import views
from hub.front.auth import require
from hub.front.instant import session_state
from hub.front.operations import Answer, Call, Operation, Reply, operation
from hub.front.params import asked, idempotency_key, page_cursor, session_id
from hub.front.problems import UnknownAgent, UnknownPolicy
from hub.front.services import Services
from hub.store.records import SessionRecord

_LINK: Final = {"Link": 'The next page, as rel="next".'}


@operation(
    "POST",
    "/v1/sessions",
    Reply(201, views.SessionView, headers={"Location": "The session."}),
    scope="send",
    body=views.NewSession,
    takes=["Idempotency-Key"],
    errors=["unknown_agent", "unknown_policy", "idempotency_mismatch", "bad_idempotency_key"],
)
async def create_session(call: Call[views.NewSession, Any]) -> Answer:
    """Make a session with an agent. The same Idempotency-Key gives the same session; with another body it
    is refused."""
    body, services = call.body, call.services
    key = idempotency_key(call.headers)
    agents = services.config.agents
    agent = agents.get(body.agent)
    if agent is None:
        known = ", ".join(sorted(agents)) or "none"
        raise UnknownAgent(f"No agent {body.agent!r} is configured. There is: {known}.", agents=sorted(agents))
    if body.policy is not None:
        require(call.token, "approve")  # choosing what is allowed is consent
        _check_policy(services, body.policy)
    record = SessionRecord(
        id=ids.session_id(key),
        agent=agent.name,
        transport=agent.transport,
        policy=agent.policy if body.policy is None else body.policy,
        title=body.title,
        cwd=_directory(agent.cwd, body.cwd),
        sensitive=body.sensitive,
        asked=asked("create", body),
    )
    granted = [allowlisted(entry) for entry in agent.approval_allowlist]
    created, _ = await services.store.create_session(record, granted)
    return Answer(201, views.session_view(created), {"Location": f"/v1/sessions/{created.id}"})


@operation(
    "GET",
    "/v1/sessions",
    Reply(200, list[views.ListedSession], headers=_LINK),
    scope="read",
    query=views.SessionsQuery,
    errors=["bad_cursor"],
)
async def list_sessions(call: Call[Any, views.SessionsQuery]) -> Answer:
    """Sessions, newest change first. Where there are more, a Link header names the next page."""
    limit = call.query.limit
    page = await call.services.overview.sessions(limit, page_cursor(call.query.before))
    headers = {}
    if page.next is not None:
        following = urlencode({"limit": limit, "before": page.next})
        headers["Link"] = f'</v1/sessions?{following}>; rel="next"'
    return Answer(200, [views.listed(one) for one in page.sessions], headers)


@operation("GET", "/v1/sessions/{id}", Reply(200, views.SessionState), scope="read", errors=["not_found"])
async def show_session(call: Call[Any, Any]) -> Answer:
    """A session at one instant: its conversation, running turn, asks, queue, and the cursor to go on from."""
    return Answer(200, await session_state(call.services.store, session_id(call.path["id"])))


@operation(
    "PATCH",
    "/v1/sessions/{id}",
    Reply(200, views.SessionView),
    scope="send",
    body=views.SessionChanges,
    errors=["not_found", "unknown_policy"],
)
async def change_session(call: Call[views.SessionChanges, Any]) -> Answer:
    """Change a session's title, policy or sensitivity, or archive it. What is not named stays as it is."""
    body, store, name = call.body, call.services.store, session_id(call.path["id"])
    changes: dict[str, str] = {}
    if body.title is not UNSET:
        changes["title"] = body.title or ""
    if body.policy is not UNSET:
        require(call.token, "approve")
        if body.policy is not None:
            _check_policy(call.services, body.policy)
        changes["policy"] = body.policy or ""
    if body.archived is not UNSET:
        changes["archived"] = "1" if body.archived else "0"
    if body.sensitive is not UNSET:
        if not body.sensitive:
            require(call.token, "approve")
        changes["sensitive"] = "1" if body.sensitive else "0"
    record = await store.patch_session(name, changes) if changes else await store.session(name)
    return Answer(200, views.session_view(record))


@operation(
    "DELETE",
    "/v1/sessions/{id}",
    Reply(204),
    scope="admin",
    query=views.DeleteQuery,
    errors=["not_found", "turn_in_flight"],
)
async def delete_session(call: Call[Any, views.DeleteQuery]) -> Answer:
    """Forget a session and its log, for good. While a turn runs only with `force`."""
    services, name = call.services, session_id(call.path["id"])
    record = await services.store.session(name)
    await services.store.delete_session(name, force=call.query.force)
    await services.work.ring_deleted(record)
    return Answer(204)


def _directory(base: str, wanted: str | None) -> str:
    """Where the session works: absolute, as written (the runner's machine knows whether it is there)."""
    start = Path(base).expanduser().absolute()
    return os.path.normpath(start / wanted) if wanted else str(start)


def _check_policy(services: Services, policy: str) -> None:
    known = services.policies
    if known is not None and policy not in known:
        told = ", ".join(sorted(known)) or "none"
        raise UnknownPolicy(f"No policy {policy!r} is configured. There is: {told}.", policies=sorted(known))


OPERATIONS: Final[tuple[Operation, ...]] = (
    create_session,
    list_sessions,
    show_session,
    change_session,
    delete_session,
)
