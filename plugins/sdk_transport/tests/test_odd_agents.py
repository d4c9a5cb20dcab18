"""Agents that behave as no good agent does: deaf, stubborn, garbled, old. A small script plays them."""

from __future__ import annotations

import asyncio
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from turnhub_sdk import SdkTransport

from hub import Completed, Connection, Failed, Interrupted, SessionInfo
from hub.testing import FakeTurn, make_session

pytestmark = pytest.mark.anyio

_SCRIPT = """#!{python}
import json, os, signal, sys, time
KIND, VERSION = {kind!r}, {version!r}
def say(**message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()
def answer(request, **response):
    say(type="control_response", response=dict(subtype="success", request_id=request, response=response))
def speak(text, uuid):
    content = [dict(type="text", text=text)]
    say(type="assistant", message=dict(role="assistant", model="m", id="x", content=content))
    say(type="result", subtype="success", duration_ms=1, duration_api_ms=1, is_error=False, num_turns=1,
        session_id="s", result=text, user_message_uuids=[uuid])
if KIND == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "control_request":
        what = message["request"]["subtype"]
        if what == "initialize":
            answer(message["request_id"], pid=os.getpid(), claude_code_version=VERSION)
        elif what == "interrupt" and KIND != "deaf":
            answer(message["request_id"])
    elif KIND == "garbled":
        say(type="assistant", message=dict(role="assistant"))
        sys.stdout.write("no json at all\\n")
        say(type="something_new", text="x")
        speak("Still here.", message["uuid"])
    elif KIND == "long":
        speak("x" * (3 << 20), message["uuid"])
    elif KIND == "broken":
        sys.stdout.write("{{broken: " + message["message"]["content"] + "\\n")
        sys.stdout.flush()
    elif KIND == "quitter":
        sys.exit(0)
    elif KIND == "dier":
        sys.stderr.write("out of memory\\n")
        sys.stderr.flush()
        time.sleep(0.2)
        sys.exit(7)
if KIND == "stubborn":
    time.sleep(60)
"""

MakeAgent = Callable[..., SessionInfo]


@pytest.fixture
def odd(tmp_path: Path) -> MakeAgent:
    """Makes sessions with an odd agent."""

    def make(kind: str, version: str = "2.1.332") -> SessionInfo:
        path = tmp_path / f"agent-{kind}"
        path.write_text(_SCRIPT.format(python=sys.executable, kind=kind, version=version))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        env = {"ANTHROPIC_API_KEY": "x"}
        return make_session("sdk", cwd=tmp_path, cli_path=str(path), env=env)

    return make


async def _opened(session: SessionInfo) -> Connection:
    return await SdkTransport().open(session)


async def _played(session: SessionInfo, text: str = "hello") -> FakeTurn:
    connection = await _opened(session)
    turn = FakeTurn(text, session=session)
    await turn.play(connection)
    await connection.close()
    assert not turn.problems
    return turn


async def test_an_agent_that_is_too_old_is_refused(odd: MakeAgent) -> None:
    """A version that would act on literal messages is not used; what mends it is said."""
    turn = await _played(odd("plain", version="2.1.100"))
    assert isinstance(turn.judged, Failed)
    assert turn.judged.code == "agent_unavailable"
    assert "Claude Code 2.1.100 is too old" in (turn.judged.message or "")


async def test_an_agent_that_does_not_obey_is_killed(odd: MakeAgent) -> None:
    """Deaf to interrupts: the turn ends all the same, within the hub's grace."""
    session = odd("deaf")
    connection = await _opened(session)
    turn = FakeTurn("hello", session=session)
    playing = asyncio.create_task(turn.play(connection))
    await turn.until(lambda: "sdk_prompt" in turn.remembered)
    began = time.monotonic()
    turn.cancelled.request("ann")
    await playing
    assert turn.judged == Interrupted(by="ann")
    assert time.monotonic() - began < 5
    await connection.close()


async def test_an_agent_that_does_not_leave_is_killed(odd: MakeAgent) -> None:
    """Neither the end of its input nor SIGTERM moves it: closing is bounded all the same."""
    session = odd("stubborn")
    connection = await _opened(session)
    turn = FakeTurn("hello", session=session)
    playing = asyncio.create_task(turn.play(connection))
    await turn.until(lambda: "sdk_prompt" in turn.remembered)
    began = time.monotonic()
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)
    await connection.close()
    assert time.monotonic() - began < 5
    assert playing.cancelled()


async def test_what_cannot_be_read_is_passed_over(odd: MakeAgent) -> None:
    """A malformed or unknown message costs nothing but itself."""
    turn = await _played(odd("garbled"))
    assert isinstance(turn.judged, Completed)
    assert turn.text == "Still here."


async def test_a_line_may_be_long(odd: MakeAgent) -> None:
    """Three megabytes in one line are no end of the world."""
    turn = await _played(odd("long"))
    assert len(turn.text) == 3 << 20


async def test_words_of_the_conversation_are_not_logged(
    odd: MakeAgent, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line that breaks the protocol ends the turn, and its words stay out of logs and failure."""
    turn = await _played(odd("broken"), "PRIVATE-WORDS")
    assert isinstance(turn.judged, Failed)
    assert turn.judged.code == "agent_dead"
    assert "PRIVATE-WORDS" not in caplog.text
    assert "PRIVATE-WORDS" not in str(turn.judged)
    printed = capsys.readouterr()
    assert "PRIVATE-WORDS" not in printed.out + printed.err


async def test_an_agent_that_leaves_without_a_word(odd: MakeAgent) -> None:
    """A process that just ends, twice, has died."""
    turn = await _played(odd("quitter"))
    assert isinstance(turn.judged, Failed)
    assert turn.judged == Failed(code="agent_dead", message="Claude Code ended. Try again.")


async def test_the_last_words_of_a_dying_agent_are_told(odd: MakeAgent) -> None:
    """Exit code and last line on stderr say what happened."""
    turn = await _played(odd("dier"))
    assert isinstance(turn.judged, Failed)
    assert turn.judged.message == ("Claude Code ended with exit code 7. Its last words: out of memory Try again.")
