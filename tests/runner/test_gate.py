"""Parallel asks about the same: one prompt, and every call its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import pytest

from hub.asks import Answer, Answered, AskRequest, Settlement, settle
from hub.config import PolicyConfig
from hub.errors import NotFound
from hub.events import AskDelivered, AskOpened, AskSettled, By, GrantRevoked, TurnCompleted
from hub.runner.gate import Gate
from hub.testing.hub import TestHub, hub_config
from hub.transport import TurnContext
from hub.turn import Completed
from tests.runner.acting import Acting, good
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio

ANN = By(kind="person", name="ann")
LS = AskRequest(kind="permission", tool="Bash", subject="ls", input={"command": "ls"})


def edit(text: str) -> AskRequest:
    """An edit of one file: the same subject, its own input."""
    return AskRequest(kind="permission", tool="Edit", subject="/a", input={"file_path": "/a", "new_string": text})


def asking(requests: Sequence[AskRequest], answers: list[Answer]) -> Callable[[TurnContext], Awaitable[Any]]:
    """A turn that asks all at once, and runs each as soon as it has its answer."""

    async def one(turn: TurnContext, request: AskRequest) -> None:
        answer = await turn.ask(request)
        answers.append(answer)
        await turn.ask_delivered(answer.ask_id)

    async def act(turn: TurnContext) -> Any:
        async with asyncio.TaskGroup() as group:
            for request in requests:
                group.create_task(one(turn, request))
        return await good(turn)

    return act


async def person(hub: TestHub, begun: Any, reply: Callable[[int], dict[str, Any]]) -> tuple[int, list[Any]]:
    """Somebody who answers each prompt; how many there were, and all events of the turn."""
    prompts, events = 0, []
    async with asyncio.timeout(20):
        async for event in hub.follow(begun):
            events.append(event)
            if isinstance(event, AskOpened):
                record = await hub.store.ask(event.ask.id)
                if record.state == "open":
                    prompts += 1
                    settlement = settle(record.ask, reply(prompts), ANN)
                    await hub.store.settle_ask(record, settlement)
    return prompts, events


def always(decision: str, _: int) -> dict[str, Any]:
    """The same each time."""
    return {"decision": decision}


def of(events: list[Any], kind: type[Any]) -> list[Any]:
    """The events of a type."""
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("decision", ["allow", "deny"])
async def test_three_parallel_calls_of_one_kind_are_one_prompt(hubs: Hubs, decision: str) -> None:
    """The very same call three times at once: one is asked about, all three take the answer, each is opened,
    settled and delivered as its own, and the log names the ask that the others followed."""
    answers: list[Answer] = []
    async with hubs(transports=[Acting(asking([LS] * 3, answers))]) as hub:
        begun = await hub.send(await hub.session())
        prompts, events = await person(hub, begun, lambda _: {"decision": decision})
    assert prompts == 1
    settled = of(events, AskSettled)
    assert [one.decision for one in settled] == [decision] * 3
    leader = settled[0]
    assert leader.by == ANN
    assert [one.by for one in settled[1:]] == [By(kind="person", name="ann", rule=f"as {leader.ask_id}")] * 2
    assert len({one.ask_id for one in settled}) == len(of(events, AskDelivered)) == 3
    assert isinstance(events[-1], TurnCompleted)


async def test_followers_see_the_grant(hubs: Hubs) -> None:
    """Allowed for the session, the others are allowed by the grant, whatever their input, and nobody asks
    later."""
    answers: list[Answer] = []
    calls = [edit("one"), edit("two"), edit("three")]
    transport = Acting(asking(calls, answers), asking([edit("four")], answers))
    async with hubs(transports=[transport]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        prompts, events = await person(hub, begun, lambda _: {"decision": "allow", "scope": "session"})
        again, _ = await person(hub, await hub.send(session), lambda _: {"decision": "deny"})
        (grant,) = await hub.store.grants(session)
    assert (prompts, again) == (1, 0)
    leader, *others = of(events, AskSettled)
    assert [one.by for one in others] == [By(kind="policy", name="grant", rule=leader.ask_id)] * 2
    assert (grant.tool, grant.subject, grant.ask_id, grant.by) == ("Edit", "/a", leader.ask_id, ANN)


async def test_calls_that_differ_ask_on_their_own(hubs: Hubs) -> None:
    """The same file, other words: one prompt after the other, and each its own answer."""
    answers: list[Answer] = []
    calls = [edit(f"text {number}") for number in range(3)]
    async with hubs(transports=[Acting(asking(calls, answers))]) as hub:
        begun = await hub.send(await hub.session())
        replies = {1: "allow", 2: "deny", 3: "allow"}
        prompts, events = await person(hub, begun, lambda number: {"decision": replies[number]})
    assert prompts == 3
    assert [one.decision for one in of(events, AskSettled)] == ["allow", "deny", "allow"]
    opened = [n for n, event in enumerate(events) if isinstance(event, AskOpened)]
    settled = [n for n, event in enumerate(events) if isinstance(event, AskSettled)]
    assert opened[0] < settled[0] < opened[1] < settled[1] < opened[2]


async def test_danger_is_allowed_one_by_one_and_denied_for_all(hubs: Hubs) -> None:
    """The same dangerous call twice: an allow is for one; a denial holds for who waited."""
    dangerous = AskRequest(kind="permission", tool="Bash", subject="rm", danger="it deletes")
    for decision, expected in (("allow", 2), ("deny", 1)):
        answers: list[Answer] = []
        async with hubs(transports=[Acting(asking([dangerous] * 2, answers))]) as hub:
            begun = await hub.send(await hub.session())
            prompts, _ = await person(hub, begun, partial(always, decision))
        assert prompts == expected
        assert len(answers) == 2


async def test_a_one_time_answer_is_for_who_waited_not_for_who_comes_later(hubs: Hubs) -> None:
    """The very same call after the first one's answer is asked about anew."""

    async def act(turn: TurnContext) -> Any:
        for _ in range(2):
            await turn.ask(LS)
        return Completed()

    async with hubs(transports=[Acting(act)]) as hub:
        begun = await hub.send(await hub.session())
        prompts, _ = await person(hub, begun, lambda _: {"decision": "allow"})
    assert prompts == 2


async def test_when_the_first_gives_up_the_next_one_asks(hubs: Hubs) -> None:
    """Cancelling the leader withdraws its ask; the follower is asked about then, and its answer counts."""

    async def act(turn: TurnContext) -> Any:
        first = asyncio.create_task(turn.ask(LS))
        await opened.wait()
        second = asyncio.create_task(turn.ask(LS))
        await asyncio.sleep(0)
        first.cancel()
        answers.append(await second)
        return Completed()

    answers: list[Answer] = []
    opened = asyncio.Event()
    async with hubs(transports=[Acting(act)]) as hub:
        begun = await hub.send(await hub.session())
        asked = []
        async with asyncio.timeout(20):
            async for event in hub.follow(begun):
                if isinstance(event, AskOpened):
                    asked.append(event.ask.id)
                    opened.set()
                    if len(asked) == 2:
                        record = await hub.store.ask(event.ask.id)
                        await hub.store.settle_ask(record, settle(record.ask, {"decision": "allow"}, ANN))
        assert (await hub.store.ask(asked[0])).state == "withdrawn"
    assert [answer.ask_id for answer in answers] == asked[1:]


async def test_an_answer_at_the_keyboard_does_not_wait_at_the_gate(hubs: Hubs) -> None:
    """Who waits for another's answer, and is answered where the agent itself asks, is settled by that at once."""
    at_keyboard = Settlement(by=By(kind="keyboard", name="terminal"), decision="allow", scope="once")

    async def act(turn: TurnContext) -> Any:
        elsewhere: asyncio.Future[Settlement] = asyncio.get_running_loop().create_future()
        first = asyncio.create_task(turn.ask(LS))
        second = asyncio.create_task(turn.ask(LS, elsewhere))
        await asyncio.sleep(0)
        elsewhere.set_result(at_keyboard)
        answers.append(await second)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        return await good(turn)

    answers: list[Any] = []
    async with hubs(transports=[Acting(act)]) as hub:
        assert isinstance(await hub.run_turn(await hub.session()), TurnCompleted)
    assert [answer.settlement for answer in answers] == [at_keyboard]


async def test_an_answer_that_was_taken_over_is_not_handed_on() -> None:
    """Who comes after the answer was given, while others still take it over, is asked."""
    gate = Gate()
    given = Answered(ask_id="ask_1", settlement=Settlement(by=ANN, decision="allow", scope="once"))
    by = By(kind="person", name="ann", rule="as ask_1")
    taken_over = Answered(ask_id="ask_2", settlement=Settlement(by=by, decision="allow", scope="once"))
    told: list[Answered | None] = []
    second_is_in, third_waits = asyncio.Event(), asyncio.Event()

    async def second() -> None:
        async with gate.passing(LS) as passage:
            told.append(passage.same)
            second_is_in.set()
            await third_waits.wait()
            passage.leave(taken_over)

    async def third() -> None:
        async with gate.passing(LS) as passage:
            told.append(passage.same)

    async with asyncio.TaskGroup() as group:
        async with gate.passing(LS) as passage:
            group.create_task(second())
            await asyncio.sleep(0)  # it waits behind this one
            await asyncio.sleep(0)
            passage.leave(given)
        await second_is_in.wait()
        group.create_task(third())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        third_waits.set()
    assert told == [given, None]


async def test_the_gate_leaves_nothing_behind() -> None:
    """Entered, waited for, given up, gone past: in the end it knows nobody."""
    gate = Gate()
    entered = asyncio.Event()
    go = asyncio.Event()

    async def first() -> None:
        async with gate.passing(LS) as passage:
            entered.set()
            await go.wait()
            passage.leave(Answered(ask_id="a", settlement=Settlement(by=ANN, decision="allow")))

    async def waiting(elsewhere: asyncio.Future[Any] | None = None) -> str | None:
        async with gate.passing(LS, elsewhere) as passage:
            return passage.same.ask_id if passage.same else None

    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        group.create_task(first())
        await entered.wait()
        told, unknown = loop.create_future(), loop.create_future()
        tasks = [group.create_task(waiting(one)) for one in (None, told, unknown, None)]
        await asyncio.sleep(0)
        told.set_result("somebody's answer")
        unknown.cancel()
        tasks[3].cancel()
        await asyncio.sleep(0)
        go.set()
    assert [task.result() for task in tasks[:3]] == ["a", None, "a"]
    assert tasks[3].cancelled()
    assert await waiting() is None
    assert not vars(gate)["_doors"]


async def test_a_grant_is_listed_and_taken_back_and_the_log_tells_who(hubs: Hubs) -> None:
    """Seeded by the agent's allow-list, literal or of a whole tool; taken back, its call is asked about again."""
    answers: list[Answer] = []
    read = AskRequest(kind="permission", tool="mcp__files__read", subject="x")
    acts = [asking([LS, read], answers), asking([LS], answers)]
    async with hubs(transports=[Acting(*acts)]) as hub:
        session = await hub.session(granted=[("Bash", "ls"), ("mcp__files__read", None)])
        prompts, events = await person(hub, await hub.send(session), lambda _: {"decision": "deny"})
        assert prompts == 0
        rule = By(kind="policy", name="grant", rule="approval_allowlist")
        assert [one.by for one in of(events, AskSettled)] == [rule, rule]
        listed = {one.tool: one for one in await hub.store.grants(session)}
        assert [(one.subject, one.ask_id) for one in listed.values()] == [("ls", None), (None, None)]
        await hub.store.revoke_grant(session, listed["Bash"].id, ANN)
        with pytest.raises(NotFound):
            await hub.store.revoke_grant(session, listed["Bash"].id, ANN)
        prompts, _ = await person(hub, await hub.send(session), lambda _: {"decision": "allow"})
        assert prompts == 1
        page = await hub.store.snapshot(session, 0, whole=True, most=1000)
        names = [entry.type for entry in page.entries]
        assert names.count("grant_revoked") == 1
    assert GrantRevoked.__struct_config__.tag == "grant_revoked"


@pytest.mark.parametrize("kind", ["permission", "question"])
async def test_where_nobody_attends_nothing_waits(hubs: Hubs, kind: Any) -> None:
    """A policy says that nobody is there (itself, or one that it extends): a permission is denied at once, a
    question gets words, and what rules or grants allow is allowed still."""
    answers: list[Any] = []
    request = AskRequest(kind=kind, tool="Bash", subject="rm", input={})
    policies = {"base": PolicyConfig(unattended=True), "night": PolicyConfig(extends=("base",))}
    async with hubs(hub_config(policies=policies), transports=[Acting(asking([request, LS], answers))]) as hub:
        session = await hub.session(policy="night", granted=[("Bash", "ls")])
        prompts, events = await person(hub, await hub.send(session), lambda _: {"decision": "allow"})
    assert prompts == 0
    settled = {one.by.name: one for one in of(events, AskSettled)}
    assert settled["night"].by == By(kind="policy", name="night", rule="unattended")
    assert settled["night"].decision == ("deny" if kind == "permission" else None)
    assert bool(settled["night"].response) is (kind == "question")
    assert settled["grant"].decision == "allow"


async def test_what_was_proposed_decided_and_run_is_all_kept(hubs: Hubs) -> None:
    """Edited on approval: the ask has the proposed input, the settlement the decided one, and the delivery the one
    that the agent says it runs."""

    async def act(turn: TurnContext) -> Any:
        answer = await turn.ask(LS)
        assert isinstance(answer, Answered)
        await turn.ask_delivered(answer.ask_id, input={"command": "ls -l", "timeout": 1})
        return Completed()

    async with hubs(transports=[Acting(act)]) as hub:
        begun = await hub.send(await hub.session())
        _, events = await person(hub, begun, lambda _: {"decision": "allow", "input": {"command": "ls -l"}})
        record = await hub.store.ask(of(events, AskOpened)[0].ask.id)
    assert record.ask.input == {"command": "ls"}
    assert record.settlement is not None
    assert record.settlement.input == {"command": "ls -l"}
    assert record.effective == {"command": "ls -l", "timeout": 1}
    assert of(events, AskDelivered)[0].input == record.effective
