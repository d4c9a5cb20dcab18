"""An agent whose user edits as in vim: its composer has a mode in which keys are commands."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hub import Completed, Interrupted

pytestmark = pytest.mark.anyio
WITHIN = 60.0


def with_vim(world: Any) -> Any:
    """The world, whose agent's user has chosen that."""
    (world.folder / "home" / ".claude" / "settings.json").write_text(json.dumps({"editorMode": "vim"}))
    return world


async def test_an_interrupt_leaves_a_composer_in_which_the_next_message_can_be_typed(worlds: Any) -> None:
    """Esc brings the message back and the composer into its normal mode: it is taken away all the same."""
    world = with_vim(worlds())
    async with world.connected() as connection:
        await world.turn("hello there").play(connection, within=WITHIN)
        late = world.turn("LATE in it\nand more")
        playing = asyncio.create_task(late.play(connection, within=WITHIN))
        await world.model.received(lambda _: late.message.text in world.prompts())
        late.cancelled.request()
        await connection.interrupt()
        assert isinstance(await playing, Interrupted)
        for text in ("dd after that", "ix\nand this"):
            after = world.turn(text)
            assert isinstance(await after.play(connection, within=WITHIN), Completed)
            assert after.text == f"Echo: {text}"


@pytest.mark.parametrize(
    "draft", [pytest.param("of my own", marks=pytest.mark.full), "of my own\nand more\nof it"]
)
async def test_a_draft_in_normal_mode_stands_there_again(worlds: Any, draft: str) -> None:
    """It keeps no message away, and none of it is lost."""
    world = with_vim(worlds())
    async with world.connected() as connection:
        await world.turn("hello there").play(connection, within=WITHIN)
        world.tmux("set-buffer", "-b", "draft", draft)
        world.tmux("paste-buffer", "-p", "-b", "draft")
        await world.shows(draft.splitlines()[-1])
        await world.shows("-- INSERT --")
        world.keys("Escape")
        async with asyncio.timeout(20):
            while "-- INSERT --" in await asyncio.to_thread(world.tmux, "capture-pane", "-p"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        for text in ("dd one", "ix two"):
            assert isinstance(await world.turn(text).play(connection, within=WITHIN), Completed)
            for line in draft.splitlines():
                await world.shows(line)
    assert world.prompts() == ["hello there", "dd one", "ix two"]
