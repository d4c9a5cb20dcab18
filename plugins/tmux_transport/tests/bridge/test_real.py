"""The bridge and the transcript with the real Claude Code in a real tmux, against a scripted model: what the model
was asked is the judge."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from turnhub_tmux.bridge.access import user_key
from turnhub_tmux.bridge.decisions import Allow, Deny, answered, took
from turnhub_tmux.bridge.display import Display
from turnhub_tmux.bridge.facts import (
    AskOver,
    Displayed,
    PermissionAsked,
    PromptSubmitted,
    SessionSeen,
    Stopped,
    ToolDone,
)
from turnhub_tmux.bridge.listener import Bridge
from turnhub_tmux.bridge.settings import write_settings
from turnhub_tmux.bridge.subscription import Subscription
from turnhub_tmux.commands_hooks import hooks, hooks_folder
from turnhub_tmux.testing import ClaudeTui, bundled_claude
from turnhub_tmux.traces import PromptLog, same
from turnhub_tmux.transcript.facts import HookDecided, Interrupted, Prompt, Result, Said, TurnOver
from turnhub_tmux.transcript.locate import projects, transcript_path
from turnhub_tmux.transcript.tail import Tail
from turnhub_tmux.transcript.watch import Watcher
from turnhub_tmux.verify import TRACES, verify

from hub import Evidence, Message
from hub.testing import Exchange, Reply, Say, Use, ask_user, make_session, reply

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.skipif(bundled_claude() is None, reason="the Claude Code of claude-agent-sdk is not installed"),
]
BLOCK = "\n".join(f"line {number}" for number in range(6))
COLOUR = {"question": "Which colour?", "header": "Colour", "options": ["Red", "Blue"]}


def script(exchange: Exchange) -> Reply:
    """What the model says, by the first word of the prompt."""
    words = exchange.text.split()
    if exchange.number:
        told = exchange.results[-1].text if exchange.results else "nothing"
        return reply(f"I was told: {told}", times=None)
    calls: dict[str, Reply] = {
        "SLOW": reply("I begin.\n\n", Say("a b c d e f g h i j k l m n", every_s=0.25)),
        "BASH": reply("Making it.", Use("Bash", {"command": "touch made", "description": "make a file"})),
        "ASK": reply(ask_user(COLOUR)),
    }
    return calls.get(words[0] if words else "", reply("First part.\n\nSecond part."))


@pytest.fixture
async def bridge(tmp_path: Path) -> AsyncIterator[Bridge]:
    """A listening bridge."""
    async with Bridge(hooks_folder(tmp_path)) as made:
        yield made


@pytest.fixture
async def tui(tmp_path: Path) -> AsyncIterator[ClaudeTui]:
    """An agent that is not started yet; ended whatever happens."""
    async with ClaudeTui(script, tmp_path) as made:
        yield made


async def start(tui: ClaudeTui, bridge: Bridge, folder: Path) -> None:
    """Start the agent with the bridge's hooks."""
    access = await bridge.admit("s")
    await tui.start(settings=write_settings(folder / "session", access))


async def upcoming(facts: Subscription, kind: type, wanted: Callable[[Any], bool] = lambda _: True) -> Any:
    """The next fact of a kind that is wanted."""
    async with asyncio.timeout(45):
        async for fact in facts:
            if isinstance(fact, kind) and wanted(fact):
                return fact
    raise AssertionError(f"no {kind.__name__} came")


async def at_keyboard(tui: ClaudeTui, shown: str, key: str) -> None:
    """Press a key at a dialog until it goes: one that has just appeared may not listen yet."""

    def gone(screen: str) -> bool:
        return "".join(shown.split()) not in "".join(screen.split())

    await tui.until(shown)
    for _ in range(3):
        await tui.keys(key)
        try:
            await tui.until(gone, 8)
        except TimeoutError:
            continue
        return
    raise AssertionError(f"the dialog {shown!r} does not go")


def results(tui: ClaudeTui) -> list[str]:
    """What the model was told of its tool calls in its last request."""
    found: list[str] = []
    for message in tui.model.turns[-1].body["messages"]:
        content = message["content"] if isinstance(message["content"], list) else []
        for block in content:
            if block["type"] == "tool_result":
                said = block["content"]
                found.append(said if isinstance(said, str) else "".join(part.get("text", "") for part in said))
    return found


async def test_hooks_tell_the_submission_the_live_text_and_the_end(
    tui: ClaudeTui, bridge: Bridge, tmp_path: Path
) -> None:
    """The prompt as the agent took it, its text while it streams, and the end with its last words."""
    await start(tui, bridge, tmp_path)
    async with bridge.subscribe("s") as facts:
        await tui.say("SLOW please")
        submitted = await upcoming(facts, PromptSubmitted)
        assert (submitted.prompt, submitted.queued) == ("SLOW please", False)
        display, shown = Display(), ""
        first = await upcoming(facts, Displayed)
        shown += display.add(first)
        assert "I begin." in shown
        assert not first.final
        async with asyncio.timeout(45):
            async for fact in facts:
                if isinstance(fact, Displayed):
                    shown += display.add(fact)
                if isinstance(fact, Stopped):
                    break
        assert shown.replace("\n", "") == "I begin.a b c d e f g h i j k l m n"
        await tui.say(BLOCK)
        assert same((await upcoming(facts, PromptSubmitted)).prompt, BLOCK)
        await upcoming(facts, Stopped)
    assert same(tui.model.turns[-1].prompts[-1], BLOCK)


async def test_hooks_answer_permissions_and_questions(tui: ClaudeTui, bridge: Bridge, tmp_path: Path) -> None:
    """Allowed, denied with words, changed, answered in free words: the model is told exactly that."""
    await start(tui, bridge, tmp_path)
    async with bridge.subscribe("s") as facts:
        await tui.say("BASH deny")
        asked = await upcoming(facts, PermissionAsked)
        assert (asked.tool, asked.input["command"]) == ("Bash", "touch made")
        no = Deny(message="Not today, thank you.")
        assert bridge.answer(asked.ask_id, no)
        over = await upcoming(facts, AskOver)
        assert took(no, over) is True
        await upcoming(facts, Stopped)
        assert results(tui)[-1] == "Not today, thank you."
        assert not (tui.cwd / "made").exists()

        await tui.say("BASH allow")
        asked = await upcoming(facts, PermissionAsked)
        assert bridge.answer(asked.ask_id, Allow())
        over = await upcoming(facts, AskOver)
        assert (over.ran, over.answered, took(Allow(), over)) == (True, True, True)
        await upcoming(facts, Stopped)
        assert (tui.cwd / "made").exists()

        await tui.say("ASK me")
        asked = await upcoming(facts, PermissionAsked)
        assert asked.questions[0].question == "Which colour?"
        free = answered(asked, {"Which colour?": 'Neither: a dark "green",\n日本 style'})
        assert bridge.answer(asked.ask_id, free)
        over = await upcoming(facts, AskOver)
        assert took(free, over) is True
        await upcoming(facts, Stopped)
        assert 'Neither: a dark "green",\n日本 style' in results(tui)[-1]

    tail = Tail(transcript_path(tui.config, str(tui.cwd), asked.agent_session))
    rows = [fact for row in await tail.read_all() for fact in row.facts]
    assert [fact.decision for fact in rows if isinstance(fact, HookDecided)] == ["deny", "allow", "allow"]
    assert [fact.denied for fact in rows if isinstance(fact, Result)] == [True, False, False]


@pytest.mark.full  # the turns of test_turns show it, too
async def test_the_keyboard_may_be_faster(tui: ClaudeTui, bridge: Bridge, tmp_path: Path) -> None:
    """The ask is over at once, whoever answered, and an answer from here comes too late and is told so."""
    await start(tui, bridge, tmp_path)
    async with bridge.subscribe("s") as facts:
        await tui.say("BASH yes")
        asked = await upcoming(facts, PermissionAsked)
        await at_keyboard(tui, "Do you want to proceed?", "1")
        over = await upcoming(facts, AskOver)
        assert (over.ask_id, over.sign, over.ran, over.answered) == (asked.ask_id, "tool", True, False)
        assert not bridge.answer(asked.ask_id, Deny(message="too late"))
        await upcoming(facts, Stopped)

        await tui.say("ASK me")
        asked = await upcoming(facts, PermissionAsked)
        await at_keyboard(tui, "Chat about this", "2")
        over = await upcoming(facts, AskOver)
        assert took(answered(asked, {"Which colour?": "Red"}), over) is False
        assert over.input["answers"] == {"Which colour?": "Blue"}
        await upcoming(facts, Stopped)

        await tui.say("BASH no")
        asked = await upcoming(facts, PermissionAsked)
        await at_keyboard(tui, "Do you want to proceed?", "Escape")
        over = await upcoming(facts, AskOver)
        assert (over.ask_id, over.sign) == (asked.ask_id, "gone")
        assert bridge.asks("s") == ()


async def test_a_listener_that_comes_again_is_posted_to_again(tui: ClaudeTui, tmp_path: Path) -> None:
    """Gone in the middle of an ask: the dialog stays, the keyboard answers; the next turn is told as before."""
    async with Bridge(tmp_path / "hooks") as bridge:
        await start(tui, bridge, tmp_path)
        facts = bridge.subscribe("s")
        await tui.say("BASH held")
        await upcoming(facts, PermissionAsked)
    await at_keyboard(tui, "Do you want to proceed?", "1")
    await tui.until("I was told:")
    async with Bridge(tmp_path / "hooks") as bridge, bridge.subscribe("s") as facts:
        await tui.say("once more")
        assert (await upcoming(facts, SessionSeen)).cwd == str(tui.cwd.resolve())
        assert (await upcoming(facts, PromptSubmitted)).prompt == "once more"
        await upcoming(facts, Stopped)
        await tui.say("BASH again")
        asked = await upcoming(facts, PermissionAsked)
        assert bridge.answer(asked.ask_id, Allow())
        await upcoming(facts, ToolDone)
        await upcoming(facts, Stopped)


async def test_the_transcript_tells_a_turn_by_file_events(tui: ClaudeTui, tmp_path: Path) -> None:
    """Without any hook: prompt, text and end, and an interruption at the keyboard."""
    await tui.start()
    async with Watcher(projects(tui.config)) as watcher:
        await tui.say("hello there")
        await tui.until("Second part.")
        await tui.until("? for shortcuts")
        async with asyncio.timeout(30):
            while not (found := list(projects(tui.config).glob("*/*.jsonl"))):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            (path,) = found
            assert path == transcript_path(tui.config, str(tui.cwd), path.stem)
            rows: list[Any] = []
            stream = Tail(path).follow(watcher)
            async for batch in stream:
                rows += [fact for row in batch for fact in row.facts]
                if any(isinstance(fact, TurnOver) for fact in rows):
                    break
            assert [fact.text for fact in rows if isinstance(fact, Prompt)] == ["hello there"]
            assert [fact.text for fact in rows if isinstance(fact, Said)] == ["First part.\n\nSecond part."]
            await watcher.listening()
            await tui.say("SLOW one")
            await tui.until("I begin.")
            await tui.keys("Escape")
            async for batch in stream:
                rows += [fact for row in batch for fact in row.facts]
                if any(isinstance(fact, Interrupted) for fact in rows):
                    break
            await stream.aclose()


@pytest.mark.full  # each run of the delivery matrix shows it, too
@pytest.mark.parametrize("witness", ["hook", "transcript"])
async def test_each_delivery_has_its_own_proof(
    tui: ClaudeTui, bridge: Bridge, tmp_path: Path, witness: str
) -> None:
    """The same words twice while it is idle, twice while it is busy, and once left in the composer: no proof."""
    await start(tui, bridge, tmp_path)
    log, tails = PromptLog(), dict[Path, Tail]()
    async with bridge.subscribe("s") as facts:

        async def catch_up() -> None:
            told = facts.now()
            for fact in told if witness == "hook" else ():
                log.note(fact)
            for path in projects(tui.config).glob("*/*.jsonl"):
                for row in await tails.setdefault(path, Tail(path)).read_all() if witness == "transcript" else ():
                    for said in row.facts:
                        log.note(said)

        async def proof(text: str, before: dict[str, Any], seconds: float = 15) -> Any:
            message = Message(id="m", text=text)
            for _ in range(int(seconds / 0.1)):
                await catch_up()
                evidence = Evidence(
                    session=make_session("tmux"),
                    message=message,
                    text=text,
                    before=before,
                    after={TRACES: log.now()},
                )
                if found := verify(evidence):
                    return (found.verdict, found.proof)
                await asyncio.sleep(0.1)
            return None

        async def look(text: str) -> dict[str, Any]:
            await catch_up()
            before = {TRACES: log.now()}
            log.typed(text)
            log.sent()
            return before

        for text in ("hello", "hello", BLOCK):
            before = await look(text)
            await tui.say(text)
            assert await proof(text, before) == ("submitted", witness)
            await tui.until("? for shortcuts")
        await tui.say("SLOW one")
        await tui.until("I begin.")
        for number in (1, 2):
            before = await look("hello")
            await tui.say("hello")
            found = await proof("hello", before, 15 if number == 1 or witness == "transcript" else 1)
            # The hook's posts of both are alike: it proves the first alone, and says nothing of the second.
            assert found == (None if (number, witness) == (2, "hook") else ("queued", witness))
        await tui.until("? for shortcuts")
        before = await look("hello")
        await tui.paste("hello")
        assert await proof("hello", before, 2) is None


async def test_hooks_in_a_persons_own_settings_tell_of_their_sessions(
    tui: ClaudeTui, bridge: Bridge, tmp_path: Path
) -> None:
    """Installed by the command, with nothing on the agent's command line; removed again, the file is as it was."""
    settings = tui.config / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"includeCoAuthoredBy": false}\n')
    where = ["--config-dir", str(tui.config), "--state", str(tmp_path)]
    installed = await asyncio.to_thread(CliRunner().invoke, hooks, ["install", *where])
    assert installed.exit_code == 0, installed.output
    await tui.start()
    (note,) = (tui.config / "sessions").glob("*.json")
    async with bridge.subscribe(user_key(json.loads(note.read_text())["sessionId"])) as facts:
        await tui.say("hello there")
        seen = await upcoming(facts, SessionSeen)
        assert seen.cwd == str(tui.cwd.resolve())
        assert (await upcoming(facts, PromptSubmitted)).prompt == "hello there"
        await upcoming(facts, Stopped)
    await asyncio.to_thread(CliRunner().invoke, hooks, ["remove", *where])
    assert json.loads(settings.read_text()) == {"includeCoAuthoredBy": False}
    assert settings.read_text() == '{"includeCoAuthoredBy": false}\n'
