"""Faults at each step of a delivery and of a turn, on the real agent. The judges are what its model was asked and
what its own transcript says that it took: nothing is called delivered that was not, nothing arrives twice or
merged, no command runs that nobody allowed, and when the cause is gone the next message goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, Final

import httpx
import psutil
import pytest
from turnhub_tmux.testing import bundled_claude
from turnhub_tmux.testing_faults import Faults, Step, sabotaged, taken

from hub import Completed, Failed, Interrupted
from hub.testing import FakeTurn, HubProcess, allow, deny, hub_process

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]
WITHIN: Final = 60.0
KEPT: Final = f"""{bundled_claude()} --permission-mode default "$@"
PS1="shell here: " exec bash --norc --noprofile -i
"""
Party = Callable[["Scene"], Awaitable[None]]


class Scene:
    """One agent that lives through all faults of a module, and the hub's connection to it."""

    def __init__(self, world: Any, connection: Any, name: str) -> None:
        self.world = world
        self.name = name
        self.connection = connection
        self.size = (160, 50)

    async def says(self, text: str, faults: Faults | None = None, replies: Any = ()) -> FakeTurn:
        """A turn, played to its end, within bounds."""
        turn: FakeTurn = self.world.turn(text, replies, made=sabotaged(faults or Faults()))
        await turn.play(self.connection, within=WITHIN)
        assert turn.problems == []
        return turn

    async def goes(self, text: str) -> None:
        """A message that nothing hinders: it is taken, once."""
        turn = await self.says(text)
        assert turn.judged == Completed(usage=turn.judged.usage), turn.judged
        assert turn.text == f"Echo: {text}"
        assert self.took(text) == 1

    def took(self, text: str) -> int:
        """How often the agent took exactly this, by its transcript; the model's word has to agree."""
        counted = taken(self.world.folder / "home" / ".claude")[text]
        assert (counted > 0) == (text in self.world.prompts()), (counted, self.world.prompts())
        return counted

    async def settle(self) -> None:
        """Nobody scrolls, and the pane has its size."""
        self.world.tmux("send-keys", "-X", "cancel")
        self.resize(*self.size)
        await self.world.shows("❯")

    async def clears(self) -> None:
        """A person empties the composer."""
        self.world.tmux("send-keys", "-N", "300", "BSpace")
        await self.world.shows("? for shortcuts")

    # What other parties do

    async def copies(self) -> None:
        """Somebody scrolls back."""
        self.world.tmux("copy-mode", "-u")

    def resize(self, width: int, height: int) -> None:
        """Somebody's terminal has another size."""
        self.world.tmux("resize-window", "-x", str(width), "-y", str(height))

    async def shrinks(self) -> None:
        """To next to nothing."""
        self.resize(12, 4)

    async def narrows(self) -> None:
        """To a phone's width."""
        self.resize(44, 18)

    async def widens(self) -> None:
        """To a big screen."""
        self.resize(210, 60)

    async def types(self, text: str = "hm") -> None:
        """A person types, and it shows."""
        self.world.tmux("send-keys", "-l", text)
        await self.world.shows(text)

    async def pastes(self) -> None:
        """Another program pastes, without any lock."""
        self.world.tmux("set-buffer", "-b", "foreign", "foreign words")
        self.world.tmux("paste-buffer", "-p", "-d", "-b", "foreign")
        await self.world.shows("foreign words")

    async def enters(self) -> None:
        """Somebody presses Enter."""
        self.world.keys("Enter")
        await asyncio.sleep(0.3)

    async def kills_pane(self) -> None:
        """The pane goes."""
        self.world.tmux("kill-pane")

    async def kills_server(self) -> None:
        """The tmux server goes, with everything in it."""
        self.world.tmux("kill-server")

    async def kills_agent(self) -> None:
        """kill -9, and a shell is there."""
        pid = int(self.world.tmux("list-panes", "-F", "#{pane_pid}"))
        for child in psutil.Process(pid).children():
            child.kill()
        await self.world.shows("shell here:")

    async def stops_listening(self) -> None:
        """The port that the hooks are posted to is closed."""
        await self.world.transport.close()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all: one agent lives through all faults."""
    return "asyncio"


@pytest.fixture(scope="module", params=["hooks", pytest.param("no hooks", marks=pytest.mark.full)])
async def lasting(
    request: pytest.FixtureRequest, lasting_worlds: Any, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    """The agent, with its hooks or without; where it ends, a shell stays."""
    kept = tmp_path_factory.mktemp("kept") / "agent.sh"
    kept.write_text(KEPT)
    world = lasting_worlds(command=f"bash {kept}", hooks=request.param == "hooks")
    async with world.connected() as connection:
        scene = Scene(world, connection, request.param)
        await scene.goes(f"{scene.name}, are you there")
        yield scene


@pytest.fixture
async def scene(lasting: Scene) -> AsyncIterator[Scene]:
    """That agent as a person left it; afterwards no command has run."""
    yield lasting
    assert not (lasting.world.cwd / "made").exists()
    known = taken(lasting.world.folder / "home" / ".claude")
    assert set(known) == set(lasting.world.prompts()) & set(known)


ALWAYS: Final = {("agent", "pasted"), ("server", "submitted")}


def some(cases: Iterable[str], *always: str) -> list[Any]:
    """All cases, of which ``always`` are run each time, and the others by ``make full``."""
    return [pytest.param(case, marks=() if case in always else pytest.mark.full) for case in cases]


HARMLESS: Final[dict[str, tuple[Step, Party]]] = {
    "copy mode before": ("paste", Scene.copies),
    "copy mode after the paste": ("pasted", Scene.copies),
    "copy mode right before Enter": ("submit", Scene.copies),
    "copy mode right after Enter": ("submitted", Scene.copies),
    "narrower before": ("paste", Scene.narrows),
    "narrower after the paste": ("pasted", Scene.narrows),
    "wider right before Enter": ("submit", Scene.widens),
    "tiny right after Enter": ("submitted", Scene.shrinks),
    "Enter pressed by a person": ("pasted", Scene.enters),
}


@pytest.mark.parametrize("fault", some(HARMLESS, "wider right before Enter"))
async def test_what_does_not_keep_a_message_away_does_not_double_it_either(scene: Scene, fault: str) -> None:
    """It is submitted, once, and its turn is told to its end."""
    step, act = HARMLESS[fault]
    faults = Faults(acts={step: lambda: act(scene)})
    text = f"{scene.name}, through: {fault}"
    turn = await scene.says(text, faults)
    assert turn.delivered is not None
    assert turn.delivered.verdict == "submitted", turn.delivered
    assert isinstance(turn.judged, Completed), turn.judged
    assert turn.text == f"Echo: {text}"
    assert scene.took(text) == 1
    await scene.settle()
    await scene.goes(f"{scene.name}, after: {fault}")


async def test_an_enter_that_is_swallowed_once_is_pressed_again(scene: Scene) -> None:
    """On proof that the text sits there unsent; it goes once."""
    text = f"{scene.name}, swallowed once"
    turn = await scene.says(text, Faults(swallowed={"submit": 1}))
    assert isinstance(turn.judged, Completed), turn.judged
    assert scene.took(text) == 1


FATAL: Final[dict[str, tuple[Step, Party]]] = {
    "a person types after the paste": ("pasted", Scene.types),
    "a person types right before Enter": ("submit", Scene.types),
    "another program pastes after the paste": ("pasted", Scene.pastes),
    "another program pastes right before Enter": ("submit", Scene.pastes),
    "tiny before": ("paste", Scene.shrinks),
    "tiny after the paste": ("pasted", Scene.shrinks),
}


@pytest.mark.parametrize("fault", some(FATAL, "a person types right before Enter"))
async def test_what_keeps_a_message_away_is_told_and_the_message_goes_when_it_is_gone(
    scene: Scene, fault: str
) -> None:
    """Not delivered, and nothing of it taken, nor what stood beside it; tried again it goes alone."""
    step, act = FATAL[fault]
    text = f"{scene.name}, kept away: {fault}"
    turn = await scene.says(text, Faults(acts={step: lambda: act(scene)}))
    assert isinstance(turn.judged, Failed), turn.judged
    assert turn.judged.code == "not_delivered", turn.judged
    assert scene.took(text) == 0
    await scene.settle()
    await scene.goes(text)
    await scene.clears()


@pytest.mark.parametrize("lost", some(["paste", "submit"], "submit"))
async def test_keys_that_never_arrive_are_told(scene: Scene, lost: Step) -> None:
    """Without the paste nothing is submitted; without Enter the text sits there, and is said to."""
    text = f"{scene.name}, never arrives: {lost}"
    turn = await scene.says(text, Faults(swallowed={lost: 9}))
    assert isinstance(turn.judged, Failed), turn.judged
    assert turn.judged.code == "not_delivered"
    assert turn.delivered is not None
    assert turn.delivered.verdict == ("unverified" if lost == "paste" else "staged")
    assert scene.took(text) == 0
    await scene.goes(text)
    await scene.settle()


@pytest.mark.parametrize("step", some(["paste", "pasted", "submit"], "submit"))
async def test_a_dialog_that_opens_blocks_and_is_not_confirmed(scene: Scene, step: Step) -> None:
    """A command that a person at the keyboard asked for wants to be allowed just then: neither paste nor Enter
    answers. When it is answered, the message goes."""
    world = scene.world
    text = f"{scene.name}, no confirmation: {step}"

    async def opens() -> None:
        await world.shows("Do you want to proceed?")

    typed = f"LATE, {scene.name}, at {step}"
    await scene.types(typed)
    world.keys("Enter")
    await world.model.received(lambda _: typed in world.prompts())
    turn = await scene.says(text, Faults(acts={step: opens}))
    assert isinstance(turn.judged, Failed), turn.judged
    assert turn.judged.code == "blocked_by_dialog", turn.judged
    assert "echo > made" in str(turn.judged.message)
    assert scene.took(text) == 0
    await world.shows("Do you want to proceed?")
    world.keys("Escape")
    await scene.settle()
    await scene.goes(text)


KILLS: Final[dict[str, Party]] = {
    "pane": Scene.kills_pane,
    "server": Scene.kills_server,
    "agent": Scene.kills_agent,
}
STEPS: Final[tuple[Step, ...]] = ("paste", "pasted", "submit", "submitted")
KILLED: Final = [
    pytest.param(killed, step, marks=() if (killed, step) in ALWAYS else pytest.mark.full)
    for killed in KILLS
    for step in STEPS
]


@pytest.mark.parametrize(("killed", "step"), KILLED)
async def test_who_is_killed_during_a_delivery_is_dead_and_comes_again(
    scene: Scene, killed: str, step: Step
) -> None:
    """Nothing is typed into the shell that is left; the next turn has an agent that knows the conversation."""
    text = f"touch made # {killed} at {step}, {scene.name}"
    turn = await scene.says(text, Faults(acts={step: lambda: KILLS[killed](scene)}))
    if step == "submitted" and isinstance(turn.judged, Completed):
        assert turn.text == f"Echo: {text}"  # the agent was done before it heard of its death
    else:
        assert isinstance(turn.judged, Failed), turn.judged
        assert turn.judged.code == "agent_dead", turn.judged
    assert scene.took(text) == (1 if isinstance(turn.judged, Completed) else 0) or step == "submitted"
    await scene.goes(f"and now, after {text}")
    assert "are you there" in str(scene.world.model.turns[-1].body)


@pytest.mark.parametrize("killed", some(KILLS, "agent"))
async def test_who_is_killed_in_the_middle_of_a_turn_is_dead_and_comes_again(scene: Scene, killed: str) -> None:
    """What was told stays, the open ask is withdrawn, the tool is closed, no command runs."""
    turn: FakeTurn = scene.world.turn(f"BASH {killed}")
    playing = asyncio.create_task(turn.play(scene.connection, within=WITHIN))
    asked = await turn.asked(within=WITHIN)
    await scene.world.shows("Do you want to proceed?")
    await KILLS[killed](scene)
    await playing
    assert isinstance(turn.judged, Failed), turn.judged
    assert turn.judged.code == "agent_dead", turn.judged
    assert asked.withdrawn_by_caller
    assert turn.text == "Making it.\n\nNow."
    assert turn.problems == []
    await scene.goes(f"{scene.name}, and now, after {killed} in the middle")


async def test_a_persons_draft_stands_there_again_after_the_turn(scene: Scene) -> None:
    """It is neither sent along nor lost, and told of."""
    await scene.types("half a thou")
    turn = await scene.says(f"{scene.name}, beside a draft")
    assert isinstance(turn.judged, Completed), turn.judged
    assert turn.delivered is not None
    assert "put back" in str(turn.delivered.detail)
    assert scene.took(f"{scene.name}, beside a draft") == 1
    await scene.world.shows("half a thou")
    await scene.clears()


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(Scene.copies, marks=pytest.mark.full, id="copy mode"),
        pytest.param(Scene.narrows, id="narrow"),
        pytest.param(Scene.shrinks, marks=pytest.mark.full, id="tiny"),
    ],
)
async def test_whatever_a_person_does_to_the_pane_a_turn_is_told_to_its_end(scene: Scene, act: Party) -> None:
    """Scrolled back or resized while the agent speaks: the whole text, and an ending in time."""
    turn: FakeTurn = scene.world.turn(f"LONG, {scene.name}, {act.__name__}")
    playing = asyncio.create_task(turn.play(scene.connection, within=WITHIN))
    await scene.world.model.received(lambda _: turn.message.text in scene.world.prompts())
    await act(scene)
    await playing
    assert turn.judged == Completed(usage=turn.judged.usage)
    assert turn.text.splitlines()[0::12] == ["line 0 of it", "and the end"]
    assert turn.problems == []
    await scene.settle()
    await scene.goes(f"{scene.name}, after {act.__name__} in the middle")


@pytest.mark.parametrize(
    "act",
    [pytest.param(Scene.copies, id="copy mode"), pytest.param(Scene.shrinks, marks=pytest.mark.full, id="tiny")],
)
async def test_an_answer_meant_for_a_dialog_reaches_it_or_nothing(scene: Scene, act: Party) -> None:
    """Denied while the person has scrolled back, or the pane shows next to nothing: the command does not run, and
    the turn ends as soon as the pane is as it was."""
    turn: FakeTurn = scene.world.turn(f"BASH, {scene.name}, {act.__name__}")
    playing = asyncio.create_task(turn.play(scene.connection, within=WITHIN))
    await turn.asked(within=WITHIN)
    await scene.world.shows("Do you want to proceed?")
    await act(scene)
    turn.settle(deny())
    await asyncio.sleep(1)  # time in which it could go wrong
    scene.world.tmux("send-keys", "-X", "cancel")
    scene.resize(*scene.size)
    ends: tuple[type, ...] = (Completed,)
    with suppress(AssertionError):
        await scene.world.shows("Do you want to proceed?", within_s=1)
        scene.world.keys("Escape")
        ends = (Completed, Interrupted)  # the answer may have been faster than the person
    await playing
    assert isinstance(turn.judged, ends), turn.judged
    assert [tool.status for tool in turn.tools_finished] == ["denied"]
    await scene.goes(f"{scene.name}, after a denial, {act.__name__}")


@pytest.mark.parametrize("when", some(["before", "in the middle"], "in the middle"))
async def test_without_the_listener_a_turn_is_told_by_transcript_and_screen(worlds: Any, when: str) -> None:
    """The port that the hooks are posted to is closed: an ask is answered by keys, texts and ending come, the next
    message goes; and where somebody listens again, hooks tell again."""
    world = worlds()
    async with world.connected() as connection:
        scene = Scene(world, connection, when)
        await scene.goes("first")
        if when == "before":
            await scene.stops_listening()
        asked = world.turn("BASH it")
        playing = asyncio.create_task(asked.play(connection, within=WITHIN))
        ask = await asked.asked(within=WITHIN)
        if when != "before":
            await scene.stops_listening()
        asked.settle(allow())
        await playing
        assert asked.judged == Completed(usage=asked.judged.usage)
        assert ask.delivered
        assert [tool.status for tool in asked.tools_finished] == ["ok"]
        await scene.goes("second")
    async with world.connected() as connection:
        again = world.turn("BASH again", [allow()])
        await again.play(connection, within=WITHIN)
        assert again.asks[0].request.source == "hook"
        assert again.judged == Completed(usage=again.judged.usage)
    assert [turn.problems for turn in (asked, again)] == [[], []]


def config_of(world: Any, store: str) -> str:
    """A hub whose sessions all type into the world's pane."""
    env = "\n".join(f"{name} = {json.dumps(value)}" for name, value in world.env.items())
    return (
        f'[store]\nurl = {json.dumps(store)}\n[plugins]\nenabled = ["tmux"]\n'
        f'[agents.pane]\ntransport = "tmux"\ncwd = {json.dumps(str(world.cwd))}\nhooks = false\n'
        f'target = "turnhub-{world.session.id}"\nsocket = {json.dumps(world.socket)}\n[agents.pane.env]\n{env}\n'
    )


async def sends(hub: HubProcess, text: str) -> list[dict[str, Any]]:
    """Send ``text`` in a session of its own, and wait for its turn's end; the session's events."""
    headers = {"Authorization": f"Bearer {hub.token}", "Accept": "application/json"}
    async with httpx.AsyncClient(base_url=hub.url, headers=headers, timeout=30) as client, asyncio.timeout(WITHIN):
        session = (await client.post("/v1/sessions", json={"agent": "pane"})).json()["id"]
        begun = (await client.post(f"/v1/sessions/{session}/messages", json={"text": text})).json()["turn"]["id"]
        while True:
            events = (await client.get(f"/v1/sessions/{session}/events?after=0")).json()["events"]
            mine = [event for event in events if event.get("turn_id") == begun]
            if any(event["type"] in ("turn_completed", "turn_failed") for event in mine):
                return mine
            await asyncio.sleep(0.2)


async def test_two_hubs_that_send_into_one_pane_at_once_merge_nothing(worlds: Any) -> None:
    """Two processes, four sessions, one pane: the lock is the store's. What is called delivered was taken, once
    and alone; what was not delivered was not taken."""
    world = worlds()
    async with world.connected() as connection:
        await Scene(world, connection, "two hubs").goes("first")
    texts = [f"sender {number} has this to say" for number in range(4)]
    with hub_process(config_of(world, "embedded")) as one:
        (store,) = (path for path in one.state.rglob("*") if path.is_socket())
        with hub_process(config_of(world, f"unix://{store}")) as other:
            told = await asyncio.gather(*(sends((one, other)[n % 2], text) for n, text in enumerate(texts)))
    took = taken(world.folder / "home" / ".claude")
    assert set(took) <= {"first", *texts}
    for text, events in zip(texts, told, strict=True):
        delivered = [event for event in events if event["type"] == "message_delivered"]
        assert [event["verdict"] in ("submitted", "queued") for event in delivered] == [True], events
        assert took[text] == 1
