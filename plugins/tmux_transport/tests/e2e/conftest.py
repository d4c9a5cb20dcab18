"""The real Claude Code in a tmux of its own, driven by the transport, against a scripted model."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import turnhub_tmux
from turnhub_tmux import TmuxTransport
from turnhub_tmux.testing import bundled_claude

from hub import Connection, SessionInfo
from hub.testing import (
    Exchange,
    FakeTurn,
    Hold,
    Pause,
    Reply,
    Say,
    ScriptedModel,
    Stall,
    TransportContract,
    Use,
    ask_user,
    claude_environment,
    make_session,
    reply,
)

MADE = {"command": "echo > made", "description": "make it"}
COLOUR = {"question": "Which colour?", "header": "Colour", "options": ["Red", "Blue"]}
LONG = "".join(f"line {number} of it\n" for number in range(12)) + "and the end"
TOPPINGS = {"question": "Which toppings?", "header": "Top", "options": ["Cheese", "Ham"], "multiSelect": True}


def script(exchange: Exchange) -> Reply:
    """What the model says, by the first word of the prompt; it repeats what its tools gave back."""
    word = (exchange.text.replace(",", "").split() or [""])[0]
    if word == "BLANK":
        return reply(times=None)
    if word == "HUSH" and exchange.number:
        return reply(times=None)
    if exchange.number:
        return reply(f"Result: {exchange.results[-1].text}" if exchange.results else "Nothing.")
    calls: dict[str, Reply] = {
        "HUSH": reply("Looking.", Use("Bash", {"command": "ls", "description": "look"})),
        "BASH": reply("Making it.\n\nNow.", Use("Bash", MADE)),
        "GATE": reply(Use("Bash", {"command": "cat gate", "description": "wait"})),
        "ASK": reply(ask_user(COLOUR)),
        "FORM": reply(ask_user(TOPPINGS, COLOUR)),
        "HELD": reply("line 0 of it\nline 1 of it\nline 2 of it\nline 3 of it\nline 4", Hold(), "and the end"),
        "LONG": reply(Say(LONG, every_s=0.08)),
        "LATE": reply(Pause(6), Use("Bash", MADE)),
        "SLOW": reply(Say("one\ntwo\nthree\n", chunk=4, every_s=0.05), Stall()),
    }
    return calls.get(word, reply(f"Echo: {exchange.text}"))


class World:
    """One scripted model, one tmux server, one session of one agent. ``options``: more of the agent's."""

    def __init__(self, folder: Path, model: ScriptedModel, **options: Any) -> None:
        self.model = model
        self.folder = folder
        self.cwd = folder / "work"
        self.socket = str(folder / "tmux")
        self.cwd.mkdir()
        self.env = {**claude_environment(model.url, folder / "home"), **options.pop("env", {})}
        self.options = {
            "command": f"{bundled_claude()} --permission-mode default",
            "socket": self.socket,
            "env": self.env,
            **options,
        }
        self.session = make_session("tmux", cwd=self.cwd, state_dir=folder / "state", **self.options)
        self.transport = TmuxTransport()
        self._last: FakeTurn | None = None

    def trust(self) -> None:
        """Let the agent trust its folder already."""
        path = self.folder / "home" / ".claude" / ".claude.json"
        known = json.loads(path.read_text())
        known["projects"] = {str(self.cwd.resolve()): {"hasTrustDialogAccepted": True}}
        path.write_text(json.dumps(known))

    def turn(
        self, text: str, replies: Any = (), *, made: Callable[..., FakeTurn] = FakeTurn, **changes: Any
    ) -> FakeTurn:
        """The session's next turn, verified by the plugin's own ladder. ``made``: another kind of FakeTurn."""
        given: dict[str, Any] = {"replies": replies, "verifiers": [turnhub_tmux], **changes}
        self._last = made(text, session=self.after(), **given)
        return self._last

    def after(self) -> SessionInfo:
        """The session as its last turn left it."""
        return self.session if self._last is None else self._last.next("").session

    @asynccontextmanager
    async def connected(self, session: SessionInfo | None = None) -> AsyncIterator[Connection]:
        """A connection, closed in the end."""
        connection = await self.transport.open(session or self.session)
        try:
            yield connection
        finally:
            await connection.close()

    def tmux(self, *words: str) -> str:
        """What a tmux command prints."""
        done = subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=False)
        return done.stdout

    async def shows(self, text: str, within_s: float = 20.0, *, below: str = "") -> None:
        """Return when the pane shows ``text`` (below other words). Raises AssertionError with what it shows
        instead."""
        seen = ""
        try:
            async with asyncio.timeout(within_s):
                while text not in (seen.partition(below)[2] if below else seen):
                    await asyncio.sleep(0.05)
                    seen = await asyncio.to_thread(self.tmux, "capture-pane", "-p")
        except TimeoutError:
            raise AssertionError(f"never saw {text!r} in\n{seen}") from None

    def keys(self, *names: str) -> None:
        """A person presses keys."""
        self.tmux("send-keys", *names)

    async def press_away(self, key: str, shown: str) -> None:
        """A person presses a key at the dialog with these words until it goes: one that has just appeared may not
        listen yet."""
        await self.shows(shown)
        async with asyncio.timeout(20):
            while shown in await asyncio.to_thread(self.tmux, "capture-pane", "-p"):
                self.keys(key)
                with suppress(TimeoutError):
                    async with asyncio.timeout(2):
                        while shown in await asyncio.to_thread(self.tmux, "capture-pane", "-p"):  # noqa: ASYNC110
                            await asyncio.sleep(0.05)

    def kill_agent(self) -> None:
        """Kill -9 what runs in the pane."""
        os.kill(int(self.tmux("list-panes", "-a", "-F", "#{pane_pid}").split()[0]), signal.SIGKILL)

    def prompts(self) -> list[str]:
        """What persons said, as the model was told, each once."""
        return list(dict.fromkeys(prompt for request in self.model.turns for prompt in request.prompts))

    async def close(self) -> None:
        """Nothing is left. What the pane showed last is told with a test that fails."""
        print(self.tmux("capture-pane", "-p"))
        await self.transport.close()
        self.tmux("kill-server")


@pytest.fixture
async def worlds(anyio_backend: str) -> AsyncIterator[Any]:
    """Makes worlds: ``worlds(hooks=False)``."""
    async with making_worlds() as make:
        yield make


@pytest.fixture(scope="module")
async def lasting_worlds(anyio_backend: str) -> AsyncIterator[Any]:
    """As ``worlds``, for tests that share one: ``anyio_backend`` has to be of their module, too."""
    async with making_worlds() as make:
        yield make


@asynccontextmanager
async def making_worlds() -> AsyncIterator[Any]:
    """Makes worlds, gone in the end."""
    made: list[World] = []
    folder = Path(tempfile.mkdtemp(prefix="th-"))
    async with ScriptedModel(script) as model:

        def make(*, trusted: bool = True, **options: Any) -> World:
            (own := folder / f"w{len(made)}").mkdir()
            world = World(own, model, **options)
            made.append(world)
            if trusted:
                world.trust()
            return world

        try:
            yield make
        finally:
            for world in made:
                await world.close()
            shutil.rmtree(folder, ignore_errors=True)


# What of the contract other tests here show in each run, with the same agent: whole turns and their answers,
# steering, interrupts, sessions that are opened again; and the scenarios of asks: edits, withdrawals.
SHOWN_ELSEWHERE = {
    "test_a_session_can_be_opened_again",
    "test_a_turn_runs_after_a_stopped_one",
    "test_a_withdrawn_call_does_not_run",
    "test_an_answer_reaches_the_agent",
    "test_an_edited_input_is_what_runs",
    "test_cancellation_is_honoured",
    "test_steering",
}
MISSING = [what for what, there in (("tmux", shutil.which("tmux")), ("claude", bundled_claude())) if not there]


def pytest_itemcollected(item: pytest.Item) -> None:
    """These need the real agent, and tmux."""
    telling = TransportContract.TELLING - SHOWN_ELSEWHERE
    if item.path.name == "test_contract.py" and item.name not in telling:
        item.add_marker(pytest.mark.full)
    item.add_marker(pytest.mark.real)
    item.add_marker(pytest.mark.slow)
    if MISSING:
        item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(MISSING)}"))
