"""The store's calls about messages that wait for a turn's end."""

from __future__ import annotations

from hub import ids
from hub.errors import MessageBegun, NothingQueued, Overloaded
from hub.events import MessageQueued, UserMessage, encode_body, stamp, to_json
from hub.store.common import StoreBase, body_from, in_flight, missing
from hub.store.records import Begun, QueuedMessage, queued_messages
from hub.store.transactions import Argument, transact
from hub.store.turns import fingerprint, still_queued


class Queueing(StoreBase):
    """Messages wait, are changed, taken back, begun."""

    async def enqueue(
        self,
        session_id: str,
        text: str,
        *,
        literal: bool = True,
        idempotency_key: str | None = None,
        steer: bool = False,
        interrupt: str | None = None,
    ) -> QueuedMessage | None:
        """Let a message wait for the running turn to end, or behind those that wait already; None when there is
        nothing to wait for (begin a turn instead). ``steer``: it is meant for that turn, and waits only where the
        agent does not take it. ``interrupt``: who has that turn ended for it, so that it begins with that end,
        before all others but those that came to interrupt before it, whose turns it ends as well. From then on
        :meth:`begin` with its key finds it. Raises NotFound; StillQueued when its key came before; Overloaded when
        too many wait."""
        message, body = _made(
            session_id,
            ids.message_id(),
            text,
            literal=literal,
            key=idempotency_key or "",
            by=interrupt,
        )
        bounds = self.bounds
        limits = [bounds.queue_most, bounds.idem_ttl_s, bounds.idem_most]
        how = "interrupt" if message.interrupts else "steer" if steer else ""
        known = [message.key, message.fingerprint, how, interrupt or ""]
        status, *said = await transact(
            self.redis, "enqueue", session_id, message.id, to_json(message), body, *limits, *known
        )
        if status == "queued":
            raise still_queued(said[0].decode())
        if status == "missing":
            missing("session", session_id)
        if status == "full":
            raise Overloaded(
                f"{bounds.queue_most} messages wait already. Take one back, or wait for the turn to end."
            )
        return message if status == "ok" else None

    async def edit_queued(
        self, session_id: str, message_id: str, text: str, *, literal: bool | None = None
    ) -> QueuedMessage:
        """Change the words of a waiting message, which keeps its place, and without ``literal`` how it is sent.
        Raises NotFound; MessageBegun when its turn has begun."""
        raw, status = b"", "changed"
        while status == "changed":
            waits = queued_messages([raw])[0] if raw else None
            message, body = _made(
                session_id,
                message_id,
                text,
                literal=literal if literal is not None else waits is None or waits.literal,
                key=waits.key if waits else "",
                by=waits.by if waits and waits.interrupts else None,
            )
            facts: list[Argument] = [message_id, to_json(message), body, self.bounds.idem_ttl_s, raw]
            status, *said = await transact(self.redis, "edit_queued", session_id, *facts)
            raw = said[0] if said else b""
        _raise_gone(status, session_id, message_id)
        return message

    async def unqueue(self, session_id: str, message_id: str, *, refused: bool = False) -> None:
        """Take a waiting message back. ``refused``: its sender is told so, and may send it again with its key.
        Raises NotFound; MessageBegun when its turn has begun."""
        limits = [self.bounds.idem_ttl_s, self.bounds.idem_most]
        known: list[Argument] = [message_id, ids.request_id(), *limits, "1" if refused else ""]
        status, *_ = await transact(self.redis, "unqueue", session_id, *known)
        _raise_gone(status, session_id, message_id)

    async def resume_queue(self, session_id: str) -> Begun:
        """Begin the turn of the message that waits first, where no turn runs. Raises NotFound, TurnInFlight;
        NothingQueued when none waits."""
        turn_id, bounds = ids.turn_id(), self.bounds
        rest: list[Argument] = [bounds.ring_ms, bounds.idem_ttl_s, bounds.idem_most]
        status, *facts = await transact(self.redis, "resume_queue", session_id, turn_id, *rest)
        said = [fact.decode() for fact in facts]
        if status == "missing":
            missing("session", session_id)
        if status == "busy":
            raise in_flight(session_id, said)
        if status == "empty":
            raise NothingQueued("No message waits in this session.")
        message_id, first = said
        return Begun(session_id=session_id, turn_id=turn_id, message_id=message_id, attempt=1, first=int(first))


def _made(
    session_id: str, message_id: str, text: str, *, literal: bool, key: str, by: str | None = None
) -> tuple[QueuedMessage, bytes]:
    """A message that waits, and the body of the event that tells so. ``by``: who has the running turn ended for
    it."""
    user = UserMessage(message_id=message_id, text=text, origin="queue" if by is None else "api")
    queued = stamp(MessageQueued(message_id=message_id, text=text), session_id, None)
    message = QueuedMessage(
        id=message_id,
        text=text,
        literal=literal,
        fingerprint=fingerprint(text, literal),
        tail=body_from(user, "message_id"),
        event=body_from(queued, "message_id"),
        key=key,
        interrupts=by is not None,
        by=by or "",
    )
    return message, encode_body(queued)


def _raise_gone(status: str, session_id: str, message_id: str) -> None:
    """Raise what a status about a waiting message means, where it does not wait."""
    if status == "missing":
        missing("session", session_id)
    if status == "begun":
        raise MessageBegun("This message does not wait any more: its turn has begun.")
    if status == "unknown":
        missing("queued message", message_id)
