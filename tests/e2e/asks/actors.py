"""The agents that the scenarios are played with: what makes each ask, and what proves that its tools ran."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import httpx
from turnhub_tmux.testing import bundled_claude, trust

from hub.testing import (
    Exchange,
    HubProcess,
    Reply,
    ScriptedModel,
    Use,
    claude_environment,
    hub_process,
    reply,
)
from tests.e2e.door import Json

WITHIN_S: Final = 30.0
_LOOK_S: Final = 0.05
SHOP: Final = Path(__file__).with_name("shop.py")
PLAN_FILE: Final = "where plans go"
_PLANS: Final = re.compile(r"[\w/.-]+/plans/[\w.-]+\.md")
_ECHO: Final = re.compile(r"echo (\S+) >> ran")
_SCENE: Final = re.compile(r"SCENE (\d+)")
QUICK_S: Final = 1.5


def append(mark: str) -> Json:
    """A call that leaves ``mark`` in a file, once each time that it runs."""
    return {"tool": "Bash", "input": {"command": f"echo {mark} >> ran", "description": "count"}}


class Scenario(Protocol):
    """One kind of agent. ``edits``: an answer can change the call's input. ``lives_on``: it outlives its hub."""

    name: str
    edits: bool
    lives_on: bool

    def message(self, *steps: Sequence[Json]) -> str:
        """Words that make the agent do these calls, those of one step in parallel."""

    async def ran(self, log: Sequence[Json]) -> list[str]:
        """The marks of the calls that have run, one for each time, as far as they belong to ``log``."""

    async def told(self, log: Sequence[Json]) -> str:
        """What the agent's model was told of its last call."""


class Scripted:
    """The scripted transport: what ran is in the digests of its log."""

    name = "scripted"
    edits = True
    lives_on = False

    def message(self, *steps: Sequence[Json]) -> str:
        """The script itself."""
        played = [{"parallel": [{**call, "ask": True} for call in step]} for step in steps]
        return json.dumps({"steps": [*played, {"text": "Done."}]})

    async def ran(self, log: Sequence[Json]) -> list[str]:
        """By the input that each finished tool ran with, as often as the session has counted."""
        inputs = {event["tool_id"]: json.dumps(event["input"]) for event in log if event["type"] == "tool_started"}
        counted: dict[str, int] = {}
        for event in log:
            if event["type"] == "tool_finished" and event["status"] == "ok":
                _, edited, words = event["digest"]["text"].partition("ran with ")
                if found := _ECHO.search(words if edited else inputs[event["tool_id"]]):
                    counted[found[1]] = event["digest"]["runs"]
        return [mark for mark, runs in counted.items() for _ in range(runs)]

    async def told(self, log: Sequence[Json]) -> str:
        """The last tool's digest."""
        last = [event for event in log if event["type"] == "tool_finished"][-1]
        return str(last["digest"]["text"])


class Claude:
    """A real Claude Code whose tools write into ``cwd``, with a model that plays what it is told."""

    def __init__(self, name: str, cwd: Path, *, edits: bool, lives_on: bool) -> None:
        self.name = name
        self.cwd = cwd
        self.edits = edits
        self.lives_on = lives_on
        self.model = ScriptedModel(self._play)
        self._scenes: list[Sequence[Sequence[Json]]] = []

    def message(self, *steps: Sequence[Json]) -> str:
        """The number of the scene, which the model knows."""
        self._scenes.append(steps)
        return f"SCENE {len(self._scenes) - 1}"

    def _play(self, exchange: Exchange) -> Reply:
        found = _SCENE.search(exchange.text)
        steps = self._scenes[int(found[1])] if found else ()
        done = exchange.number
        if steps and "a person says that it" in exchange.text:  # it believes what it is told of the last call
            done += len(steps) - ("it did not run" in exchange.text)
        if done >= len(steps):
            return reply("Done.")
        return reply(*(Use(call["tool"], self._given(call["input"])) for call in steps[done]))

    def _given(self, given: Json) -> Json:
        """A call's input, with the place where this agent wants its plan written: its requests say so."""
        found = _PLANS.search(str(self.model.turns[-1].body))
        return {key: found[0] if found and value == PLAN_FILE else value for key, value in given.items()}

    async def ran(self, log: Sequence[Json]) -> list[str]:
        """The lines of the file that the calls write to, of those marks that the log knows."""
        path = self.cwd / "ran"
        lines = (await asyncio.to_thread(path.read_text)).split() if path.exists() else []
        known = _ECHO.findall(json.dumps(log))
        return [line for line in lines if line in known]

    async def told(self, log: Sequence[Json]) -> str:
        """What its last request to the model said of it."""
        return self.model.turns[-1].results[-1].text


class Stage:
    """One hub with all agents; each has one session, which lives as long as the stage."""

    def __init__(self, hub: HubProcess, actors: Mapping[str, Scenario]) -> None:
        self.hub = hub
        self.actors = actors
        self._sessions: dict[str, str] = {}
        self._http = httpx.AsyncClient(timeout=WITHIN_S, limits=httpx.Limits(max_connections=200), verify=False)

    async def call(
        self, method: str, path: str, body: Json | None = None, *, token: str | None = None
    ) -> httpx.Response:
        """One request; those that are made at once have connections of their own."""
        headers = {"Authorization": f"Bearer {token or self.hub.token}", "Accept": "application/json"}
        return await self._http.request(method, self.hub.url + path, json=body, headers=headers)

    async def json(self, method: str, path: str, body: Json | None = None) -> Any:
        """The JSON of an answer that is none of a problem."""
        answer = await self.call(method, path, body)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    async def session(self, actor: Scenario) -> str:
        """The actor's session."""
        if actor.name not in self._sessions:
            made = await self.json("POST", "/v1/sessions", {"agent": actor.name})
            self._sessions[actor.name] = made["id"]
        return self._sessions[actor.name]

    async def until(self, path: str, reached: Any) -> Any:
        """What stands there as soon as it is ``reached``. Raises TimeoutError."""
        found: Any = None
        try:
            async with asyncio.timeout(WITHIN_S):
                while not reached(found := await self.json("GET", path)):  # noqa: ASYNC110 - of all routes
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            raise AssertionError(f"never reached at {path}: {found}\n{self.hub.words()}") from None
        return found

    async def close(self) -> None:
        """End the sessions, and with them their agents."""
        for session in self._sessions.values():
            await self.call("DELETE", f"/v1/sessions/{session}?force=true")
        await self._http.aclose()


class Play:
    """One turn of one actor, from the message to the log."""

    def __init__(self, stage: Stage, actor: Scenario, session: str, after: int) -> None:
        self.stage = stage
        self.actor = actor
        self.session = session
        self._after = after

    @classmethod
    async def begin(cls, stage: Stage, actor: Scenario, *steps: Sequence[Json], policy: str | None = None) -> Play:
        """Send what makes the actor do the calls of ``steps``; ``policy``: the session's from now on."""
        session = await stage.session(actor)
        await stage.json("PATCH", f"/v1/sessions/{session}", {"policy": policy})
        now = await stage.json("GET", f"/v1/sessions/{session}")
        play = cls(stage, actor, session, int(now["cursor"]))
        await stage.json("POST", f"/v1/sessions/{session}/messages", {"text": actor.message(*steps)})
        return play

    async def asks(self, count: int = 1, kind: str = "") -> list[Json]:
        """The open asks of the session (of this kind), as soon as there are so many."""

        def mine(found: list[Json]) -> list[Json]:
            return [one for one in found if one["session_id"] == self.session and kind in one["ask"]["kind"]]

        return mine(await self.stage.until("/v1/asks?state=open", lambda found: len(mine(found)) >= count))

    async def ask(self) -> Json:
        """The one ask that is open, as soon as there is one."""
        (ask,) = await self.asks()
        return ask

    async def answer(self, ask: Json, **body: Any) -> httpx.Response:
        """A device's answer."""
        return await self.stage.call("POST", f"/v1/asks/{ask['id']}/answer", body)

    async def agree(self, ask: Json, **body: Any) -> Json:
        """An answer that is taken."""
        answer = await self.answer(ask, **body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def each(self, **body: Any) -> list[Json]:
        """Answer every ask of the turn the same, as they come; the asks."""
        answered: list[Json] = []

        def reached(found: Json) -> bool:
            return found["turn"] is None or bool(_open(found["asks"], answered))

        while (now := await self.stage.until(f"/v1/sessions/{self.session}", reached))["turn"] is not None:
            for ask in _open(now["asks"], answered):
                await self.agree(ask, **body)
                answered.append(ask)
        return answered

    async def end(self) -> Json:
        """The last item of the conversation, as soon as the turn is over."""
        path = f"/v1/sessions/{self.session}"
        over = await self.stage.until(path, lambda found: found["turn"] is None)
        return dict(over["items"][-1])

    async def log(self) -> list[Json]:
        """The turn's durable events."""
        path, found = f"/v1/sessions/{self.session}/events?after=", list[Json]()
        after: int | None = self._after
        while after is not None:
            page = await self.stage.json("GET", f"{path}{after}")
            found += page["events"]
            after = page["next"] if page["events"] else None
        return found

    async def ran(self) -> list[str]:
        """The marks of the calls that ran."""
        return await self.actor.ran(await self.log())


def _open(asks: Sequence[Json], answered: Sequence[Json]) -> list[Json]:
    known = {ask["id"] for ask in answered}
    return [ask for ask in asks if ask["state"] == "open" and ask["id"] not in known]


def told(log: Sequence[Json], kind: str) -> list[Json]:
    """The events of one type."""
    return [event for event in log if event["type"] == kind]


def life(log: Sequence[Json]) -> list[tuple[str, ...]]:
    """What a log tells of asks: what happened, and of a settlement by whom and which."""
    found: list[tuple[str, ...]] = []
    for event in log:
        kind = event["type"].removeprefix("ask_")
        if kind == event["type"]:
            continue
        if kind == "settled":
            found.append((kind, event["by"]["kind"], event["by"]["name"], event["decision"]))
        else:
            found.append((kind,))
    return found


CONFIG: Final = """
[plugins]
enabled = ["tmux", "sdk"]
[runner]
lease_s = {lease}
[policies.quick]
ask_timeout_s = {quick}
[policies.alone]
unattended = true
[agents.scripted]
transport = "scripted"
"""


def _agent(actor: Claude, home: Path, more: Mapping[str, Any]) -> str:
    env = claude_environment(actor.model.url, home)
    actor.cwd.mkdir()
    trust(home / ".claude", actor.cwd)
    keys = {"cwd": str(actor.cwd), **more}
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    return "\n".join(
        [
            f"[agents.{actor.name}]",
            *lines,
            f"[agents.{actor.name}.env]",
            *(f"{key} = {json.dumps(env[key])}" for key in env),
            "",
        ]
    )


@asynccontextmanager
async def staged(*, lease_s: float = 6.0) -> AsyncIterator[Stage]:
    """A hub with a scripted agent, one behind the SDK, one in a terminal with hooks, one by keys alone."""
    folder = Path(tempfile.mkdtemp(prefix="th-"))
    socket = str(folder / "tmux")
    servers = folder / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"shop": {"command": sys.executable, "args": [str(SHOP)]}}}))
    command = f"{bundled_claude()} --mcp-config {servers} --permission-mode"
    sdk = {"transport": "sdk", "mcp_config": str(servers)}
    pane = {"transport": "tmux", "command": f"{command} default", "socket": socket}
    plans = {**pane, "command": f"{command} plan"}
    kinds: dict[str, Json] = {
        "sdk": sdk,
        "hooks": pane,
        "keys": {**pane, "hooks": False},
        "sdk-plans": {**sdk, "permission_mode": "plan"},
        "hooks-plans": plans,
        "keys-plans": {**plans, "hooks": False},
    }
    actors: dict[str, Scenario] = {"scripted": Scripted()}
    config = CONFIG.format(quick=QUICK_S, lease=lease_s)
    try:
        async with AsyncExitStack() as stack:
            for name, more in kinds.items():
                tui = more["transport"] == "tmux"
                actor = Claude(name, folder / name, edits=more.get("hooks", True), lives_on=tui)
                await stack.enter_async_context(actor.model)
                config += _agent(actor, folder / f"home-{name}", more)
                actors[name] = actor
            with hub_process(config, environ={"IS_SANDBOX": "1"}) as hub:
                stage = Stage(hub, actors)
                try:
                    yield stage
                finally:
                    await stage.close()
    finally:
        tmux = ["tmux", "-S", socket, "kill-server"]
        await asyncio.to_thread(subprocess.run, tmux, capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
