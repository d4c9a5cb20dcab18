"""The scripted transport does what its script says, and says what is wrong with a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from hub.asks import AskRequest, Settlement
from hub.errors import AgentUnavailable, ConfigError
from hub.events import (
    MessageDelivered,
    Reasoning,
    ReasoningDelta,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    type_of,
)
from hub.testing import FakeTurn, allow, answer, deny, make_session, respond, withdraw
from hub.testing.scripted import ScriptedTransport
from hub.transport import Connection, Message, SessionInfo
from hub.turn import Completed, Ending, Failed, Interrupted

pytestmark = pytest.mark.anyio

RED = {"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]}


def script(*steps: dict[str, Any]) -> str:
    return json.dumps({"steps": steps})


async def connect(session: SessionInfo | None = None, **how: Any) -> Connection:
    return await ScriptedTransport(**how).open(session or make_session())


async def play(*steps: dict[str, Any], **details: Any) -> FakeTurn:
    turn = FakeTurn(script(*steps), **details)
    await turn.play(await connect(turn.session))
    assert turn.problems == []
    return turn


async def test_words_are_echoed_with_a_delta_a_word() -> None:
    """Without a script the agent answers ``Echo: <text>``, streamed word by word, then as one block."""
    turn = FakeTurn("hello  dear\nworld ")
    ending = await turn.play(await connect())
    assert ending == Completed()
    assert turn.events[0] == MessageDelivered(verdict="submitted", proof="sdk")
    assert [delta.text for delta in turn.of(TextDelta)] == ["Echo:", " hello", "  dear", "\nworld", " "]
    assert turn.of(Text) == [Text(block=0, text="Echo: hello  dear\nworld ")]
    assert turn.problems == []


@pytest.mark.parametrize("words", ["[1, 2]", '{"steps": [', "{not json}", '"text"', "{} and more"])
async def test_what_is_no_json_object_is_words(words: str) -> None:
    """Only a message that is a whole JSON object is played."""
    turn = FakeTurn(words)
    await turn.play(await connect())
    assert turn.text == f"Echo: {words}"


@pytest.mark.parametrize("text", ["{}", '{"steps": []}'])
async def test_no_steps_make_an_empty_turn(text: str) -> None:
    """The transport claims completion; the hub judges that nothing was shown."""
    turn = FakeTurn(text)
    assert await turn.play(await connect()) == Completed()
    assert turn.judged == Failed(code="empty_response")


@pytest.mark.parametrize("deltas", [0, 1, 3, 10, 40])
async def test_text_comes_in_as_many_deltas_as_asked(deltas: int) -> None:
    """``deltas`` is exact, whatever the length of the text; the durable text is whole."""
    turn = await play({"text": "twenty characters ok", "deltas": deltas})
    assert len(turn.of(TextDelta)) == deltas
    assert turn.text == "twenty characters ok"


async def test_every_ms_spaces_deltas() -> None:
    """``every_ms`` is the pause between two deltas."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    await play({"text": "abcd", "deltas": 4, "every_ms": 10})
    assert loop.time() - began >= 0.03


async def test_reasoning_is_streamed_as_reasoning() -> None:
    """A reasoning step is no text; a turn of nothing else is ``reasoning_only``."""
    turn = await play({"reasoning": "let me think"})
    assert [delta.text for delta in turn.of(ReasoningDelta)] == ["let", " me", " think"]
    assert turn.of(Reasoning) == [Reasoning(block=0, text="let me think")]
    assert turn.judged == Failed(code="reasoning_only")


async def test_a_tool_runs_and_tells_its_result() -> None:
    """Started with its input, finished with a digest of its result, its runs and its duration."""
    turn = await play({"tool": "Bash", "input": {"command": "ls"}, "result": "a b", "ms": 5}, {"text": "done"})
    started, finished = turn.of(ToolStarted)[0], turn.of(ToolFinished)[0]
    assert (started.name, started.input) == ("Bash", {"command": "ls"})
    assert (finished.tool_id, finished.status) == (started.tool_id, "ok")
    assert finished.digest is not None
    assert (finished.digest.text, finished.digest.bytes, finished.digest.runs) == ("a b", 3, 1)
    assert finished.duration_ms is not None
    assert finished.duration_ms >= 5
    assert turn.asks == []


async def test_a_tool_may_fail_by_itself() -> None:
    """A result ``{"error": …}`` is the tool's own failure; the turn goes on."""
    turn = await play({"tool": "Bash", "result": {"error": "no such file"}}, {"text": "sorry"})
    finished = turn.of(ToolFinished)[0]
    assert finished.status == "error"
    assert finished.digest is not None
    assert finished.digest.text == "no such file"
    assert turn.text == "sorry"


async def test_a_long_result_is_cut_in_its_digest() -> None:
    """The digest has the beginning, and the size and hash of the whole."""
    turn = await play({"tool": "Bash", "result": "ü" * 5000})
    digest = turn.of(ToolFinished)[0].digest
    assert digest is not None
    assert (len(digest.text), digest.bytes, digest.truncated) == (2000, 10_000, True)


async def test_parallel_tools_run_at_once() -> None:
    """All of them start before any of them ends."""
    tools = [{"tool": "Bash", "input": {"command": str(n)}, "ms": 20} for n in range(3)]
    turn = await play({"parallel": tools})
    kinds = [type_of(event) for event in turn.events[1:]]
    assert kinds == ["tool_started"] * 3 + ["tool_finished"] * 3
    assert len({started.tool_id for started in turn.of(ToolStarted)}) == 3


async def test_an_allowed_tool_runs_after_its_ask_was_delivered() -> None:
    """The ask names tool, subject, input and the tool call; allow lets it run."""
    call = {"tool": "Bash", "input": {"command": "rm x"}, "ask": True, "result": "gone"}
    turn = await play(call, replies=[allow()])
    (ask,) = turn.asks
    assert ask.request == AskRequest(
        kind="permission", tool="Bash", subject="rm x", input={"command": "rm x"}, source="sdk", tool_id="tool_1"
    )
    assert ask.delivered
    assert turn.of(ToolFinished)[0].status == "ok"


async def test_a_denied_tool_does_not_run() -> None:
    """It finishes as denied with the words of the denial, is not counted as a run, and the script goes on."""
    call = {"tool": "Bash", "input": {"command": "rm x"}, "ask": True}
    turn = await play(call, {"text": "as you wish"}, replies=[deny("never")])
    finished = turn.of(ToolFinished)[0]
    assert finished.status == "denied"
    assert finished.digest is not None
    assert (finished.digest.text, finished.digest.runs) == ("never", None)
    assert turn.asks[0].delivered
    assert turn.remembered == {}
    assert turn.text == "as you wish"


async def test_an_edited_input_is_what_runs() -> None:
    """Allowed with an edited input, the tool runs with that, and its digest shows it."""
    call = {"tool": "Bash", "input": {"command": "rm -rf /"}, "ask": True, "result": "ok"}
    turn = await play(call, replies=[allow(input={"command": "rm x"})])
    digest = turn.of(ToolFinished)[0].digest
    assert digest is not None
    assert digest.text == 'ok\nran with {"command":"rm x"}'


async def test_a_withdrawn_permission_does_not_run_the_tool() -> None:
    """Nobody denied it and nobody allowed it: it was interrupted, and nothing is called delivered."""
    turn = await play({"tool": "Bash", "ask": True}, replies=[withdraw("too late")])
    assert turn.of(ToolFinished)[0].status == "interrupted"
    assert not turn.asks[0].delivered


@pytest.mark.parametrize(
    ("questions", "reply", "echoed"),
    [
        ({"questions": [RED]}, answer({"Which colour?": "blue"}), "blue"),
        (RED, answer({"Which colour?": "blue"}), "blue"),
        ([RED], respond("neither"), "neither"),
        (
            {"questions": [RED, {"question": "Why?"}]},
            answer({"Which colour?": "red", "Why?": "so"}),
            "Which colour? red\nWhy? so",
        ),
    ],
)
async def test_a_question_echoes_its_answer(questions: Any, reply: Settlement, echoed: str) -> None:
    """The questions are asked as AskUserQuestion has them; the answer comes back as text."""
    turn = await play({"question": questions}, replies=[reply])
    (ask,) = turn.asks
    assert (ask.request.kind, ask.request.tool) == ("question", "AskUserQuestion")
    assert ask.request.questions[0].options[1].label == "blue"
    assert ask.delivered
    assert turn.text == echoed


@pytest.mark.parametrize(
    ("step", "ending"),
    [
        (
            {"fail": {"code": "token_cap", "message": "too long", "retryable": False}},
            Failed(code="token_cap", message="too long", retryable=False),
        ),
        ({"fail": {"code": "stalled"}}, Failed(code="stalled")),
        ({"incomplete": True}, Failed(code="incomplete")),
        ({"incomplete": False}, Completed()),
        ({"hang": False}, Completed()),
    ],
)
async def test_a_script_may_end_the_turn(step: dict[str, Any], ending: Ending) -> None:
    """What was said before is kept; nothing is played after."""
    turn = await play({"text": "before"}, step, *([{"text": "after"}] if isinstance(ending, Failed) else []))
    assert turn.ending == ending
    assert turn.text == "before"


async def test_a_script_may_break_the_transport() -> None:
    """``raise`` raises out of ``run``: what a broken transport does."""
    with pytest.raises(RuntimeError, match=r"^kaboom$"):
        await play({"raise": "kaboom"})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"stepps": []}', "nothing like 'stepps'"),
        ('{"steps": "x"}', "has to be a list"),
        (script({"text": "a"}, {"tex": "b"}), "step 2: there is no step 'tex'"),
        (script({"text": 1}), "step 1: Expected `str`, got `int`"),
        (script({"text": "a", "tool": "b"}), "both 'text' and 'tool'"),
        (script({"text": "a", "speed": 1}), "unknown field `speed`"),
        (script({"text": "a", "deltas": -1}), "Expected `int` >= 0"),
        (script({"tool": "Bash", "input": "ls"}), "Expected `object`"),
        (script({"parallel": [{"text": "a"}]}), "step 1"),
        (script({"question": {"questions": []}}), "asks no question"),
        (script({"question": {"q": 1}}), "missing required field `question`"),
        (script({"fail": {"code": "bad luck"}}), "Invalid enum value 'bad luck'"),
        (script({"sleep_ms": "long"}), "Expected `float`"),
        ('{"steps": [null]}', "not null"),
    ],
)
async def test_a_bad_script_fails_the_turn_and_names_the_mistake(text: str, complaint: str) -> None:
    """Nothing of a bad script is played, and the failure says which step is wrong and why."""
    turn = FakeTurn(text)
    ending = await turn.play(await connect())
    assert isinstance(ending, Failed)
    assert (ending.code, ending.retryable) == ("agent_error", False)
    assert complaint in (ending.message or "")
    assert turn.of(Text) == []


async def test_runs_are_counted_over_turns_and_restarts() -> None:
    """The same call counts up in its session, also on a new connection; another call counts for itself."""
    one, two = {"tool": "Bash", "input": {"command": "1"}}, {"tool": "Bash", "input": {"command": "2"}}
    first = FakeTurn(script(one, one))
    connection = await connect()
    await first.play(connection)
    second = first.next(script(one, two))
    await second.play(connection)
    third = second.next(script(one))
    await third.play(await connect(third.session))
    assert [runs(turn) for turn in (first, second, third)] == [[1, 2], [3, 1], [4]]


def runs(turn: FakeTurn) -> list[int | None]:
    return [finished.digest.runs if finished.digest else None for finished in turn.of(ToolFinished)]


async def test_a_run_counts_even_if_the_hub_dies_during_it() -> None:
    """The count is remembered before the tool runs."""
    turn = FakeTurn(script({"tool": "Bash", "ms": 60_000}))
    connection = await connect()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(turn.play(connection))
        await turn.until(lambda: bool(turn.remembered))
        running.cancel()
    again = turn.next(script({"tool": "Bash"}))
    await again.play(await connect(again.session))
    assert runs(again) == [2]


@pytest.mark.parametrize(
    "step",
    [
        {"hang": True},
        {"sleep_ms": 600_000},
        {"tool": "Bash", "ms": 600_000},
        {"tool": "Bash", "ask": True},
        {"question": RED},
        {"parallel": [{"tool": "Bash", "ms": 600_000}, {"tool": "Bash", "ask": True}]},
        {"text": "long", "deltas": 1000, "every_ms": 600_000},
    ],
)
@pytest.mark.parametrize("how", ["cancelled", "interrupt"])
async def test_a_stopped_turn_ends_at_once(step: dict[str, Any], how: str) -> None:
    """A wish to stop, or a call of ``interrupt``, ends any step; open tools are finished as interrupted and
    open asks withdrawn."""
    turn = FakeTurn(script({"text": "on my way"}, step))
    connection = await connect()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        running = group.create_task(turn.play(connection))
        await turn.seen(Text)
        if step.get("ask") or "question" in step:
            await turn.asked()
        if how == "cancelled":
            turn.cancelled.request("ann")
        else:
            await connection.interrupt()
        ending = await running
    assert ending == Interrupted(by="ann" if how == "cancelled" else "person")
    assert turn.rules.unfinished_tools == ()
    assert all(ask.withdrawn_by_caller for ask in turn.asks)
    assert turn.problems == []


async def test_cancelling_run_leaves_nothing_behind() -> None:
    """Cancellation goes through; no task of the script stays."""
    turn = FakeTurn(script({"hang": True}))
    connection = await connect()
    before = asyncio.all_tasks()
    running = asyncio.create_task(turn.play(connection))
    await turn.seen(MessageDelivered)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asyncio.all_tasks() == before
    assert turn.problems == []


async def test_steering_is_echoed_into_the_running_turn() -> None:
    """Words given to a running turn appear in it; without a turn nothing is claimed."""
    connection = await connect()
    assert (await connection.steer(Message(id="m", text="too early"))).verdict == "unverified"
    turn = FakeTurn(script({"hang": True}))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(turn.play(connection))
        await turn.seen(MessageDelivered)
        assert (await connection.steer(Message(id="m", text="left"))).verdict == "submitted"
        await connection.interrupt()
        assert isinstance(await running, Interrupted)
    assert turn.text == "Steered: left"


async def test_an_agent_may_have_steps_of_its_own() -> None:
    """``steps`` among its options answer plain words; a scripted message still has its way."""
    session = make_session(steps=[{"text": "at your service"}])
    connection = await connect(session)
    plain, scripted = FakeTurn("hi", session=session), FakeTurn(script({"text": "mine"}), session=session)
    await plain.play(connection)
    await scripted.play(connection)
    assert (plain.text, scripted.text) == ("at your service", "mine")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"step": []}, r"agents\.agent\.step: unknown"),
        ({"steps": [{"tex": "a"}]}, r"agents\.agent\.steps: step 1: there is no step 'tex'"),
        ({"steps": 3}, r"has to be a list"),
        ({"unavailable": True}, r"agents\.agent\.unavailable"),
    ],
)
async def test_wrong_options_are_named(options: dict[str, Any], complaint: str) -> None:
    """Mistakes in the configuration are found before a turn is run."""
    with pytest.raises(ConfigError, match=complaint):
        ScriptedTransport().check(make_session(**options).agent)


async def test_an_agent_may_be_made_unavailable() -> None:
    """``unavailable`` is for those who test what happens then."""
    session = make_session(unavailable="log in first")
    assert ScriptedTransport().check(session.agent) == "log in first"
    with pytest.raises(AgentUnavailable, match="log in first"):
        await connect(session)


async def test_an_adopted_turn_goes_on_where_it_stood() -> None:
    """With ``adopts`` a new connection plays the step that was cut off again, and the ones after it, not those
    before; what was streamed of that step is taken back first."""
    steps = script({"text": "one"}, {"tool": "Bash", "ms": 60_000}, {"text": "three"})
    turn = FakeTurn(steps)
    connection = await connect(turn.session, adopts=True)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(turn.play(connection))
        await turn.until(lambda: len(turn.remembered) == 2)
        running.cancel()
    session = msgspec.structs.replace(turn.session, memory=dict(turn.remembered))
    short = steps.replace("60000", "1")
    again = FakeTurn(short, session=session, turn_id=turn.turn_id, adopted=True, attempt=2)
    assert await again.play(await connect(session, adopts=True)) == Completed()
    assert again.of(Status)[0].state == "retrying"
    assert again.text == "three"
    assert runs(again) == [2]
    known = {started.tool_id for started in turn.of(ToolStarted)}
    assert not known & {started.tool_id for started in again.of(ToolStarted)}


def test_the_fixtures_of_the_pytest_plugin_make_turns(
    hub_turn: Callable[..., FakeTurn], hub_session: Callable[..., SessionInfo]
) -> None:
    """Plugin authors get sessions with directories of their own, and turns in them."""
    turn = hub_turn("hi", session=hub_session("echo", model="x"))
    assert (turn.message.text, turn.session.agent.options) == ("hi", {"model": "x"})
    assert turn.session.cwd != turn.session.agent.state_dir
