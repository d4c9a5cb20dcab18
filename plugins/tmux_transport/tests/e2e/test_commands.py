"""The agent's own commands, sent as a person at its keyboard would (`literal: false`): each turn has an end, tells
what was shown, and leaves nothing open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import pytest

from hub import AskRequest, Completed, Settlement
from hub.testing import allow, answer, respond

pytestmark = pytest.mark.anyio


async def played(world: Any, connection: Any, words: str, replies: Any = ()) -> Any:
    """One command's turn, which has to end well."""
    turn = world.turn(words, replies, literal=False)
    ending = await turn.play(connection)
    assert isinstance(ending, Completed), (words, ending, turn.delivered)
    assert turn.problems == []
    return turn


def choice_of(word: str) -> Callable[[AskRequest], Settlement]:
    """Answers a menu with the option in which the word stands, and agrees to what it leads to."""

    def choose(request: AskRequest) -> Settlement:
        if request.kind == "permission":
            return allow()
        (question,) = request.questions
        (label,) = [option.label for option in question.options if word in option.label]
        return answer({question.question: label})

    return choose


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The hub runs on asyncio; one agent lives through most commands."""
    return "asyncio"


class Lasting(NamedTuple):
    """An agent that has had a turn, and the hub's connection to it."""

    world: Any
    connection: Any

    async def goes_on(self, after: str) -> None:
        """The next message goes as ever, and the agent was told nothing but messages."""
        text = f"after {after}"
        turn = self.world.turn(text)
        assert isinstance(await turn.play(self.connection), Completed)
        assert turn.text == f"Echo: {text}"
        prompts = self.world.prompts()
        assert [prompt for prompt in prompts if not prompt.startswith("after ")] == ["hello"]
        assert prompts[-1] == text


@pytest.fixture(
    scope="module",
    params=[pytest.param(True, id="hooks"), pytest.param(False, marks=pytest.mark.full, id="no hooks")],
)
async def lasting(request: pytest.FixtureRequest, lasting_worlds: Any) -> AsyncIterator[Lasting]:
    """With hooks or without."""
    world = lasting_worlds(hooks=request.param)
    async with world.connected() as connection:
        await world.turn("hello").play(connection)
        yield Lasting(world, connection)


async def test_commands_of_the_agent_end_and_tell_what_they_showed(lasting: Lasting) -> None:
    """A panel is told of and closed; a command that shows nothing says so, also when it leaves the screen as it
    was; of one that the agent does not know, its own words are told and nothing else of the screen; the next
    message goes as ever."""
    world, connection = lasting
    cost = await played(world, connection, "/cost")
    assert "Total duration" in cost.text
    for _ in range(2):
        assert (await played(world, connection, "/clear")).text == "(The command showed nothing.)"
    assert (await played(world, connection, "/nosuch")).text == "Unknown command: /nosuch"
    assert "Session ID" in (await played(world, connection, "/status")).text
    await lasting.goes_on("commands")


async def test_a_panel_that_looks_like_a_dialog_is_told_of_and_closed(lasting: Lasting) -> None:
    """What can be rewound, the themes, the helpers, the skills: none holds up its turn, or the next message."""
    for command, words in (
        ("/rewind", "Restore the code"),
        ("/theme", "text style"),
        ("/tasks", "Background"),
        ("/skills", "No skills yet"),
    ):
        assert words in (await played(*lasting, command)).text
    await lasting.goes_on("panels")


async def test_a_menu_of_a_command_is_an_ask_whose_answer_is_what_the_agent_does(lasting: Lasting) -> None:
    """`/model` opens a menu: it can be answered from anywhere, and what the agent says of the choice is told. One
    that is dismissed leaves nothing open either."""
    chosen = await played(*lasting, "/model", replies=choice_of("Sonnet"))
    assert "Sonnet" in chosen.text
    assert [ask.request.kind for ask in chosen.asks] == ["question", "permission"]
    kept = await played(*lasting, "/model", [respond("leave it")])
    assert "Kept model" in kept.text
    await lasting.goes_on("menus")
    assert "sonnet" in str(lasting.world.model.turns[-1].body["model"])


async def test_a_line_for_the_agents_shell_is_run_once_and_answered(lasting: Lasting) -> None:
    """`!` runs a command in the agent's own shell; what the agent says of it is the turn's answer."""
    turn = await played(*lasting, "!echo here >> ran")
    assert "bash-stdout" in turn.text
    assert (lasting.world.cwd / "ran").read_text() == "here\n"


async def test_an_agent_without_colours_is_read_as_well(worlds: Any) -> None:
    """With `NO_COLOR` (or `CI`) nothing is dim: what the agent says of a command's arguments is no draft, and what
    a person has typed is one, given back after the message."""
    world = worlds(env={"NO_COLOR": "1"})
    async with world.connected() as connection:
        assert isinstance(await world.turn("hello").play(connection), Completed)
        await played(world, connection, "/clear")
        world.keys("-l", "half a thought")
        await world.shows("half a thought")
        after = world.turn("afterwards")
        assert isinstance(await after.play(connection), Completed)
        await world.shows("half a thought")
    assert world.prompts() == ["hello", "afterwards"]


async def test_a_command_with_which_the_agent_leaves_is_no_accident(worlds: Any) -> None:
    """`/exit` ends well and says that the agent has left; the next message starts it anew, where it was."""
    world = worlds()
    async with world.connected() as connection:
        await world.turn("hello").play(connection)
        assert "The agent has left" in (await played(world, connection, "/exit")).text
        after = world.turn("afterwards")
        assert isinstance(await after.play(connection), Completed)
    assert world.prompts() == ["hello", "afterwards"]
