"""Short words for what the tests of the store do again and again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hub import ids
from hub.asks import Settlement
from hub.errors import Fenced
from hub.events import (
    AnyEvent,
    Ask,
    By,
    Terminal,
    Text,
    TextDelta,
    TurnCompleted,
    TurnFailed,
    decode,
    line_of,
    stamp,
)
from hub.store.connect import Connections
from hub.store.records import Begun, Claim, Entry, Finished, SessionRecord, Taken
from hub.store.store import Store

LEASE_MS = 30_000
PERSON = By(kind="person", name="ann")
ALLOW = Settlement(by=PERSON, decision="allow", scope="once")
DENY = Settlement(by=By(kind="person", name="bob"), decision="deny", scope="once")


@asynccontextmanager
async def connected(url: str, **options: Any) -> AsyncIterator[Connections]:
    """Connections that are closed when the block ends."""
    connections = Connections(url, **options)
    try:
        yield connections
    finally:
        await connections.close()


class Desk:
    """A store, and one runner and one person at work on it."""

    def __init__(self, store: Store, runner: str = "run_1") -> None:
        self.store = store
        self.runner = runner

    async def session(self, **details: Any) -> str:
        """A new session's id."""
        session_id = details.pop("id", None) or ids.session_id()
        record = SessionRecord(**{"id": session_id, "agent": "claude", "transport": "scripted", **details})
        await self.store.create_session(record)
        return session_id

    async def taken(self, session_id: str | None = None, text: str = "hello") -> Taken:
        """A turn that runs here."""
        session_id = session_id or await self.session()
        begun = await self.store.begin(session_id, text)
        return await self.take(begun)

    async def take(self, begun: Begun) -> Taken:
        """Take a turn that must be there to be taken."""
        return await self.take_turn(begun.session_id, begun.turn_id)

    async def take_turn(self, session_id: str, turn_id: str) -> Taken:
        """Take a turn that must be there to be taken."""
        taken = await self.store.take(session_id, turn_id, self.runner, LEASE_MS)
        assert taken is not None
        return taken

    async def append(self, claim: Claim, batch: int, *texts: str) -> int:
        """Append a delta for each text; the last seq."""
        events = [stamped(claim, TextDelta(block=0, text=text)) for text in texts]
        return (await self.store.append(claim, batch, events, LEASE_MS)).last

    async def opened(self, claim: Claim) -> str:
        """An open ask's id."""
        ask = Ask(id=ids.ask_id(claim.session_id), kind="permission", tool="Bash", subject="ls")
        await self.store.open_ask(claim, ask)
        return ask.id

    async def finish(self, claim: Claim, terminal: Terminal | None = None, **details: Any) -> Finished:
        """End the turn."""
        event = stamped(claim, terminal or completed())
        details.setdefault("next_turn", ids.turn_id())
        return await self.store.finish(claim, details.pop("closing", ()), event, **details)  # type: ignore[arg-type]

    async def events(self, session_id: str) -> list[Any]:
        """The log, decoded."""
        return [event_of(entry) for entry in await self.store.log_page(session_id, 0, 100_000)]

    async def kinds(self, session_id: str) -> list[str]:
        """The types of the events in the log."""
        return [entry.type for entry in await self.store.log_page(session_id, 0, 100_000)]

    async def overdue(self, claim: Claim) -> None:
        """Let the lease of a turn run out."""
        assert await self.renew(claim, -1)

    async def renew(self, claim: Claim, lease_ms: int = LEASE_MS) -> bool:
        """Whether the lease could be renewed."""
        try:
            await self.store.append(claim, 0, [], lease_ms)
        except Fenced:
            return False
        return True


def stamped(claim: Claim, event: AnyEvent) -> AnyEvent:
    """``event`` as one of this turn."""
    return stamp(event, claim.session_id, claim.turn_id)


def event_of(entry: Entry) -> Any:
    """The event in a frame."""
    return decode(line_of(entry.frame))


def completed() -> TurnCompleted:
    """A good end."""
    return TurnCompleted(stop_reason="end_turn", duration_ms=5)


def failed() -> TurnFailed:
    """A bad end."""
    return TurnFailed(code="agent_error", message="It broke.", retryable=True, duration_ms=5)


def text(claim: Claim, words: str, block: int = 0) -> AnyEvent:
    """A durable text."""
    return stamped(claim, Text(block=block, text=words))
