"""The same question seen by hook, transcript and screen is one ask, with one id; plugins are heard too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import turnhub_tmux
from turnhub_tmux import asker as module
from turnhub_tmux.asker import Asker
from turnhub_tmux.bridge.facts import AskOver, PermissionAsked
from turnhub_tmux.questions import ASKED, CALLS, SOURCES, by_hook, by_pane, by_transcript, waiting
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.story import Story
from turnhub_tmux.transcript.facts import Result, Used
from turnhub_tmux.typist import SEEN, Seen

from hub import Answered, AskRequest, By, HubError, Settlement, WithdrawnAsk, hookimpl
from hub.testing import FakeTurn, allow, deny, make_session

pytestmark = pytest.mark.anyio

GIVEN = {"command": "touch made", "description": "make a file"}
ASK = PermissionAsked(ask_id="1", tool="Bash", input=GIVEN, tool_use_id="t")
CALL = Used(message_id="m", block=0, tool_use_id="t", name="Bash", input=GIVEN)
ZAP = "\n\n  Zap the reactor?\n\n  press F7 to zap, F8 to leave it\n"


class Reactor:
    """A plugin with a reader of its own, for a dialog that ours does not know."""

    def __init__(self) -> None:
        self.asked = 0

    @hookimpl
    def source_questions(self, seen: Mapping[str, Any]) -> list[AskRequest] | None:
        """Whether to zap."""
        self.asked += 1
        shown = seen.get(SEEN)
        if shown is None or not any("Zap the reactor?" in row for row in shown.screen.rows):
            return None
        return [AskRequest(kind="permission", tool="Zap", subject="the reactor", source="reactor")]


@pytest.fixture
def shown(pane: Callable[[str], bytes], claude: Manifest) -> Callable[[str], Seen]:
    """What a look sees: a saved screen by its name, or a text."""

    def of(name: str) -> Seen:
        look: Any = None
        rows = pane(f"claude-2.1.332-{name}") if "\n" not in name else name
        return Seen(look=look, screen=read(rows, claude), manifest=claude)

    return of


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for."""
    for name in ("_HOOK_S", "_ROW_S", "_NAMED_S", "_TOLD_S"):
        monkeypatch.setattr(module, name, 0.0)


@asynccontextmanager
async def asking(turn: FakeTurn) -> AsyncIterator[Asker]:
    """An asker of ``turn``, whose keys reach nobody."""
    typist: Any = NoHands()
    async with asyncio.TaskGroup() as group:
        asker = Asker(turn, Story(), typist, None, group)
        try:
            yield asker
        finally:
            asker.close()


class NoHands:
    """A terminal that nobody can type into."""

    place = "nowhere"

    async def look(self) -> Any:
        """Nothing to be seen."""
        raise HubError("There are no hands here.")


async def until(reached: Callable[[], bool]) -> None:
    """Let others run until then."""
    async with asyncio.timeout(10):
        while not reached():  # noqa: ASYNC110 - a withdrawal is told to nobody
            await asyncio.sleep(0)


def fake(*plugins: object) -> FakeTurn:
    """A turn of this transport, with our sources and those of ``plugins``."""
    return FakeTurn(session=make_session("tmux"), verifiers=[turnhub_tmux, *plugins])


def test_each_source_tells_what_it_sees(shown: Callable[[str], Seen]) -> None:
    """The hook's request; the transcript's call that the screen shows; the dialog, under that call's name."""
    hook, transcript, screen = {ASKED: (ASK,)}, {CALLS: (CALL,)}, {SEEN: shown("w200-perm-bash")}
    assert [found.source for found in by_hook(hook)] == ["hook"]
    assert by_transcript(transcript) == []  # it may be running
    told = by_transcript({**transcript, **screen})
    assert [(one.source, one.tool_id, one.refuses) for one in told] == [("transcript", "t", ("input", "lines"))]
    assert [(one.source, one.tool_id) for one in by_pane(screen)] == [("pane", None)]
    assert [(one.source, one.tool_id) for one in by_pane({**hook, **screen})] == [("pane", "t")]
    everything = {**hook, **transcript, **screen}
    assert len(waiting(make_session("tmux"), everything) or ()) == len(SOURCES)
    assert waiting(make_session("sdk"), everything) is None
    assert waiting(make_session("tmux"), {SEEN: shown("w200-idle")}) == []


@pytest.mark.parametrize("first", ["hook", "screen", "transcript and screen", "everything"])
async def test_hook_transcript_and_screen_are_one_ask(shown: Callable[[str], Seen], first: str) -> None:
    """Whoever sees it first: one ask, which the others do not open again."""
    turn, dialog = fake(), shown("w200-perm-bash")
    async with asking(turn) as asker:
        if first in ("hook", "everything"):
            asker.hear(ASK)
        if first != "hook":
            asker.look(dialog, (CALL,) if "transcript" in first or first == "everything" else (), hooked=True)
        ask = await turn.asked()
        if first not in ("hook", "everything"):
            asker.hear(ASK)
        for _ in range(3):
            asker.look(dialog, (CALL,), hooked=True)
            await asyncio.sleep(0)
        assert turn.asks == [ask]
        over = AskOver(ask_id="1", sign="tool", ran=True, input=GIVEN, tool_use_id="t")
        asker.over(over, alive=True)  # the hook is known for this ask, whoever was first
        settled = await ask.answer
        assert isinstance(settled, Answered)
        assert (settled.settlement.by.kind, settled.settlement.decision) == ("keyboard", "allow")
    assert turn.problems == []


async def test_what_is_over_before_anybody_could_be_asked_is_no_ask(shown: Callable[[str], Seen]) -> None:
    """The keyboard was faster than the sources."""
    turn = fake()
    async with asking(turn) as asker:
        asker.hear(ASK)
        asker.over(AskOver(ask_id="1", sign="tool", ran=True, input=GIVEN), alive=True)
        asker.look(shown("w200-idle"), hooked=True)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not asker.waiting
    assert turn.asks == []


async def test_a_call_that_is_named_late_is_the_one_on_the_screen(
    shown: Callable[[str], Seen],
) -> None:
    """The screen was faster: a page that only the call knows is of the same ask, and its result settles it."""
    toppings = {"question": "Which toppings?", "header": "Top", "options": [{"label": "Ham"}], "multiSelect": True}
    colour = {"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}], "multiSelect": False}
    page = (
        " ←  ☒ Top  ☐ Colour  ✔ Submit  →\n\n{}\n\n"
        " ❯ 1. {}\n   2. Type something.\n   3. Chat about this\n\n Enter to select\n"
    )
    first, second = (
        shown("─" * 90 + "\n" + page.format(*words))
        for words in (("Which toppings?", "Ham"), ("Which colour?", "Red"))
    )
    call = Used(
        message_id="m", block=0, tool_use_id="t", name="AskUserQuestion", input={"questions": [toppings, colour]}
    )
    turn = fake()
    async with asking(turn) as asker:
        asker.look(first, hooked=False, written=True)
        ask = await turn.asked()
        assert ask.request.tool_id is None
        for seen in (first, second, second, second):
            asker.look(seen, (call,), hooked=False, written=True)
            await asyncio.sleep(0)
        assert turn.open_asks == [ask]
        answers = {"Which toppings?": "Ham", "Which colour?": "Red"}
        asker.result(Result(tool_use_id="t", content="", detail={"answers": answers}))
        settled = await ask.answer
        assert isinstance(settled, Answered)
        assert (settled.settlement.by.kind, settled.settlement.answers) == ("keyboard", answers)
    assert turn.asks == [ask]


async def test_a_transcript_is_given_time_to_name_a_call(
    shown: Callable[[str], Seen], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dialog of a call that it has not named yet is not asked about by its looks; one that it has is at once."""
    monkeypatch.setattr(module, "_NAMED_S", 60.0)
    turn, dialog = fake(), shown("w200-perm-bash")
    async with asking(turn) as asker:
        for _ in range(5):
            asker.look(dialog, hooked=False, written=True)
            await asyncio.sleep(0)
        assert turn.asks == []
        asker.look(dialog, (CALL,), hooked=False, written=True)
        assert (await turn.asked()).request.tool_id == "t"


async def test_two_calls_of_the_same_words_are_two_asks() -> None:
    """Each has a hook of its own."""
    turn = fake()
    async with asking(turn) as asker:
        for number in ("1", "2"):
            asker.hear(PermissionAsked(ask_id=number, tool="Bash", input=GIVEN))
        await turn.until(lambda: len(turn.asks) == 2)
        asker.over(AskOver(ask_id="2", sign="tool"), alive=True)
        asker.over(AskOver(ask_id="1", sign="tool", ran=True), alive=True)
        both = [await ask.answer for ask in turn.asks]
    assert [one.settlement.decision for one in both if isinstance(one, Answered)] == ["allow", "deny"]


COUNTED = (
    "─"
    * 90
    + f"\n Bash command{' ' * 60}1 of 3\n\n touch made\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n"
    " Esc to cancel · Tab to amend\n"
)


@pytest.mark.parametrize(("count", "asks"), [(1, 1), (3, 3), (4, 3)])
async def test_calls_whose_dialogs_wait_behind_this_one_are_asked_beside_it(
    shown: Callable[[str], Seen], count: int, asks: int
) -> None:
    """As many as the dialog counts, and only the very same ones: so they take the same answer."""
    calls = [Used(message_id="m", block=n, tool_use_id=f"t{n}", name="Bash", input=GIVEN) for n in range(count)]
    other = Used(message_id="m", block=9, tool_use_id="o", name="Bash", input={"command": "touch other"})
    turn = fake()
    async with asking(turn) as asker:
        asker.look(shown(COUNTED), [other, *calls], hooked=False)
        await turn.until(lambda: len(turn.asks) == asks)
        for _ in range(5):
            asker.look(shown(COUNTED), [other, *calls], hooked=False)
            await asyncio.sleep(0)
    assert [ask.request.tool_id for ask in turn.asks] == [f"t{n}" for n in range(asks)]


async def test_what_the_keyboard_answered_of_another_dialog_is_given_to_this_one() -> None:
    """The same answer, taken over from the very same call, is no answer at this dialog: it is typed."""
    theirs = By(kind="keyboard", name="terminal", rule="as ask_1")
    turn = FakeTurn(replies=[Settlement(by=theirs, decision="allow", scope="once")], session=make_session("tmux"))
    async with asking(turn) as asker:
        asker.hear(ASK)
        await turn.until(lambda: bool(turn.asks))
        await until(lambda: not asker.waiting)
    assert [ask.delivered for ask in turn.asks] == [False]


async def test_a_form_of_a_server_is_shown_and_left_to_the_terminal(shown: Callable[[str], Seen]) -> None:
    """Keys do not fill it in; the ask names the server and takes no answer."""
    turn = fake()
    form = (
        "─" * 90
        + "\n  MCP server “shop” requests your input\n\n  What?\n\n  ❯ name: not set\n\n    Accept    Decline\n"
    )
    async with asking(turn) as asker:
        asker.look(shown(form), hooked=False)
        ask = await turn.asked()
    assert (ask.request.tool, ask.request.subject, ask.request.refuses) == ("Elicitation", "shop", ("answer",))


async def test_a_plugin_sees_a_dialog_that_ours_does_not(shown: Callable[[str], Seen]) -> None:
    """It is an ask, which says that it is to be answered in the terminal; gone from the screen, it is withdrawn.
    Sources are not asked while nothing changes."""
    reactor = Reactor()
    turn, zap = fake(reactor), shown(ZAP)
    async with asking(turn) as asker:
        asker.look(zap, hooked=True)
        ask = await turn.asked()
        assert (ask.request.tool, ask.request.subject) == ("Zap", "the reactor")
        assert ask.request.refuses == ("answer",)
        before = reactor.asked
        for _ in range(20):
            asker.look(zap, hooked=True)
            await asyncio.sleep(0)
        assert (reactor.asked, turn.asks) == (before, [ask])
        asker.look(shown("w200-idle"), hooked=True)
        await until(lambda: ask.withdrawn_by_caller)
    assert turn.problems == []


async def test_a_plugins_word_for_our_dialog_is_the_same_ask(shown: Callable[[str], Seen]) -> None:
    """What both know is asked once, by the better source, with what the other adds."""

    class Knowing:
        @hookimpl
        async def source_questions(self) -> list[AskRequest]:
            """The same, in its own words."""
            return [
                AskRequest(kind="permission", tool="Bash", subject="touch made", source="me", danger="a touch")
            ]

    turn = fake(Knowing())
    async with asking(turn) as asker:
        asker.look(shown("w200-perm-bash"), hooked=True)
        ask = await turn.asked()
        assert (ask.request.source, ask.request.danger) == ("pane", "a touch")
        assert ask.request.refuses == ("input", "lines")
    assert len(turn.asks) == 1


async def test_an_answer_that_cannot_be_typed_is_told_by_asking_again_once(shown: Callable[[str], Seen]) -> None:
    """The first stays undelivered; the new ask says why. When that fails too, the terminal is left to a person."""
    turn, dialog = fake(), shown("w200-perm-bash")
    async with asking(turn) as asker:
        for number in range(2):
            asker.look(dialog, hooked=True)
            await turn.until(lambda number=number: len(turn.asks) == number + 1)  # type: ignore[misc]
            turn.settle(allow())
        await turn.until(lambda: not turn.open_asks)
        for _ in range(5):
            asker.look(dialog, hooked=True)
            await asyncio.sleep(0)
    first, second = turn.asks
    assert first.request.rationale is None
    assert "There are no hands here." in (second.request.rationale or "")
    assert not first.delivered
    assert not second.delivered
    assert not isinstance(second.answer.result(), WithdrawnAsk)


@pytest.mark.parametrize(
    ("given", "denied", "delivered"),
    [(allow(), True, False), (allow(), False, True), (deny(), True, True), (deny(), False, False)],
)
async def test_an_answer_by_keys_is_delivered_unless_the_call_ended_otherwise(
    shown: Callable[[str], Seen], monkeypatch: pytest.MonkeyPatch, given: Settlement, denied: bool, delivered: bool
) -> None:
    """The dialog's going proves nothing where somebody at the keyboard answered at the same moment: the transcript
    does; the key that came too late is taken back."""
    hands = Hands()
    monkeypatch.setattr(module, "Keys", lambda *_: hands)
    turn = fake()
    async with asking(turn) as asker:
        asker.look(shown("w200-perm-bash"), (CALL,), hooked=False, written=True)
        ask = await turn.asked()
        turn.settle(given)
        await hands.gave.wait()
        asker.result(Result(tool_use_id="t", content="", denied=denied))
        await until(lambda: not asker.waiting)
    assert (ask.delivered, hands.took_back) == (delivered, not delivered)
    assert turn.problems == []


@pytest.mark.parametrize("how", ["asked", "allowed", "closed while asked", "closed later", "shown just now"])
async def test_it_is_known_whether_somebody_is_being_asked(
    shown: Callable[[str], Seen], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """What the agent calls refused was refused at an open ask, or stopped while it ran."""
    turn, hands = fake(), Hands()
    monkeypatch.setattr(module, "Keys", lambda *_: hands)
    monkeypatch.setattr(module, "_JUST_S", 60.0 if how == "shown just now" else 0.0)
    async with asking(turn) as asker:
        if how == "shown just now":
            monkeypatch.setattr(module, "_HOOK_S", 60.0)
        asker.look(shown("w200-perm-bash"), (CALL,), hooked=True, written=True)
        if how != "shown just now":
            await turn.asked()
        if how in ("allowed", "closed later"):
            turn.settle(allow())
            await hands.gave.wait()
        if how.startswith("closed"):
            asker.close()
        assert asker.unanswered is (how not in ("allowed", "closed later"))


class Hands:
    """Press keys, and see the dialog go."""

    def __init__(self) -> None:
        self.gave = asyncio.Event()
        self.took_back = False

    async def give(self, lock: object) -> bool:
        """The dialog has gone."""
        self.gave.set()
        return True

    async def take_back(self, lock: object) -> None:
        """The last key."""
        self.took_back = True
