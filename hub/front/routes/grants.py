"""Grants: the standing consent of a session, listed and taken back."""

from __future__ import annotations

from typing import Any, Final

from hub.asks import Grant
from hub.events import By
from hub.front.operations import Answer, Call, Operation, Reply, operation
from hub.front.params import session_id


@operation("GET", "/v1/sessions/{id}/grants", Reply(200, list[Grant]), scope="read", errors=["not_found"])
async def list_grants(call: Call[Any, Any]) -> Answer:
    """What the session may without asking, oldest first; each says which ask, or which configuration, gave it."""
    return Answer(200, await call.services.store.grants(session_id(call.path["id"])))


@operation("DELETE", "/v1/sessions/{id}/grants/{grant_id}", Reply(204), scope="approve", errors=["not_found"])
async def revoke_grant(call: Call[Any, Any]) -> Answer:
    """Take a grant back: from now on its call is judged, and asked for, without it."""
    by = By(kind="person", name=call.token.name)
    await call.services.store.revoke_grant(session_id(call.path["id"]), call.path["grant_id"], by)
    return Answer(204)


OPERATIONS: Final[tuple[Operation, ...]] = (list_grants, revoke_grant)
