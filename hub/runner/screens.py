"""Somebody wants to see an agent's terminal: its transport looks, in bounded time; the answer is left for them."""

from __future__ import annotations

import asyncio
from typing import Final

from hub.errors import HubError
from hub.runner.contain import contained
from hub.runner.services import Services
from hub.runner.sound import said
from hub.store.records import SessionRecord
from hub.store.work import Looked

_LOOK_S: Final = 4.0


async def look(services: Services, record: SessionRecord, look_id: str) -> None:
    """Look, and leave what is seen. Raises StoreUnavailable."""
    await services.work.looked(look_id, await _looked(services, record))


async def _looked(services: Services, record: SessionRecord) -> Looked:
    transport = services.transport_of(record.agent)
    if isinstance(transport, str):
        return Looked(why=transport)
    if "screen" not in transport.capabilities:
        return Looked(why=f"Agents of the transport {transport.name!r} have no terminal.")
    session = services.session_info(record)
    try:
        async with asyncio.timeout(_LOOK_S):
            return Looked(screen=await contained(lambda: transport.screen(session)))
    except TimeoutError:
        return Looked(why=f"Its terminal did not show itself within {_LOOK_S:g} s.")
    except HubError as error:
        return Looked(why=error.detail)
    except Exception as error:  # noqa: BLE001 - a plugin's fault is told, and ends nothing
        return Looked(why=f"The transport failed to look: {said(error)}.")
