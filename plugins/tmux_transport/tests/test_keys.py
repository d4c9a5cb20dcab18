"""Answering a dialog by keys: one at a time, only while that very dialog is there, each seen to work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from turnhub_tmux import keys as module
from turnhub_tmux.keys import Keys, NotTaken
from turnhub_tmux.requests import is_about, reply_of, request_of
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Screen
from turnhub_tmux.typist import SEEN, Seen

from hub import Answered, Settlement, Sight
from hub.testing import allow, answer, deny

pytestmark = pytest.mark.anyio

BASH = request_of("Bash", {"command": "touch made"}, source="pane")
COLOUR = {"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}, {"label": "Blue"}]}
ASKED = request_of("AskUserQuestion", {"questions": [COLOUR]}, source="pane")


class Place:
    """A terminal that shows saved screens: a key leads from one to another, as ``moves`` says."""

    place = "here"

    def __init__(
        self, screens: dict[str, Screen], first: str, moves: dict[tuple[str, str], str], manifest: Any
    ) -> None:
        self.manifest = manifest
        self.shown = first
        self.pressed: list[str] = []
        self._screens = screens
        self._moves = moves

    def add(self, name: str, text: str) -> None:
        """One more screen."""
        self._screens[name] = read(text, self.manifest)

    def leads(self, moves: dict[tuple[str, str], str]) -> None:
        """More keys that lead somewhere."""
        self._moves |= moves

    async def look(self) -> Sight:
        """What stands there."""
        await asyncio.sleep(0)
        look: Any = None  # what tmux says beyond the screen is the typist's business
        seen = Seen(look=look, screen=self._screens[self.shown], manifest=self.manifest)
        return Sight(holder="agent", draft=seen.screen.composer.text, seen={SEEN: seen})

    async def press(self, *names: str, sight: Sight, times: int = 1) -> bool:
        """A key."""
        return self._do(names[0])

    async def paste(self, sight: Sight, text: str) -> bool:
        """Words."""
        return self._do(f"paste {text}")

    def _do(self, what: str) -> bool:
        self.pressed.append(what)
        self.shown = self._moves.get((self.shown, what), self.shown)
        return True


@asynccontextmanager
async def lock(place: str) -> AsyncIterator[Any]:
    """Nobody else types."""

    class Held:
        def check(self) -> None:
            """Held."""

    yield Held()


@pytest.fixture
def place(pane: Callable[[str], bytes], claude: Manifest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Place]:
    """Makes places of saved screens."""
    for name in ("_MOVE_S", "_TAKE_S", "_SHOWS_S"):
        monkeypatch.setattr(module, name, 0.02)
    monkeypatch.setattr(module, "_LOOK_S", 0.001)

    def make(first: str, moves: dict[tuple[str, str], str]) -> Place:
        names = {first, *moves.values(), *(name for name, _ in moves)}
        screens = {name: read(pane(f"claude-2.1.332-{name}"), claude) for name in names}
        return Place(screens, first, moves, claude)

    return make


async def given(place: Place, request: Any, settlement: Settlement) -> bool:
    """Answer ``request`` on what the place shows."""
    reply = Answered(ask_id="ask", settlement=settlement)
    typist: Any = place
    keys = Keys(typist, lambda dialog: is_about(dialog, request), lambda dialog: reply_of(dialog, request, reply))
    return await keys.give(lock)


@pytest.mark.parametrize(("settlement", "key"), [(allow(), "1"), (deny(), "4")])
async def test_a_permission_is_answered_by_what_its_rows_mean(
    place: Callable[..., Place], settlement: Settlement, key: str
) -> None:
    """One key, and the dialog's going is the proof."""
    here = place("w200-perm-bash", {("w200-perm-bash", key): "w200-idle"})
    assert await given(here, BASH, settlement)
    assert here.pressed == [key]


async def test_own_words_are_written_into_their_row(place: Callable[..., Place]) -> None:
    """The cursor walks there, seen at each step; Enter only once the words stand there."""
    text = "as a table with 1. one and 2. two"
    moves = {
        ("w200-ask-single", "Down"): "w200-ask-text-row",
        ("w200-ask-text-row", f"paste {text}"): "w200-ask-text-typed",
        ("w200-ask-text-typed", "Enter"): "w200-ask-answered",
    }
    here = place("w200-ask-single", moves)
    assert await given(here, ASKED, answer({"Which colour?": text}))
    assert here.pressed == ["Down", f"paste {text}", "Enter"]


@pytest.mark.parametrize("other", ["w200-perm-long", "w200-ask-single", "w200-trust", "w200-idle", "w200-busy"])
async def test_nothing_is_pressed_on_anything_else(place: Callable[..., Place], other: str) -> None:
    """Another command's dialog, a question, the start-up, a composer: no key reaches them."""
    here = place(other, {})
    assert not await given(here, BASH, allow())
    assert here.pressed == []


async def test_a_dialog_that_comes_late_is_waited_for(
    place: Callable[..., Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer was faster than the screen: then it is given all the same."""
    monkeypatch.setattr(module, "_SHOWS_S", 20.0)
    here = place("w200-busy", {("w200-perm-bash", "1"): "w200-idle"})
    giving = asyncio.create_task(given(here, BASH, allow()))
    await asyncio.sleep(0.02)
    assert (here.pressed, giving.done()) == ([], False)
    here.shown = "w200-perm-bash"
    assert await giving
    assert here.pressed == ["1"]


async def test_a_dialog_that_does_not_react_is_not_pressed_on_and_on(place: Callable[..., Place]) -> None:
    """After two tries it is given up, and said."""
    here = place("w200-perm-bash", {})
    with pytest.raises(NotTaken):
        await given(here, BASH, allow())
    assert here.pressed == ["1", "1"]


async def test_a_dialog_that_becomes_another_one_meanwhile_is_left(place: Callable[..., Place]) -> None:
    """The answer to the first never reaches the second."""
    here = place("w200-perm-bash", {("w200-perm-bash", "1"): "w200-perm-long"})
    assert await given(here, BASH, allow())
    assert here.pressed == ["1"]


async def test_the_next_dialog_about_the_same_is_not_answered_by_the_last_answer(
    place: Callable[..., Place],
) -> None:
    """Of three calls of the same words each has a dialog, which counts them: one answer, one key."""
    here = place("w200-perm-bash", {})
    for number in (1, 2, 3):
        here.add(f"{number} of 3", counted(number, 3))
    here.shown = "1 of 3"
    here.leads({(f"{number} of 3", "1"): f"{number + 1} of 3" for number in (1, 2)})
    assert await given(here, BASH, allow())
    assert (here.pressed, here.shown) == (["1"], "2 of 3")


def counted(number: int, of: int) -> str:
    """A dialog of the real agent, of several that wait one behind the other."""
    return (
        "─" * 90 + f"\n Bash command{' ' * 60}{number} of {of}\n\n touch made\n\n Do you want to proceed?\n"
        " ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend\n"
    )


@pytest.mark.parametrize(
    ("draft", "left"), [("1", ""), ("half a thought1", "half a thought"), ("my own", "my own")]
)
async def test_a_key_that_missed_its_dialog_is_taken_out_of_the_composer(
    place: Callable[..., Place], draft: str, left: str
) -> None:
    """Somebody at the keyboard was faster; what they have typed stays."""
    typed = f"{'─' * 90}\n❯ {{}}\n{'─' * 90}\n  ? for shortcuts\n"
    here = place("w200-perm-bash", {("w200-perm-bash", "1"): "w200-idle"})
    typist: Any = here
    reply = Answered(ask_id="ask", settlement=allow())
    keys = Keys(typist, lambda dialog: is_about(dialog, BASH), lambda dialog: reply_of(dialog, BASH, reply))
    assert await keys.give(lock)
    here.add("with it", typed.format(draft))
    here.add("without", typed.format(left))
    here.leads({("with it", "BSpace"): "without"})
    here.shown = "with it"
    await keys.take_back(lock)
    assert here.pressed == ["1", "BSpace"] if draft != left else ["1"]
    sight = await here.look()
    assert sight.draft == left
