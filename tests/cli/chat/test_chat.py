"""The chat where the hub refuses, is away, or is slow: what is typed is not lost, and not sent twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Any, cast

import pytest

from hub.cli.chat import chat as chat_module
from hub.cli.chat.chat import Chat
from hub.cli.chat.story import AboutSession, Instant
from hub.client import Client, HubNotReachable, ProblemError, Received
from hub.events import Ask, AskOpened, Text, TurnStarted

pytestmark = pytest.mark.anyio


class FakeScreen:
    """What a screen is told."""

    columns = 80

    def __init__(self, person: Any, *_: Any) -> None:
        self.person = person
        self.shown: list[str] = []
        self.draft = ""
        self.half_answer = ""
        self.hint = ""
        self.turned = asyncio.Event()
        self.closed = asyncio.Event()
        self.changed = asyncio.Event()

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def run(self) -> None:
        await self.closed.wait()

    def close(self) -> None:
        self.closed.set()

    def show(self, text: str) -> None:
        self.shown.append(text)
        self.changed.set()

    def refresh(self) -> None:
        self.changed.set()

    def sent(self, typed: str) -> None:
        self.draft = self.draft.removeprefix(typed)
        self.changed.set()

    def ask(self, hint: str, typed: str = "") -> None:
        self.hint, self.half_answer = hint, typed
        self.changed.set()

    def turn_to_answer(self) -> None:
        self.turned.set()

    def answer_taken(self) -> None:
        self.half_answer = ""

    def answered(self) -> None:
        self.hint = self.half_answer = ""
        self.changed.set()

    def enter(self, text: str) -> None:
        self.draft = text
        self.person.entered(text)

    async def saw(self, text: str) -> None:
        """Wait until a text was shown."""
        await self.until(lambda: any(text in one for one in self.shown))

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait until something is so."""
        async with asyncio.timeout(10):
            while not ready():
                self.changed.clear()
                await self.changed.wait()


class FakeClient:
    """``says``: what the next requests come to. ``posted``: text and key of each."""

    def __init__(self) -> None:
        self.says: list[Any] = []
        self.posted: list[tuple[str, str]] = []
        self.events: asyncio.Queue[Received] = asyncio.Queue()

    async def post(self, session: str, text: str, *, on_busy: str, literal: bool, key: str) -> Any:
        self.posted.append((text, key))
        return self._say()

    async def answer(self, ask_id: str, reply: Any) -> Any:
        return self._say()

    def _say(self) -> Any:
        said = self.says.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    @asynccontextmanager
    async def follow(self, *_: Any) -> AsyncIterator[AsyncIterator[Received]]:
        async def events() -> AsyncIterator[Received]:
            while True:
                yield await self.events.get()

        yield events()


@pytest.fixture
def hub() -> FakeClient:
    return FakeClient()


@asynccontextmanager
async def chatting(hub: FakeClient, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeScreen]:
    """A chat that has begun."""
    screens: list[FakeScreen] = []

    def screen(*args: Any) -> FakeScreen:
        screens.append(FakeScreen(*args))
        return screens[0]

    monkeypatch.setattr(chat_module, "Screen", screen)
    about = Instant(session=AboutSession(id="ses_1", agent="echo"), items=(), cursor=0)
    async with asyncio.TaskGroup() as group:
        chat = Chat(cast(Client, hub), about, group)
        running = group.create_task(chat.run())
        await screens[0].saw("/help")
        yield screens[0]
        screens[0].close()
        await running


BUSY = ProblemError(409, "turn_in_flight", "Turn t1 is running.", {"turn_id": "t1"})
TAKEN = {"turn": {"id": "t1"}, "message_id": "m1"}


async def test_where_another_message_came_first_the_words_stay(
    hub: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nothing was known of it when they were sent; the queue is offered. They are another message then."""
    async with chatting(hub, monkeypatch) as screen:
        hub.says = [BUSY, TAKEN]
        screen.enter("mine")
        await screen.saw("Ctrl-Q")
        assert screen.draft == "mine"
        screen.person.queued("mine")
        await screen.until(lambda: screen.draft == "")
        assert [text for text, _ in hub.posted] == ["mine", "mine"]
        assert len({key for _, key in hub.posted}) == 2


async def test_words_of_which_nobody_knows_are_sent_again_as_the_same_message(
    hub: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the key of the first time; the next message has one of its own, be it in the same words."""
    async with chatting(hub, monkeypatch) as screen:
        hub.says = [HubNotReachable("cut"), ProblemError(503, "store_unavailable", "Later.", {}), TAKEN, TAKEN]
        for told in ("Not known to be sent: cut", "Not sent: Later."):
            screen.enter("mine")
            await screen.saw(told)
            assert screen.draft == "mine"
        for _ in range(2):
            screen.enter("mine")
            await screen.until(lambda: screen.draft == "")
        first, second, third, fourth = [key for _, key in hub.posted]
        assert first == second == third != fourth


async def test_a_message_that_may_have_begun_the_running_turn_is_asked_for_and_not_queued(
    hub: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer was lost, and a turn runs: Enter, and Ctrl-Q too, sends the same message once more, of which the
    hub knows."""
    for press in ("entered", "queued"):
        hub.posted.clear()
        async with chatting(hub, monkeypatch) as screen:
            hub.says = [HubNotReachable("cut"), TAKEN]
            screen.enter("mine")
            await screen.saw("Not known to be sent")
            hub.events.put_nowait(Received(TurnStarted(seq=1, turn_id="t1", attempt=1), ""))
            hub.events.put_nowait(Received(Text(seq=2, turn_id="t1", block=1, text="Begun."), ""))
            await screen.saw("Begun.")
            getattr(screen.person, press)("mine")
            await screen.until(lambda: screen.draft == "")
        (first, key), (second, same) = hub.posted
        assert (first, key) == (second, same)


async def test_what_is_typed_behind_a_message_on_its_way_stays(
    hub: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And Enter, pressed once more meanwhile, sends nothing."""
    async with chatting(hub, monkeypatch) as screen:
        hub.says = [TAKEN]
        screen.enter("mine")
        screen.draft += " and more"
        screen.person.entered(screen.draft)
        await screen.until(lambda: screen.draft == " and more")
        assert [text for text, _ in hub.posted] == ["mine"]


@pytest.mark.parametrize(
    "refusal", [HubNotReachable("cut"), ProblemError(422, "invalid", "Does not fit.", {})], ids=["away", "unfit"]
)
async def test_an_answer_that_did_not_count_is_in_the_input_again(
    hub: FakeClient, monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    """As long as the ask is open; why is said."""
    async with chatting(hub, monkeypatch) as screen:
        ask = Ask(id="ask_1", kind="permission", tool="Bash", subject="ls")
        for event in (TurnStarted(seq=1, turn_id="t1", attempt=1), AskOpened(seq=2, turn_id="t1", ask=ask)):
            hub.events.put_nowait(Received(event, ""))
        await screen.until(lambda: "[a]llow" in screen.hint)
        hub.says = [refusal, {}]
        screen.person.answered("d because")
        assert screen.hint == ""
        await screen.until(lambda: screen.half_answer == "d because")
        assert "[a]llow" in screen.hint
        screen.person.answered("d because")
        await screen.until(lambda: not hub.says)
        assert screen.hint == ""


async def test_an_ask_takes_the_input_when_nobody_types(hub: FakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before words that stand there are gone."""
    monkeypatch.setattr(chat_module, "_ARMED_AFTER_S", 0)
    async with chatting(hub, monkeypatch) as screen:
        screen.draft = "words"
        ask = Ask(id="ask_1", kind="permission", tool="Bash", subject="ls")
        for event in (TurnStarted(seq=1, turn_id="t1", attempt=1), AskOpened(seq=2, turn_id="t1", ask=ask)):
            hub.events.put_nowait(Received(event, ""))
        await screen.until(lambda: "[a]llow" in screen.hint)
        for _ in range(50):
            await asyncio.sleep(0)
        assert not screen.turned.is_set()
        screen.draft = ""
        screen.person.typing()
        async with asyncio.timeout(10):
            await screen.turned.wait()
