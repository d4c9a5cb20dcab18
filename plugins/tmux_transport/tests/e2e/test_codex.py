"""Whole turns of an agent that only its screen tells of: the real Codex where it is installed, and a program that
looks like it everywhere. What its model was asked is the judge of both."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import psutil
import pytest
import turnhub_tmux
from turnhub_tmux import TmuxTransport

from hub import Completed, Interrupted
from hub.testing import FakeTurn, allow, deny, make_session

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
WITHIN: Final = 40.0
CODEX: Final = shutil.which("codex")
NEEDS_CODEX: Final = pytest.mark.skipif(CODEX is None, reason="codex is not in PATH")
LONG: Final = "\n".join(f"line {n} of a paste that is shown as a block only" for n in range(40))
AGENTS: Final = ["look-alike", pytest.param("codex", marks=NEEDS_CODEX)]
CONFIG: Final = """model = "gpt-5"
model_provider = "local"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[model_providers.local]
name = "local"
base_url = "{url}"
wire_api = "responses"
[projects."{cwd}"]
trust_level = "trusted"
"""


def answer(items: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """What the model says: a command for BASH, what came of it, or the words again."""
    said = [part["text"] for item in items if item.get("role") == "user" for part in item["content"]]
    text, last = said[-1], items[-1].get("type", "message")
    if text.startswith("BASH") and last != "function_call_output":
        call = {"cmd": "touch made", "sandbox_permissions": "require_escalated", "justification": "make it"}
        name = {"type": "function_call", "name": "exec_command", "arguments": json.dumps(call)}
        return {**name, "id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed"}
    words = "It is made." if last == "function_call_output" else f"Echo: {text[:40]}"
    content = [{"type": "output_text", "text": words, "annotations": []}]
    return {"type": "message", "id": f"m_{number}", "role": "assistant", "status": "completed", "content": content}


class ResponsesModel(ThreadingHTTPServer):
    """A model behind the Responses API on loopback. ``requests``: what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Endpoint)
        self.requests: list[dict[str, Any]] = []
        self.waits = Event()  # what is slow waits for it
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The requests of the conversation itself: for a title it asks without tools."""
        return [request for request in self.requests if request.get("tools")]

    def prompts(self) -> list[str]:
        """What a person said, without what the agent itself puts before it, each once."""
        said = [
            part["text"]
            for request in self.turns
            for item in request["input"]
            if item.get("role") == "user"
            for part in item["content"]
            if not part["text"].startswith(("<", "#"))
        ]
        return list(dict.fromkeys(said))


class Endpoint(BaseHTTPRequestHandler):
    """Answers, slowly where SLOW is said."""

    server: ResponsesModel

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        """No list of models."""
        self.send_error(404)

    def do_POST(self) -> None:
        """One response, as a stream of events."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        number = len(self.server.requests)
        item = answer(body["input"], number)
        tokens = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        base = {"id": f"r_{number}", "object": "response"}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**base, "status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {
                "type": "response.completed",
                "response": {**base, "status": "completed", "output": [item], "usage": tokens},
            },
        ]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if "SLOW" in str(self.server.prompts()[-1:]):
            self.server.waits.wait(20)
        try:
            for event in events:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        except OSError:
            return  # it was interrupted


class Scene:
    """The agent, its model, and the hub's connection to it."""

    def __init__(self, model: ResponsesModel, folder: Path, agent: str) -> None:
        self.model = model
        self.cwd = folder / "work"
        self.socket = str(folder / "tmux")
        home = folder / "home"
        for path in (self.cwd, home):
            path.mkdir()
        (home / "config.toml").write_text(CONFIG.format(url=model.url, cwd=self.cwd))
        looks = f"{sys.executable} {Path(__file__).with_name('lookalike.py')}"
        self.session = make_session(
            "tmux",
            cwd=self.cwd,
            state_dir=folder / "state",
            command=str(CODEX) if agent == "codex" else looks,
            kind="codex",
            socket=self.socket,
            width=100,
            height=40,
            env={"HOME": str(home), "CODEX_HOME": str(home), "LOOKALIKE_URL": model.url},
        )
        self.transport = TmuxTransport()
        self.connection: Any = None
        self._last: FakeTurn | None = None

    def turn(self, text: str, *replies: Any) -> FakeTurn:
        """The next turn."""
        given: dict[str, Any] = {"replies": replies, "verifiers": [turnhub_tmux]}
        last = self._last
        self._last = FakeTurn(text, session=self.session, **given) if last is None else last.next(text, **given)
        return self._last

    async def plays(self, turn: FakeTurn) -> FakeTurn:
        """To its end; the screen proved that it was taken."""
        await turn.play(self.connection, within=WITHIN)
        assert turn.problems == []
        assert turn.delivered is not None
        assert (turn.delivered.verdict, turn.delivered.proof) == ("submitted", "pane"), turn.delivered
        return turn


def end(socket: str, folder: Path) -> None:
    """End the agent, and what it has left behind: Codex has a server of its own, which outlives it."""
    subprocess.run(["tmux", "-S", socket, "kill-server"], check=False)
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.cmdline()[:1] and process.cmdline()[0].startswith(f"{folder}/"):
                process.kill()


@pytest.fixture(params=AGENTS)
async def scene(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Scene]:
    """An agent that has just started, gone in the end."""
    folder = Path(tempfile.mkdtemp(prefix="th-"))
    with ResponsesModel() as model:
        serving = Thread(target=model.serve_forever, daemon=True)
        serving.start()
        made = Scene(model, folder, request.param)
        made.connection = await made.transport.open(made.session)
        try:
            yield made
        finally:
            await made.connection.close()
            await made.transport.close()
            await asyncio.to_thread(end, made.socket, folder)
            model.waits.set()
            await asyncio.to_thread(model.shutdown)
            shutil.rmtree(folder, ignore_errors=True)


async def test_its_screen_is_enough_for_a_turn(scene: Scene) -> None:
    """Delivered with proof by the pane, the answer from the pane, an end; several lines and a long paste arrive as
    they were sent; the same again is another turn."""
    texts = ["hello there", "two lines\nin one message", "hello there", LONG]
    for text in texts:
        turn = await scene.plays(scene.turn(text))
        assert isinstance(turn.judged, Completed), turn.judged
        assert f"Echo: {text[:20].splitlines()[0]}" in turn.text
        if text != LONG:  # which it shows shortened
            assert turn.text.count(text.splitlines()[0]) == 1
    assert scene.model.prompts() == list(dict.fromkeys(texts))
    assert len(scene.model.turns) == len(texts)


async def test_an_approval_is_an_ask_answered_by_keys(scene: Scene) -> None:
    """Allowed, the command runs and the agent goes on; refused, it does not run and the turn ends; answered in the
    terminal, nobody else is asked for it any more."""
    refused = await scene.plays(scene.turn("BASH one", deny()))
    assert [(ask.request.kind, ask.delivered) for ask in refused.asks] == [("permission", True)]
    assert "touch made" in refused.asks[0].request.subject
    assert not (scene.cwd / "made").exists()
    allowed = await scene.plays(scene.turn("BASH two", allow()))
    assert [ask.delivered for ask in allowed.asks] == [True]
    assert isinstance(allowed.judged, Completed)
    assert "It is made." in allowed.text
    assert (scene.cwd / "made").exists()


async def test_an_interrupt_stops_it(scene: Scene) -> None:
    """By Esc, seen to work; then it takes the next message."""
    slow = scene.turn("SLOW one")
    playing = asyncio.create_task(scene.plays(slow))
    await slow.until(lambda: slow.delivered is not None, within=WITHIN)
    slow.cancelled.request("ann")
    await playing
    assert slow.judged == Interrupted(by="ann")
    scene.model.waits.set()
    after = await scene.plays(scene.turn("and now"))
    assert "Echo: and now" in after.text
