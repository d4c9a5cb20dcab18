"""Whether a turn is sensitive: decided when it is taken, and kept with it in the store."""

from __future__ import annotations

import structlog

from hub import hooks
from hub.errors import HubError
from hub.runner.services import Services
from hub.store.records import Taken

_ASKED_S = 2.0


def distills(services: Services) -> bool:
    """Whether any plugin here makes memories of turns."""
    return bool(services.plugins.manager.hook.distill_turn.get_hookimpls())


async def decide(services: Services, taken: Taken) -> None:
    """Have a turn of ours distilled when it has ended, and keep with it whether it is sensitive. Nothing happens
    where nobody distills. Raises Fenced, StoreUnavailable, StoreReadOnly."""
    if distills(services):
        sensitive = await _sensitive(services, taken)
        most = services.config.runner.distill_backlog
        await services.store.mark(taken.claim, sensitive=sensitive, most=most)


async def _sensitive(services: Services, taken: Taken) -> bool:
    """A plugin that cannot tell counts as one that says so."""
    session = services.session_info(taken.session)
    if taken.session.sensitive or services.sensitive(session.policy):
        return True
    manager, message = services.plugins.manager, taken.turn.message
    log = structlog.get_logger("hub.distill").bind(session_id=session.id, turn_id=taken.turn.id)
    try:
        said = await hooks.every(manager, "judge_sensitive", within=_ASKED_S, session=session, message=message)
    except hooks.HookFailed as failed:
        log.error("nobody knows whether a turn is sensitive, so it is", plugins=failed.plugins)
        return True
    if said:
        log.info("a turn is sensitive", plugin=said[0].plugin, why=str(said[0].value))
    return bool(said)


async def decide_late(services: Services, taken: Taken) -> None:
    """As :func:`decide`, where the turn is about to end: if that fails, the turn ends without being distilled."""
    try:
        await decide(services, taken)
    except HubError as error:
        log = structlog.get_logger("hub.distill").bind(turn_id=taken.turn.id)
        log.warning("a turn is not distilled", error=error.detail)
