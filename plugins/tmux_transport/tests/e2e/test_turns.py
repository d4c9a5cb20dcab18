"""Whole turns on the real agent. What the model was asked is the judge."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from click.testing import CliRunner
from turnhub_tmux.commands import screen

from hub import AskRequest, By, Completed, Failed, Interrupted, Text, TextDelta, ToolStarted
from hub.testing import FakeTurn, allow, answer, deny

pytestmark = pytest.mark.anyio
WITHIN = 60.0
COLOUR = "Which colour?"


def trusting(request: AskRequest) -> Any:
    """Trust the folder; everything else is for the test."""
    if request.tool == "dialog:trust":
        return answer({request.questions[0].question: "Yes, I trust this folder"})
    return None


def decisions(turn: FakeTurn) -> list[tuple[str, str, bool]]:
    """The asks of a turn: tool, subject, whether the agent took the answer."""
    return [(ask.request.tool, ask.request.subject, ask.delivered) for ask in turn.asks]


async def test_with_hooks_everything_is_told_and_answered_by_the_agent_itself(worlds: Any) -> None:
    """Live text, tools, a permission allowed and one denied with words, a question answered in own words: the
    model is told exactly that; the delivery is proven; a blank answer is an empty turn. ``turnhub screen`` reads
    the live pane."""
    world = worlds()
    async with world.connected() as connection:
        plain = world.turn("hello there")
        assert isinstance(await plain.play(connection, within=WITHIN), Completed)
        assert plain.text == "Echo: hello there"
        assert "".join(delta.text for delta in plain.of(TextDelta)) == plain.text
        assert plain.delivered.verdict == "submitted"
        assert plain.ending.usage.output_tokens

        allowed = world.turn("BASH one", [allow()])
        await allowed.play(connection, within=WITHIN)
        assert decisions(allowed) == [("Bash", "echo > made", True)]
        assert [tool.status for tool in allowed.tools_finished] == ["ok"]
        assert (world.cwd / "made").exists()

        denied = world.turn("BASH two", [deny("not on my watch")])
        assert isinstance(await denied.play(connection, within=WITHIN), Completed)
        assert [tool.status for tool in denied.tools_finished] == ["denied"]
        assert "not on my watch" in denied.text

        asked = world.turn("ASK me", [answer({"Which colour?": "a warm green"})])
        await asked.play(connection, within=WITHIN)
        assert asked.asks[0].request.questions[0].options[1].label == "Blue"
        assert '"Which colour?"="a warm green"' in asked.text

        blank = world.turn("BLANK")
        await blank.play(connection, within=WITHIN)
        assert isinstance(blank.judged, Failed)
        assert blank.judged.code == "empty_response"

        arguments = [world.session.id, "--socket", world.socket]
        seen = await asyncio.to_thread(CliRunner().invoke, screen, arguments)
        assert seen.exit_code == 0
        assert seen.output.startswith("state     ready: ")
        assert "❯ BLANK" in seen.output
        absent = await asyncio.to_thread(CliRunner().invoke, screen, ["nowhere:1", "--socket", world.socket])
        assert absent.exit_code == 2
        assert "nothing to be read" in absent.output
    for turn in (plain, allowed, denied, asked, blank):
        assert turn.problems == []
        assert all(ask.delivered for ask in turn.asks)


async def test_without_hooks_transcript_and_screen_tell_and_keys_answer(worlds: Any) -> None:
    """The trust dialog is an ask, answered by its label; a permission, a question in own words and a form of two
    questions are answered by keys; the model is told exactly that. What a person answers in the terminal is
    settled by ``keyboard``."""
    world = worlds(trusted=False, hooks=False)
    async with world.connected() as connection:
        plain = world.turn("hello there", trusting)
        assert isinstance(await plain.play(connection, within=WITHIN), Completed)
        assert decisions(plain) == [("dialog:trust", "Accessing workspace:", True)]
        assert plain.text == "Echo: hello there"

        allowed = world.turn("BASH one", [allow()])
        await allowed.play(connection, within=WITHIN)
        assert decisions(allowed) == [("Bash", "echo > made", True)]
        assert (world.cwd / "made").exists()

        denied = world.turn("BASH two", [deny()])
        assert await denied.play(connection, within=WITHIN) == Completed(
            stop_reason="tool_denied", usage=denied.ending.usage
        )
        assert [tool.status for tool in denied.tools_finished] == ["denied"]

        asked = world.turn("ASK me", [answer({"Which colour?": "a warm green"})])
        await asked.play(connection, within=WITHIN)
        assert '"Which colour?"="a warm green"' in asked.text

        typed = world.turn("BASH three")
        playing = asyncio.create_task(typed.play(connection, within=WITHIN))
        await typed.asked(within=WITHIN)
        await world.press_away("1", "Do you want to proceed?")
        assert isinstance(await playing, Completed)
        settled = typed.asks[0].answer.result()
        assert (settled.settlement.by.kind, settled.settlement.decision) == ("keyboard", "allow")

        form = world.turn("FORM now", [answer({"Which toppings?": "Cheese, Ham", "Which colour?": "Blue"})])
        await form.play(connection, within=WITHIN)
        assert '"Which toppings?"="Cheese, Ham"' in form.text
        assert '"Which colour?"="Blue"' in form.text
    for turn in (plain, allowed, denied, asked, typed, form):
        assert turn.problems == []
        assert len(turn.asks) <= 1


async def test_the_keyboard_is_faster_then_an_interrupt_then_a_killed_agent(worlds: Any) -> None:
    """A permission answered in the terminal is settled by ``keyboard``; an interrupt stops the agent within two
    seconds and leaves an empty composer; an agent killed -9 is dead, and the next turn has a new one that knows
    the conversation."""
    world = worlds()
    async with world.connected() as connection:
        turn = world.turn("BASH one")
        playing = asyncio.create_task(turn.play(connection, within=WITHIN))
        await turn.asked(within=WITHIN)
        await world.press_away("1", "Do you want to proceed?")
        assert isinstance(await playing, Completed)
        settled = turn.asks[0].answer.result()
        assert (settled.settlement.by, settled.settlement.decision) == (
            By(kind="keyboard", name="terminal"),
            "allow",
        )

        slow = world.turn("SLOW one")
        playing = asyncio.create_task(slow.play(connection, within=WITHIN))
        await slow.seen(TextDelta, count=2, within=WITHIN)
        start = time.monotonic()
        slow.cancelled.request("ann")
        await connection.interrupt()
        ending = await playing
        assert time.monotonic() - start < 2
        assert isinstance(ending, Interrupted)
        assert ending.by == "ann"

        killed = world.turn("BASH two")
        playing = asyncio.create_task(killed.play(connection, within=WITHIN))
        await killed.seen(ToolStarted, within=WITHIN)
        world.kill_agent()
        ending = await playing
        assert isinstance(ending, Failed)
        assert ending.code == "agent_dead"

        after = world.turn("and now?")
        await after.play(connection, within=WITHIN)
        assert after.text == "Echo: and now?"
        assert "SLOW one" in str(world.model.turns[-1].body)
    assert [world.prompts().count(text) for text in ("SLOW one", "and now?")] == [1, 1]
    assert [text.partial for text in slow.of(Text)] in ([], [False], [True])
    for one in (turn, slow, killed, after):
        assert one.problems == []


async def test_a_draft_that_a_dialog_keeps_away_comes_back_when_the_turn_is_over(worlds: Any) -> None:
    """The agent asks before the draft can be put back: allowed or refused by keys, the words stand there again,
    and nothing of them went into the dialog."""
    world = worlds(hooks=False)
    async with world.connected() as connection:
        await world.turn("hello there").play(connection, within=WITHIN)
        world.tmux("send-keys", "-l", "1 of my own")
        await world.shows("1 of my own")
        for text, said in (("BASH one", allow()), ("BASH two", deny()), ("ASK me", answer({COLOUR: "Blue"}))):
            asked: FakeTurn = world.turn(text, [said])
            assert isinstance(await asked.play(connection, within=WITHIN), Completed)
            await world.shows("1 of my own")
            assert [ask.delivered for ask in asked.asks] == [True]
    assert world.prompts() == ["hello there", "BASH one", "BASH two", "ASK me"]
