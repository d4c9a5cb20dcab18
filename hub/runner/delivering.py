"""The deliveries of one turn: what a :class:`~hub.runner.delivery.Delivery` needs of the hub."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pluggy
import structlog

from hub import hooks
from hub.hookspecs import Evidence
from hub.runner.delivery import Delivery, Verify
from hub.runner.services import Services
from hub.runner.writer import Writer
from hub.store.records import Claim
from hub.transport import Message, SessionInfo, Verdict
from hub.typist import Conveyed, Hold, Sight, Typist

_TYPING = "hub.typing"
_VERIFY_S = 5.0


class Delivering:
    """Delivers for one turn. ``adopted``: another runner had the turn before."""

    def __init__(
        self, services: Services, claim: Claim, session: SessionInfo, writer: Writer, *, adopted: bool
    ) -> None:
        self._services = services
        self._claim = claim
        self._session = session
        self._writer = writer
        self._adopted = adopted

    @property
    def known(self) -> Verdict | None:
        """What the log says of the delivery of the turn's message."""
        found = self._writer.tally.delivered
        return None if found is None else Verdict(verdict=found.verdict, proof=found.proof, detail=found.detail)

    @property
    def begun(self) -> bool:
        """Whether a runner before this one may have typed the turn's message."""
        return self._adopted and self._session.memory.get(_TYPING) == self._claim.turn_id

    def exclusive(self, place: str) -> AbstractAsyncContextManager[Hold]:
        """The lock of a terminal."""
        return self._services.exclusive.hold(place)

    async def words(self, typist: Typist, message: Message) -> Verdict:
        """Type further words for the running turn. Raises CannotConvey."""
        return await Delivery(typist, message, self._verify(message)).run(self.exclusive)

    async def message(self, typist: Typist, message: Message) -> Verdict:
        """Type the turn's own message; where another runner had begun to, find out first what became of it.
        Raises CannotConvey, LeaseLost."""
        delivery = Delivery(typist, message, self._verify(message), self._mark)
        return await delivery.run(self.exclusive, resumed=self.begun)

    async def _mark(self) -> None:
        """Keep that the message may have been typed, before it is."""
        typing = {_TYPING: self._claim.turn_id}
        await self._writer.persist(lambda: self._services.store.remember(self._claim, typing))

    def _verify(self, message: Message) -> Verify:
        return asking_plugins(self._services.plugins.manager, self._session, message)


def asking_plugins(manager: pluggy.PluginManager, session: SessionInfo, message: Message) -> Verify:
    """The ladder of those who can tell what became of ``message``. One that fails has not told."""
    log = structlog.get_logger("hub.delivery").bind(session_id=session.id)
    told: set[str] = set()

    async def verify(before: Sight, now: Sight, conveyed: Conveyed) -> Verdict | None:
        evidence = Evidence(
            session=session, message=message, text=conveyed.text, before=before.seen, after=now.seen
        )
        try:
            async with asyncio.timeout(_VERIFY_S):
                answer = await hooks.first(manager, "verify_delivery", evidence=evidence)
        except (hooks.HookFailed, TimeoutError) as error:
            reason = str(error) or "it took too long"
            if reason not in told:
                told.add(reason)
                log.warning("a delivery could not be verified", error=reason)
            return None
        return answer.value if answer else None

    return verify
