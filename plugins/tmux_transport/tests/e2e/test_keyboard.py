"""Prompts that a person types at the agent's own keyboard: each is a turn, once, with the words that answer it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from turnhub_tmux.bridge.access import USER, Access, url_of
from turnhub_tmux.bridge.installed import installed
from turnhub_tmux.bridge.state import Secrets, ports

from hub import (
    Completed,
    Connection,
    Failed,
    Interrupted,
    SessionInfo,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Verdict,
)
from hub.testing import FakeIdle, FakeTurn, allow, make_session

pytestmark = pytest.mark.anyio
HOOKS_FIRST = pytest.mark.parametrize(
    "hooks", [pytest.param(True, id="hooks"), pytest.param(False, marks=pytest.mark.full, id="no hooks")]
)


@asynccontextmanager
async def watching(connection: Connection, idle: FakeIdle) -> AsyncIterator[None]:
    """Watched for the block, as a runner would between turns."""
    task = asyncio.create_task(connection.watch(idle))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def typed(world: Any, connection: Connection, session: SessionInfo, text: str) -> FakeTurn:
    """The turn of a prompt that a person types while the agent is watched."""
    idle = FakeIdle(session)
    async with watching(connection, idle):
        world.keys("-l", text)
        await world.shows(text)
        world.keys("Enter")
        assert await idle.heard() == [text]
    turn: FakeTurn = world.turn(text, origin="keyboard", literal=False)
    return turn


async def queued(world: Any, *texts: str) -> None:
    """A person types while the agent is busy: each waits in the agent's own queue."""
    for text in texts:
        world.keys("-l", text)
        await world.shows(text)
        world.keys("Enter")
        async with asyncio.timeout(20):
            while text not in waiting(world):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def typed_meanwhile(world: Any, connection: Connection, words: str, *texts: str) -> FakeTurn:
    """A turn of the hub, which ends with its own words although a person types while it runs; the first prompt is
    told of afterwards."""
    turn: FakeTurn = world.turn(words)
    playing = asyncio.create_task(turn.play(connection))
    await world.shows("line 3 of it", below=words)
    await queued(world, *texts)
    world.model.release()
    assert isinstance(await playing, Completed)
    assert turn.text.endswith("and the end")
    idle = FakeIdle(turn.next("").session)
    async with watching(connection, idle):
        assert await idle.heard() == [texts[0]]
    return turn


def waiting(world: Any) -> list[str]:
    """What was put into the agent's own queue, as its transcript says."""
    files = (world.folder / "home" / ".claude" / "projects").rglob("*.jsonl")
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines() if line.endswith("}")]
    return [row["content"] for row in rows if row.get("operation") == "enqueue"]


def start_by_hand(world: Any, name: str) -> None:
    """A person starts the agent in a tmux session of their own."""
    words = (f"{key}={value}" for key, value in world.env.items())
    world.tmux(
        *("-f", "/dev/null", "new-session", "-d", "-s", name, "-x", "120", "-y", "40", "-c", str(world.cwd)),
        *("env", "-i", "PATH=/usr/bin:/bin", "TERM=tmux-256color", *words),
        *world.options["command"].split(),
    )


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The hub runs on asyncio; one agent lives through most of what is typed."""
    return "asyncio"


class Lasting(NamedTuple):
    """An agent that has had a turn, and the hub's connection to it."""

    world: Any
    connection: Connection

    async def tells_of_nothing(self) -> None:
        """Nothing more was typed that nobody was told of."""
        idle = FakeIdle(self.world.after())
        async with watching(self.connection, idle):
            await asyncio.sleep(1.0)  # nothing is told: that has no event
        assert idle.prompts == []


@pytest.fixture(
    scope="module",
    params=[pytest.param(True, id="hooks"), pytest.param(False, marks=pytest.mark.full, id="no hooks")],
)
async def lasting(request: pytest.FixtureRequest, lasting_worlds: Any) -> AsyncIterator[Lasting]:
    """With hooks or without."""
    world = lasting_worlds(hooks=request.param)
    world.model.requests.clear()  # of the world before
    async with world.connected() as connection:
        assert isinstance(await world.turn("from the hub").play(connection), Completed)
        yield Lasting(world, connection)


async def test_a_prompt_of_the_keyboard_is_a_turn(lasting: Lasting) -> None:
    """Typed while the agent is idle: told once with its words; its turn has its answer, and its alone; the next
    message of the hub is answered as ever."""
    world, connection = lasting
    turn = await typed(world, connection, world.after(), "typed there")
    assert isinstance(await turn.play(connection), Completed)
    assert turn.text == "Echo: typed there"
    assert turn.delivered is None  # nothing was typed by the hub
    last = world.turn("once more")
    assert isinstance(await last.play(connection), Completed)
    assert last.text == "Echo: once more"
    await lasting.tells_of_nothing()
    assert world.prompts() == ["from the hub", "typed there", "once more"]
    assert not [problem for one in (turn, last) for problem in one.problems]


async def test_a_prompt_of_the_keyboard_asks_as_any_other(lasting: Lasting) -> None:
    """A permission in it is an ask, answered from the hub."""
    world, connection = lasting
    await typed(world, connection, world.after(), "BASH typed")
    turn = world.turn("BASH typed", replies=[allow()], origin="keyboard", literal=False)
    await turn.play(connection)
    assert (world.cwd / "made").exists()
    assert [(one.tool_id != "", one.status) for one in turn.of(ToolFinished)] == [(True, "ok")]
    assert len(turn.asks) == 1
    assert turn.asks[0].delivered


async def test_a_prompt_that_waited_for_a_turn_of_the_hub_is_a_turn_of_its_own(lasting: Lasting) -> None:
    """Typed while the hub's turn runs, it goes into the agent's own queue; the hub's turn ends with its own words,
    and the typed one is told of afterwards, with its own answer."""
    world, connection = lasting
    await typed_meanwhile(world, connection, "HELD alone", "typed meanwhile")
    later = world.turn("typed meanwhile", origin="keyboard", literal=False)
    assert isinstance(await later.play(connection), Completed)
    assert later.text == "Echo: typed meanwhile"


async def test_prompts_that_waited_together_are_answered_in_one_turn(lasting: Lasting) -> None:
    """The agent takes all that waits in its queue at once, and answers it in one: the first begins the turn, the
    others are told of in it, and the turn has the answer."""
    world, connection = lasting
    before = len(world.prompts())
    turn = await typed_meanwhile(world, connection, "HELD answer", "alpha one", "beta two", "gamma three")
    waited = world.turn("alpha one", origin="keyboard", literal=False)
    assert isinstance(await waited.play(connection), Completed)
    assert waited.typed_along == ["beta two", "gamma three"]
    assert waited.text == "Echo: gamma three"
    last = world.turn("and again")
    assert isinstance(await last.play(connection), Completed)
    assert last.text == "Echo: and again"
    assert world.prompts()[before:] == ["HELD answer", "alpha one", "beta two", "gamma three", "and again"]
    assert not [problem for one in (turn, waited, last) for problem in one.problems]
    assert turn.typed_along == last.typed_along == []


async def test_what_the_agent_takes_up_while_it_works_is_told_of_in_that_turn(lasting: Lasting) -> None:
    """Typed while a tool runs, it is in the very next request of the hub's turn: the turn says so."""
    world, connection = lasting
    os.mkfifo(gate := world.cwd / "gate")
    turn = world.turn("GATE")
    playing = asyncio.create_task(turn.play(connection))
    await world.shows("cat gate")
    await queued(world, "and mind this")
    await asyncio.to_thread(gate.write_text, "opened")
    assert isinstance(await playing, Completed)
    assert turn.typed_along == ["and mind this"]
    assert "and mind this" in turn.text  # which repeats what the model was told last
    assert [one.status for one in turn.of(ToolFinished)] == ["ok"]
    await lasting.tells_of_nothing()
    assert not turn.problems


@pytest.mark.parametrize("by", ["keyboard", "person"])
async def test_a_tool_that_is_stopped_while_it_runs_was_not_denied(lasting: Lasting, by: str) -> None:
    """Escape at the keyboard, or an interrupt of the hub: the tool and the turn are interrupted, although the
    agent says that the call was refused."""
    world, connection = lasting
    gate = world.cwd / "gate"
    if not gate.exists():
        os.mkfifo(gate)
    turn = world.turn("GATE stopped")
    playing = asyncio.create_task(turn.play(connection))
    await turn.seen(ToolStarted)
    await world.shows("cat gate")
    await asyncio.sleep(1.0)  # that it runs has no event
    if by == "keyboard":
        world.keys("Escape")
    else:
        turn.cancelled.request()
        await connection.interrupt()
    ending = await playing
    assert isinstance(ending, Interrupted)
    assert ending.by == by
    assert [one.status for one in turn.of(ToolFinished)] == ["interrupted"]
    last = world.turn("once more")
    assert isinstance(await last.play(connection), Completed)
    assert last.text == "Echo: once more"


class Outpaced(FakeTurn):
    """While its message is to be delivered somebody types, and has an answer; the message is not delivered."""

    world: Any

    async def deliver(self, typist: Any, message: Any = None) -> Verdict:
        """Somebody was faster."""
        self.world.keys("-l", "faster than you")
        await self.world.shows("faster than you")
        self.world.keys("Enter")
        await self.world.shows("Echo: faster than you")
        await typist.look()  # which reads all that was written
        return Verdict(verdict="blocked", detail="Somebody types.")


async def test_what_is_typed_while_a_message_fails_is_told_afterwards(lasting: Lasting) -> None:
    """The turn of the message ends with nothing of it; then it is a turn of its own, with its answer."""
    world, connection = lasting
    Outpaced.world = world
    failed = world.turn("kept away", made=Outpaced)
    assert isinstance(await failed.play(connection), Failed)
    idle = FakeIdle(failed.next("").session)
    async with watching(connection, idle):
        assert await idle.heard() == ["faster than you"]
    turn = world.turn("faster than you", origin="keyboard", literal=False)
    assert isinstance(await turn.play(connection), Completed)
    assert turn.text == "Echo: faster than you"
    assert "kept away" not in world.prompts()
    await lasting.tells_of_nothing()


@HOOKS_FIRST
async def test_what_was_typed_while_no_hub_was_there_is_told_later(worlds: Any, hooks: bool) -> None:
    """Two prompts, answered while nobody listened: a new connection tells of both, in order, and their answers."""
    world = worlds(hooks=hooks)
    async with world.connected() as connection:
        first = world.turn("hello")
        await first.play(connection)
    for text in ("typed alone", "and another"):
        world.keys("-l", text)
        await world.shows(text)
        world.keys("Enter")
        await world.shows(f"Echo: {text}")
    session = first.next("").session
    async with world.connected(session) as connection:
        told = []
        for text in ("typed alone", "and another"):
            idle = FakeIdle(session)
            async with watching(connection, idle):
                told += await idle.heard()
            turn = world.turn(text, origin="keyboard", literal=False)
            assert isinstance(await turn.play(connection), Completed)
            assert turn.text == f"Echo: {text}"
            session = turn.next("").session
    assert told == ["typed alone", "and another"]
    assert world.prompts() == ["hello", "typed alone", "and another"]


@pytest.mark.parametrize(
    "hooks",
    [pytest.param(True, id="installed hooks"), pytest.param(False, marks=pytest.mark.full, id="no hooks")],
)
async def test_a_pane_that_a_person_started_is_used_as_it_is(worlds: Any, hooks: bool) -> None:
    """``target``: the agent that runs there gets the message, is found in its transcript (and heard by the hooks
    that a person installed), and is not ended when the session is forgotten."""
    world = worlds()
    session = world.session = make_session(
        "tmux", cwd=world.cwd, state_dir=world.folder / "state", target="work", socket=world.socket, env=world.env
    )
    async with world.connected() as connection:
        if hooks:
            await install_hooks(world)
        start_by_hand(world, "work")
        await world.shows("? for shortcuts", 60)
        turn = world.turn("into your pane")
        assert isinstance(await turn.play(connection), Completed)
        assert turn.text == "Echo: into your pane"
        assert (turn.delivered.proof == "hook") is hooks
        assert bool(turn.of(TextDelta)) is hooks
        later = await typed(world, connection, turn.next("").session, "typed by the person")
        assert isinstance(await later.play(connection), Completed)
        assert later.text == "Echo: typed by the person"
    await world.transport.forget(session)
    assert "work" in world.tmux("list-sessions")


async def install_hooks(world: Any) -> None:
    """What ``turnhub hooks install`` does, once a hub listens."""
    folder = Path(world.session.agent.shared_dir) / "hooks"
    access = Access(url=url_of(ports(folder)[0], USER), token=await Secrets(folder).new(USER))
    (world.folder / "home" / ".claude" / "settings.json").write_text(installed("", access))


async def test_the_agent_of_a_deleted_session_is_ended(worlds: Any) -> None:
    """Forgetting ends the tmux session that was started here and removes the session's files; twice is as once."""
    world = worlds()
    async with world.connected() as connection:
        turn = world.turn("hello")
        await turn.play(connection)
    session = turn.next("").session
    files = world.folder / "state" / "sessions" / session.id
    assert files.is_dir()
    for _ in range(2):
        await world.transport.forget(session)
    assert f"turnhub-{session.id}" not in world.tmux("list-sessions")
    assert not files.exists()
