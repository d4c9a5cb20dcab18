"""Messages that are meant for the running turn: given to the agent one at a time, in order; what it does not take
waits for the turn's end, before all others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import structlog

from hub.errors import Fenced, HubError
from hub.runner.contain import contained
from hub.runner.sound import said, sound
from hub.runner.writer import LeaseLost, Writer
from hub.store.records import Claim
from hub.store.store import Store
from hub.transport import Connection, Message, Verdict
from hub.typist import CannotConvey

_STEER_S = 60.0
_GOOD = ("submitted", "queued")


class Steering:
    """The steering of one turn. :meth:`run` has to be running."""

    def __init__(self, store: Store, claim: Claim, writer: Writer) -> None:
        self._store = store
        self._claim = claim
        self._writer = writer
        self._connection: Connection | None = None
        self._waiting: dict[str, None] = {}
        self._news = asyncio.Event()
        self._log = structlog.get_logger("hub.steer").bind(session_id=claim.session_id, turn_id=claim.turn_id)

    def wanted(self, message_ids: Iterable[str]) -> None:
        """These messages are meant for this turn."""
        for message_id in message_ids:
            self._waiting.setdefault(message_id, None)
        if self._waiting:
            self._news.set()

    def begin(self, connection: Connection) -> None:
        """The turn runs on this connection now."""
        self._connection = connection
        self._news.set()

    async def run(self) -> None:
        """Give messages to the agent until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._connection is not None and self._waiting:
                message_id = next(iter(self._waiting))
                try:
                    await self._next(self._connection, message_id)
                except (Fenced, LeaseLost):
                    return  # the turn is not ours any more; whoever ends it returns what was under way
                except HubError as error:
                    self._log.error("a message could not be given to the running turn", reason=error.detail)
                    self._waiting.pop(message_id, None)  # it waits for the turn's end

    async def _next(self, connection: Connection, message_id: str) -> None:
        message = await self._writer.persist(lambda: self._store.steer(self._claim, message_id))
        self._waiting.pop(message_id, None)
        if message is None:
            return  # taken back
        given = Message(id=message.id, text=message.text, literal=message.literal)
        verdict = await self._given(connection, given)
        taken = verdict if verdict is not None and verdict.verdict in (*_GOOD, "unverified") else None
        await self._writer.flush()
        await self._writer.persist(lambda: self._store.steered(self._claim, message_id, taken))

    async def _given(self, connection: Connection, message: Message) -> Verdict | None:
        """What is known about the words; None where the agent surely does not have them."""
        try:
            async with asyncio.timeout(_STEER_S):
                return sound(await contained(lambda: connection.steer(message)), "A steering's verdict")
        except CannotConvey as error:
            self._log.info("words for the running turn wait for its end", reason=error.detail)
        except HubError as error:
            self._log.warning("words for the running turn wait for its end", reason=error.detail)
        except TimeoutError:
            return Verdict(verdict="unverified", detail=f"The agent did not tell within {_STEER_S:g} s.")
        except Exception as error:  # noqa: BLE001 - a plugin's fault: nobody knows how far it came
            self._log.error("words could not be given to the running turn", error=said(error))
            return Verdict(verdict="unverified", detail="Something went wrong while they were given to the agent.")
        return None
