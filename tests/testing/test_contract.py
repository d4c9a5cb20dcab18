"""The transport contract holds for the scripted transport, and catches those that break it."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import pytest

from hub.asks import Answered, AskRequest
from hub.errors import ConfigError
from hub.events import Status, Text, TextDelta, ToolFinished, ToolStarted, TurnCompleted, UserMessage
from hub.testing import make_session
from hub.testing.contract import TransportContract
from hub.testing.scripted import ScriptedTransport
from hub.transport import AgentInfo, Capability, Connection, Message, SessionInfo, Transport, TurnContext, Verdict
from hub.turn import Completed, Ending, Interrupted

QUESTION = {"questions": [{"question": "Which fruit?", "options": [{"label": "apple"}, {"label": "pear"}]}]}


class Scripts(TransportContract):
    """The scenarios, as scripts."""

    late_s = 0.01

    def endless(self) -> str:
        return json.dumps({"steps": [{"text": "on my way"}, {"hang": True}]})

    def tool(self) -> str:
        return json.dumps({"steps": [{"tool": "Bash", "input": {"command": "ls"}}, {"text": "there"}]})

    def permission(self) -> str:
        return json.dumps({"steps": [{"tool": "Bash", "input": {"command": "ls"}, "ask": True}, {"text": "so"}]})

    def question(self) -> str:
        return json.dumps({"steps": [{"question": QUESTION}]})

    def unavailable(self, session: SessionInfo) -> SessionInfo:
        agent = msgspec.structs.replace(session.agent, options={"unavailable": "plug it in"})
        return msgspec.structs.replace(session, agent=agent)


class TestScripted(Scripts):
    """The scripted transport keeps the contract."""

    @pytest.fixture
    def transport(self) -> Transport:
        return ScriptedTransport()


class TestScriptedAdopting(TestScripted):
    """So does the one whose agents outlive the hub."""

    @pytest.fixture
    def transport(self) -> Transport:
        return ScriptedTransport("durable", adopts=True)


class Sound(Connection):
    """A connection that keeps the contract. The broken ones below change one thing each."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.kept: list[asyncio.Task[None]] = []

    async def run(self, turn: TurnContext) -> Ending:
        self.stop.clear()
        match turn.message.text:
            case "endless":
                return await self.endless(turn)
            case "tool":
                await turn.emit(ToolStarted(tool_id="t", name="Bash"))
                await self.finish_tool(turn)
            case "permission":
                await self.permission(turn)
            case "question":
                await self.question(turn)
            case _:
                pass
        await self.speak(turn)
        return Completed()

    async def speak(self, turn: TurnContext) -> None:
        await turn.emit(TextDelta(block=0, text="hel"))
        await turn.emit(TextDelta(block=0, text="lo"))
        await turn.emit(Text(block=0, text="hello"))

    async def endless(self, turn: TurnContext) -> Ending:
        await turn.emit(Status(state="thinking"))
        await self.stop.wait()
        return Interrupted()

    async def finish_tool(self, turn: TurnContext) -> None:
        await turn.emit(ToolFinished(tool_id="t", status="ok"))

    async def permission(self, turn: TurnContext) -> None:
        await turn.emit(ToolStarted(tool_id="t", name="Bash", input={"command": "ls"}))
        answer = await turn.ask(AskRequest(kind="permission", tool="Bash", input={"command": "ls"}, tool_id="t"))
        if not isinstance(answer, Answered):
            await turn.emit(ToolFinished(tool_id="t", status="interrupted"))
            return
        await turn.ask_delivered(answer.ask_id)
        settled = answer.settlement
        status: Any = "ok" if settled.decision == "allow" else "denied"
        await turn.emit(ToolFinished(tool_id="t", status=status))
        await turn.emit(Text(block=7, text=f"ran {settled.input or 'as asked'}"))

    async def question(self, turn: TurnContext) -> None:
        answer = await turn.ask(AskRequest(kind="question", tool="AskUserQuestion"))
        if isinstance(answer, Answered):
            await turn.ask_delivered(answer.ask_id)
            await turn.emit(Text(block=7, text=answer.settlement.response or "nothing"))

    async def steer(self, message: Message) -> Verdict:
        return Verdict(verdict="submitted", proof="sdk")

    async def interrupt(self) -> None:
        self.stop.set()


class Maker(Transport):
    """Opens connections of one class."""

    name = "maker"
    capabilities: frozenset[Capability] = frozenset({"interrupt", "steer", "permissions", "questions"})

    def __init__(self, kind: type[Sound] = Sound) -> None:
        self.kind = kind

    async def open(self, session: SessionInfo) -> Connection:
        return self.kind()

    def check(self, agent: AgentInfo) -> str | None:
        if agent.options:
            raise ConfigError("no options, please")
        return None


class Contract(TransportContract):
    """The contract with bounds short enough to be broken in a test."""

    within_s: ClassVar[float] = 1.0
    stop_within_s: ClassVar[float] = 0.5
    late_s: ClassVar[float] = 0.03

    def endless(self) -> str:
        return "endless"

    def tool(self) -> str:
        return "tool"

    def permission(self) -> str:
        return "permission"

    def question(self) -> str:
        return "question"


class TestSound(Contract):
    """What the broken ones are made of keeps the contract."""

    within_s: ClassVar[float] = 10.0
    stop_within_s: ClassVar[float] = 2.0

    @pytest.fixture
    def transport(self) -> Transport:
        return Maker()


class TestWithoutCapabilities(Contract):
    """A transport that can nothing but speak keeps it too: no test is skipped."""

    within_s: ClassVar[float] = 10.0
    stop_within_s: ClassVar[float] = 2.0

    @pytest.fixture
    def transport(self) -> Transport:
        return Plain(Quiet)


class Plain(Maker):
    """Nothing but words."""

    capabilities: frozenset[Capability] = frozenset()


class Quiet(Sound):
    """Takes no words into a turn."""

    async def steer(self, message: Message) -> Verdict:
        return await Connection.steer(self, message)


class SaysNothing(Sound):
    async def run(self, turn: TurnContext) -> Ending:
        await super().run(turn)
        return None  # type: ignore[return-value]


class ShowsNothing(Sound):
    async def speak(self, turn: TurnContext) -> None:
        await turn.emit(TextDelta(block=0, text="hello"))


class WrongDeltas(Sound):
    async def speak(self, turn: TurnContext) -> None:
        await turn.emit(TextDelta(block=0, text="hel"))
        await turn.emit(Text(block=0, text="hello"))


class ReusesBlocks(Sound):
    async def speak(self, turn: TurnContext) -> None:
        await turn.emit(Text(block=0, text="hel"))
        await turn.emit(Text(block=0, text="lo"))


class LeavesToolsOpen(Sound):
    async def finish_tool(self, turn: TurnContext) -> None:
        """Forget it."""


class FinishesTwice(Sound):
    async def finish_tool(self, turn: TurnContext) -> None:
        await turn.emit(ToolFinished(tool_id="t", status="ok"))
        await turn.emit(ToolFinished(tool_id="t", status="ok"))


class EndsItself(Sound):
    async def speak(self, turn: TurnContext) -> None:
        await super().speak(turn)
        await turn.emit(TurnCompleted(stop_reason="end_turn", duration_ms=1))


class SpeaksForThePerson(Sound):
    async def speak(self, turn: TurnContext) -> None:
        await turn.emit(UserMessage(message_id="m", text="me again"))


class StampsEvents(Sound):
    async def speak(self, turn: TurnContext) -> None:
        await turn.emit(Text(block=0, text="hello", seq=7))


class SpeaksLate(Sound):
    async def run(self, turn: TurnContext) -> Ending:
        ending = await super().run(turn)
        self.kept.append(asyncio.create_task(self.more(turn)))
        return ending

    async def more(self, turn: TurnContext) -> None:
        try:
            await turn.emit(Text(block=1, text="by the way"))
        except Exception:  # noqa: BLE001 - a bad transport would not notice
            return


class SwallowsCancellation(Sound):
    async def run(self, turn: TurnContext) -> Ending:
        try:
            return await super().run(turn)
        except asyncio.CancelledError:
            return Completed()


class IgnoresInterrupts(Sound):
    async def interrupt(self) -> None:
        """Never mind."""


class ClaimsToBeDone(Sound):
    async def endless(self, turn: TurnContext) -> Ending:
        await super().endless(turn)
        return Completed()


class InterruptsTheNext(Sound):
    async def run(self, turn: TurnContext) -> Ending:
        if self.stop.is_set():
            self.stop.clear()
            return Interrupted()
        return await super().run(turn)


class SpeaksOnce(Sound):
    spoke = False

    async def speak(self, turn: TurnContext) -> None:
        if not self.spoke:
            await super().speak(turn)
        self.spoke = True


class HangsInClose(Sound):
    async def close(self) -> None:
        await asyncio.Event().wait()


class ClosesOnce(Sound):
    closed = False

    async def close(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


class IgnoresDenials(Sound):
    async def permission(self, turn: TurnContext) -> None:
        await turn.emit(ToolStarted(tool_id="t", name="Bash"))
        answer = await turn.ask(AskRequest(kind="permission", tool="Bash", tool_id="t"))
        if isinstance(answer, Answered):
            await turn.ask_delivered(answer.ask_id)
        await turn.emit(ToolFinished(tool_id="t", status="ok"))


class NeverRuns(Sound):
    async def permission(self, turn: TurnContext) -> None:
        answer = await turn.ask(AskRequest(kind="permission", tool="Bash"))
        if isinstance(answer, Answered):
            await turn.ask_delivered(answer.ask_id)


class DeliversNothing(Sound):
    async def question(self, turn: TurnContext) -> None:
        answer = await turn.ask(AskRequest(kind="question", tool="AskUserQuestion"))
        if isinstance(answer, Answered):
            await turn.emit(Text(block=7, text=answer.settlement.response or "nothing"))


class ManglesAnswers(Sound):
    async def question(self, turn: TurnContext) -> None:
        answer = await turn.ask(AskRequest(kind="question", tool="AskUserQuestion"))
        if isinstance(answer, Answered):
            await turn.ask_delivered(answer.ask_id)
            await turn.emit(Text(block=7, text=(answer.settlement.response or "")[:5]))


class AsksBehindTheBack(Sound):
    async def permission(self, turn: TurnContext) -> None:
        asking = asyncio.create_task(super().permission(turn))
        self.kept.append(asking)
        await asyncio.shield(asking)


class SteersNowhere(Sound):
    async def steer(self, message: Message) -> Verdict:
        return Verdict(verdict="unverified")


class Shared(Maker):
    """All connections emit into whatever turn began last."""

    async def open(self, session: SessionInfo) -> Connection:
        transport = self

        class Crossed(Sound):
            async def run(self, turn: TurnContext) -> Ending:
                transport.turn = turn
                if turn.message.text != "endless":
                    return await super().run(turn)
                await turn.emit(Status(state="thinking"))
                await self.stop.wait()
                await transport.turn.emit(Text(block=9, text="late"))
                return Interrupted()

        return Crossed()

    turn: TurnContext


class OneForAll(Maker):
    """Every session gets the same connection."""

    def __init__(self) -> None:
        super().__init__()
        self.only = Sound()

    async def open(self, session: SessionInfo) -> Connection:
        return self.only


class TakesAnyOption(Maker):
    def check(self, agent: AgentInfo) -> str | None:
        return None


class Nameless(Maker):
    name = ""


class ClosesItselfOnce(Maker):
    closed = False

    async def close(self) -> None:
        if self.closed:
            raise RuntimeError("the transport is closed already")
        self.closed = True


class Raises(Maker):
    async def open(self, session: SessionInfo) -> Connection:
        if "unavailable" in session.agent.options:
            raise FileNotFoundError("agent")
        return Sound()

    def check(self, agent: AgentInfo) -> str | None:
        return "It is not installed." if "unavailable" in agent.options else super().check(agent)


class HidesThatItCannot(Raises):
    def check(self, agent: AgentInfo) -> str | None:
        return None


class Complains(Maker):
    def check(self, agent: AgentInfo) -> str | None:
        return super().check(agent) or "It is Monday."


class SlowToOpen(Maker):
    async def open(self, session: SessionInfo) -> Connection:
        await asyncio.Event().wait()
        return Sound()


class BlocksForEver(Sound):
    async def speak(self, turn: TurnContext) -> None:
        await asyncio.Event().wait()


class AsksUnannounced(Sound):
    async def speak(self, turn: TurnContext) -> None:
        await self.permission(turn)


class SteersUnannounced(Maker):
    capabilities: frozenset[Capability] = frozenset({"interrupt"})


BROKEN: list[tuple[Transport, str, str]] = [
    (Nameless(), "it_is_a_transport", "`name` has to be"),
    (Maker(SpeaksOnce), "turns_follow_one_another", "The second turn of a connection showed nothing"),
    (ClosesItselfOnce(), "a_transport_may_be_closed_twice", "the transport is closed already"),
    (Maker(SaysNothing), "run_says_how_the_turn_ended", "`run` returned None"),
    (Maker(ShowsNothing), "words_become_durable_text", "without any durable text"),
    (Maker(ShowsNothing), "a_completed_turn_leaves_nothing_open", r"block \(0,\) has no durable text"),
    (
        Maker(WrongDeltas),
        "events_keep_the_rules",
        r"deltas of block 0 \('hel'\) are not its durable text \('hello'\)",
    ),
    (Maker(ReusesBlocks), "events_keep_the_rules", "Block 0 was used again"),
    (Maker(LeavesToolsOpen), "a_completed_turn_leaves_nothing_open", "tool .* has not finished"),
    (Maker(FinishesTwice), "events_keep_the_rules", "finished twice"),
    (Maker(EndsItself), "events_keep_the_rules", "`turn_completed` is the hub's own event"),
    (Maker(SpeaksForThePerson), "events_keep_the_rules", "`user_message` is the hub's own event"),
    (Maker(StampsEvents), "events_keep_the_rules", "the hub fills them in"),
    (Maker(SpeaksLate), "nothing_comes_after_the_end", "emitted Text after the end of the turn"),
    (Maker(BlocksForEver), "run_says_how_the_turn_ended", "`run` took longer than 1 s"),
    (Maker(SwallowsCancellation), "cancellation_is_honoured", "swallowed its cancellation"),
    (Maker(IgnoresInterrupts), "interrupting_ends_the_turn", "ran on for 0.5 s after it was interrupted"),
    (Maker(ClaimsToBeDone), "interrupting_ends_the_turn", "interrupted, but ended as Completed"),
    (Maker(InterruptsTheNext), "interrupting_nothing_is_harmless", "An interrupt before the turn"),
    (Maker(InterruptsTheNext), "a_turn_runs_after_a_stopped_one", "after an interrupted one showed nothing"),
    (Maker(HangsInClose), "closing_is_bounded_and_may_be_repeated", "`close` took longer"),
    (Maker(ClosesOnce), "closing_is_bounded_and_may_be_repeated", "closed already"),
    (Maker(IgnoresDenials), "a_denied_call_does_not_run", "The call was denied, but the tool finished as ok"),
    (Maker(IgnoresDenials), "a_withdrawn_call_does_not_run", "never allowed, but the tool finished as ok"),
    (Maker(IgnoresDenials), "an_edited_input_is_what_runs", "The edited input did not run"),
    (Maker(NeverRuns), "an_allowed_call_runs", "no tool finished as ok"),
    (Maker(DeliversNothing), "an_answer_reaches_the_agent", "`ask_delivered` was not called"),
    (Maker(ManglesAnswers), "an_answer_reaches_the_agent", "never got the answer"),
    (Maker(AsksBehindTheBack), "a_turn_that_waits_for_an_answer_can_be_stopped", "left its permission open"),
    (Maker(SteersNowhere), "steering", "had the verdict"),
    (SteersUnannounced(), "steering", "DID NOT RAISE"),
    (
        SteersUnannounced(AsksUnannounced),
        "a_denied_call_does_not_run",
        "does not have the capability `permissions`",
    ),
    (Shared(), "connections_are_independent", "after its end"),
    (OneForAll(), "connections_are_independent", "ended with another session"),
    (TakesAnyOption(), "wrong_options_are_a_mistake_in_the_configuration", "it has to raise ConfigError"),
    (Raises(), "an_agent_that_cannot_run_says_why", "FileNotFoundError.* where AgentUnavailable is due"),
    (HidesThatItCannot(), "an_agent_that_cannot_run_says_why", "has nothing against an agent that cannot run"),
    (Complains(), "an_agent_that_can_run_is_not_complained_about", "It is Monday"),
    (SlowToOpen(), "a_session_can_be_opened_again", "`open` took longer"),
]


class Examined(Contract):
    """The contract, called test by test."""

    def unavailable(self, session: SessionInfo) -> SessionInfo | None:
        agent = msgspec.structs.replace(session.agent, options={"unavailable": True})
        return msgspec.structs.replace(session, agent=agent)


async def examine(transport: Transport, test: str) -> None:
    method: Callable[..., Any] = getattr(Examined(), f"test_{test}")
    result = method(transport, make_session(transport.name))
    if inspect.isawaitable(result):
        await result


@pytest.mark.anyio
@pytest.mark.parametrize(("transport", "test", "complaint"), BROKEN, ids=[f"{_name}" for _, _name, _ in BROKEN])
async def test_broken_transports_are_caught(transport: Transport, test: str, complaint: str) -> None:
    """Each breaks the contract in one way, and the test of that very rule fails with a sentence that says so."""
    with pytest.raises((AssertionError, RuntimeError, pytest.fail.Exception), match=complaint):
        await examine(transport, test)


def test_every_test_of_the_contract_catches_something() -> None:
    """A test of the contract that nothing can fail would be worth nothing."""
    tests = {name.removeprefix("test_") for name in dir(TransportContract) if name.startswith("test_")}
    unproven = tests - {test for _, test, _ in BROKEN}
    assert unproven == set()


@pytest.mark.parametrize("scenario", ["endless", "permission", "question"])
def test_a_missing_scenario_is_asked_for(scenario: str) -> None:
    """A capability without its scenario is no silent skip: the author is told what to override."""
    with pytest.raises(NotImplementedError, match=f"override `{scenario}`"):
        getattr(TransportContract(), scenario)()
