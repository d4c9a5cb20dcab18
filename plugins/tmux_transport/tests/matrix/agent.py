"""One real agent in a tmux of its own, sent messages one after another in one session; watched from outside."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import turnhub_tmux
from turnhub_tmux import TmuxTransport
from turnhub_tmux.testing import bundled_claude, trust

from hub import Connection, Failed
from hub.testing import Exchange, FakeTurn, Reply, ScriptedModel, claude_environment, make_session, reply

from .judge import SUCCESS, Outcome, Told, judge, shortened
from .messages import SECRET, Case, cases
from .table import Column

_HEIGHTS: Final = {40: 30, 80: 24}
_WITHIN_S: Final = 90.0
_LATE_S: Final = 1.5
_TELLS_S: Final = 5.0
_PICTURE: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

Choice: TypeAlias = Callable[[Case], bool]
Tell: TypeAlias = Callable[[Column, Outcome], None]


def script(exchange: Exchange) -> Reply:
    """The model says little, and what it is asked to say."""
    words = exchange.text.removeprefix("SAY ")
    return reply(words if words != exchange.text else "Understood.")


class Agent:
    """The agent of one column of the matrix."""

    def __init__(self, column: Column, folder: Path, model: ScriptedModel) -> None:
        self.cwd = folder / "work"
        self.cwd.mkdir()
        (self.cwd / "secret.txt").write_text(SECRET)
        (self.cwd / "shot.png").write_bytes(_PICTURE)
        self._there = {path.name for path in self.cwd.iterdir()}
        self._model = model
        self._home = folder / "home"
        self._socket = str(folder / "tmux")
        env = claude_environment(model.url, self._home)
        trust(self._home / ".claude", self.cwd)
        self.session = make_session(
            "tmux",
            cwd=self.cwd,
            state_dir=folder / "state",
            command=f"{bundled_claude()} --permission-mode default",
            socket=self._socket,
            env=env,
            hooks=column.hooks,
            width=column.width,
            height=_HEIGHTS.get(column.width, 50),
        )
        self._last: FakeTurn | None = None
        self._known: tuple[str, ...] = ()
        self._rows: int = 0
        self._pid = ""
        self._pulled: set[str] = set()

    async def send(self, connection: Connection, case: Case) -> Outcome:
        """Send one message and judge what became of it."""
        turn = self._turn(case.text)
        start = time.monotonic()
        try:
            ending: object = await turn.play(connection, within=_WITHIN_S)
        except TimeoutError:
            ending = "the turn did not end"
        took = time.monotonic() - start
        verdict = turn.delivered
        if verdict is None or verdict.verdict not in SUCCESS:
            await asyncio.sleep(_LATE_S)  # what arrives although nothing proved it
        reason = ending.message or ending.code if isinstance(ending, Failed) else str(ending)
        prompts, effects = self._prompts()
        told = Told(
            verdict=None if verdict is None else verdict.verdict,
            proof=None if verdict is None else verdict.proof,
            detail="" if verdict is None else verdict.detail or "",
            reason=reason,
            model=prompts,
            transcript=await self._written(len(prompts)),
            effects=(*effects, *await self._effects(), *turn.problems),
            took_s=took,
        )
        return judge(case, told)

    def _turn(self, text: str) -> FakeTurn:
        given: dict[str, Any] = {"verifiers": [turnhub_tmux]}
        last = self._last
        self._last = FakeTurn(text, session=self.session, **given) if last is None else last.next(text, **given)
        return self._last

    def _prompts(self) -> tuple[tuple[str, ...], list[str]]:
        """What is new in what the model was told; and whether it was told of the rest as before."""
        turns = self._model.turns
        now = turns[-1].prompts if turns else ()
        known, self._known = self._known, now
        if now[: len(known)] != known:
            return now, [f"the conversation was changed: it is {shortened(now)}"]
        return now[len(known) :], []

    async def _written(self, expected: int) -> tuple[str, ...]:
        """The prompts that are new in the transcript, once there are as many as the model was told."""
        deadline = time.monotonic() + _TELLS_S
        while True:
            rows = await asyncio.to_thread(lambda: list(transcript(self._home / ".claude")))
            if len(rows) - self._rows >= expected or time.monotonic() >= deadline:
                new, self._rows = rows[self._rows :], len(rows)
                return tuple(new)
            await asyncio.sleep(0.1)

    async def _effects(self) -> list[str]:
        """What happened that is no message's business: files made, files or pictures told, an agent restarted."""
        found = [f"{path.name} was made" for path in self.cwd.iterdir() if path.name not in self._there]
        self._there |= {path.name for path in self.cwd.iterdir()}
        body = self._model.turns[-1].body if self._model.turns else {}
        raw = json.dumps(body)
        for sign, what in ((SECRET, "a file's content"), ('"type": "image"', "a picture")):
            if sign in raw and sign not in self._pulled:
                self._pulled.add(sign)
                found.append(f"{what} was told to the model")
        pid = await asyncio.to_thread(self._tmux, "list-panes", "-a", "-F", "#{pane_pid} #{pane_dead}")
        if self._pid not in ("", pid):
            found.append("the agent was ended")
        self._pid = pid
        return found

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-S", self._socket, *words], capture_output=True, text=True, check=False)
        return done.stdout

    async def close(self) -> None:
        """End the agent and its tmux."""
        await asyncio.to_thread(self._tmux, "kill-server")


def transcript(config: Path) -> Iterator[str]:
    """What persons said, by the rows of the only transcript."""
    for path in sorted((config / "projects").glob("*/*.jsonl")):
        for line in path.read_text().split("\n")[:-1]:
            row = json.loads(line)
            if row.get("type") != "user" or row.get("isMeta") or row.get("isSidechain"):
                continue
            content = row["message"]["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if texts := [block["text"] for block in blocks if block["type"] == "text"]:
                yield "\n".join(texts)


def _untold(column: Column, outcome: Outcome) -> None:
    return


@asynccontextmanager
async def agent(column: Column) -> AsyncIterator[tuple[Agent, Connection]]:
    """An agent and the line to it."""
    folder = await asyncio.to_thread(lambda: Path(tempfile.mkdtemp(prefix="th-")).resolve())
    transport = TmuxTransport()
    try:
        async with ScriptedModel(script, keep=20) as model:
            made = Agent(column, folder, model)
            try:
                connection = await transport.open(made.session)
                try:
                    yield made, connection
                finally:
                    await connection.close()
            finally:
                await transport.close()
                await made.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def run(column: Column, chosen: Choice, tell: Tell = _untold) -> list[Outcome]:
    """Send the messages that are ``chosen`` to one agent, one after another."""
    outcomes = []
    async with agent(column) as (made, connection):
        for case in filter(chosen, cases(column.width, str(made.cwd))):
            outcome = await made.send(connection, case)
            outcomes.append(outcome)
            tell(column, outcome)
    return outcomes
