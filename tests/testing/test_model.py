"""The scripted model as an HTTP endpoint."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from hub.testing.model import ScriptedModel, main
from hub.testing.model_agent import claude_environment
from hub.testing.model_script import Cut, Drop, Fail, Pause, Say, Silence, Stall, reply

pytestmark = pytest.mark.anyio


def _body(text: str, *, stream: bool = False, session: str = "one") -> dict[str, Any]:
    return {
        "model": "test-model",
        "stream": stream,
        "max_tokens": 100,
        "messages": [{"role": "user", "content": text}],
        "metadata": {"user_id": session},
    }


async def _say(client: httpx.AsyncClient, text: str, **more: Any) -> str:
    response = await client.post("/v1/messages", params={"beta": "true"}, json=_body(text, **more))
    response.raise_for_status()
    return str(response.json()["content"][0]["text"])


async def _listen(client: httpx.AsyncClient, got: list[str]) -> None:
    async with client.stream("POST", "/v1/messages", json=_body("x", stream=True)) as response:
        async for text in response.aiter_text():
            got.append(text)


def _client(model: ScriptedModel) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=model.url, timeout=10, trust_env=False)


async def test_it_answers_and_keeps_what_it_was_asked() -> None:
    """A request is answered from the script and recorded with its body, without the key."""
    async with ScriptedModel({"hi": reply("Hello")}) as model, _client(model) as client:
        assert await _say(client, "hi") == "Hello"
        await client.post("/v1/messages", json=_body("hi"), headers={"X-Api-Key": "secret", "x-other": "kept"})
        assert [request.prompts for request in model.turns] == [("hi",), ("hi",)]
        assert model.turns[1].headers["x-other"] == "kept"
        assert "secret" not in str(list(model.requests))


async def test_it_streams() -> None:
    """With ``stream`` the reply comes as server-sent events."""
    async with ScriptedModel(reply("a b c")) as model, _client(model) as client:
        response = await client.post("/v1/messages", json=_body("x", stream=True))
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [json.loads(x[6:]) for x in response.text.splitlines() if x.startswith("data: ")]
        assert "".join(e["delta"]["text"] for e in lines if e["type"] == "content_block_delta") == "a b c"
        assert lines[-1]["type"] == "message_stop"


async def test_conversations_do_not_take_each_others_steps() -> None:
    """Two sessions with the same prompt each get the script from its beginning; so does a new prompt."""
    async with ScriptedModel([reply("one"), reply("two")]) as model, _client(model) as client:
        first = [await _say(client, "x", session="a"), await _say(client, "x", session="b")]
        second = [await _say(client, "x", session="a"), await _say(client, "y", session="a")]
        assert (first, second) == (["one", "one"], ["two", "one"])


async def test_housekeeping_takes_no_step() -> None:
    """A side request of the command line is answered apart from the script and is no turn."""
    async with ScriptedModel([reply("one"), reply("two")]) as model, _client(model) as client:
        side = {**_body("x"), "max_tokens": 1}
        await client.post("/v1/messages", json=side, headers={"user-agent": "claude-cli/2.1"})
        assert await _say(client, "x") == "one"
        assert len(model.turns) == 1
        assert len(model.requests) == 2


async def test_other_routes_answer_as_the_command_line_expects() -> None:
    """Tokens are counted; HEAD and GET of anything are fine; other writes are not found."""
    async with ScriptedModel() as model, _client(model) as client:
        counted = await client.post("/v1/messages/count_tokens", json=_body("x"))
        assert counted.json()["input_tokens"] > 0
        assert (await client.head("/")).status_code == 200
        assert (await client.get("/v1/models")).status_code == 200
        assert (await client.post("/elsewhere", content=b"not json")).status_code == 404


async def test_status_errors_come_as_often_as_told() -> None:
    """An overloaded model recovers after the number of failures that the script says."""
    script = (Fail(status=529, message="busy", times=2), reply("fine"))
    async with ScriptedModel(script) as model, _client(model) as client:
        answers = [await client.post("/v1/messages", json=_body("x")) for _ in range(3)]
        assert [a.status_code for a in answers] == [529, 529, 200]
        assert answers[0].json()["error"] == {"type": "overloaded_error", "message": "busy"}


async def test_a_wrong_key_is_refused() -> None:
    """With ``key`` set, another key gets the API's 401."""
    async with ScriptedModel(reply("x"), key="right") as model, _client(model) as client:
        wrong = await client.post("/v1/messages", json=_body("x"), headers={"x-api-key": "wrong"})
        right = await client.post("/v1/messages", json=_body("x"), headers={"authorization": "Bearer right"})
        assert (wrong.status_code, right.status_code) == (401, 200)


async def test_a_cut_stream_ends_in_the_middle() -> None:
    """What stood before the cut arrives, then the connection breaks."""
    script = reply(Say("half of it", close=False), Pause(0.05), Cut())
    got: list[str] = []
    async with ScriptedModel(script) as model, _client(model) as client:
        with pytest.raises(httpx.TransportError):
            await _listen(client, got)
    assert "half" in "".join(got)
    assert "message_stop" not in "".join(got)


async def test_a_dropped_request_gets_no_response() -> None:
    """The connection closes without a status line."""
    async with ScriptedModel(Drop()) as model, _client(model) as client:
        with pytest.raises(httpx.TransportError):
            await client.post("/v1/messages", json=_body("x"))


@pytest.mark.parametrize("answer", [Silence(), reply(Say("a", close=False), Stall())])
async def test_closing_the_model_ends_what_hangs(answer: Any) -> None:
    """A stalled answer hangs until the model is closed, and closing takes no time."""
    async with ScriptedModel(answer) as model, _client(model) as client:
        asking = asyncio.create_task(client.post("/v1/messages", json=_body("x", stream=True)))
        await model.received()
        async with asyncio.timeout(2):
            await model.close()
        with pytest.raises(httpx.TransportError):
            await asking


async def test_a_client_that_goes_away_ends_its_stall() -> None:
    """A stall lasts only as long as somebody listens: closing then finds nothing left."""
    async with ScriptedModel(Silence()) as model, _client(model) as client:
        with pytest.raises(httpx.ReadTimeout):
            await client.post("/v1/messages", json=_body("x"), timeout=0.2)


async def test_received_waits_for_a_turn() -> None:
    """A test can wait for a request instead of sleeping."""
    async with ScriptedModel(reply("x")) as model, _client(model) as client:
        waiting = asyncio.create_task(model.received(lambda request: request.prompts == ("second",)))
        await _say(client, "first")
        await _say(client, "second")
        assert (await waiting).prompts == ("second",)


async def test_it_keeps_only_the_last_requests() -> None:
    """A long-lived endpoint does not grow."""
    async with ScriptedModel(reply("x", times=None), keep=2) as model, _client(model) as client:
        for text in "abc":
            await _say(client, text)
        assert [r.prompts for r in model.turns] == [("b",), ("c",)]


async def test_it_leaves_the_process_alone() -> None:
    """Serving inside another server's process changes neither signal handlers nor logging."""
    access = logging.getLogger("uvicorn.access")
    before = (signal.getsignal(signal.SIGINT), access.propagate, list(access.handlers))
    async with ScriptedModel(reply("x")) as model, _client(model) as client:
        await _say(client, "x")
        assert signal.getsignal(signal.SIGINT) is before[0]
    assert (access.propagate, list(access.handlers)) == before[1:]


async def test_it_runs_as_a_process(tmp_path: Path) -> None:
    """``python -m hub.testing.model`` serves a script from a file and names its address."""
    script = tmp_path / "script.json"
    script.write_text('{"otherwise": [{"type": "reply", "parts": [{"type": "say", "text": "From a file"}]}]}')
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hub.testing.model", "--script", str(script)), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        url = (await asyncio.wait_for(process.stdout.readline(), 20)).decode().strip()
        async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
            assert await _say(client, "x") == "From a file"
    finally:
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 10) == 0


def test_a_script_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong script file is one line that names the file, and exit status 2."""
    script = tmp_path / "script.json"
    script.write_text("{")
    with pytest.raises(SystemExit) as stopped:
        main(["--script", str(script)])
    assert stopped.value.code == 2
    assert f"{script} is no script" in capsys.readouterr().err


def test_the_environment_is_private_and_onboarded(tmp_path: Path) -> None:
    """The agent's home is closed to others, and the agent asks nothing at its first start."""
    env = claude_environment("http://127.0.0.1:1", tmp_path / "home")
    config = Path(env["CLAUDE_CONFIG_DIR"])
    settled = config / ".claude.json"
    assert [stat.S_IMODE(p.stat().st_mode) for p in (Path(env["HOME"]), config, settled)] == [0o700, 0o700, 0o600]
    assert json.loads(settled.read_text())["hasCompletedOnboarding"] is True
    assert env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert env["BUN_GC_TIMER_DISABLE"] == "1"


def test_the_environment_keeps_what_the_agent_wrote(tmp_path: Path) -> None:
    """A second call leaves the agent's own configuration as it is."""
    env = claude_environment("http://127.0.0.1:1", tmp_path / "home")
    settled = Path(env["CLAUDE_CONFIG_DIR"]) / ".claude.json"
    settled.write_text('{"mine": 1}')
    claude_environment("http://127.0.0.1:2", tmp_path / "home")
    assert json.loads(settled.read_text()) == {"mine": 1}
