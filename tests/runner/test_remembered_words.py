"""What a runner gives transports of the past, and keeps of what their tools gave back."""

from __future__ import annotations

from typing import Any

import pytest

from hub import ids
from hub.config import RunnerConfig
from hub.errors import NotFound
from hub.events import (
    ForkedFrom,
    SessionCreated,
    Text,
    ToolFinished,
    TurnCompleted,
    UserMessage,
    decode,
    line_of,
    now,
)
from hub.forking import fork_lines
from hub.modelview import AgentText, UserTurn, View
from hub.store.records import SessionRecord
from hub.testing.hub import TestHub, hub_config
from hub.testing.scripted import ScriptedConnection, ScriptedTransport
from hub.transport import TurnContext
from hub.turn import Ending
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio


async def forked(hub: TestHub, session: str, **details: Any) -> str:
    """A fork of everything."""
    log = await hub.store.whole_log(session)
    origin = await hub.store.session(session)
    new_id = ids.session_id()
    point = ForkedFrom(session_id=session, seq=log[-1].seq)
    created = SessionCreated(agent=origin.agent, transport=origin.transport)
    lines = fork_lines([line_of(one.frame) for one in log], created, point, session_id=new_id, at=now())
    record = SessionRecord(
        id=new_id,
        agent=origin.agent,
        transport=origin.transport,
        cwd=origin.cwd,
        copied=lines[-1].seq,
        forked_from=point,
        **details,
    )
    await hub.store.copy_session(record, lines)
    return new_id


async def said(hub: TestHub, session: str) -> list[str]:
    """The agent's own words, in order."""
    events = [decode(line_of(one.frame)) for one in await hub.store.whole_log(session)]
    return [event.text for event in events if isinstance(event, Text) and not isinstance(event.copied, int)]


async def test_the_first_message_of_a_fork_is_told_what_was_said(hubs: Hubs) -> None:
    """The agent gets the conversation with the first message that it takes, and not again."""
    async with hubs() as hub:
        session = await hub.session()
        await hub.run_turn(session, "hello")
        fork = await forked(hub, session)
        assert isinstance(await hub.run_turn(fork, "and now?"), TurnCompleted)
        told, echo = await said(hub, fork)
        assert told.startswith("Told before: <earlier-conversation>")
        assert "User: hello\n\nAssistant: Echo: hello" in told
        assert "and now?" not in told
        assert echo == "Echo: and now?"
        await hub.run_turn(fork, "again")
        assert await said(hub, fork) == [told, echo, "Echo: again"]
        assert await said(hub, session) == ["Echo: hello"]


async def test_a_turn_knows_its_history(hubs: Hubs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything before it, nothing of itself; shortened where that is asked for."""
    views: list[View] = []
    run = ScriptedConnection.run

    async def looking(self: ScriptedConnection, turn: TurnContext) -> Ending:
        views.extend([await turn.history(), await turn.history(0)])
        return await run(self, turn)

    monkeypatch.setattr(ScriptedConnection, "run", looking)
    async with hubs() as hub:
        session = await hub.session()
        await hub.run_turn(session, "one")
        await hub.run_turn(session, "two")
    first, _, second, short = views
    assert first == ()
    assert [entry.text for entry in second if isinstance(entry, UserTurn | AgentText)] == ["one", "Echo: one"]
    assert len(second) == 2
    assert len(short) == 1


async def test_a_long_output_is_kept_beside_the_log(hubs: Hubs) -> None:
    """The log has the digest; the whole text is found by turn and tool. A short one stands in the log whole."""
    async with hubs() as hub:
        session = await hub.session()
        begun = await hub.send(session, [{"tool": "Bash", "input": {}, "result": "x" * 5000}])
        await hub.ending(begun)
        await hub.run_turn(session, [{"tool": "Bash", "input": {}, "result": "short"}])
        events = [decode(line_of(one.frame)) for one in await hub.store.whole_log(session)]
        long, short = [event for event in events if isinstance(event, ToolFinished)]
        assert long.digest is not None
        assert (len(long.digest.text), long.digest.bytes, long.digest.truncated) == (2000, 5000, True)
        assert not isinstance(long.output, str)
        assert await hub.store.output(session, begun.turn_id, long.tool_id) == "x" * 5000
        assert await hub.store.output(session, short.turn_id, short.tool_id) is None
        log = b"".join(one.frame for one in await hub.store.whole_log(session) if one.type.startswith("tool_"))
        assert b"x" * 2001 not in log


async def test_outputs_are_kept_within_the_configured_bounds(hubs: Hubs) -> None:
    """As much of the beginning as is wanted; nothing where nothing is."""
    for config, wanted in (
        (RunnerConfig(output_most_bytes=3000), "x" * 3000),
        (RunnerConfig(output_keep_s=0), None),
    ):
        async with hubs(hub_config(runner=config)) as hub:
            session = await hub.session()
            begun = await hub.send(session, [{"tool": "Bash", "input": {}, "result": "x" * 5000}])
            await hub.ending(begun)
            assert await hub.store.output(session, begun.turn_id, "tool_1") == wanted


async def test_a_fork_of_nothing_has_nothing_to_tell(hubs: Hubs) -> None:
    """A new session has no context, and an unknown one no log."""
    async with hubs() as hub:
        session = await hub.session()
        await hub.run_turn(session, "hello")
        assert await said(hub, session) == ["Echo: hello"]
        assert await hub.store.whole_log(ids.session_id()) == []
        with pytest.raises(NotFound):
            await hub.store.session(ids.session_id())


async def test_a_transport_that_takes_no_context_gets_it_before_the_message(
    hubs: Hubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that is only typed to has it in the words themselves; the log has the message as it was sent."""
    async with hubs() as hub:
        session = await hub.session()
        await hub.run_turn(session, "hello")
        fork = await forked(hub, session)
        monkeypatch.setattr(ScriptedTransport, "capabilities", frozenset({"interrupt"}))
        await hub.run_turn(fork, "and now?")
        await hub.run_turn(fork, "again")
        first, second = await said(hub, fork)
        assert first.startswith("Echo: <earlier-conversation>")
        assert first.endswith("\n\nand now?")
        assert second == "Echo: again"
        events = [decode(line_of(one.frame)) for one in await hub.store.whole_log(fork)]
        assert [event.text for event in events if isinstance(event, UserMessage)] == ["hello", "and now?", "again"]


async def test_what_a_fork_inherits_is_good_until_the_other_session_goes_on(
    hubs: Hubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent's memory is forked only as long as it is what was copied."""
    seen: list[dict[str, str]] = []
    run = ScriptedConnection.run

    async def looking(self: ScriptedConnection, turn: TurnContext) -> Ending:
        seen.append(dict(turn.session.inherited))
        return await run(self, turn)

    monkeypatch.setattr(ScriptedConnection, "run", looking)
    async with hubs() as hub:
        session = await hub.session()
        await hub.run_turn(session, "hello")
        early = await forked(hub, session, inherited={"own": "1"})
        late = await forked(hub, session, inherited={"own": "1"})
        await hub.run_turn(early, "now")
        await hub.run_turn(session, "meanwhile")
        await hub.run_turn(late, "now")
    assert seen == [{}, {"own": "1"}, {}, {}]
