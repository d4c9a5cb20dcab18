"""Going on where a turn was cut off, on the real agents: what has run is not run again, and what nobody knows is
asked, not guessed."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
from typing import Final

import pytest

from hub.resuming import DID_NOT_RUN, RAN, RESUME
from tests.e2e.asks.actors import Claude, Play, Stage, append
from tests.e2e.door import Json

pytestmark = pytest.mark.anyio
_MARKS = itertools.count()
_CODES: Final = {"sdk": "owner_lost", "hooks": "agent_dead"}


def slow(mark: str) -> Json:
    """A call that leaves its mark and then goes on for long."""
    call = append(mark)
    return {**call, "input": {**call["input"], "command": f"echo {mark} >> ran; sleep 300"}}


async def cut(stage: Stage, play: Play) -> None:
    """End the turn in the middle of its call: the hub of an agent behind the SDK is killed, else the agent is."""
    if play.actor.name == "sdk":
        stage.hub.kill()
        stage.hub.start()
    else:
        os.kill(await asyncio.to_thread(_agent_in_pane, stage, play), signal.SIGKILL)


def _agent_in_pane(stage: Stage, play: Play) -> int:
    socket = next(
        line for line in (stage.hub.folder / "turnhub.toml").read_text().splitlines() if line.startswith("socket")
    ).split('"')[1]
    target = f"=turnhub-{play.session}:"
    words = ["tmux", "-S", socket, "list-panes", "-t", target, "-F", "#{pane_pid}"]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[0])


@pytest.mark.parametrize("name", [pytest.param("sdk", marks=pytest.mark.full), "hooks"])
@pytest.mark.parametrize("answer", [RAN, pytest.param(DID_NOT_RUN, marks=pytest.mark.full)])
async def test_what_was_cut_off_goes_on_and_runs_as_often_as_a_person_says(
    stage: Stage, name: str, answer: str
) -> None:
    """A call has its result, the next one is under way when all is killed. ``resume`` asks about that one alone;
    told that it ran, the agent runs nothing again; told that it did not, only that. The message is the same, the
    agent knows the conversation, and the hub knows that it was told."""
    actor = stage.actors[name]
    assert isinstance(actor, Claude)
    first, second = f"mark{next(_MARKS)}", f"mark{next(_MARKS)}"
    play = await Play.begin(stage, actor, [append(first)], [slow(second)])
    await play.agree(await play.ask(), decision="allow")
    await play.agree(await play.ask(), decision="allow")
    async with asyncio.timeout(30):
        while await play.ran() != [first, second]:  # noqa: ASYNC110 - a file that a tool writes
            await asyncio.sleep(0.05)
    await cut(stage, play)
    failed = await play.end()
    assert (failed["ending"]["code"], failed["ending"]["retryable"]) == (_CODES[name], True)

    await stage.json("POST", f"/v1/sessions/{play.session}/retry", {"mode": "resume"})
    ask = await play.ask()
    (question,) = ask["ask"]["questions"]
    assert (ask["ask"]["kind"], ask["ask"]["tool"]) == ("question", RESUME)
    assert second in question["question"]
    await play.agree(ask, answers={question["question"]: answer})
    if answer == DID_NOT_RUN:
        actor_ask = await play.ask()
        assert second in actor_ask["ask"]["subject"]
        await play.agree(actor_ask, decision="deny")
    item = await play.end()
    assert item["status"] == "completed"
    assert await play.ran() == [first, second]
    log = await play.log()
    started = [event for event in log if event["type"] == "turn_started"]
    assert [(one["attempt"], one.get("resumes", False)) for one in started] == [(1, False), (2, True)]
    assert len([event for event in log if event["type"] == "user_message"]) == 1
    assert [event["ask_id"] for event in log if event["type"] == "ask_delivered"][-1] in (
        ask["id"],
        *_later(log, ask),
    )
    told = actor.model.turns[-1]
    assert any("Go on where it stopped" in prompt for prompt in told.prompts)
    assert any(first in result.text or "no output" in result.text for result in told.results)


def _later(log: list[Json], ask: Json) -> list[str]:
    """The asks that were opened after this one."""
    opened = [event["ask"]["id"] for event in log if event["type"] == "ask_opened"]
    return opened[opened.index(ask["id"]) + 1 :]
