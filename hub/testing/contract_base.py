"""The scenarios of the transport contract, and what its tests share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, TypeVar

import msgspec
import pytest

from hub import ids
from hub.asks import AskRequest
from hub.testing.turns import FakeTurn, Reply
from hub.transport import Connection, SessionInfo, Transport
from hub.turn import Ending

T = TypeVar("T")


def must(holds: bool, sentence: str) -> None:
    """Fail with ``sentence`` unless ``holds``."""
    if not holds:
        raise AssertionError(sentence)


class Scenarios:
    """What a transport's author tells the contract: bounds in seconds, and messages that bring something
    about."""

    within_s: ClassVar[float] = 10.0
    """In this time a turn that nobody holds up ends, and a connection opens and closes."""
    stop_within_s: ClassVar[float] = 2.0
    """In this time a turn that is interrupted or cancelled ends."""
    late_s: ClassVar[float] = 0.05
    """So long after its end a turn is watched for what must not come any more."""
    bad_options: ClassVar[Mapping[str, Any]] = {"no_such_option": True}
    """Options of an agent that ``check`` must refuse."""
    marker: ClassVar[str] = "kumquat-7f3a"
    """A word that edits and answers carry, and that must come back from the agent."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """The hub runs on asyncio."""
        return "asyncio"

    @pytest.fixture
    def transport(self) -> Transport:
        """The transport under test."""
        raise NotImplementedError("Give the contract a fixture `transport` that returns the transport to test.")

    @pytest.fixture
    def session(self, transport: Transport, hub_session: Callable[..., SessionInfo]) -> SessionInfo:
        """A session with an agent that can run. Override it where the agent needs options."""
        return hub_session(transport.name)

    def words(self) -> str:
        """A message that the agent answers with words, and nothing else, well within the bounds."""
        return "hello there"

    def endless(self) -> str:
        """A message whose turn shows something soon and does not end by itself. For ``interrupt``."""
        raise NotImplementedError(
            "The transport can interrupt: override `endless` with a message that takes long."
        )

    def tool(self) -> str:
        """A message that makes the agent run a tool, if there is one that needs no permission."""
        return self.words()

    def permission(self) -> str:
        """A message on which the agent asks for permission to run one tool, runs it when allowed, and ends
        with words. For ``permissions``."""
        raise NotImplementedError(
            "The transport asks for permissions: override `permission` with a message that does."
        )

    def edited(self, request: AskRequest) -> dict[str, Any]:
        """An input with which that tool runs such that ``marker`` is in its result (or in the agent's words)."""
        return {**request.input, "command": f"echo {self.marker}"}

    def question(self) -> str:
        """A message on which the agent asks a question and then repeats its answer. For ``questions``."""
        raise NotImplementedError("The transport asks questions: override `question` with a message that does.")

    def plugins(self) -> Sequence[object]:
        """The plugins that a hub would ask what became of a message (``verify_delivery``) and what waits
        (``source_questions``): the transport's own, where it has such hooks."""
        return ()

    def unavailable(self, session: SessionInfo) -> SessionInfo | None:
        """A session whose agent cannot run here, where there is such a thing."""
        return None


class ContractBase(Scenarios):
    """Bounded steps of the contract's tests."""

    async def bounded(self, step: Coroutine[Any, Any, T], seconds: float, what: str) -> T:
        """What ``step`` returns; an AssertionError when it takes longer, even if it cannot be cancelled."""
        task = asyncio.ensure_future(step)
        try:
            await asyncio.wait({task}, timeout=seconds)
            must(task.done(), f"`{what}` took longer than {seconds:g} s.")
            return task.result()
        finally:
            await self._stopped(task)

    def turn(
        self, text: str, *, session: SessionInfo, replies: Callable[[AskRequest], Reply | None] | None = None
    ) -> FakeTurn:
        """A turn of ``session``, whose asks ``replies`` answers."""
        return FakeTurn(text, session=session, replies=replies or (), verifiers=self.plugins())

    @asynccontextmanager
    async def connected(self, transport: Transport, session: SessionInfo) -> AsyncIterator[Connection]:
        """A connection that is closed in the end."""
        connection = await self.bounded(transport.open(session), self.within_s, "open")
        try:
            yield connection
        finally:
            await self.bounded(connection.close(), self.within_s, "close")

    async def played(self, connection: Connection, turn: FakeTurn) -> Ending:
        """Run ``turn`` to its end and hold it to the rules."""
        try:
            ending = await self.bounded(turn.play(connection), self.within_s, "run")
        except Exception as error:
            if isinstance(error, AssertionError):
                raise
            raise AssertionError(f"`run` raised {error!r}.") from error
        self.sound(turn)
        return ending

    @asynccontextmanager
    async def running(self, connection: Connection, turn: FakeTurn) -> AsyncIterator[asyncio.Task[Ending]]:
        """``turn`` running beside the block, from its first event on; stopped in the end."""
        task = asyncio.create_task(turn.play(connection, within=self.within_s * 10))
        try:
            await self.until(task, turn, lambda: bool(turn.events or turn.asks), "shown anything")
            yield task
        finally:
            await self._stopped(task)
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            raise AssertionError(f"`run` raised {error!r}.") from error

    async def _stopped(self, task: asyncio.Future[Any]) -> None:
        """Cancel ``task`` and see it out, but not for ever: a transport may swallow cancellations."""
        task.cancel()
        await asyncio.wait({task}, timeout=self.stop_within_s)

    async def until(
        self, task: asyncio.Task[Ending], turn: FakeTurn, reached: Callable[[], bool], what: str
    ) -> None:
        """Wait until the running turn has come to a certain point. Raises what ``run`` raises."""
        point = asyncio.ensure_future(turn.until(reached, within=self.within_s))
        try:
            await asyncio.wait({task, point}, return_when=asyncio.FIRST_COMPLETED)
            if task.done() and not reached():
                must(False, f"The turn ended before it had {what}: it returned {task.result()!r}.")
            must(reached(), f"The turn had not {what} within {self.within_s:g} s.")
        finally:
            point.cancel()
            await asyncio.gather(point, return_exceptions=True)

    async def ended(self, task: asyncio.Task[Ending], what: str) -> None:
        """Wait until a running turn has ended, however it ends."""
        await asyncio.wait({task}, timeout=self.stop_within_s)
        must(task.done(), f"The turn ran on for {self.stop_within_s:g} s after {what}.")

    def sound(self, turn: FakeTurn) -> None:
        """Hold a turn to the rules so far."""
        must(not turn.problems, "The transport broke the rules: " + " ".join(turn.problems))

    def can(self, transport: Transport, capability: str) -> bool:
        """Whether the transport says that it can."""
        return capability in transport.capabilities

    def another(self, session: SessionInfo) -> SessionInfo:
        """A second session with the same agent."""
        return msgspec.structs.replace(session, id=ids.session_id())

    def shown(self, turn: FakeTurn) -> str:
        """All that a turn has shown in words: durable text and tools' results."""
        from_tools = [event.digest.text for event in turn.tools_finished if event.digest is not None]
        return "\n".join((turn.text, *from_tools))
