"""A session was deleted: what its transport keeps of it (an agent in a terminal, files) goes, too."""

from __future__ import annotations

import structlog

from hub.runner.connections import Connections
from hub.runner.contain import bounded
from hub.runner.services import Services
from hub.store.records import SessionRecord

_FORGET_S = 10.0


async def forget(services: Services, connections: Connections, record: SessionRecord) -> None:
    """Close what is open for the session here, and let its transport forget it, in bounded time."""
    transport = services.transport_of(record.agent)
    if isinstance(transport, str):
        return
    held = connections.idle(record.id)
    if held is not None:
        connections.take_out(held)
        await connections.close_one(held)
    session = services.session_info(record)
    if not hasattr(transport, "forget"):  # it does not inherit, and keeps nothing
        return
    if wrong := await bounded(lambda: transport.forget(session), within_s=_FORGET_S):
        log = structlog.get_logger("hub.forget").bind(session_id=record.id)
        log.error("a deleted session may have left something behind", transport=transport.name, error=wrong)
