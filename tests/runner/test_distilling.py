"""Ended turns are distilled: off their slot, once over all runners and restarts, with failures that show."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hub import ids
from hub.config import PolicyConfig, RunnerConfig
from hub.errors import StoreReadOnly, StoreUnavailable
from hub.events import (
    AnyEvent,
    Distillate,
    DistillFailed,
    Text,
    TurnCompleted,
    TurnDistilled,
    TurnFailed,
    decode,
    line_of,
)
from hub.hookspecs import Distilled, DistillFailure, FinishedTurn, hookimpl
from hub.runner.remembering import title_of
from hub.store.records import SessionRecord
from hub.testing.hub import TestHub, hub_config
from hub.transport import Message, SessionInfo
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio


def made(turn: FinishedTurn) -> Distilled:
    """A distillate that tells of its turn."""
    words = turn.message.text if turn.message else ""
    return Distilled(distillate=Distillate(summary=f"did {words}"), route="test", title=f"About {words}")


class Distiller:
    """A plugin that distills. ``turns``: those it was given, as they came."""

    name = "distiller-under-test"

    def __init__(self, answer: Callable[[FinishedTurn], Any] = made) -> None:
        self.turns: list[FinishedTurn] = []
        self.began = asyncio.Event()
        self._answer = answer

    @hookimpl
    async def distill_turn(self, turn: FinishedTurn) -> Distilled | None:
        """Keep the turn; what the test wants."""
        self.turns.append(turn)
        self.began.set()
        answer: Any = self._answer(turn)
        made: Distilled | None = await answer if isinstance(answer, Awaitable) else answer
        return made


class Stuck(Distiller):
    """A plugin that works on a turn until :attr:`go` is set."""

    def __init__(self) -> None:
        super().__init__(self._wait)
        self.go = asyncio.Event()

    async def _wait(self, turn: FinishedTurn) -> Distilled:
        await self.go.wait()
        return made(turn)


@contextmanager
def solo(url: str) -> Iterator[None]:
    """A runner that never gets done with distilling, in a process of its own, killed at the end."""
    root = Path(__file__).parent.parent.parent
    command = [sys.executable, str(Path(__file__).with_name("solo_distiller.py")), url]
    process = subprocess.Popen(command, cwd=root, env={"PYTHONPATH": str(root), "PATH": ""})
    try:
        yield
    finally:
        process.kill()
        process.wait()


async def memory(hub: TestHub, session: str, events: int = 1) -> list[AnyEvent]:
    """What was made of the session's turns, once there are so many events of it. Raises TimeoutError."""
    async with asyncio.timeout(20):
        while len(found := await hub.store.memory_page(session)) < events:  # noqa: ASYNC110 - written by runners
            await asyncio.sleep(0.01)
    return [decode(line_of(entry.frame)) for entry in found]  # type: ignore[misc]


async def drained(hub: TestHub) -> None:
    """Return when no turn waits any more. Raises TimeoutError."""
    async with asyncio.timeout(20):
        while await hub.overview.backlog():  # noqa: ASYNC110 - emptied by runners
            await asyncio.sleep(0.01)


async def test_a_finished_turn_is_distilled_into_the_log(hubs: Hubs) -> None:
    """The plugin sees the whole turn, and its answer stands in the log behind the turn's end and in the memory."""
    plugin = Distiller()
    async with hubs(hooks=[plugin]) as hub:
        session = await hub.session()
        ending = await hub.run_turn(session, "one")
        (event,) = await memory(hub, session)
        assert isinstance(event, TurnDistilled)
        assert (event.distillate.summary, event.route, event.turn_id) == ("did one", "test", ending.turn_id)
        log = await hub.store.log_page(session, 0)
        assert [entry.type for entry in log][-2:] == ["turn_completed", "turn_distilled"]
        assert log[-1].seq == event.seq == ending.seq + 1
        (turn,) = plugin.turns
        assert [turn.events[0].seq, turn.events[-1]] == [2, turn.ending]
        assert isinstance(turn.ending, TurnCompleted)
        assert not turn.sensitive
        assert await hub.store.undistilled(session) == ()


async def test_nothing_is_written_where_nobody_distills_or_has_an_opinion(hubs: Hubs) -> None:
    """Without a plugin no backlog grows; with one that answers None the turn just waits no more."""
    async with hubs() as hub:
        session = await hub.session()
        await hub.run_turn(session)
        assert await hub.overview.backlog() == 0
    async with hubs(hooks=[Distiller(lambda turn: None)]) as hub:
        session = await hub.session()
        ending = await hub.run_turn(session)
        await drained(hub)
        assert (await hub.store.log_page(session, 0))[-1].seq == ending.seq
        assert (await hub.store.session(session)).title is None


async def test_a_follow_up_at_the_end_of_a_turn_does_not_wait_for_its_distillation(hubs: Hubs) -> None:
    """The slot is free with the terminal event, however long the plugin takes."""
    plugin = Stuck()
    async with hubs(hooks=[plugin]) as hub:
        session = await hub.session()
        await hub.run_turn(session, "one")
        await plugin.began.wait()
        assert isinstance(await hub.run_turn(session, "two"), TurnCompleted)
        assert await hub.store.memory_page(session) == []
        assert len(await hub.store.undistilled(session)) == 2
        plugin.go.set()
        assert len(await memory(hub, session, 2)) == 2


async def test_no_more_turns_are_distilled_at_once_than_configured(hubs: Hubs) -> None:
    """The others wait in the store, where they can be seen."""
    plugin = Stuck()
    config = hub_config(runner=RunnerConfig(distill_at_once=1))
    async with hubs(config, hooks=[plugin]) as hub:
        sessions = [await hub.session() for _ in range(4)]
        for session in sessions:
            await hub.run_turn(session)
        await plugin.began.wait()
        assert (len(plugin.turns), await hub.overview.backlog()) == (1, 4)
        plugin.go.set()
        await drained(hub)
        assert len(plugin.turns) == 4


async def test_a_full_backlog_shows(hubs: Hubs) -> None:
    """A turn that finds no room is not silently left out: the log says so, behind its end."""
    plugin = Stuck()
    config = hub_config(runner=RunnerConfig(distill_backlog=1))
    async with hubs(config, hooks=[plugin]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        ending = await hub.run_turn(session)
        (event,) = await memory(hub, session)
        assert isinstance(event, DistillFailed)
        assert (event.code, event.turn_id, event.seq) == ("backlog_full", ending.turn_id, ending.seq + 1)
        plugin.go.set()
        await drained(hub)


async def test_two_runners_distill_each_turn_once(hubs: Hubs) -> None:
    """However many look through the backlog, each turn has one memory."""
    plugin = Distiller()
    config = hub_config(runner=RunnerConfig(lease_s=1.0))
    async with hubs(config, hooks=[plugin], runners=2) as hub:
        sessions = [await hub.session() for _ in range(10)]
        for _ in range(3):
            await asyncio.gather(*(hub.run_turn(session) for session in sessions))
        await drained(hub)
        for session in sessions:
            events = await memory(hub, session, 3)
            assert len({event.turn_id for event in events if isinstance(event, TurnDistilled)}) == len(events) == 3


async def test_a_runner_that_dies_in_the_middle_loses_nothing(hubs: Hubs) -> None:
    """Its claim runs out, and another runner distills the turn, once."""
    plugin = Stuck()
    config = hub_config(runner=RunnerConfig(lease_s=1.0))
    async with hubs(config, hooks=[plugin]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        await plugin.began.wait()
        await hub.runners[0].kill()
        plugin.go.set()
        hub.add_runner()
        await memory(hub, session)
        await drained(hub)
        assert len(await memory(hub, session)) == 1


async def test_a_process_that_is_killed_between_end_and_distillation_loses_nothing(
    hubs: Hubs, redis_url: str
) -> None:
    """kill -9 while the plugin works: what the turn's end has written is found by the next runner."""
    config = hub_config(runner=RunnerConfig(lease_s=1.0))
    plugin = Distiller()
    async with hubs(config, hooks=[plugin], runners=0) as hub:
        with solo(redis_url):
            session = await hub.session()
            ending = await hub.run_turn(session, "one")
            assert await hub.store.undistilled(session) == (ending.turn_id,)
        hub.add_runner()
        (event,) = await memory(hub, session)
        assert isinstance(event, TurnDistilled)
        assert (event.distillate.summary, event.route) == ("did one", "test")


async def test_a_claim_is_kept_while_the_plugin_works(hubs: Hubs) -> None:
    """Another runner does not begin the same turn, though its lease is much shorter than the work."""
    plugin = Stuck()
    config = hub_config(runner=RunnerConfig(lease_s=1.5))
    async with hubs(config, hooks=[plugin], runners=2) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        await plugin.began.wait()
        await asyncio.sleep(3)
        assert len(plugin.turns) == 1
        plugin.go.set()
        await memory(hub, session)


async def test_what_was_made_is_written_when_the_store_is_back(
    hubs: Hubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not made again: that would cost again."""
    plugin = Distiller()
    async with hubs(hooks=[plugin]) as hub:
        store, away = hub.runners[0].store, [StoreUnavailable("away"), StoreReadOnly("full")]
        write = store.distilled

        async def flaky(*facts: Any) -> bool:
            if away:
                raise away.pop()
            return await write(*facts)

        monkeypatch.setattr(store, "distilled", flaky)
        session = await hub.session()
        await hub.run_turn(session)
        assert len(await memory(hub, session)) == 1
        assert (len(plugin.turns), away) == (1, [])


async def test_who_lost_the_claim_writes_nothing(hubs: Hubs) -> None:
    """An answer that comes after another runner has taken over is dropped."""
    async with hubs(runners=0) as hub:
        store, session = hub.store, await hub.session()
        begun = await store.begin(session, "hello")
        taken = await store.take(session, begun.turn_id, "run_1", 10_000)
        assert taken is not None
        await store.mark(taken.claim, sensitive=False, most=9)
        await store.finish(taken.claim, [], TurnCompleted(stop_reason="x", duration_ms=1), next_turn=ids.turn_id())
        late = await store.claim_distillation(session, begun.turn_id, "req_1", 0)
        assert late is not None
        other = await store.claim_distillation(session, begun.turn_id, "req_2", 10_000)
        assert other is not None
        assert (late.tries, other.tries) == (1, 2)
        failed = DistillFailed(session_id=session, turn_id=begun.turn_id, code="timeout", message="Late.")
        assert await store.distilled(late, [failed]) is False
        assert await store.memory_page(session) == []
        assert await store.distilled(other, [failed]) is True
        assert await store.distilled(other, [failed]) is True
        assert len(await store.memory_page(session)) == 1


async def test_a_turn_that_kills_its_runners_is_given_up(hubs: Hubs) -> None:
    """After three of them it is told so, and not tried again."""
    plugin = Stuck()
    config = hub_config(runner=RunnerConfig(lease_s=0.5))
    async with hubs(config, hooks=[plugin]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        for number in range(3):
            async with asyncio.timeout(20):
                await plugin.began.wait()
            plugin.began.clear()
            await hub.runners[number].kill()
            # What kill -9 would leave: the claim, which nobody let go of.
            turn_id = (await hub.store.undistilled(session))[0]
            assert await hub.store.claim_distillation(session, turn_id, f"req_{number}", 0) is not None
            hub.add_runner()
        (event,) = await memory(hub, session)
        assert isinstance(event, DistillFailed)
        assert event.code == "given_up"
        assert len(plugin.turns) <= 3


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda turn: 1 / 0, "plugin_error"),
        (lambda turn: "a summary", "plugin_error"),
        (lambda turn: Distilled(distillate=Distillate(summary=7), route="x"), "plugin_error"),  # type: ignore[arg-type]
        (lambda turn: Distilled(failure=DistillFailure(code="token_cap", message="Used up.")), "token_cap"),
    ],
)
async def test_failures_show_by_name(hubs: Hubs, answer: Callable[[FinishedTurn], Any], code: str) -> None:
    """Whatever a plugin does, the turn gets a named failure, and the hub goes on."""
    async with hubs(hooks=[Distiller(answer)]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        (event,) = await memory(hub, session)
        assert isinstance(event, DistillFailed)
        assert event.code == code
        assert isinstance(await hub.run_turn(session), TurnCompleted)


async def test_a_failure_and_what_stands_in_for_it_are_both_written(hubs: Hubs) -> None:
    """The failure first, then the memory that was made all the same."""

    def both(turn: FinishedTurn) -> Distilled:
        failure = DistillFailure(code="timeout", message="Too slow.")
        return Distilled(distillate=Distillate(summary="short"), route="extractive", failure=failure)

    async with hubs(hooks=[Distiller(both)]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        failed, distilled = await memory(hub, session, 2)
        assert isinstance(failed, DistillFailed)
        assert isinstance(distilled, TurnDistilled)
        assert distilled.seq == failed.seq + 1


async def test_the_first_completed_turn_gives_a_session_its_title(hubs: Hubs) -> None:
    """A failed turn gives none, and a later turn changes nothing."""
    async with hubs(hooks=[Distiller()]) as hub:
        session = await hub.session()
        assert isinstance(await hub.run_turn(session, [{"fail": {"code": "incomplete"}}]), TurnFailed)
        await memory(hub, session, 1)
        assert (await hub.store.session(session)).title is None
        for number, text in enumerate(("one", "two"), 2):
            await hub.run_turn(session, text)
            await memory(hub, session, number)
        assert (await hub.store.session(session)).title == "About one"


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("\x1b[31mred\u202e \n two\0", "[31mred two"),
        ("family 👨\u200d👩\u200d👧", "family 👨\u200d👩\u200d👧"),
        (" \u200b\n", None),
    ],
)
def test_a_title_is_one_line_of_signs_that_can_be_seen(told: str, shown: str | None) -> None:
    """Whatever a model, or the message that it is taken from, has in it."""
    assert title_of(Distilled(title=told)) == shown


async def test_a_persons_title_stays(hubs: Hubs) -> None:
    """Given before or while the turn is distilled, or taken away: the hub never overwrites it."""
    plugin = Stuck()
    async with hubs(hooks=[plugin]) as hub:
        named, cleared, renamed = [await hub.session() for _ in range(3)]
        await hub.store.patch_session(named, {"title": "Mine"})
        for session in (named, cleared, renamed):
            await hub.run_turn(session)
        await hub.store.patch_session(cleared, {"title": ""})
        await hub.store.patch_session(renamed, {"title": "Mine too"})
        plugin.go.set()
        await drained(hub)
        titles = [(await hub.store.session(session)).title for session in (named, cleared, renamed)]
        assert titles == ["Mine", None, "Mine too"]


async def test_what_was_distilled_can_be_recalled_by_a_later_turn(hubs: Hubs) -> None:
    """An agent without a memory of its own is offered that of the session."""
    async with hubs(hooks=[Distiller()]) as hub:
        session = await hub.session()
        await hub.run_turn(session, "one")
        await memory(hub, session)
        begun = await hub.send(session, [{"recall": True}])
        assert [event.text for event in await hub.events(begun) if isinstance(event, Text)] == ["did one"]


async def test_a_deleted_session_leaves_nothing_behind(hubs: Hubs) -> None:
    """Its turns wait no more, and what is made of them meanwhile is not written."""
    plugin = Stuck()
    async with hubs(hooks=[plugin]) as hub:
        session = await hub.session()
        await hub.run_turn(session)
        await plugin.began.wait()
        await hub.store.delete_session(session)
        assert await hub.overview.backlog() == 0
        plugin.go.set()
        await hub.runners[0].stop()
        assert await hub.store.memory_page(session) == []
        for kind in ("distill", "memory"):
            assert await hub.lines.commands.execute_command("KEYS", f"*:{kind}:{session}") == []


class Judge(Distiller):
    """A plugin that finds turns sensitive whose message says ``secret``, and cannot tell of ``odd`` ones."""

    @hookimpl
    async def judge_sensitive(self, session: SessionInfo, message: Message) -> str | None:
        """Why the turn is sensitive."""
        if "odd" in message.text:
            raise RuntimeError("I cannot tell")
        return "it says so" if "secret" in message.text else None


@pytest.mark.parametrize(
    ("text", "policy", "flag", "sensitive"),
    [
        ("hello", None, False, False),
        ("a secret", None, False, True),
        ("an odd one", None, False, True),
        ("hello", "private", False, True),
        ("hello", "heir", False, True),
        ("hello", None, True, True),
    ],
)
async def test_a_turn_is_sensitive_by_plugin_policy_or_session(
    hubs: Hubs, text: str, policy: str | None, flag: bool, sensitive: bool
) -> None:
    """Any of them is enough, and so is a plugin that cannot tell."""
    policies = {"private": PolicyConfig(sensitive=True), "heir": PolicyConfig(extends=("private",))}
    plugin = Judge()
    async with hubs(hub_config(policies=policies), hooks=[plugin]) as hub:
        record = SessionRecord(
            id=ids.session_id(), agent="agent", transport="scripted", cwd="/", policy=policy, sensitive=flag
        )
        await hub.store.create_session(record)
        await hub.run_turn(record.id, text)
        await memory(hub, record.id)
        assert [turn.sensitive for turn in plugin.turns] == [sensitive]


async def test_sensitivity_only_rises(hubs: Hubs) -> None:
    """A session that becomes sensitive while its turn runs or waits makes it so; one that is so no more does not
    make the turn harmless that was taken before."""
    plugin = Judge()
    async with hubs(hooks=[plugin], runners=0) as hub:
        rising, falling = [await hub.session() for _ in range(2)]
        await hub.store.patch_session(falling, {"sensitive": "1"})
        runner = hub.add_runner()
        begun = [await hub.send(one, [{"text": "x"}, {"hang": True}]) for one in (rising, falling)]
        for one in begun:
            await hub.until(one, lambda event: isinstance(event, Text))
        await hub.store.patch_session(rising, {"sensitive": "1"})
        await hub.store.patch_session(falling, {"sensitive": "0"})
        for one in begun:
            await hub.store.cancel(one.session_id, "ann")
            await memory(hub, one.session_id)
        assert [turn.sensitive for turn in plugin.turns] == [True, True]
        await runner.stop()


async def test_a_turn_whose_runner_dies_keeps_its_sensitivity(hubs: Hubs) -> None:
    """Whoever buries it finds it decided in the store."""
    plugin = Judge()
    config = hub_config(runner=RunnerConfig(lease_s=1.0))
    async with hubs(config, hooks=[plugin]) as hub:
        session = await hub.session()
        begun = await hub.send(session, [{"text": "a secret"}, {"hang": True}])
        await hub.until(begun, lambda event: isinstance(event, Text))
        await hub.runners[0].kill()
        hub.add_runner()
        assert isinstance(await hub.ending(begun), TurnFailed)
        await memory(hub, session)
        assert [turn.sensitive for turn in plugin.turns] == [True]
