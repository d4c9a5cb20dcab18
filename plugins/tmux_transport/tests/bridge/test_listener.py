"""The listener: who may post, what is handed on, how asks are held, and what a restart leaves as it was."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from turnhub_tmux.bridge.access import Access
from turnhub_tmux.bridge.decisions import Allow, Deny
from turnhub_tmux.bridge.facts import (
    AskOver,
    Missed,
    PermissionAsked,
    PromptSubmitted,
    SessionSeen,
    Stopped,
    Unheld,
)
from turnhub_tmux.bridge.listener import Bridge
from turnhub_tmux.bridge.settings import write_settings
from turnhub_tmux.bridge.subscription import Backlog, Subscription

pytestmark = pytest.mark.anyio
Body = Callable[..., bytes]
ASK = {"tool_name": "Bash", "tool_input": {"command": "x"}}


@pytest.fixture
async def bridge(tmp_path: Path) -> AsyncIterator[Bridge]:
    """A listening bridge."""
    async with Bridge(tmp_path / "hooks") as made:
        yield made


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """Whoever posts."""
    async with httpx.AsyncClient(timeout=10, trust_env=False) as made:
        yield made


def auth(access: Access) -> dict[str, str]:
    """The header with the secret."""
    return {"Authorization": f"Bearer {access.token}"}


async def upcoming(facts: Subscription, kind: type) -> Any:
    """The next fact of a kind."""
    async with asyncio.timeout(10):
        async for fact in facts:
            if isinstance(fact, kind):
                return fact
    raise AssertionError(f"no {kind.__name__} came")


async def test_a_post_with_its_secret_is_handed_on(bridge: Bridge, client: httpx.AsyncClient, body: Body) -> None:
    """The response is empty, so the agent goes on at once; what came before anybody watched is there, too."""
    access = await bridge.admit("s1")
    post = await client.post(access.url, content=body("UserPromptSubmit", prompt="hi"), headers=auth(access))
    assert (post.status_code, post.content) == (200, b"")
    async with bridge.subscribe("s1") as facts:
        assert isinstance(await anext(facts), SessionSeen)
        assert (await upcoming(facts, PromptSubmitted)).prompt == "hi"
        await client.post(access.url, content=body("Stop", last_assistant_message="bye"), headers=auth(access))
        assert (await upcoming(facts, Stopped)).last_message == "bye"


async def test_foreign_posts_are_refused_and_change_nothing(
    bridge: Bridge, client: httpx.AsyncClient, body: Body
) -> None:
    """No secret, another session's, a web page, another host name, another path, another method, a long body."""
    mine, other = await bridge.admit("mine"), await bridge.admit("other")
    raw, good = body("UserPromptSubmit", prompt="evil"), auth(mine)
    base = mine.url.removesuffix("/turnhub/hooks/mine")
    refused = {
        (mine.url, (), 401),
        (mine.url, tuple(auth(other).items()), 401),
        (mine.url, (("Authorization", f"Basic {mine.token}"),), 401),
        (mine.url, (*good.items(), ("Origin", "http://evil.example")), 403),
        (mine.url, (*good.items(), ("Host", "evil.example")), 403),
        (f"{base}/turnhub/hooks/unknown", tuple(good.items()), 401),
        (f"{base}/turnhub/hooks/..%2fmine", tuple(good.items()), 401),
        (f"{base}/other", tuple(good.items()), 404),
    }
    for url, headers, status in refused:
        answer = await client.post(url, content=raw, headers=dict(headers))
        assert (answer.status_code, answer.content) == (status, b""), (url, headers)
    assert (await client.get(mine.url, headers=good)).status_code == 404
    assert (await client.post(mine.url, content=b"no json", headers=good)).status_code == 400
    assert (await client.post(mine.url, content=b"{" * 34_000_000, headers=good)).status_code == 413
    assert bridge.subscribe("mine").now() == []


async def test_a_permission_is_held_until_it_is_answered(
    bridge: Bridge, client: httpx.AsyncClient, body: Body
) -> None:
    """Then the answer is the response; a second one has nothing to answer. What ran tells that it was taken."""
    access = await bridge.admit("s")
    async with bridge.subscribe("s") as facts, asyncio.TaskGroup() as group:
        held = group.create_task(
            client.post(access.url, content=body("PermissionRequest", **ASK), headers=auth(access))
        )
        asked = await upcoming(facts, PermissionAsked)
        assert bridge.held(asked.ask_id)
        assert bridge.asks("s") == (asked,)
        assert bridge.answer(asked.ask_id, Deny(message="no"))
        answer = (await held).json()
        assert answer["hookSpecificOutput"]["decision"] == {"behavior": "deny", "message": "no"}
        assert not bridge.held(asked.ask_id)
        assert not bridge.answer(asked.ask_id, Allow())
        await client.post(access.url, content=body("Stop"), headers=auth(access))
        over = await upcoming(facts, AskOver)
        assert (over.ask_id, over.sign, over.answered) == (asked.ask_id, "stop", True)


@pytest.mark.parametrize("event", ["Stop", "UserPromptSubmit", "PostToolUse"])
async def test_a_held_permission_is_let_go_when_the_keyboard_was_faster(
    bridge: Bridge, client: httpx.AsyncClient, body: Body, event: str
) -> None:
    """The tool ran, the agent stopped, or the next prompt came: a late answer is told that it is late."""
    access = await bridge.admit("s")
    events: dict[str, dict[str, Any]] = {
        "Stop": {},
        "UserPromptSubmit": {"prompt": "next", "prompt_id": "p2"},
        "PostToolUse": ASK,
    }
    call = {"tool_use_id": "t"}
    async with bridge.subscribe("s") as facts, asyncio.TaskGroup() as group:
        await client.post(access.url, content=body("PreToolUse", **ASK, **call), headers=auth(access))
        held = group.create_task(
            client.post(access.url, content=body("PermissionRequest", **ASK), headers=auth(access))
        )
        asked = await upcoming(facts, PermissionAsked)
        await client.post(access.url, content=body(event, **{**call, **events[event]}), headers=auth(access))
        over = await upcoming(facts, AskOver)
        assert (over.ask_id, over.answered) == (asked.ask_id, False)
        assert (await held).content == b""
        assert not bridge.answer(asked.ask_id, Allow())


@pytest.mark.parametrize("by", ["a prompt", "the turn's end"])
async def test_a_form_that_nobody_fills_in_any_more_is_cancelled(
    bridge: Bridge, client: httpx.AsyncClient, body: Body, by: str
) -> None:
    """Without an answer the agent would show it on its screen, where it keeps the next message away."""
    access = await bridge.admit("s")
    form = {"mcp_server_name": "shop", "message": "What?", "requested_schema": {"type": "object"}}
    async with bridge.subscribe("s") as facts, asyncio.TaskGroup() as group:
        held = group.create_task(
            client.post(access.url, content=body("Elicitation", **form), headers=auth(access))
        )
        asked = await upcoming(facts, PermissionAsked)
        if by == "a prompt":
            later = body("UserPromptSubmit", prompt="on", prompt_id="another")
            await client.post(access.url, content=later, headers=auth(access))
        else:
            bridge.drop(asked.ask_id)
        told = (await held).json()["hookSpecificOutput"]
        assert (told["hookEventName"], told["action"]) == ("Elicitation", "cancel")


async def test_an_agent_that_hangs_up_wants_no_answer(bridge: Bridge, body: Body) -> None:
    """A dialog that was left at the keyboard closes the request: the ask is over."""
    access = await bridge.admit("s")
    raw = body("PermissionRequest", **ASK)
    async with bridge.subscribe("s") as facts:
        reader, writer = await asyncio.open_connection("127.0.0.1", bridge.port)
        head = f"POST /turnhub/hooks/s HTTP/1.1\r\nHost: 127.0.0.1:{bridge.port}\r\n"
        head += f"Authorization: Bearer {access.token}\r\nContent-Length: {len(raw)}\r\n\r\n"
        writer.write(head.encode() + raw)
        asked = await upcoming(facts, PermissionAsked)
        writer.close()
        over = await upcoming(facts, AskOver)
        assert (over.ask_id, over.sign) == (asked.ask_id, "gone")
        assert bridge.asks("s") == ()
        assert not bridge.held(asked.ask_id)
        assert await reader.read() == b""


async def test_nobody_answers_in_time(tmp_path: Path, client: httpx.AsyncClient, body: Body) -> None:
    """The request is let go; the ask stays open, but only keys answer it."""
    async with Bridge(tmp_path / "hooks", hold_s=0.05) as bridge:
        access = await bridge.admit("s")
        async with bridge.subscribe("s") as facts:
            raw = body("PermissionRequest", **ASK)
            answer = await client.post(access.url, content=raw, headers=auth(access))
            assert answer.content == b""
            asked = await upcoming(facts, PermissionAsked)
            assert (await upcoming(facts, Unheld)).ask_id == asked.ask_id
            assert bridge.asks("s") == (asked,)


async def test_closing_lets_everything_go(tmp_path: Path, client: httpx.AsyncClient, body: Body) -> None:
    """Held requests get no opinion, watchers an end: nobody waits for a hub that is gone."""
    bridge = await Bridge(tmp_path / "hooks").start()
    access = await bridge.admit("s")
    facts = bridge.subscribe("s")
    async with asyncio.TaskGroup() as group:
        held = group.create_task(
            client.post(access.url, content=body("PermissionRequest", **ASK), headers=auth(access))
        )
        await upcoming(facts, PermissionAsked)
        await bridge.close()
    assert held.result().content == b""
    assert [type(fact) async for fact in facts] == [Unheld]
    await bridge.close()


async def test_a_restarted_listener_is_where_it_was_and_knows_the_secrets(
    tmp_path: Path, client: httpx.AsyncClient, body: Body
) -> None:
    """An agent that was started before posts on. Its first words do not tell whether they were queued."""
    async with Bridge(tmp_path / "hooks") as before:
        port, access = before.port, await before.admit("s")
    with pytest.raises(httpx.ConnectError):
        await client.post(access.url, content=body("Stop"), headers=auth(access))
    async with Bridge(tmp_path / "hooks") as after:
        assert after.port == port
        answer = await client.post(access.url, content=body("UserPromptSubmit", prompt="x"), headers=auth(access))
        assert answer.status_code == 200
        async with after.subscribe("s") as facts:
            assert (await upcoming(facts, PromptSubmitted)).queued is None


async def test_a_listener_that_was_killed_leaves_its_port_to_the_next(tmp_path: Path) -> None:
    """kill -9, with a connection open: the next process listens there."""
    code = (
        "import asyncio, sys; from pathlib import Path; from turnhub_tmux.bridge.listener import Bridge\n"
        "async def main():\n"
        "    bridge = await Bridge(Path(sys.argv[1])).start()\n"
        "    print(bridge.port, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(tmp_path / "hooks"), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(30):
            port = int(await process.stdout.readline())
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
    async with Bridge(tmp_path / "hooks") as after:
        assert after.port == port
    writer.close()


async def test_two_runners_on_one_state_have_a_port_each(
    tmp_path: Path, client: httpx.AsyncClient, body: Body
) -> None:
    """And keep their own when they come again; a session's secret is good at both."""
    async with Bridge(tmp_path / "hooks") as first, Bridge(tmp_path / "hooks") as second:
        ports = (first.port, second.port)
        assert len(set(ports)) == 2
        access = await first.admit("s")
        moved = access.url.replace(str(first.port), str(second.port))
        assert (await client.post(moved, content=body("Stop"), headers=auth(access))).status_code == 200
    async with Bridge(tmp_path / "hooks") as first, Bridge(tmp_path / "hooks") as second:
        assert (first.port, second.port) == ports


async def test_a_port_that_somebody_else_took_is_told_and_another_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log line says what it means for running agents."""
    async with Bridge(tmp_path / "hooks") as before:
        port = before.port
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", port))
        squatter.listen()
        with caplog.at_level(logging.WARNING):
            async with Bridge(tmp_path / "hooks") as after:
                assert after.port != port
                kept = after.port
    assert f"port {port} is not free" in caplog.text
    async with Bridge(tmp_path / "hooks") as again:
        assert again.port == kept


async def test_what_is_written_is_for_its_owner_only(bridge: Bridge, tmp_path: Path) -> None:
    """Directories 0700, files 0600; the secret itself stands in the settings file alone."""
    access = await bridge.admit("s")
    settings = write_settings(tmp_path / "hooks" / "session", access)
    for path in (tmp_path / "hooks").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
        assert path == settings or path.is_dir() or access.token not in path.read_text()
    hook = json.loads(settings.read_text())["hooks"]["Stop"][0]["hooks"][0]
    assert hook["url"] == access.url
    assert hook["headers"] == {"Authorization": f"Bearer {access.token}"}


async def test_a_new_secret_and_forgetting_lock_the_old_one_out(
    bridge: Bridge, client: httpx.AsyncClient, body: Body
) -> None:
    """An agent of before cannot post any more."""
    old = await bridge.admit("s")
    new = await bridge.admit("s")
    assert (await client.post(old.url, content=body("Stop"), headers=auth(old))).status_code == 401
    assert (await client.post(new.url, content=body("Stop"), headers=auth(new))).status_code == 200
    facts = bridge.subscribe("s")
    await bridge.forget("s")
    assert (await client.post(new.url, content=body("Stop"), headers=auth(new))).status_code == 401
    async with asyncio.timeout(5):
        assert [type(fact) async for fact in facts] == [SessionSeen, Stopped]
    with pytest.raises(ValueError, match="no name for a session"):
        await bridge.admit("../s")


def test_too_many_facts_leave_a_mark_and_no_ask_is_lost() -> None:
    """A watcher that does not fetch gets the newest, and is told how many are missing."""
    backlog = Backlog(most=3)
    asked = PermissionAsked(ask_id="a", tool="Bash", input={})
    for fact in (asked, *(Stopped(last_message=str(number)) for number in range(6))):
        backlog.put(fact)
    facts = backlog.take()
    assert facts[:2] == [Missed(count=3), asked]
    assert [fact.last_message for fact in facts[2:] if isinstance(fact, Stopped)] == ["3", "4", "5"]
    assert not backlog
