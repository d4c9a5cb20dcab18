"""The stream response by itself: its loop, its bounds, and what it undoes of sse-starlette."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

import pytest
from starlette.types import Message, Scope

from hub.errors import StoreUnavailable
from hub.front.sse import ABORT, EventStream

pytestmark = pytest.mark.anyio

FRAME = b"id: 1\nevent: text\ndata: {}\n\n"


class Frames:
    """A subscription with these reads; what is an error is raised, None is the end, Ellipsis waits."""

    def __init__(self, *reads: Any) -> None:
        self.reads = list(reads)
        self.entered = self.left = 0

    async def __aenter__(self) -> Frames:
        self.entered += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.left += 1

    async def read(self) -> bytes | None:
        found = self.reads.pop(0)
        if found is ...:
            await asyncio.Event().wait()
        if isinstance(found, Exception):
            raise found
        assert found is None or isinstance(found, bytes)
        return found


class Client:
    """A client that takes ``room`` messages (all by default), and leaves when ``gone``."""

    def __init__(self, room: int | None = None) -> None:
        self.sent: list[Message] = []
        self.gone = asyncio.Event()
        self._took = asyncio.Event()
        self._room = room

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self._room is not None and len(self.sent) >= self._room:
            await self.gone.wait()
        self.sent.append(message)
        self._took.set()

    async def until(self, mark: bytes) -> None:
        while mark not in self.body:
            self._took.clear()
            await self._took.wait()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)

    @property
    def ended(self) -> bool:
        return self.sent[-1].get("more_body", False) is False


def scope(method: str = "GET", abort: Callable[[], None] | None = None) -> Scope:
    return {"type": "http", "method": method, "extensions": {ABORT: abort} if abort else {}}


async def test_frames_go_out_as_they_come_and_the_end_is_clean() -> None:
    """One message a read, no byte changed; a comment where one is due."""
    frames, client = Frames(FRAME, b"", FRAME * 3, None), Client()
    await EventStream(frames)(scope(), client.receive, client.send)
    assert [message.get("body") for message in client.sent[1:]] == [
        *(b":\n\n", b"retry: 1000\n" + FRAME, b":\n\n", FRAME * 3, b"")
    ]
    assert client.ended
    assert (frames.entered, frames.left) == (1, 1)


async def test_a_comment_before_the_first_event_carries_no_retry() -> None:
    """It would be a frame without an event."""
    client = Client()
    await EventStream(Frames(b"", FRAME, None))(scope(), client.receive, client.send)
    assert client.body == b":\n\n:\n\nretry: 1000\n" + FRAME


async def test_a_client_that_leaves_ends_the_stream_and_the_watching() -> None:
    """At once, while nothing comes; nothing more is sent."""
    frames, client = Frames(FRAME, ...), Client()
    async with asyncio.TaskGroup() as group:
        stream = group.create_task(EventStream(frames)(scope(), client.receive, client.send))
        await client.until(FRAME)
        client.gone.set()
        await stream
    assert not client.ended
    assert frames.left == 1


async def test_a_client_that_takes_nothing_is_cut_off() -> None:
    """In the middle of the frames, and already at the head; the watching ends with it."""
    for room in (2, 1, 0):
        frames, client = Frames(FRAME, FRAME, ...), Client(room)
        stream = EventStream(frames, stuck_s=0.05)
        await asyncio.wait_for(stream(scope(abort=client.gone.set), client.receive, client.send), 5)
        assert client.gone.is_set()
        assert frames.left == 1


async def test_a_slow_but_moving_client_is_served() -> None:
    """The bound is on one send, not on the stream."""
    client, sent = Client(), []

    async def slowly(message: Message) -> None:
        await asyncio.sleep(0.04)
        sent.append(message)

    await EventStream(Frames(*[FRAME] * 30, None), stuck_s=1)(scope(), client.receive, slowly)
    assert len(sent) == 33


async def test_a_server_that_cannot_cut_off_is_told() -> None:
    """It then closes the connection in its own way."""
    client = Client(room=2)
    with pytest.raises(ConnectionError):
        await EventStream(Frames(FRAME), stuck_s=0.05)(scope(), client.receive, client.send)


async def test_a_store_that_goes_away_ends_the_stream_without_a_word_about_the_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Cleanly: the client resumes by its cursor. The log says why."""
    client = Client()
    with caplog.at_level(logging.WARNING):
        await EventStream(Frames(FRAME, StoreUnavailable("away")))(scope(), client.receive, client.send)
    assert client.ended
    assert "store_unavailable" in caplog.text


async def test_a_fault_is_not_swallowed() -> None:
    """What nobody expected goes up, after the watching has ended."""
    frames, client = Frames(ZeroDivisionError()), Client()
    with pytest.raises(ZeroDivisionError):
        await EventStream(frames)(scope(), client.receive, client.send)
    assert frames.left == 1


async def test_cancelling_the_server_ends_the_stream() -> None:
    """A cancellation from outside is no disconnect: it goes up."""
    frames, client = Frames(...), Client()
    task = asyncio.create_task(EventStream(frames)(scope(), client.receive, client.send))
    await client.until(b":")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert frames.left == 1


async def test_head_sends_the_head_alone() -> None:
    """And still ends the watching."""
    frames, client = Frames(FRAME), Client()
    await EventStream(frames)(scope("HEAD"), client.receive, client.send)
    assert client.body == b""
    assert client.ended
    assert frames.left == 1


async def test_what_follows_the_head_is_done_even_if_the_head_cannot_be_sent() -> None:
    """A turn that has begun gets its runner, whatever becomes of the client."""
    done = 0

    async def then() -> None:
        nonlocal done
        done += 1

    async def broken(_: Message) -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await EventStream(Frames(None), then=then)(scope(), Client().receive, broken)
    client = Client()
    client.gone.set()
    await EventStream(Frames(None), then=then)(scope(), client.receive, client.send)
    assert done == 2


@pytest.mark.parametrize("first", ["hub.front.sse", "sse_starlette"])
def test_uvicorn_keeps_its_own_way_to_stop(first: str) -> None:
    """Importing sse-starlette, before or through the front, leaves nothing behind in uvicorn."""
    code = (
        "from uvicorn.server import Server; own = Server.handle_exit\n"
        f"import {first}\nimport hub.front.sse\n"
        "assert Server.handle_exit is own, Server.handle_exit"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_streams_leave_nothing_in_the_process() -> None:
    """No task of sse-starlette's polls on, and its exit flag is never looked at."""
    from sse_starlette.sse import AppStatus

    AppStatus.should_exit = True
    try:
        client = Client()
        await EventStream(Frames(FRAME, None))(scope(), client.receive, client.send)
    finally:
        AppStatus.should_exit = False
    assert FRAME in client.body
    assert len(asyncio.all_tasks()) <= 2  # this test's own, and its runner's
