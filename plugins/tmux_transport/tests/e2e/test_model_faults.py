"""Faults of the model under the real agent: what is told of them meanwhile, and how the turn ends."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hub import Completed, Failed, Interrupted, Status, Text
from hub.testing import Cut, Exchange, Fail, Pause, Reply, Say, ScriptedModel, Think, reply

from .conftest import World

pytestmark = pytest.mark.anyio
CUT = Reply(parts=(Say("one two three four", close=False, every_s=0.05), Cut(after_s=0.5)))


def script(exchange: Exchange) -> Any:
    """What the model does, by the first word of the prompt."""
    number = exchange.number
    match exchange.text.split()[0]:
        case "BUSY":
            return Fail(status=529, kind="overloaded_error") if number < 2 else reply("fine now")
        case "CAP":
            return reply("part of it", stop="max_tokens", times=None)
        case "KEY":
            return Fail(status=401, kind="authentication_error", message="invalid x-api-key")
        case "THINK":
            return Reply(parts=(Think("hm"),), times=None)
        case "CUT":
            return CUT if number < 1 else reply("whole now")
        case "LATE":
            return reply(Pause(20), "late")
        case _:
            return reply(f"Echo: {exchange.text}")


@pytest.fixture
async def world(anyio_backend: str) -> AsyncIterator[World]:
    """A world whose model fails, and whose agent tries again a few times."""
    folder = Path(tempfile.mkdtemp(prefix="th-"))
    async with ScriptedModel(script) as model:
        made = World(folder, model, env={"CLAUDE_CODE_MAX_RETRIES": "3"})
        made.trust()
        try:
            yield made
        finally:
            await made.close()
            shutil.rmtree(folder, ignore_errors=True)


async def test_what_is_tried_again_is_told_and_each_fault_has_its_own_ending(world: World) -> None:
    """An overloaded model is tried again, which is told, and the turn completes; the cap, the key, and thoughts
    without words end it under their own codes."""
    async with world.connected() as connection:
        busy = world.turn("BUSY now")
        assert isinstance(await busy.play(connection, within=60), Completed)
        assert busy.text == "fine now"
        told = [one.detail for one in busy.of(Status) if one.state == "retrying"]
        assert told[0] is not None
        assert "attempt 1/3" in told[0]
        for text, code in (
            ("CAP now", "token_cap"),
            ("KEY now", "agent_unavailable"),
            ("THINK now", "reasoning_only"),
        ):
            turn = world.turn(text)
            await turn.play(connection, within=60)
            assert isinstance(turn.judged, Failed)
            assert turn.judged.code == code
            assert turn.problems == []
        after = world.turn("and now?")
        assert isinstance(await after.play(connection, within=60), Completed)


async def test_an_answer_that_broke_off_and_is_given_anew_is_told_once(world: World) -> None:
    """The agent discards what it showed of it: it is not called the agent's words, and the whole answer is."""
    async with world.connected() as connection:
        turn = world.turn("CUT now")
        assert isinstance(await turn.play(connection, within=60), Completed)
        whole = [one.text for one in turn.of(Text) if not one.partial]
        assert whole == ["whole now"]
        assert turn.problems == []


async def test_escape_before_the_first_word_is_an_interrupt(world: World) -> None:
    """The agent puts the words back into its composer and tells nobody of it."""
    async with world.connected() as connection:
        await world.turn("hello").play(connection, within=60)
        turn = world.turn("LATE one")
        playing = asyncio.create_task(turn.play(connection, within=60))
        await world.shows("esc to interrupt")
        async with asyncio.timeout(30):
            while not playing.done():
                if "esc to interrupt" in await asyncio.to_thread(world.tmux, "capture-pane", "-p"):
                    world.keys("Escape")
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(playing), 1)
        ending = await playing
        assert isinstance(ending, Interrupted)
        assert ending.by == "keyboard"
