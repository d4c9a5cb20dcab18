"""The fake turn writes everything down, and notes each rule that a transport breaks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable

import pytest

import hub.testing
from hub.asks import Answered, AskRequest, WithdrawnAsk
from hub.errors import PluginError
from hub.events import (
    AnyEvent,
    AskDelivered,
    By,
    MessageDelivered,
    Reasoning,
    ReasoningDelta,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnStarted,
    UserMessage,
)
from hub.testing import EventRules, FakeTurn, allow, deny, make_session, withdraw
from hub.transport import Connection, TurnContext
from hub.turn import Completed, Ending, Failed

PERMISSION = AskRequest(kind="permission", tool="Bash")


def delta(text: str, block: int = 0) -> AnyEvent:
    return TextDelta(block=block, text=text)


def text(words: str, block: int = 0) -> AnyEvent:
    return Text(block=block, text=words)


def started(tool_id: str = "t", parent_id: str | None = None) -> AnyEvent:
    return ToolStarted(tool_id=tool_id, name="Bash", parent_id=parent_id)


def finished(tool_id: str = "t") -> AnyEvent:
    return ToolFinished(tool_id=tool_id, status="ok")


def broken_by(*events: AnyEvent) -> list[str]:
    rules = EventRules()
    return [problem for event in events for problem in rules.broken_by(event)]


@pytest.mark.parametrize(
    "events",
    [
        (MessageDelivered(verdict="submitted"), Status(state="thinking"), delta("a"), delta("b"), text("ab")),
        (text("whole"), text("another", 1)),
        (delta("a"), delta("x", 1), text("a"), text("x", 1)),
        (ReasoningDelta(block=0, text="hm"), Reasoning(block=0, text="hm"), text("so", 1)),
        (delta("wro"), Status(state="retrying"), delta("right"), text("right")),
        (delta("cut o"), Text(block=0, text="cut o", partial=True)),
        (started(), started("u", "t"), finished("u"), finished()),
    ],
)
def test_good_events_break_nothing(events: tuple[AnyEvent, ...]) -> None:
    """Blocks may overlap, retries start over, tools may nest."""
    assert broken_by(*events) == []


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ((delta("a"), text("ab")), "The deltas of block 0 ('a') are not its durable text ('ab')."),
        ((text("a"), delta("b")), "A delta came for block 0 after its durable text."),
        ((text("a"), text("b")), "Block 0 was used again after its durable text."),
        ((text("a"), Reasoning(block=0, text="b")), "Block 0 was used again after its durable text."),
        ((delta("a"), ReasoningDelta(block=0, text="b")), "Block 0 streams both text and reasoning."),
        ((delta("a"), Reasoning(block=0, text="a")), "Block 0 streams text and ends as reasoning."),
        ((started(), started()), "Tool id 't' started twice."),
        ((started("u", "t"),), "Tool 'u' runs under 't', which never started."),
        ((finished(),), "Tool 't' finished without having started."),
        ((started(), finished(), finished()), "Tool 't' finished twice."),
        (
            (Text(block=0, text="a", seq=3),),
            "`text` has seq, session_id, at or turn_id set: the hub fills them in.",
        ),
        (
            (UserMessage(message_id="m", text="a"),),
            "`user_message` is the hub's own event: a transport does not emit it.",
        ),
        ((AskDelivered(ask_id="a"),), "`ask_delivered` is the hub's own event: a transport does not emit it."),
        ((TurnStarted(attempt=1),), "`turn_started` is the hub's own event: a transport does not emit it."),
    ],
)
def test_each_rule_has_a_sentence(events: tuple[AnyEvent, ...], problem: str) -> None:
    """What is broken is said in a sentence that names block or tool."""
    assert broken_by(*events) == [problem]


class Runs(Connection):
    """A connection whose turns are a function."""

    def __init__(self, body: Callable[[TurnContext], object]) -> None:
        self._body = body

    async def run(self, turn: TurnContext) -> Ending:
        made = self._body(turn)
        if asyncio.iscoroutine(made):
            await made
        return Completed()


@pytest.mark.anyio
async def test_forbidden_events_raise_and_are_noted() -> None:
    """As the hub does it; the note stays even if the transport swallows the error."""
    turn = FakeTurn()
    with pytest.raises(PluginError, match="turn_completed"):
        await turn.emit(TurnCompleted(stop_reason="x", duration_ms=1))
    assert len(turn.problems) == 1
    assert turn.events == []


@pytest.mark.anyio
async def test_nothing_is_taken_after_the_end() -> None:
    """Events, asks, memory and signs after the end of ``run`` are refused and noted."""
    turn = FakeTurn()
    await turn.play(Runs(lambda _: None))
    for deed in (turn.emit(text("a")), turn.ask(PERMISSION), turn.ask_delivered("x"), turn.remember(a="b")):
        with pytest.raises(PluginError, match="is over"):
            await deed
    with pytest.raises(PluginError, match="is over"):
        turn.sign(Failed(code="stalled"))
    assert len(turn.problems) == 5


@pytest.mark.anyio
async def test_asks_are_answered_from_a_script_or_by_the_test() -> None:
    """In order, by a function of the request, or later."""
    turn = FakeTurn(replies=[deny("no"), withdraw("gone")])
    first, second = await turn.ask(PERMISSION), await turn.ask(PERMISSION)
    assert isinstance(first, Answered)
    assert (first.settlement.decision, first.settlement.message) == ("deny", "no")
    assert second == WithdrawnAsk(ask_id=turn.asks[1].id, reason="gone")
    by_function = FakeTurn(replies=lambda request: allow() if request.tool == "Bash" else None)
    assert isinstance(await by_function.ask(PERMISSION), Answered)
    waiting = asyncio.create_task(turn.ask(PERMISSION))
    ask = await turn.asked()
    turn.settle(allow())
    answered = await waiting
    assert (answered.ask_id, ask.open) == (ask.id, False)
    with pytest.raises(LookupError):
        turn.settle(allow())


@pytest.mark.anyio
async def test_an_answer_from_elsewhere_counts_where_nobody_was_faster() -> None:
    """The ask is settled by it; a script that answered before wins."""
    elsewhere = asyncio.get_running_loop().create_future()
    elsewhere.set_result(deny(by=By(kind="keyboard", name="terminal")))
    turn = FakeTurn(replies=[allow()])
    decisions = [await turn.ask(PERMISSION, elsewhere) for _ in range(2)]
    assert [isinstance(one, Answered) and one.settlement.decision for one in decisions] == ["allow", "deny"]


@pytest.mark.anyio
async def test_deliveries_of_asks_are_checked() -> None:
    """Only a settled ask can be delivered, and once."""
    turn = FakeTurn(replies=[allow(), withdraw()])
    answered, withdrawn = await turn.ask(PERMISSION), await turn.ask(PERMISSION)
    await turn.ask_delivered(answered.ask_id)
    assert (turn.asks[0].delivered, turn.problems) == (True, [])
    for ask_id in (answered.ask_id, withdrawn.ask_id, "nothing"):
        await turn.ask_delivered(ask_id)
    assert len(turn.problems) == 3


@pytest.mark.anyio
async def test_a_whole_output_is_handed_over_and_not_written() -> None:
    """As in the hub: it is kept apart, and the event has its digest, made where the transport made none."""
    turn = FakeTurn()
    await turn.emit(ToolStarted(tool_id="t", name="Bash"))
    await turn.emit(ToolFinished(tool_id="t", status="ok", output="x" * 9000))
    (event,) = turn.tools_finished
    assert event.digest is not None
    assert (event.digest.bytes, event.digest.truncated, isinstance(event.output, str)) == (9000, True, False)
    assert turn.outputs == {"t": "x" * 9000}


@pytest.mark.anyio
async def test_a_turn_has_the_past_that_the_test_gives_it() -> None:
    """What was said, as a model sees it, and what the agent has to be told."""
    past = [UserMessage(seq=1, turn_id="t", message_id="m", text="before")]
    turn = FakeTurn("now", past=past, context="TOLD")
    assert [getattr(entry, "text", "") for entry in await turn.history()] == ["before"]
    assert await turn.context() == "TOLD"


@pytest.mark.anyio
async def test_signs_outrank_a_completion() -> None:
    """``judged`` is what the hub would make of the turn."""

    async def body(turn: TurnContext) -> None:
        await turn.emit(text("half an answer"))
        turn.sign(Failed(code="stalled"))

    turn = FakeTurn()
    assert await turn.play(Runs(body)) == Completed()
    assert turn.judged == Failed(code="stalled")


@pytest.mark.anyio
async def test_a_held_turn_makes_the_transport_wait() -> None:
    """``emit`` returns when there is room."""
    turn = FakeTurn()
    turn.hold()
    running = asyncio.create_task(turn.play(Runs(lambda turn: turn.emit(text("a")))))
    await turn.seen(Text)
    assert not running.done()
    turn.release()
    assert await running == Completed()


@pytest.mark.anyio
async def test_a_turn_that_takes_too_long_is_ended() -> None:
    """``play`` is bounded."""
    with pytest.raises(TimeoutError):
        await FakeTurn().play(Runs(lambda _: asyncio.sleep(60)), within=0.01)


@pytest.mark.anyio
async def test_memory_goes_on_to_the_next_turn() -> None:
    """What was remembered is in the session of the next turn; only text is."""
    turn = FakeTurn(session=make_session(memory={"a": "1", "b": "2"}))
    await turn.remember(b="3", c="4")
    assert turn.next("more").session.memory == {"a": "1", "b": "3", "c": "4"}
    await turn.remember(d=5)  # type: ignore[arg-type]
    assert len(turn.problems) == 1


def test_the_package_is_light_and_names_what_it_has() -> None:
    """Importing ``hub.testing`` loads neither pytest nor any of its own modules; every name can be had."""
    code = "import sys, hub.testing; print([m for m in sys.modules if m in ('pytest', 'msgspec', 'redis')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
    assert [name for name in hub.testing.__all__ if not hasattr(hub.testing, name)] == []
    assert set(hub.testing.__all__) <= set(dir(hub.testing))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hub.testing.nothing  # noqa: B018
