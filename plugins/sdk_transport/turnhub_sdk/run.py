"""One turn on one agent process: the prompt in, the messages out, until there is an ending."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Final, TypeAlias

import msgspec
import structlog
from claude_agent_sdk import Message, SystemMessage
from msgspec import Struct

import hub
from hub import (
    Ending,
    Failed,
    Interrupted,
    Status,
    SteerUnsupported,
    ToolFinished,
    TurnContext,
    Verdict,
    with_context,
)
from turnhub_sdk.broker import Broker
from turnhub_sdk.client import Client, Gone
from turnhub_sdk.mapping import TurnMap

_OBEY_S: Final = 3.0
_REST_S: Final = 2.0
_BROKE_OFF: Final = "The agent broke off its turn by itself. What came is kept; try again."


class _Stopped(Struct, frozen=True):
    """Stands between the messages where the agent was told to stop."""


_Item: TypeAlias = Message | Gone | _Stopped


class Run:
    """Runs one turn. ``wanted`` is set when somebody wants it stopped; ``stall_s``: how long the agent may show
    no sign of life; ``login``: how to log in; ``detail``: what has to be told with the message's delivery.
    """

    def __init__(
        self,
        client: Client,
        broker: Broker,
        turn: TurnContext,
        wanted: asyncio.Event,
        *,
        stall_s: float,
        login: str,
        detail: str | None = None,
    ) -> None:
        self._client = client
        self._broker = broker
        self._turn = turn
        self._wanted = wanted
        self._stall_s = stall_s
        self._uuid = str(uuid.uuid4())
        self._map = TurnMap(
            self._uuid,
            login=login,
            spent_usd=client.spent_usd,
            detail=detail,
            command=not turn.message.literal,
        )
        self._items: asyncio.Queue[_Item] = asyncio.Queue()
        self._taken = asyncio.Event()  # the agent has the message, or never will
        self._left = False
        self._stalled: Failed | None = None
        self._known: str | None = turn.session.memory.get("sdk_session")
        self._log = structlog.get_logger(__name__).bind(session=turn.session.id, turn=turn.turn_id)

    async def steer(self, message: hub.Message) -> Verdict:
        """Give words to the agent while it is at work on this turn. Raises SteerUnsupported where it is not,
        or not any more."""
        await self._taken.wait()
        if self._map.over or self._map.stopping or self._left:
            raise SteerUnsupported("The turn is about to end.")
        name = str(uuid.uuid4())
        one = self._map.joining.add(name, message.id)
        try:
            await self._client.send(message.text, name, literal=message.literal)
        except Exception as error:  # noqa: BLE001 - the SDK raises bare Exceptions too
            self._map.joining.drop(name)
            self._log.warning("words_failed", error=type(error).__name__)
            raise SteerUnsupported("Claude Code ended before it took the words.") from None
        one.told = True
        return Verdict(verdict="submitted" if one.taken else "queued", proof="sdk")

    async def play(self) -> Ending | Gone:
        """Run the turn to its end. Cancelled, it stops the agent first. Gone: the agent ended before it took
        the message, of which therefore nothing has come yet."""
        self._client.attach(self._items.put_nowait)
        self._broker.begin(self._turn, self._map.tools)
        watch = asyncio.create_task(self._obey())
        try:
            return await self._converse()
        finally:
            watch.cancel()
            await self._leave()
            await asyncio.gather(watch, return_exceptions=True)

    async def _leave(self) -> None:
        # Also on the way of a cancellation, hence bounded: whatever ends here, the agent has come to rest.
        self._left = True
        self._taken.set()
        await self._broker.end()
        await self._client.halt()
        self._client.attach(None)

    async def _obey(self) -> None:
        # Beside the conversation, which may be held up by a hub that has no room for events.
        await self._wanted.wait()
        if not self._map.over:
            self._map.stopping = True
            self._items.put_nowait(_Stopped())
            await self._client.interrupt()

    async def _converse(self) -> Ending | Gone:
        self._client.prompt = self._uuid
        await self._turn.remember(sdk_prompt=self._uuid)
        if self._wanted.is_set():
            return Interrupted(by=self._by())
        message = self._turn.message
        if not self._client.forked:
            message = with_context(await self._turn.context(), message)
        try:
            await self._client.send(message.text, self._uuid, literal=message.literal)
        except Exception as error:  # noqa: BLE001 - the SDK raises bare Exceptions too
            self._log.warning("prompt_failed", error=type(error).__name__)
            return Gone("Claude Code ended before it took the message.")
        while self._map.ending is None:
            ending = await self._step()
            if ending is not None:
                return ending
        return self._ended(self._map.ending)

    async def _step(self) -> Ending | Gone | None:
        try:
            async with asyncio.timeout(self._patience()):
                item = await self._items.get()
        except TimeoutError:
            return await self._silent()
        match item:
            case Gone():
                return self._dead(item)
            case _Stopped():
                pass  # from now on there is less patience
            case _:
                await self._hear(item)
        return None

    def _patience(self) -> float | None:
        if self._map.over:
            return _REST_S if not self._map.busy else self._stall_s
        if self._map.stopping:
            return _OBEY_S
        # A tool takes its time, and so does a person.
        return None if self._map.busy or self._broker.waits else self._stall_s

    async def _silent(self) -> Ending | None:
        if self._map.over:
            self._map.finish()
            return None
        if self._map.stopping:
            self._client.kill()
            return self._stalled or Interrupted(by=self._by())
        self._stalled = Failed(code="stalled", message=f"Nothing came from the agent for {self._stall_s:g} s.")
        self._turn.sign(self._stalled)
        await self._turn.emit(Status(state="stalled", detail=self._stalled.message))
        self._wanted.set()
        self._map.stopping = True
        return None

    async def _hear(self, message: Message) -> None:
        waited = bool(self._map.joining)
        events = self._map.feed(message, time.monotonic())
        if self._map.delivered:
            self._taken.set()
        if waited and self._map.stopping and not self._map.over:
            await self._client.interrupt()  # it has gone on, or is about to, to words that waited
        for event in events:
            await self._turn.emit(event)
        finished = tuple(event.tool_id for event in events if isinstance(event, ToolFinished))
        await self._broker.note(finished, running=_works_again(message))
        if self._client.session_id is not None and self._client.session_id != self._known:
            self._known = self._client.session_id
            forked = {"sdk_forked": "1"} if self._client.forked else {}
            await self._turn.remember(sdk_session=self._known, **forked)

    def _dead(self, gone: Gone) -> Ending | Gone:
        if self._stalled is not None:
            return self._stalled
        if self._map.stopping:
            return Interrupted(by=self._by())
        return self._map.sign or (dead(gone) if self._map.delivered else gone)

    def _ended(self, ending: Ending) -> Ending:
        if not isinstance(ending, Interrupted):
            return ending
        failed = self._stalled or (None if self._map.stopping else Failed(code="incomplete", message=_BROKE_OFF))
        if failed is not None:
            return msgspec.structs.replace(failed, usage=ending.usage, cost_usd=ending.cost_usd)
        return msgspec.structs.replace(ending, by=self._by())

    def _by(self) -> str:
        return self._turn.cancelled.by or "person"


def dead(gone: Gone) -> Failed:
    """The failure that the end of the agent's process is."""
    return Failed(code="agent_dead", message=f"{gone.why} Try again.")


def _works_again(message: Message) -> bool:
    return (
        isinstance(message, SystemMessage)
        and message.subtype == "session_state_changed"
        and message.data.get("state") == "running"
    )
