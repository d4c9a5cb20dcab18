"""Asks: judged by policies in any order, parked until somebody settles them, once, from anywhere."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

from hub import hooks
from hub.asks import Answered, AskRecord, AskRequest, Settlement, WithdrawnAsk, settle
from hub.config import AgentConfig, PolicyConfig, RunnerConfig
from hub.errors import AlreadySettled, Withdrawn
from hub.events import (
    AskDelivered,
    AskOpened,
    AskSettled,
    AskWithdrawn,
    By,
    Question,
    Text,
    ToolFinished,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
)
from hub.hookspecs import Resolution, hookimpl
from hub.runner.judging import judge
from hub.store import keys
from hub.store.connect import Connections
from hub.testing import make_session
from hub.testing.hub import TestHub, hub_config
from hub.transport import TurnContext
from hub.turn import Completed
from tests.gates import GatedLines
from tests.runner.acting import Acting, forever
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio

ANN = By(kind="person", name="ann")
BASH: list[Any] = [{"tool": "Bash", "input": {"command": "ls"}, "ask": True, "result": "ok"}, {"text": "done"}]
PERMISSION = AskRequest(kind="permission", tool="Bash", subject="ls")


class Policy:
    """A plugin that gives one verdict to everything, or does something else."""

    def __init__(self, name: str, answer: Any) -> None:
        self.name = name
        self._answer = answer

    @hookimpl
    async def resolve_permission(self, request: AskRequest) -> Any:
        """The verdict."""
        answer = self._answer() if callable(self._answer) else self._answer
        if asyncio.iscoroutine(answer):
            answer = await answer
        if isinstance(answer, str):
            return Resolution(verdict=answer, rule=f"rule of {self.name}")  # type: ignore[arg-type]
        return answer


def failing() -> Any:
    """What a broken policy does."""
    raise RuntimeError("broken rules")


def leaving() -> Any:
    """What a worse one does."""
    raise SystemExit(1)


async def allow(hub: TestHub, opened: AskOpened) -> AskRecord:
    """Answer as a person would."""
    record = await hub.store.ask(opened.ask.id)
    return await hub.store.settle_ask(record, settle(record.ask, {"decision": "allow"}, ANN))


def kinds(events: list[Any], *types: type[Any]) -> list[Any]:
    """The events of these types."""
    return [event for event in events if isinstance(event, types)]


@pytest.mark.parametrize("verdicts", list(itertools.permutations(["allow", "ask", "deny"])))
async def test_any_deny_wins_whatever_order_plugins_come_in(hubs: Hubs, verdicts: tuple[str, ...]) -> None:
    """With an allow, an ask and a deny in any order the tool is denied; the settlement names plugin and rule."""
    async with hubs(hub_config(), hooks=[Policy(verdict, verdict) for verdict in verdicts]) as hub:
        events = await hub.events(await hub.send(await hub.session(), BASH))
        (settled,) = kinds(events, AskSettled)
        assert (settled.decision, settled.by) == ("deny", By(kind="policy", name="deny", rule="rule of deny"))
        assert [event.status for event in kinds(events, ToolFinished)] == ["denied"]
        assert hub.runners[0].metrics.render().count(b'turnhub_asks_settled_total{by="policy"} 1.0') == 1


@pytest.mark.parametrize("verdicts", [("allow", "ask"), ("ask", "allow"), ("ask",), ()])
async def test_any_ask_outranks_an_allow_and_no_opinion_asks(hubs: Hubs, verdicts: tuple[str, ...]) -> None:
    """A person is asked unless all who have an opinion allow."""
    async with hubs(hub_config(), hooks=[Policy(verdict, verdict) for verdict in verdicts]) as hub:
        begun = await hub.send(await hub.session(), BASH)
        opened = await hub.until(begun, AskOpened)
        assert [ask.id for ask in await hub.overview.open_asks()] == [opened.ask.id]
        await allow(hub, opened)
        (settled,) = kinds(await hub.events(begun), AskSettled)
        assert settled.by == ANN


async def test_what_is_dangerous_is_asked_whatever_allows_it(hubs: Hubs) -> None:
    """A transport that calls a call dangerous, and a plugin that allows it with a warning: a person is asked,
    and shown the danger; a deny still denies."""

    async def act(turn: TurnContext) -> Any:
        for danger in ("deletes everything", None):
            await turn.ask(AskRequest(kind="permission", tool="Bash", subject="rm", danger=danger))
        return Completed()

    warned = Resolution(verdict="allow", rule="r", danger="think twice")
    for answer, dangers in (("allow", ["deletes everything"]), (warned, ["deletes everything", "think twice"])):
        async with hubs(hub_config(), transports=[Acting(act)], hooks=[Policy("kind", answer)]) as hub:
            begun = await hub.send(await hub.session())
            asked = {}
            async with asyncio.timeout(10):
                async for event in hub.follow(begun):
                    if isinstance(event, AskOpened) and event.ask.danger:
                        asked[event.ask.id] = event.ask.danger
                        await allow(hub, event)
                    elif isinstance(event, AskSettled):
                        assert event.by.kind == ("person" if event.ask_id in asked else "policy")
            assert list(asked.values()) == dangers
    async with hubs(hub_config(), transports=[Acting(act)], hooks=[Policy("strict", "deny")]) as hub:
        settled = kinds(await hub.events(await hub.send(await hub.session())), AskSettled)
        assert [one.decision for one in settled] == ["deny", "deny"]


async def test_an_allow_settles_at_once_and_is_in_the_log(hubs: Hubs) -> None:
    """Opened, settled by the plugin's rule, delivered, without anybody's waiting."""
    async with hubs(hub_config(), hooks=[Policy("kind", "allow"), Policy("silent", None)]) as hub:
        events = await hub.events(await hub.send(await hub.session(), BASH))
        told = kinds(events, AskOpened, AskSettled, AskDelivered, ToolFinished)
        assert [type(event) for event in told] == [AskOpened, AskSettled, AskDelivered, ToolFinished]
        assert told[1].by == By(kind="policy", name="kind", rule="rule of kind")
        assert await hub.overview.open_asks() == []


@pytest.mark.parametrize(
    "broken",
    [failing, leaving, "maybe", "yes", Resolution(verdict="allow", rule=7)],  # type: ignore[arg-type]
    ids=["raises", "exits", "no resolution", "no verdict", "wrong field"],
)
async def test_a_policy_that_fails_has_allowed_nothing(hubs: Hubs, broken: Any) -> None:
    """A person is asked, and told which plugin failed; another plugin's deny still wins."""
    answer = (lambda: {"verdict": "allow"}) if broken == "maybe" else broken
    async with hubs(hub_config(), hooks=[Policy("kind", "allow"), Policy("bad", answer)]) as hub:
        begun = await hub.send(await hub.session(), BASH)
        opened = await hub.until(begun, AskOpened)
        assert "'bad'" in (opened.ask.danger or "")
        await allow(hub, opened)
        assert isinstance(await hub.ending(begun), TurnCompleted)
    async with hubs(hub_config(), hooks=[Policy("strict", "deny"), Policy("bad", answer)]) as hub:
        (settled,) = kinds(await hub.events(await hub.send(await hub.session(), BASH)), AskSettled)
        assert (settled.decision, settled.by.name) == ("deny", "strict")


async def test_an_allow_for_the_session_is_a_grant_of_that_very_call(hubs: Hubs) -> None:
    """The same command is not asked about again and names the ask that granted it; another one is asked about;
    a dangerous one and a denied one are not covered by it."""
    async with hubs(hub_config()) as hub:
        session = await hub.session()
        begun = await hub.send(session, BASH)
        opened = await hub.until(begun, AskOpened)
        record = await hub.store.ask(opened.ask.id)
        await hub.store.settle_ask(record, settle(record.ask, {"decision": "allow", "scope": "session"}, ANN))
        assert isinstance(await hub.ending(begun), TurnCompleted)
        (settled,) = kinds(await hub.events(await hub.send(session, BASH)), AskSettled)
        assert settled.by == By(kind="policy", name="grant", rule=opened.ask.id)
        other = await hub.send(session, [{**BASH[0], "input": {"command": "ls *"}}, {"text": "done"}])
        await allow(hub, await hub.until(other, AskOpened))
        (settled,) = kinds(await hub.events(other), AskSettled)
        assert settled.by == ANN


@pytest.mark.parametrize(
    ("answer", "by"),
    [("deny", "policy"), (Resolution(verdict="ask", rule="r", danger="it deletes"), "person")],
    ids=["denied", "dangerous"],
)
async def test_a_grant_covers_nothing_that_is_denied_or_dangerous(hubs: Hubs, answer: Any, by: str) -> None:
    """A deny wins over a grant, and danger always asks."""
    async with hubs(hub_config(), hooks=[Policy("strict", answer)]) as hub:
        session = await hub.session(granted=[("Bash", "ls")])
        async with asyncio.timeout(30):
            begun = await hub.send(session, BASH)
            if by == "person":
                await allow(hub, await hub.until(begun, AskOpened))
            (settled,) = kinds(await hub.events(begun), AskSettled)
        assert settled.by.kind == by


async def test_a_policy_that_hangs_is_not_waited_for() -> None:
    """Its answer counts as a failure after the bound; the others' answers count as they are."""
    manager = hooks.new_manager()
    for policy in (Policy("strict", "deny"), Policy("slow", forever)):
        manager.register(policy, policy.name)
    plugins: Any = type("Loaded", (), {"manager": manager})()
    start = time.monotonic()
    judged = await judge(plugins, make_session(), PERMISSION, within_s=0.2)
    assert time.monotonic() - start < 5
    assert judged is not None
    assert (judged.plugin, judged.resolution.verdict) == ("strict", "deny")
    manager.unregister(name="strict")
    judged = await judge(plugins, make_session(), PERMISSION, within_s=0.2)
    assert judged is not None
    assert (judged.plugin, judged.settlement) == ("slow", None)


def impatient(seconds: float) -> Any:
    """A configuration whose asks time out."""
    agent = AgentConfig(name="agent", transport="scripted", cwd="/", policy="hasty")
    return hub_config(agents={"agent": agent}, policies={"hasty": PolicyConfig(ask_timeout_s=seconds)})


async def test_a_permission_that_nobody_answers_is_denied_in_time(hubs: Hubs) -> None:
    """After the policy's ``ask_timeout_s``: denied by timeout, and the agent is told that it was nobody's
    decision; the ask had said when."""
    async with hubs(impatient(0.3)) as hub:
        events = await hub.events(await hub.send(await hub.session(), BASH))
        (opened,), (settled,) = kinds(events, AskOpened), kinds(events, AskSettled)
        assert opened.at < opened.ask.expires_at <= settled.at
        assert (settled.decision, settled.by.kind) == ("deny", "timeout")
        assert "Nobody answered" in settled.message
        assert isinstance(events[-1], TurnCompleted)


async def test_a_question_that_nobody_answers_gets_words(hubs: Hubs) -> None:
    """The agent hears that nobody answered, as the answer."""
    question = {"questions": [{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]}
    async with hubs(impatient(0.3)) as hub:
        events = await hub.events(await hub.send(await hub.session(), [{"question": question}]))
        assert [text.text for text in kinds(events, Text)] == ["Nobody answered in time."]


async def test_whoever_is_cancelled_while_asking_has_withdrawn(hubs: Hubs) -> None:
    """The transport gives up waiting: the ask is withdrawn, cannot be answered any more, and the turn goes
    on."""

    async def act(turn: TurnContext) -> Any:
        asking = asyncio.create_task(turn.ask(PERMISSION))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asking, 0.3)
        await turn.emit(Text(block=0, text="on my own, then"))
        return Completed()

    async with hubs(hub_config(), transports=[Acting(act)]) as hub:
        begun = await hub.send(await hub.session())
        opened = await hub.until(begun, AskOpened)
        events = await hub.events(begun)
        (withdrawn,) = kinds(events, AskWithdrawn)
        assert withdrawn.reason == "the agent does not wait for it any more"
        assert isinstance(events[-1], TurnCompleted)
        with pytest.raises(Withdrawn):
            await allow(hub, opened)


@pytest.mark.parametrize("first", ["keyboard", "person"])
async def test_an_answer_where_the_agent_itself_asks_settles_the_ask(hubs: Hubs, first: str) -> None:
    """Somebody at the keyboard answers: the ask is settled by ``keyboard``, for everybody. Where a person was
    faster, that word holds."""
    elsewhere: asyncio.Future[Settlement] = asyncio.get_running_loop().create_future()
    keyboard = Settlement(by=By(kind="keyboard", name="terminal"), decision="deny", scope="once")
    told: list[Any] = []

    async def act(turn: TurnContext) -> Any:
        told.append(await turn.ask(PERMISSION, elsewhere))
        await turn.emit(Text(block=0, text="done"))
        return Completed()

    async with hubs(hub_config(), transports=[Acting(act)]) as hub:
        begun = await hub.send(await hub.session())
        opened = await hub.until(begun, AskOpened)
        if first == "person":
            await allow(hub, opened)
        elsewhere.set_result(keyboard)
        events = await hub.events(begun)
        (settled,) = kinds(events, AskSettled)
        assert settled.by.kind == first
        assert told == [Answered(ask_id=opened.ask.id, settlement=told[0].settlement)]
        assert told[0].settlement.decision == settled.decision == ("deny" if first == "keyboard" else "allow")


async def test_an_answer_from_another_process_wakes_the_agent_at_once(hubs: Hubs) -> None:
    """The lease is a minute: it is not the renewal that brings the answer."""
    async with hubs(hub_config(runner=RunnerConfig(lease_s=60))) as hub, hub.other() as other:
        begun = await hub.send(await hub.session(), BASH)
        opened = await hub.until(begun, AskOpened)
        record = await other.store.ask(opened.ask.id)
        start = time.monotonic()
        await other.store.settle_ask(record, settle(record.ask, {"decision": "allow"}, ANN))
        await hub.until(begun, AskDelivered)
        assert time.monotonic() - start < 2
        assert (await other.store.ask(record.id)).state in ("delivered", "closed")


async def test_an_answer_whose_ring_was_lost_arrives_with_the_next_renewal(hubs: Hubs, redis_url: str) -> None:
    """Everything that is published to the runner is lost: the renewal reports the answer, and an
    interruption."""
    lines = GatedLines(Connections(redis_url))
    lines.sift = lambda message: [] if message["channel"].startswith(b"th:runner:") else [message]
    async with hubs(hub_config(runner=RunnerConfig(lease_s=1.5)), runners=0) as hub:
        hub.add_runner(lines)
        begun = await hub.send(await hub.session(), BASH)
        await allow(hub, await hub.until(begun, AskOpened))
        assert isinstance(await hub.ending(begun, within_s=8), TurnCompleted)
        begun = await hub.send(await hub.session(), BASH)
        await hub.until(begun, AskOpened)
        await hub.store.cancel(begun.session_id, "ann")
        assert isinstance(await hub.ending(begun, within_s=8), TurnInterrupted)


async def test_a_false_ring_settles_nothing(hubs: Hubs) -> None:
    """Somebody rings for an ask that is open still, and rubbish: the agent goes on waiting."""
    async with hubs(hub_config()) as hub:
        begun = await hub.send(await hub.session(), BASH)
        opened = await hub.until(begun, AskOpened)
        channel = keys.runner_channel(hub.runners[0].id)
        rings = [f"settled {begun.session_id} {begun.turn_id} {opened.ask.id}", "settled", "", "\xff rubbish x y"]
        for ring in rings:
            await hub.lines.commands.execute_command("PUBLISH", channel, ring)
        await hub.lines.commands.execute_command("PUBLISH", channel, b"\xff\xfe")
        await asyncio.sleep(0.2)
        assert (await hub.store.ask(opened.ask.id)).state == "open"
        await allow(hub, opened)
        assert isinstance(await hub.ending(begun, within_s=3), TurnCompleted)


async def test_of_many_answers_one_counts(hubs: Hubs) -> None:
    """Ten people answer at once from ten places: one is told that it was recorded, the others who was faster;
    the agent gets the one."""
    async with hubs(hub_config()) as hub:
        begun = await hub.send(await hub.session(), BASH)
        opened = await hub.until(begun, AskOpened)
        record = await hub.store.ask(opened.ask.id)

        async def answer(number: int) -> str:
            by = By(kind="person", name=f"p{number}")
            decision = "allow" if number % 2 else "deny"
            try:
                await hub.store.settle_ask(record, settle(record.ask, {"decision": decision}, by))
            except AlreadySettled as error:
                return f"after {error.facts['ask'].settlement.by.name}"
            return by.name

        told = await asyncio.gather(*map(answer, range(10)))
        (settled,) = kinds(await hub.events(begun), AskSettled)
        winner = settled.by.name
        assert sorted(told) == sorted([winner, *[f"after {winner}"] * 9])


async def test_all_parallel_asks_are_listed_and_answered_in_any_order(hubs: Hubs) -> None:
    """Five tools in parallel ask at once: all five are in the hub-wide list, and each answer reaches its own."""
    tools = [{"tool": "Bash", "input": {"command": f"c{n}"}, "ask": True, "result": f"r{n}"} for n in range(5)]
    async with hubs(hub_config()) as hub:
        begun = await hub.send(await hub.session(), [{"parallel": tools}])
        seen = 0
        async for event in hub.follow(begun):
            seen += isinstance(event, AskOpened)
            if seen == 5:
                break
        asks = await hub.overview.open_asks()
        assert {ask.ask.subject for ask in asks} == {f"c{n}" for n in range(5)}
        for record in reversed(asks):
            decision = "deny" if record.ask.subject == "c3" else "allow"
            await hub.store.settle_ask(record, settle(record.ask, {"decision": decision}, ANN))
        finished = kinds(await hub.events(begun), ToolFinished)
        assert sorted(tool.status for tool in finished) == ["denied", "ok", "ok", "ok", "ok"]


async def test_an_ask_opens_although_the_store_is_away_for_a_moment(hubs: Hubs, redis_url: str) -> None:
    """The store refuses while the agent asks, and while it takes the answer: one ask, one delivery."""
    lines = GatedLines(Connections(redis_url))
    began, go = asyncio.Event(), asyncio.Event()

    async def act(turn: TurnContext) -> Any:
        began.set()
        await go.wait()
        answer = await turn.ask(PERMISSION)
        lines.gate.set("away")
        asyncio.get_running_loop().call_later(0.4, lines.gate.set, "open")
        await turn.ask_delivered(answer.ask_id)
        await turn.remember(key="value")
        await turn.emit(Text(block=0, text="done"))
        return Completed()

    async with hubs(hub_config(runner=RunnerConfig(lease_s=8)), transports=[Acting(act)], runners=0) as hub:
        hub.add_runner(lines)
        begun = await hub.send(await hub.session())
        await began.wait()
        lines.gate.set("away")
        go.set()
        await lines.gate.refused_one.wait()
        lines.gate.set("open")
        await allow(hub, await hub.until(begun, AskOpened))
        events = await hub.events(begun)
        told = [type(event) for event in kinds(events, AskOpened, AskSettled, AskDelivered)]
        assert told == [AskOpened, AskSettled, AskDelivered]
        assert isinstance(events[-1], TurnCompleted)
        assert (await hub.store.session(begun.session_id)).memory == {"key": "value"}


async def test_what_is_said_before_an_ask_is_read_before_it(hubs: Hubs) -> None:
    """Order is kept: the words that explain a question stand before it in the stream."""

    async def act(turn: TurnContext) -> Any:
        await turn.emit(Text(block=0, text="why I ask"))
        answer = await turn.ask(AskRequest(kind="question", tool="Ask", questions=(Question(question="Ok?"),)))
        assert isinstance(answer, Answered)
        await turn.emit(Text(block=1, text=(answer.settlement.answers or {})["Ok?"]))
        return Completed()

    async with hubs(hub_config(), transports=[Acting(act)]) as hub:
        begun = await hub.send(await hub.session())
        opened = await hub.until(begun, AskOpened)
        record = await hub.store.ask(opened.ask.id)
        await hub.store.settle_ask(record, settle(record.ask, {"answers": {"Ok?": "fine"}}, ANN))
        told = kinds(await hub.events(begun), Text, AskOpened, AskSettled)
        assert [type(event) for event in told] == [Text, AskOpened, AskSettled, Text]
        assert told[-1].text == "fine"


async def test_a_deleted_session_withdraws_for_the_agent_that_waits(hubs: Hubs) -> None:
    """The session is deleted by force while the agent waits: the transport is stopped."""
    transport = Acting()
    done: list[Any] = []

    async def act(turn: TurnContext) -> Any:
        try:
            done.append(await turn.ask(PERMISSION))
        finally:
            done.append("over")
        return Completed()

    transport.acts.append(act)
    async with hubs(hub_config(), transports=[transport]) as hub:
        begun = await hub.send(await hub.session())
        await hub.until(begun, AskOpened)
        await hub.store.delete_session(begun.session_id, force=True)
        async with asyncio.timeout(5):
            await hub.runners[0].runner.idle(within_s=5)
        assert done == ["over"] or isinstance(done[0], WithdrawnAsk)
        assert hub.runners[0].runner.running == 0


# Observers


class Observer:
    """Writes down what it is told, and then does what the test says."""

    name = "observer"

    def __init__(self, after: Callable[[], Any]) -> None:
        self.told: list[tuple[Any, ...]] = []
        self._after = after

    async def _note(self, *facts: Any) -> None:
        self.told.append(facts)
        after = self._after()
        if asyncio.iscoroutine(after):
            await after

    @hookimpl
    async def turn_started(self, turn_id: str) -> None:
        """Note."""
        await self._note("started", turn_id)

    @hookimpl
    async def turn_ended(self, turn_id: str, ending: Any) -> None:
        """Note."""
        await self._note("ended", turn_id, type(ending))

    @hookimpl
    async def ask_opened(self, ask: AskRecord) -> None:
        """Note."""
        await self._note("opened", ask.id, ask.state)

    @hookimpl
    async def ask_settled(self, ask: AskRecord) -> None:
        """Note."""
        await self._note("settled", ask.id, ask.state in ("settled", "delivered"))


@pytest.mark.parametrize("after", [lambda: None, failing, leaving], ids=["works", "raises", "exits"])
async def test_observers_are_told_in_order_and_their_failure_is_never_felt(
    hubs: Hubs, after: Callable[[], Any]
) -> None:
    """Started, opened, settled, ended: each once, in this order, whatever the observer does."""
    observer = Observer(after)
    async with hubs(hub_config(), hooks=[observer]) as hub:
        begun = await hub.send(await hub.session(), BASH)
        opened = await hub.until(begun, AskOpened)
        await allow(hub, opened)
        assert isinstance(await hub.ending(begun), TurnCompleted)
        await hub.runners[0].stop()
    assert observer.told == [
        ("started", begun.turn_id),
        ("opened", opened.ask.id, "open"),
        ("settled", opened.ask.id, True),
        ("ended", begun.turn_id, TurnCompleted),
    ]


async def test_nobody_waits_for_an_observer(hubs: Hubs) -> None:
    """An observer that hangs: asks are put, turns end, the next turn of the session runs, at their own pace."""
    config = hub_config(runner=RunnerConfig(shutdown_grace_s=0.3))
    async with hubs(config, hooks=[Observer(forever)]) as hub:
        session = await hub.session()
        async with asyncio.timeout(4):
            for _ in range(3):
                begun = await hub.send(session, BASH)
                await allow(hub, await hub.until(begun, AskOpened))
                assert isinstance(await hub.ending(begun), TurnCompleted)
        assert hub.runners[0].runner.running == 0


async def test_the_end_of_a_reaped_turn_is_told_too(hubs: Hubs) -> None:
    """Whoever looks back at finished turns hears of one whose runner died."""
    observer = Observer(lambda: None)

    async def act(turn: TurnContext) -> Any:
        await turn.emit(Text(block=0, text="x"))
        await forever()

    config = hub_config(runner=RunnerConfig(lease_s=0.6))
    async with hubs(config, transports=[Acting(act)], hooks=[observer]) as hub:
        begun = await hub.send(await hub.session())
        await hub.until(begun, Text)
        await hub.runners[0].kill()
        hub.add_runner()
        assert isinstance(await hub.ending(begun), TurnFailed)
        await hub.runners[1].stop()
    assert ("ended", begun.turn_id, TurnFailed) in observer.told
