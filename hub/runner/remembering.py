"""From an ended turn to what is written of it: plugins asked, their answer checked, failures named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import msgspec
import structlog

from hub import hooks
from hub.errors import PluginError
from hub.events import (
    AnyEvent,
    DistillFailed,
    Terminal,
    TurnDistilled,
    Unknown,
    decode,
    line_of,
    stamp,
)
from hub.hookspecs import Distilled, DistillFailure, FinishedTurn
from hub.runner.contain import stop
from hub.runner.services import Services
from hub.runner.sound import sound
from hub.store.distilling import Undistilled
from hub.store.store import Store

_PLUGIN_S: Final = 600.0
_STOP_S: Final = 2.0
_TITLE_MOST: Final = 200
_JOINERS: Final = "\u200c\u200d"


async def remembered(services: Services, turn: Undistilled, *, within_s: float = _PLUGIN_S) -> Distilled | None:
    """What plugins make of a turn; None where none has an opinion. Never raises for what a plugin does. Raises
    StoreUnavailable."""
    finished = await finished_turn(services, turn)
    if finished is None:
        return _failed("unreadable", "The events of this turn cannot be read, so nothing could be made of it.")
    task = asyncio.create_task(_asked(services, finished))
    try:
        await asyncio.wait({task}, timeout=within_s)
    finally:
        late = not task.done()
        await stop(task, within_s=_STOP_S)
    if late:
        return _failed("timeout", f"No plugin had made anything of this turn within {within_s:g} s.")
    return task.result()


async def _asked(services: Services, finished: FinishedTurn) -> Distilled | None:
    try:
        answer = await hooks.first(services.plugins.manager, "distill_turn", turn=finished)
        return None if answer is None else sound(answer.value, f"The answer of plugin {answer.plugin!r}")
    except PluginError as error:
        log = structlog.get_logger("hub.distill").bind(turn_id=finished.turn_id)
        plugins = error.plugins if isinstance(error, hooks.HookFailed) else ()
        log.error("a turn could not be distilled", plugins=plugins)
        log.debug("that error", exc_info=error)
        kind = type(error.__cause__ or error).__name__
        who = ", ".join(map(repr, plugins)) or "that distills"
        return _failed("plugin_error", f"Plugin {who} failed at distilling ({kind}); the hub's log tells more.")


def _failed(code: str, message: str) -> Distilled:
    return Distilled(failure=DistillFailure(code=code, message=message))


async def finished_turn(services: Services, turn: Undistilled) -> FinishedTurn | None:
    """The turn as plugins see it; None where the log does not tell how it ended. Raises StoreUnavailable."""
    events = tuple([event async for event in _events(services.store, turn)])
    if not events or not isinstance(events[-1], Terminal):
        return None
    session = services.session_info(turn.session)
    return FinishedTurn(
        session=session,
        turn_id=turn.turn_id,
        events=events,
        ending=events[-1],
        message=turn.message,
        sensitive=turn.sensitive or turn.session.sensitive or services.sensitive(session.policy),
    )


async def _events(store: Store, turn: Undistilled) -> AsyncIterator[AnyEvent]:
    after = turn.first - 1
    while after < turn.last and (page := await store.log_page(turn.session.id, after)):
        for entry in page:
            if entry.turn_id == turn.turn_id and entry.seq <= turn.last:
                try:
                    event = decode(line_of(entry.frame))
                except (msgspec.MsgspecError, ValueError, RecursionError):
                    continue
                if not isinstance(event, Unknown):
                    yield event
        after = page[-1].seq


def written(turn: Undistilled, made: Distilled | None) -> list[TurnDistilled | DistillFailed]:
    """Pure: the events of what was made, the failure first."""
    events: list[TurnDistilled | DistillFailed] = []
    if made is not None and made.failure is not None:
        events.append(DistillFailed(code=made.failure.code, message=made.failure.message))
    if made is not None and made.distillate is not None:
        events.append(TurnDistilled(distillate=made.distillate, route=made.route, model=made.model))
    stamped: list[AnyEvent] = [stamp(event, turn.session.id, turn.turn_id) for event in events]
    return stamped  # type: ignore[return-value] # stamp keeps the type


def title_of(made: Distilled | None) -> str | None:
    """Pure: the title that was made, as one short line of signs that can be seen; None for none."""
    told = (made.title or "") if made is not None else ""
    words = " ".join("".join(sign if sign.isprintable() or sign in _JOINERS else " " for sign in told).split())
    return words[:_TITLE_MOST].rstrip() or None
