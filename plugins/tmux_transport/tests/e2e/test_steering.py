"""Messages for an agent that is at work: in its own queue first, then part of the same turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hub import Completed, Interrupted, Message, MessageDelivered, SteerUnsupported, TextDelta
from hub.testing import FakeTurn

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "hooks", [pytest.param(True, id="hooks"), pytest.param(False, marks=pytest.mark.full, id="no hooks")]
)
async def test_a_message_for_the_running_turn_is_answered_in_it(worlds: Any, hooks: bool) -> None:
    """Typed while the agent speaks, it is in the agent's own queue (`queued`); the agent goes on to it when it is
    done, which is told by the message's id; both answers are of one turn, and the model got both messages."""
    world = worlds(hooks=hooks)
    async with world.connected() as connection:
        await world.turn("hello").play(connection)
        turn = world.turn("HELD answer")
        playing = asyncio.create_task(turn.play(connection))
        await world.shows("line 2 of it")
        assert (await connection.steer(Message(id="msg_more", text="and this too"))).verdict == "queued"
        world.model.release()
        assert isinstance(await playing, Completed)
        assert turn.text.startswith("line 0 of it")
        assert turn.text.endswith("Echo: and this too")
        told = [one for one in turn.of(MessageDelivered) if one.message_id == "msg_more"]
        assert [one.verdict for one in told] == ["submitted"]
        later = world.turn("afterwards")
        assert isinstance(await later.play(connection), Completed)
        assert later.text == "Echo: afterwards"
        with pytest.raises(SteerUnsupported):
            await connection.steer(Message(id="msg_late", text="too late"))
    assert world.prompts() == ["hello", "HELD answer", "and this too", "afterwards"]
    assert not [*turn.problems, *later.problems]


async def test_what_a_person_typed_before_it_is_answered_in_the_turn_as_well(worlds: Any) -> None:
    """Both wait in the agent's own queue: it takes them at once, and the turn tells of both."""
    world = worlds()
    async with world.connected() as connection:
        await world.turn("hello").play(connection)
        turn = world.turn("HELD answer")
        playing = asyncio.create_task(turn.play(connection))
        await world.shows("line 2 of it")
        world.keys("-l", "typed there")
        await world.shows("typed there")
        world.keys("Enter")
        await world.shows("Press up to edit queued messages")
        assert (await connection.steer(Message(id="msg_more", text="and this too"))).verdict == "queued"
        world.model.release()
        assert isinstance(await playing, Completed)
        assert turn.text.endswith("Echo: and this too")
        assert turn.typed_along == ["typed there"]
        told = [one for one in turn.of(MessageDelivered) if one.message_id == "msg_more"]
        assert [one.verdict for one in told] == ["submitted"]
        later = world.turn("afterwards")
        assert isinstance(await later.play(connection), Completed)
    assert world.prompts() == ["hello", "HELD answer", "typed there", "and this too", "afterwards"]
    assert not [*turn.problems, *later.problems]


async def test_an_interrupt_stops_what_waited_too(worlds: Any) -> None:
    """The agent goes on to what waits in its queue when it is stopped: it is stopped in that, too, the turn says
    that it had the words, and none are left in its composer, however late it puts them back there."""
    world = worlds()
    async with world.connected() as connection:
        await world.turn("hello").play(connection)
        for number in range(2):
            turn = world.turn(f"SLOW {number}")
            playing = asyncio.create_task(turn.play(connection))
            await speaks(turn, "two")
            words = f"SLOW {number} never mind"
            assert (await connection.steer(Message(id="msg_more", text=words))).verdict == "queued"
            turn.cancelled.request()
            await connection.interrupt()
            assert isinstance(await playing, Interrupted)
            told = [one.verdict for one in turn.of(MessageDelivered) if one.message_id == "msg_more"]
            # Words that the agent took and gave back before it asked its model count as taken, too.
            assert told == ["submitted"] if words in world.prompts() else told in ([], ["submitted"])
        after = world.turn("afterwards")
        assert isinstance(await after.play(connection), Completed)
        assert after.text == "Echo: afterwards"
        assert "never mind" not in composer(world)
    assert world.prompts()[-1] == "afterwards"


async def test_a_message_behind_another_prompt_is_told_live_from_its_first_word(worlds: Any) -> None:
    """A person has given the agent work; the message waits in the agent's queue. Once the agent goes on to it, all
    that it says is told as it says it, also what its hooks tell before its transcript names the message."""
    world = worlds()
    async with world.connected() as connection:
        await world.turn("hello").play(connection)
        world.keys("-l", "HELD first")
        await world.shows("HELD first")
        world.keys("Enter")
        await world.shows("line 2 of it")
        turn = world.turn("HELD second")
        playing = asyncio.create_task(turn.play(connection))
        await turn.seen(MessageDelivered)
        assert [one.verdict for one in turn.of(MessageDelivered)] == ["queued"]
        world.model.release()
        await speaks(turn, "line 3 of it")
        world.model.release()
        assert isinstance(await playing, Completed)
        assert "".join(one.text for one in turn.of(TextDelta)) == turn.text
        assert turn.text.startswith("line 0 of it")
    assert not turn.problems


async def speaks(turn: FakeTurn, text: str) -> None:
    """Return once the turn has told of ``text``, live."""
    await turn.until(lambda: text in "".join(one.text for one in turn.of(TextDelta)))


def composer(world: Any) -> str:
    """What stands in the agent's composer."""
    rows: list[str] = world.tmux("capture-pane", "-p").splitlines()
    return next(row for row in reversed(rows) if row.startswith("❯"))
