"""The plugin: takes its configuration, says which turns are sensitive, makes their memories."""

from __future__ import annotations

import asyncio

import structlog
from msgspec.structs import replace

from hub import Distilled, DistillerSettings, FinishedTurn, Message, SessionInfo, hookimpl
from turnhub_distiller import extractive
from turnhub_distiller.account import Account, account_of
from turnhub_distiller.models import RouteFailed, ask
from turnhub_distiller.routes import by_model
from turnhub_distiller.settings import EXTRACTIVE, Route, Settings, settings_of


class Distiller:
    """Makes the memories of turns, as ``[distiller]`` says."""

    def __init__(self) -> None:
        self._settings = Settings()

    @hookimpl
    def use_distiller(self, settings: DistillerSettings) -> None:
        """Take the configuration. Raises ConfigError, naming file and key."""
        self._settings = settings_of(settings)

    @hookimpl
    async def judge_sensitive(self, session: SessionInfo, message: Message) -> str | None:
        """Why a turn is sensitive from its beginning, by ``[distiller.sensitive]``."""
        return await asyncio.to_thread(self._settings.rules.of_message, session, message)

    @hookimpl
    async def distill_turn(self, turn: FinishedTurn) -> Distilled:
        """The memory of a turn. One that has become sensitive while it ran is treated as if it had been from the
        start: this is looked at before anything is sent."""
        account, touched = await asyncio.to_thread(self._looked_at, turn)
        sensitive = turn.sensitive or touched is not None
        route = self._settings.sensitive_route if sensitive else self._settings.route
        return _by_itself(account) if route is None else await self._by(route, account, turn)

    def _looked_at(self, turn: FinishedTurn) -> tuple[Account, str | None]:
        rules = self._settings.rules
        said = rules.of_message(turn.session, turn.message) if turn.message else None
        return account_of(turn), said or rules.of_events(turn.session, turn.events)

    async def _by(self, route: Route, account: Account, turn: FinishedTurn) -> Distilled:
        try:
            return await by_model(route, account, ask)
        except RouteFailed as failed:
            log = structlog.get_logger("turnhub.distiller").bind(turn_id=turn.turn_id)
            log.warning("a route failed at distilling", route=route.name, code=failed.failure.code)
            if self._settings.fallback:
                return replace(_by_itself(account), failure=failed.failure)
            return Distilled(route=route.name, model=route.model, failure=failed.failure)


def _by_itself(account: Account) -> Distilled:
    return Distilled(distillate=extractive.distilled(account), route=EXTRACTIVE, title=extractive.title(account))
