"""Distilling ended turns: off their slot, a few side by side, each once over all runners and restarts.

The backlog is in the store, written with a turn's end. A runner that has just ended a turn is told of it here; all
runners look through the backlog now and then for what nobody works on. A claim is a lease, kept while the plugin
works: what a runner that died had claimed is anybody's when that is over.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import structlog

from hub import ids
from hub.errors import HubError, StoreForeign
from hub.hookspecs import Distilled, DistillFailure
from hub.runner.remembering import remembered, title_of, written
from hub.runner.sensitive import distills
from hub.runner.services import Services
from hub.runner.sound import said
from hub.runner.writer import AWAY, RETRY_S
from hub.store.distilling import Undistilled

_LOOK_S: Final = 5.0
_KNOWN_MOST: Final = 1_000
_TRIES: Final = 3
_RELEASE_S: Final = 1.0
_AGAIN_S: Final = 1.0

Waiting = tuple[str, str]


class Distilling:
    """The distiller of one runner; :meth:`run` has to be running."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._known: dict[Waiting, None] = {}
        self._something = asyncio.Event()
        self._room = asyncio.Semaphore(services.config.runner.distill_at_once)
        self._working: set[Waiting] = set()
        self._log = structlog.get_logger("hub.distill").bind(runner=services.runner_id)

    def ended(self, session_id: str, turn_id: str) -> None:
        """A turn has ended here. With too many known already, it is found later."""
        if len(self._known) < _KNOWN_MOST:
            self._known.setdefault((session_id, turn_id))
            self._something.set()

    async def run(self) -> None:
        """Distill until cancelled; what is claimed then is let go of."""
        if not distills(self._services):
            return
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look_again())
            while True:
                await self._room.acquire()
                group.create_task(self._one(await self._next()))

    async def _next(self) -> Waiting:
        while not self._known:
            self._something.clear()
            await self._something.wait()
        waiting = next(iter(self._known))
        del self._known[waiting]
        self._working.add(waiting)
        return waiting

    async def _look_again(self) -> None:
        """Find what nobody works on, for ever. While the store is away there is nothing to be found."""
        overview, interval_s = self._services.overview, min(_LOOK_S, self._services.config.runner.lease_s)
        told = ""
        while True:
            try:
                self._services.metrics.distill_backlog(await overview.backlog())
                for waiting in await overview.undistilled(_KNOWN_MOST):
                    if waiting not in self._working:
                        self.ended(*waiting)
            except StoreForeign as error:  # that does not pass by itself
                if error.detail != told:
                    self._log.error("cannot tell which turns wait to be distilled", error=error.detail)
                told = error.detail
            except HubError:
                pass
            await asyncio.sleep(interval_s)

    async def _one(self, waiting: Waiting) -> None:
        """One turn. Whatever goes wrong with it, it is found again when its claim has run out."""
        session_id, turn_id = waiting
        try:
            turn = await self._services.store.claim_distillation(
                session_id, turn_id, ids.request_id(), self._lease_ms
            )
            if turn is not None:
                await self._claimed(turn)
        except Exception as error:  # noqa: BLE001 - see above; the others go on
            self._log.warning("could not distill a turn", turn_id=turn_id, error=said(error))
            self._log.debug("that error", exc_info=error)
            await asyncio.sleep(_AGAIN_S)
        finally:
            self._working.discard(waiting)
            self._room.release()

    @property
    def _lease_ms(self) -> int:
        return int(self._services.config.runner.lease_s * 1000)

    async def _claimed(self, turn: Undistilled) -> None:
        keeping = asyncio.create_task(self._keep(turn))
        try:
            made = await self._made(turn)
            if await self._write(turn, made) and made is not None:
                self._services.metrics.distilled(made.route, made.failure.code if made.failure else "")
        except asyncio.CancelledError:
            await self._let_go(turn)
            raise
        finally:
            keeping.cancel()
            await asyncio.wait({keeping})

    async def _write(self, turn: Undistilled, made: Distilled | None) -> bool:
        """Write what was made, however long the store is away: making it again would cost again. Whether it was
        ours to write."""
        events, title = written(turn, made), title_of(made)
        while True:
            try:
                return await self._services.store.distilled(turn, events, title)
            except AWAY:
                await asyncio.sleep(RETRY_S)

    async def _made(self, turn: Undistilled) -> Distilled | None:
        if turn.tries > _TRIES:
            sentence = f"{_TRIES} runners went away in the middle of distilling this turn; it is not tried again."
            return Distilled(failure=DistillFailure(code="given_up", message=sentence))
        return await remembered(self._services, turn)

    async def _keep(self, turn: Undistilled) -> None:
        """Keep the claim. Where that fails it runs out, and what is made here is not written."""
        while True:
            await asyncio.sleep(self._lease_ms / 3000)
            with suppress(HubError):
                await self._services.store.claim_distillation(
                    turn.session.id, turn.turn_id, turn.claim, self._lease_ms
                )

    async def _let_go(self, turn: Undistilled) -> None:
        with suppress(HubError, TimeoutError):  # its claim runs out by itself
            async with asyncio.timeout(_RELEASE_S):
                await self._services.store.release_distillation(turn)
