"""Whatever a transport does, its turn ends once, says what happened, and the session's next turn works."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import structlog
from msgspec import Struct

from hub.asks import AskRequest
from hub.config import RunnerConfig
from hub.errors import AgentUnavailable, HubError, PluginError
from hub.events import (
    AskOpened,
    Event,
    Gap,
    MessageQueued,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    UserMessage,
)
from hub.testing.hub import TestHub, hub_config
from hub.transport import TurnContext
from hub.turn import Completed, Failed, Interrupted
from tests.runner.acting import Acting, forever, good, nothing, stubborn
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio

SHORT = RunnerConfig(lease_s=3, interrupt_grace_s=0.2, shutdown_grace_s=2, stall_s=30)


class Odd(BaseException):
    """An error that is no Exception."""


class Unspeakable(Exception):
    """An error that fails at telling itself."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class MyDelta(TextDelta, frozen=True, kw_only=True, tag="my_delta"):
    """An event of a plugin's own."""


def raising(error: BaseException) -> Callable[[TurnContext], Awaitable[Any]]:
    """An act that says something and raises."""

    async def act(turn: TurnContext) -> Any:
        await turn.emit(TextDelta(block=0, text="half a "))
        raise error

    return act


def returning(value: Any) -> Callable[[TurnContext], Awaitable[Any]]:
    """An act that says something and returns ``value``."""

    async def act(turn: TurnContext) -> Any:
        await turn.emit(Text(block=0, text="words"))
        return value

    return act


async def failure_and_next(hubs: Hubs, transport: Acting, text: str = "one") -> TurnFailed:
    """How the first turn fails; the next one of its session has to be good."""
    async with hubs(hub_config(runner=SHORT), transports=[transport]) as hub:
        session = await hub.session()
        ending = await hub.run_turn(session, text)
        assert isinstance(ending, TurnFailed), ending
        await assert_one_end_a_turn(hub, session)
        assert isinstance(await hub.run_turn(session, "two"), TurnCompleted)
        assert hub.runners[0].runner.running <= 1
        return ending


async def assert_one_end_a_turn(hub: TestHub, session: str) -> None:
    """Every turn in the log has one terminal event, and none is running."""
    log = await hub.store.log_page(session, 0)
    turns = [one.turn_id for one in log if one.type == "turn_started"]
    assert sorted(one.turn_id for one in log if one.terminal) == sorted(set(turns))
    assert await hub.store.turn(session) is None


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("boom"), "RuntimeError: boom"),
        (Odd("odd"), "Odd: odd"),
        (SystemExit(3), "wanted to end the whole process"),
        (ExceptionGroup("many", [ValueError("first"), OSError("second")]), "ValueError: first"),
        (BaseExceptionGroup("many", [Odd("inner")]), "Odd: inner"),
        (Unspeakable(), "Unspeakable"),
        (asyncio.CancelledError(), "cancelled from within"),
        (TimeoutError(), "TimeoutError"),
        (RuntimeError("half a pair \ud83d"), "half a pair"),
        (RuntimeError("x" * 100_000), "xxx"),
        (HubError("a sentence."), "a sentence"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
async def test_a_transport_that_raises_is_named_and_its_words_are_kept(
    hubs: Hubs, error: BaseException, said: str
) -> None:
    """The turn fails as agent_error with the error's own words, and the connection is not used again."""
    transport = Acting(raising(error))
    ending = await failure_and_next(hubs, transport)
    assert ending.code == "agent_error"
    assert "'scripted'" in ending.message
    assert said in ending.message
    assert len(ending.message) < 1000
    assert transport.opened == 2


@pytest.mark.parametrize("error", [RuntimeError("boom"), Odd(), SystemExit(1), asyncio.CancelledError()])
async def test_open_that_raises_is_contained(hubs: Hubs, error: BaseException) -> None:
    """What ``open`` raises fails the turn as what ``run`` raises does."""
    calls = iter([error])

    async def opening() -> None:
        if (broken := next(calls, None)) is not None:
            raise broken

    ending = await failure_and_next(hubs, Acting(opening=opening))
    assert ending.code == "agent_error"


@pytest.mark.parametrize("grouped", [False, True])
async def test_an_agent_that_cannot_run_says_what_mends_it(hubs: Hubs, grouped: bool) -> None:
    """AgentUnavailable, from inside a task group too, is agent_unavailable with its own sentence."""
    unavailable: Exception = AgentUnavailable("Not logged in. Run `agent login`.")
    errors = iter([ExceptionGroup("", [unavailable]) if grouped else unavailable])

    async def opening() -> None:
        if (error := next(errors, None)) is not None:
            raise error

    ending = await failure_and_next(hubs, Acting(opening=opening))
    assert (ending.code, ending.message) == ("agent_unavailable", "Not logged in. Run `agent login`.")


async def test_a_working_directory_that_is_gone_is_named(hubs: Hubs) -> None:
    """A cwd that does not exist is agent_unavailable before any agent is opened."""
    transport = Acting()
    async with hubs(hub_config(runner=SHORT, cwd="/no/such/place"), transports=[transport]) as hub:
        ending = await hub.run_turn(await hub.session())
    assert isinstance(ending, TurnFailed)
    assert ending.code == "agent_unavailable"
    assert "/no/such/place" in ending.message
    assert transport.opened == 0


class NoEnding(Struct):
    """Not an ending."""


@pytest.mark.parametrize("value", [None, "done", 7, NoEnding(), Completed, ValueError("returned")])
async def test_a_turn_without_an_ending_is_incomplete(hubs: Hubs, value: Any) -> None:
    """Returning nothing, or nonsense, is no completion: the failure names the transport and what it returned."""
    ending = await failure_and_next(hubs, Acting(returning(value)))
    assert ending.code == "incomplete"
    assert type(value).__name__ in ending.message


@pytest.mark.parametrize(
    "value",
    [
        Failed(code="nonsense"),  # type: ignore[arg-type]
        Completed(stop_reason=object()),  # type: ignore[arg-type]
        Completed(usage="many"),  # type: ignore[arg-type]
        Interrupted(by=5),  # type: ignore[arg-type]
    ],
)
async def test_an_ending_with_wrong_fields_is_an_error_of_the_transport(hubs: Hubs, value: Any) -> None:
    """An ending that no reader could decode is not written; the transport is named."""
    ending = await failure_and_next(hubs, Acting(returning(value)))
    assert ending.code == "agent_error"
    assert "ending" in ending.message


async def test_a_sign_outranks_a_later_completion_and_a_wrong_sign_is_refused(hubs: Hubs) -> None:
    """The first abnormal sign sticks; what is no failure is a PluginError."""

    async def act(turn: TurnContext) -> Any:
        for wrong in ("nonsense", Failed(code="nonsense")):  # type: ignore[arg-type]
            with pytest.raises(PluginError):
                turn.sign(wrong)  # type: ignore[arg-type]
        turn.sign(Failed(code="token_cap"))
        turn.sign(Failed(code="agent_error"))
        return await good(turn)

    assert (await failure_and_next(hubs, Acting(act))).code == "token_cap"


@pytest.mark.parametrize(
    "event",
    [
        UserMessage(message_id="m", text="t"),
        TurnCompleted(stop_reason="x", duration_ms=1),
        MessageQueued(message_id="m", text="t"),
        Gap(after=1, before=2),
        Event(),
        "text",
        None,
        MyDelta(block=0, text="t"),
        MyDelta(block=0, text="t" * 5_000_000),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_events_that_are_not_a_transports_are_refused(hubs: Hubs, event: Any) -> None:
    """The hub's own events, strangers' events and what is no event at all raise PluginError and are not
    written; the transport that lets it through has failed."""
    caught: list[str] = []

    async def act(turn: TurnContext) -> Any:
        try:
            await turn.emit(event)
        except PluginError as error:
            caught.append(error.detail)
            raise

    ending = await failure_and_next(hubs, Acting(act))
    assert ending.code == "agent_error"
    assert "emitted" in caught[0]


RECURSIVE: dict[str, Any] = {}
RECURSIVE["again"] = RECURSIVE


@pytest.mark.parametrize(
    "event",
    [
        TextDelta(block=0, text=None),  # type: ignore[arg-type]
        TextDelta(block="first", text="t"),  # type: ignore[arg-type]
        TextDelta(block=0, text=b"bytes", seq=None),  # type: ignore[arg-type]
        Text(block=0, text=["a"]),  # type: ignore[arg-type]
        Text(block=None, text="a"),  # type: ignore[arg-type]
        Status(state="confused"),  # type: ignore[arg-type]
        ToolStarted(tool_id="t", name="n", input={"o": object()}),
        ToolStarted(tool_id="t", name="n", input={("a", 1): 1}),  # type: ignore[dict-item]
        ToolStarted(tool_id="t", name="n", input=RECURSIVE),
        ToolStarted(tool_id=7, name="n"),  # type: ignore[arg-type]
        ToolFinished(tool_id="t", status="fine"),  # type: ignore[arg-type]
        Text(block=0, text="x" * (17 * 1024 * 1024)),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_events_that_nobody_could_read_are_refused(hubs: Hubs, event: Any) -> None:
    """A wrong field, a value that JSON has not, or too much of it: PluginError at the emit, and a transport
    that goes on after it can end well."""

    async def act(turn: TurnContext) -> Any:
        with pytest.raises(PluginError, match=r"cannot be written|bytes"):
            await turn.emit(event)
        return await good(turn)

    async with hubs(hub_config(runner=SHORT), transports=[Acting(act)]) as hub:
        assert isinstance(await hub.run_turn(await hub.session()), TurnCompleted)


async def test_odd_values_are_written_as_json_can_have_them(hubs: Hubs) -> None:
    """NaN, numbers beyond 64 bits, bytes, sets, number keys, lone surrogates and odd line ends go through:
    what is streamed can be read, and so can the log."""
    odd = {
        "nan": float("nan"),
        "big": 2**200,
        "bytes": b"\xff",
        "set": {1},
        3: "three",
        "half": "\ud83d",
        "ls": "\u2028",
    }

    async def act(turn: TurnContext) -> Any:
        await turn.emit(TextDelta(block=0, text="\udfff"))
        await turn.emit(TextDelta(block=0, text=" \u2028\u0085"))
        await turn.emit(ToolStarted(tool_id="t", name="\ud800", input=odd))  # type: ignore[arg-type]
        await turn.emit(ToolFinished(tool_id="t", status="ok"))
        return Completed()

    async with hubs(hub_config(runner=SHORT), transports=[Acting(act)]) as hub:
        session = await hub.session()
        events = await hub.events(await hub.send(session))
        started = next(event for event in events if isinstance(event, ToolStarted))
        assert started.name == "\ufffd"
        assert started.input["big"] == 2**200
        assert started.input["nan"] is None
        assert isinstance(events[-1], TurnCompleted)
        partial = next(event for event in events if isinstance(event, Text))
        assert (partial.text, partial.partial) == ("\ufffd \u2028\x85", True)
        assert isinstance(await hub.run_turn(session), TurnCompleted)


async def test_requests_and_memory_that_are_not_sound_are_refused(hubs: Hubs) -> None:
    """An ask or a remembered value that could not be read back is a PluginError of the transport."""

    async def act(turn: TurnContext) -> Any:
        for wrong in (
            AskRequest(kind="wish", tool="t"),  # type: ignore[arg-type]
            AskRequest(kind="permission", tool="t", input={"o": object()}),
            AskRequest(kind="question", tool="t", questions=("q",)),  # type: ignore[arg-type]
        ):
            with pytest.raises(PluginError):
                await turn.ask(wrong)
        with pytest.raises(PluginError):
            await turn.remember(number=7)  # type: ignore[arg-type]
        return await good(turn)

    async with hubs(hub_config(runner=SHORT), transports=[Acting(act)]) as hub:
        events = await hub.events(await hub.send(await hub.session()))
        assert isinstance(events[-1], TurnCompleted)
        assert not [event for event in events if isinstance(event, AskOpened)]


async def test_nothing_gets_through_after_the_end_of_a_turn(hubs: Hubs) -> None:
    """What a transport still emits, asks or remembers after its turn's end raises PluginError, and the log
    does not change."""
    transport = Acting()
    async with hubs(hub_config(runner=SHORT), transports=[transport]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        turn = transport.turns[0]
        before = await hub.store.log_page(session, 0)
        late: list[Awaitable[Any]] = [
            turn.emit(Text(block=1, text="late")),
            turn.ask(AskRequest(kind="permission", tool="Bash")),
            turn.ask_delivered("ask_1"),
            turn.remember(key="late"),
        ]
        for one in late:
            with pytest.raises(PluginError, match="after the end"):
                await one
        turn.sign(Failed(code="agent_error"))
        assert isinstance(await hub.run_turn(session), TurnCompleted)
        assert (await hub.store.log_page(session, 0))[: len(before)] == before


async def test_a_task_that_a_transport_leaves_behind_cannot_write(hubs: Hubs) -> None:
    """A stray task emits after the terminal event: ignored, and the next turn is not mixed with it."""
    stray: list[asyncio.Task[Any]] = []
    go = asyncio.Event()

    async def later(turn: TurnContext) -> None:
        await go.wait()
        await turn.emit(Text(block=9, text="from the grave"))

    async def act(turn: TurnContext) -> Any:
        stray.append(asyncio.create_task(later(turn)))
        return await good(turn)

    async with hubs(hub_config(runner=SHORT), transports=[Acting(act)]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        go.set()
        events = await hub.events(await hub.send(session))
        with pytest.raises(PluginError):
            await stray[0]
        assert [event.text for event in events if isinstance(event, Text)] == ["You said: hello"]


async def test_a_turn_that_ignores_cancellation_is_given_up(hubs: Hubs) -> None:
    """A transport that swallows every cancellation is left behind with its connection; the turn ends in
    bounded time and the next one gets a new connection, even while the old one runs on."""
    done = asyncio.Event()

    async def act(turn: TurnContext) -> Any:
        await turn.emit(TextDelta(block=0, text="x"))
        await stubborn(2.5)
        done.set()
        return Completed()

    transport = Acting(act)
    async with hubs(hub_config(runner=SHORT), transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await hub.until(begun, TextDelta)
        await hub.store.cancel(session, "ann")
        ending = await hub.ending(begun, within_s=2.5)
        assert ending.by == "ann"  # type: ignore[union-attr]
        assert isinstance(await hub.run_turn(session), TurnCompleted)
        assert transport.opened == 2
        await done.wait()
        await assert_one_end_a_turn(hub, session)


async def test_a_connection_that_opens_too_late_is_closed_and_never_runs(hubs: Hubs) -> None:
    """``open`` ignores cancellation and returns when its turn is long over: the connection is closed, and the
    message is not given to it."""
    opened = asyncio.Event()
    slow = iter([True])

    async def opening() -> None:
        if next(slow, False):
            await stubborn(1.5)
            opened.set()

    transport = Acting(opening=opening)
    async with hubs(hub_config(runner=SHORT), transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await transport.until(lambda: transport.opened == 1)
        await hub.store.cancel(session, "ann")
        await hub.ending(begun)
        assert isinstance(await hub.run_turn(session, "two"), TurnCompleted)
        await opened.wait()
        await transport.until(lambda: transport.closed == 1)
        assert [turn.message.text for turn in transport.turns] == ["two"]
        assert isinstance(await hub.run_turn(session, "three"), TurnCompleted)
        assert transport.opened == 2


@pytest.mark.parametrize("how", ["hangs", "raises", "is stubborn", "exits"])
async def test_a_close_that_fails_holds_nobody_up_for_long(hubs: Hubs, how: str) -> None:
    """A broken connection is closed beside the turn's end: the terminal event does not wait for it."""

    async def closing() -> None:
        if how == "hangs":
            await forever()
        if how == "is stubborn":
            await stubborn(3.1)
        if how == "exits":
            raise SystemExit(1)
        raise RuntimeError("cannot close")

    transport = Acting(raising(RuntimeError("boom")), closing=closing)
    async with hubs(hub_config(runner=SHORT), transports=[transport]) as hub:
        session = await hub.session()
        ending = await hub.ending(await hub.send(session), within_s=1.5)
        assert isinstance(ending, TurnFailed)
        transport.closing = good  # type: ignore[assignment]
        assert isinstance(await hub.run_turn(session), TurnCompleted)


async def test_sessions_do_not_wait_for_each_other(hubs: Hubs) -> None:
    """While one session's transport hangs in run, another in close and a third in open, a fourth is served."""
    hanging = asyncio.Event()

    async def hang(turn: TurnContext) -> Any:
        hanging.set()
        await forever()

    transport = Acting(hang, raising(RuntimeError()), closing=forever)
    async with hubs(hub_config(runner=SHORT), transports=[transport]) as hub:
        sessions = [await hub.session() for _ in range(4)]
        await hub.send(sessions[0])
        await hanging.wait()
        await hub.run_turn(sessions[1])
        transport.opening = forever
        await hub.send(sessions[2])
        await transport.until(lambda: transport.opened == 3)
        transport.opening = nothing
        async with asyncio.timeout(10):
            assert isinstance(await hub.run_turn(sessions[3]), TurnCompleted)


async def test_a_good_connection_is_used_again_and_an_idle_one_is_closed(hubs: Hubs) -> None:
    """Turns of one session share a connection; after the idle time it is closed, and opened again when
    needed."""
    transport = Acting()
    config = hub_config(runner=RunnerConfig(idle_s=0.3))
    async with hubs(config, transports=[transport]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        await hub.run_turn(session)
        assert (transport.opened, transport.closed) == (1, 0)
        await transport.until(lambda: transport.closed == 1)
        await hub.run_turn(session)
        assert transport.opened == 2
    assert transport.closed == 2
    assert transport.down == 1


async def test_a_long_turn_is_no_idle_connection(hubs: Hubs) -> None:
    """A connection that runs a turn is never closed as idle, however long the turn takes."""
    closed: list[int] = []

    async def long(turn: TurnContext) -> Any:
        closed.append(transport.closed)
        await asyncio.sleep(1)
        closed.append(transport.closed)
        return await good(turn)

    transport = Acting(good, long)
    async with hubs(hub_config(runner=RunnerConfig(idle_s=0.2)), transports=[transport]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        assert isinstance(await hub.run_turn(session), TurnCompleted)
        assert closed[0] == closed[1]


async def test_a_flood_is_held_back_and_written_whole(hubs: Hubs) -> None:
    """40,000 deltas in one go: the transport waits for the store, little is ever held in memory, every delta
    arrives once and in order, and other sessions are served meanwhile."""
    most = 0

    async def flood(turn: TurnContext) -> Any:
        nonlocal most
        for number in range(40_000):
            await turn.emit(TextDelta(block=0, text=f"{number} "))
            most = max(most, len(turn._writer._pending))  # type: ignore[attr-defined]
        await turn.emit(Text(block=0, text="all"))
        return Completed()

    config = hub_config(runner=RunnerConfig(live_limit=1_000_000))
    async with hubs(config, transports=[Acting(flood)]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        await hub.until(begun, TextDelta)
        other = asyncio.create_task(hub.run_turn(await hub.session()))
        numbers: list[bytes] = []
        subscription = await hub.feed.turn(session, turn_id=begun.turn_id)
        assert subscription is not None
        async with asyncio.timeout(60), subscription:
            while (frames := await subscription.read()) is not None:
                numbers += re.findall(rb'"text":"(\d+) "', frames)
                tail = frames[-400:]
        assert b"event: turn_completed" in tail, tail
        assert numbers == [b"%d" % number for number in range(40_000)]
        assert most <= 1024
        assert isinstance(await other, TurnCompleted)


async def test_what_a_transport_logs_names_its_session_and_turn(hubs: Hubs) -> None:
    """Without its doing; and nothing of it is left when the turn is over."""
    seen: list[dict[str, Any]] = []

    async def logging(turn: TurnContext) -> Any:
        seen.append(structlog.contextvars.get_contextvars())
        return await good(turn)

    async with hubs(hub_config(runner=SHORT), transports=[Acting(logging)]) as hub:
        session = await hub.session()
        ending = await hub.run_turn(session, "hello")
    assert seen == [{"session_id": session, "turn_id": ending.turn_id}]
    assert structlog.contextvars.get_contextvars() == {}
