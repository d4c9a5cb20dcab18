"""Each kind of ask on the real agent, with hooks and without: answered over the hub and at the keyboard. What its
model was told next is the judge."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from msgspec import Struct

from hub import Answered, Completed, Settlement
from hub.testing import (
    Exchange,
    FakeAsk,
    FakeTurn,
    Reply,
    ScriptedModel,
    Use,
    allow,
    answer,
    ask_user,
    deny,
    reply,
    respond,
)

from .conftest import World

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
WITHIN: Final = 40.0

COLOUR = {"question": "Which colour?", "header": "Colour", "options": ["Red", "Blue"]}
TOPPINGS = {"question": "Which toppings?", "header": "Top", "options": ["Cheese", "Ham"], "multiSelect": True}
PLAN = "# Plan\n\n1. Read\n2. Change\n"
MENU = (
    "─" * 90 + "\n Bash command\n\n touch other\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n"
    " Esc to cancel · Tab to amend\n"
)


class Scripted:
    """What the model says, by the first word of the prompt; it repeats what its last tool gave back."""

    def __init__(self) -> None:
        self.model = ScriptedModel(self)

    def __call__(self, exchange: Exchange) -> Reply:
        """The next answer."""
        word = (exchange.text.split() or [""])[0]
        steps = self.steps(word)
        if exchange.number < len(steps):
            return steps[exchange.number]
        return reply(f"Result: {exchange.results[-1].text}" if exchange.results else f"Echo: {exchange.text}")

    def steps(self, word: str) -> Sequence[Reply]:
        """The tools that a prompt has it use, one after the other."""
        plan = reply(Use("Write", {"file_path": self._plan_file(), "content": PLAN}))
        calls: Mapping[str, Sequence[Reply]] = {
            "BASH": [reply(Use("Bash", {"command": "echo > made", "description": "make it"}))],
            "WRITE": [reply(Use("Write", {"file_path": "new.py", "content": "print(1)\n"}))],
            "EDIT": [
                reply(Use("Read", {"file_path": "old.py"})),
                reply(Use("Edit", {"file_path": "old.py", "old_string": "old", "new_string": "new"})),
            ],
            "FETCH": [reply(Use("WebFetch", {"url": "http://127.0.0.1:9/x", "prompt": "what is it"}))],
            "PLAN": [plan, reply(Use("ExitPlanMode", {"plan": PLAN}))],
            "ASK": [reply(ask_user(COLOUR))],
            "MULTI": [reply(ask_user(TOPPINGS))],
            "FORM": [reply(ask_user(TOPPINGS, COLOUR))],
            "MENU": [reply(f"Pick:\n\n{MENU}", times=None)],
            "LINES": [reply("\n".join(f"line {n}" for n in range(500)), times=None)],
        }
        return calls.get(word, ())

    def _plan_file(self) -> str:
        """Where the agent wants a plan written: its requests say so."""
        said = str(self.model.turns[-1].body) if self.model.turns else ""
        found = re.search(r"[\w/.-]+/plans/[\w.-]+\.md", said)
        return found.group() if found else "plan.md"


class Scene:
    """One agent that lives through all asks of a module, and the hub's connection to it."""

    def __init__(self, world: World, connection: Any, *, hooked: bool) -> None:
        self.world = world
        self.connection = connection
        self.hooked = hooked

    async def answered(self, text: str, *replies: Settlement) -> FakeTurn:
        """A turn whose asks get these answers."""
        turn = self.world.turn(text, replies)
        await turn.play(self.connection, within=WITHIN)
        return turn

    async def typed(self, text: str, shown: str, keys: Sequence[str]) -> FakeTurn:
        """A turn whose ask is answered at the keyboard, once it is one."""
        turn = self.world.turn(text)
        playing = asyncio.create_task(turn.play(self.connection, within=WITHIN))
        await turn.asked(within=WITHIN)
        await self.world.shows(shown)
        await self.press(*keys)
        await playing
        return turn

    async def planning(self) -> None:
        """A person has the agent make plans, until it says so."""
        if not await self._pane():
            await self.answered("hello")
        while "plan mode on" not in (mode := await self._mode()):
            await self._one("BTab")
            async with asyncio.timeout(10):
                while await self._mode() == mode:  # noqa: ASYNC110 - tmux tells nobody
                    await asyncio.sleep(0.05)

    async def _mode(self) -> str:
        """The mode that the agent's footer names."""
        found = re.search(r"\w+(?: \w+)? mode on|accept edits on", await self._pane())
        return found.group() if found else ""

    async def _still(self) -> str:
        """The screen, once it has not changed for a moment."""
        before, now = "", await self._pane()
        while before != now:
            await asyncio.sleep(0.3)
            before, now = now, await self._pane()
        return now

    async def press(self, *keys: str) -> None:
        """A person presses keys, or pastes ``<words>``, each until the screen shows that it was taken: a dialog
        that has just appeared may not listen yet."""
        for key in keys:
            before = await self._still()
            async with asyncio.timeout(10):
                while await self._pane() == before:
                    await self._one(key)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(1.5):
                            while await self._pane() == before:  # noqa: ASYNC110 - tmux tells nobody
                                await asyncio.sleep(0.05)

    async def _one(self, key: str) -> None:
        if key.startswith("<"):
            await asyncio.to_thread(self.world.tmux, "set-buffer", "-b", "words", key[1:-1])
            await asyncio.to_thread(self.world.tmux, "paste-buffer", "-p", "-d", "-b", "words")
        else:
            await asyncio.to_thread(self.world.keys, key)

    async def _pane(self) -> str:
        seen = await asyncio.to_thread(self.world.tmux, "capture-pane", "-p")
        return seen.replace("●", " ")  # which blinks

    def told(self) -> str:
        """What the model was last told about a tool."""
        results = [
            part
            for message in self.world.model.turns[-1].body["messages"]
            if isinstance(message["content"], list)
            for part in message["content"]
            if part["type"] == "tool_result"
        ]
        content = results[-1]["content"]
        return content if isinstance(content, str) else "".join(part["text"] for part in content)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The hub runs on asyncio; the agents live as long as the module."""
    return "asyncio"


@pytest.fixture(scope="module", params=["keys", pytest.param("hooks", marks=pytest.mark.full)])
async def scene(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Scene]:
    """An agent that can only be answered by keys, and one with its hooks: the scenarios of the hub's asks are run
    with hooks each time."""
    folder, scripted = Path(tempfile.mkdtemp(prefix="th-")), Scripted()
    async with scripted.model as model:
        world = World(folder, model, hooks=request.param == "hooks")
        world.trust()
        (world.cwd / "old.py").write_text("old\n")
        try:
            async with world.connected() as connection:
                yield Scene(world, connection, hooked=request.param == "hooks")
        finally:
            await world.close()
            shutil.rmtree(folder, ignore_errors=True)


Told: TypeAlias = Callable[[Scene], str]


class Case(Struct, frozen=True, kw_only=True):
    """A prompt, what a person answers over the hub, the same at the keyboard, and what the model is told then."""

    prompt: str
    reply: Settlement
    told: str
    shown: str = "Do you want to"
    keys: tuple[str, ...] = ()
    settled: Mapping[str, Any] = {}


CASES: Final = {
    "bash-allow": Case(
        prompt="BASH",
        reply=allow(),
        told="(Bash completed with no output)",
        keys=("1",),
        settled={"decision": "allow"},
    ),
    "bash-deny": Case(
        prompt="BASH",
        reply=deny("not on my watch, 1. never"),
        told="not on my watch, 1. never",
        keys=("Up", "Tab", "<not on my watch, 1. never>", "Enter"),
        settled={"decision": "deny"},
    ),
    "write-deny": Case(prompt="WRITE", reply=deny("no writing"), told="no writing"),
    "write-allow": Case(prompt="WRITE", reply=allow(), told="File created successfully at: new.py"),
    "edit-allow": Case(prompt="EDIT", reply=allow(), told="The file old.py has been updated successfully"),
    "choice": Case(
        prompt="ASK",
        reply=answer({"Which colour?": "Blue"}),
        told='"Which colour?"="Blue"',
        shown="Chat about this",
        keys=("2",),
        settled={"answers": {"Which colour?": "Blue"}},
    ),
    "words": Case(
        prompt="ASK",
        reply=answer({"Which colour?": "2. a warm green"}),
        told='"Which colour?"="2. a warm green"',
        shown="Chat about this",
        keys=("Down", "Down", "<2. a warm green>", "Enter"),
        settled={"answers": {"Which colour?": "2. a warm green"}},
    ),
    "several-choices": Case(
        prompt="MULTI", reply=answer({"Which toppings?": "Cheese, Ham"}), told='"Which toppings?"="Cheese, Ham"'
    ),
    "choices-and-words": Case(
        prompt="MULTI", reply=answer({"Which toppings?": "Ham, olives, or so"}), told="olives, or so"
    ),
    "form": Case(
        prompt="FORM",
        reply=answer({"Which toppings?": "Ham", "Which colour?": "a green"}),
        told='"Which toppings?"="Ham", "Which colour?"="a green"',
        shown="Chat about this",
        keys=("2", "Tab", "Down", "Down", "<a green>", "Enter", "1"),
        settled={"answers": {"Which toppings?": "Ham", "Which colour?": "a green"}},
    ),
}


ALWAYS: Final = ("bash-deny", "edit-allow", "choice", "words", "form", "choices-and-words")
TYPED_ALWAYS: Final = ("bash-allow", "form")


def some(names: Iterable[str], always: Collection[str]) -> list[Any]:
    """All cases, of which ``always`` are run each time, and the others by ``make full``."""
    return [pytest.param(name, marks=() if name in always else pytest.mark.full) for name in names]


@pytest.mark.parametrize("name", some(CASES, ALWAYS))
async def test_an_answer_over_the_hub_is_what_the_model_is_told(scene: Scene, name: str) -> None:
    """Exactly that, by the hook or by keys; the hub knows that the agent took it; it was one ask."""
    case = CASES[name]
    (scene.world.cwd / "new.py").unlink(missing_ok=True)
    (scene.world.cwd / "old.py").write_text("old\n")
    turn = await scene.answered(f"{case.prompt} {name}", case.reply)
    assert [ask.delivered for ask in turn.asks] == [True], turn.events
    assert case.told in scene.told()
    assert turn.problems == []
    assert isinstance(turn.ending, Completed)
    if name == "write-allow":
        assert (scene.world.cwd / "new.py").read_text() == "print(1)\n"
    if name == "write-deny":
        assert not (scene.world.cwd / "new.py").exists()


@pytest.mark.parametrize("name", some((name for name, case in CASES.items() if case.keys), TYPED_ALWAYS))
async def test_an_answer_at_the_keyboard_settles_the_ask(scene: Scene, name: str) -> None:
    """It is settled by ``keyboard``, with that answer, and the model is told that."""
    case = CASES[name]
    turn = await scene.typed(f"{case.prompt} {name} typed", case.shown, case.keys)
    (ask,) = turn.asks
    found = settled(ask)
    assert found.by.kind == "keyboard"
    assert {key: getattr(found, key) for key in case.settled} == case.settled
    assert case.told in scene.told()
    assert turn.problems == []


async def test_a_plan_is_sent_back_with_words_and_then_approved(scene: Scene) -> None:
    """Told what to change the agent stays in its mode for plans; approved once, it leaves that mode, and edits are
    asked for still. At the keyboard the same."""
    await scene.planning()
    back = await scene.answered("PLAN back", deny("fewer steps"))
    assert "fewer steps" in scene.told()
    await scene.world.shows("plan mode on")
    approved = await scene.answered("PLAN go", allow())
    assert "approved your plan" in scene.told()
    await scene.world.shows("manual mode on")
    await scene.planning()
    typed = await scene.typed("PLAN typed", "Would you like to", ("Down", "Down", "<other steps>", "Enter"))
    assert "other steps" in scene.told()
    for turn, decision in ((back, "deny"), (approved, "allow"), (typed, "deny")):
        assert [(ask.request.tool, settled(ask).decision) for ask in turn.asks] == [("ExitPlanMode", decision)]
        assert turn.problems == []
    assert [ask.delivered for turn in (back, approved) for ask in turn.asks] == [True, True]
    assert settled(typed.asks[0]).by.kind == "keyboard"
    await scene.press("BTab", "BTab")
    await scene.world.shows("manual mode on")


async def test_a_page_is_not_fetched_when_that_is_denied(scene: Scene) -> None:
    """Its dialog takes no words with a denial: by keys that is refused beforehand; a plain one stops the agent."""
    turn = await scene.answered("FETCH it", deny("not that" if scene.hooked else None))
    (ask,) = turn.asks
    assert ask.request.subject == "http://127.0.0.1:9/x"
    assert ask.delivered
    if scene.hooked:
        assert ask.request.refuses == ()
        assert "not that" in scene.told()
    else:
        assert ask.request.refuses == ("input", "message")
        assert isinstance(turn.ending, Completed)
        assert turn.ending.stop_reason == "tool_denied"
    typed = await scene.typed("FETCH typed", "Do you want to", ("3",))
    assert settled(typed.asks[0]).decision == "deny"
    assert [tool.status for tool in (*turn.tools_finished, *typed.tools_finished)] == ["denied", "denied"]
    assert turn.problems == typed.problems == []


async def test_a_question_is_talked_about_instead(scene: Scene) -> None:
    """One response to it all is told as that; the row that leaves the question is taken by its words; at the
    keyboard that is an answer by ``keyboard``, too."""
    turn = await scene.answered("ASK about", respond("Chat about this"))
    assert [ask.delivered for ask in turn.asks] == [True]
    assert ("Chat about this" if scene.hooked else "wants to clarify these questions") in scene.told()
    typed = await scene.typed("ASK typed", "Enter to select", ("4",))
    assert "wants to clarify these questions" in scene.told()
    found = settled(typed.asks[0])
    assert (found.by.kind, found.response) == ("keyboard", "Chat about this")
    if scene.hooked:
        form = await scene.answered("FORM whole", respond("neither, thank you"))
        assert "neither, thank you" in scene.told()
        assert [ask.delivered for ask in form.asks] == [True]
    assert turn.problems == typed.problems == []


async def test_an_answered_ask_never_comes_back(scene: Scene) -> None:
    """Not while its dialog stands in the scrollback, not after 500 lines, not when the agent prints what looks
    just like one, also in a turn that another runner takes over."""
    await scene.answered("BASH first", allow())
    lines = await scene.answered("LINES now")
    menu = await scene.answered("MENU now")
    assert "touch other" in menu.text
    again = scene.world.turn("MENU again", adopted=True)
    await again.play(scene.connection, within=WITHIN)
    for turn in (lines, menu, again):
        assert turn.asks == []
        assert turn.problems == []


def settled(ask: FakeAsk) -> Settlement:
    """What an ask was answered."""
    found = ask.answer.result()
    assert isinstance(found, Answered), found
    return found.settlement
