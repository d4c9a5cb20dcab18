"""What plugins see waiting in a session: each question once, and never felt when a plugin fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pluggy
import structlog

from hub import hooks
from hub.asks import AskRequest, merged
from hub.errors import PluginError
from hub.runner.sound import sound
from hub.transport import SessionInfo

_SOURCE_S: Final = 2.0


async def sourced(
    manager: pluggy.PluginManager, session: SessionInfo, seen: Mapping[str, Any], *, within_s: float = _SOURCE_S
) -> tuple[AskRequest, ...]:
    """The requests of all plugins with ``source_questions``, merged. One that fails, or takes longer than
    ``within_s`` seconds, has seen nothing; it is logged."""
    try:
        answers = await hooks.every(manager, "source_questions", within=within_s, session=session, seen=seen)
    except hooks.HookFailed as failed:
        log = structlog.get_logger("hub.asks")
        log.error("a plugin could not say what waits", session_id=session.id, plugins=failed.plugins)
        log.debug("that plugin's error", reason=failed.detail)
        answers = list(failed.answers)
    return merged(request for answer in answers for request in _sound(answer))


def _sound(answer: hooks.Answer) -> Iterator[AskRequest]:
    """The sound ones among a plugin's requests."""
    for request in answer.value:
        try:
            yield _checked(request, answer.plugin)
        except PluginError as error:
            log = structlog.get_logger("hub.asks")
            log.error("what a plugin sees waiting is no sound request", plugin=answer.plugin)
            log.debug("that request's fault", reason=error.detail)


def _checked(request: object, plugin: str) -> AskRequest:
    if not isinstance(request, AskRequest):
        raise PluginError(f"Plugin {plugin!r} sees a {type(request).__name__} waiting, which is no AskRequest.")
    return sound(request, f"What plugin {plugin!r} sees waiting")
