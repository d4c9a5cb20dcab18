"""The one stream of a page: hints of the whole hub, and every event of the session that it shows."""

from __future__ import annotations

import asyncio

import pytest

from hub.events import decode_frames
from hub.front.joined import Joined
from hub.ids import session_id
from tests.front.door import Door, problem, watching

pytestmark = pytest.mark.anyio


async def test_one_stream_has_the_hubs_hints_and_the_sessions_every_event(door: Door) -> None:
    """Transient events too, over several turns; of other sessions only hints."""
    mine, other = await door.session(), await door.session()
    path = f"/v1/events?session={mine}&after=1"
    async with watching(door.client, path) as stream:
        claim = await door.running(mine)
        await door.say(claim, 1, "Hel", "lo")
        await door.desk.finish(claim)
        await stream.until(b"event: turn_completed")
        await door.running(other)
        await door.running(mine, "again")
        await stream.until(b'"text":"again"')
        await stream.until(b'"session_id":"' + other.encode() + b'"')
    events = [event for event in decode_frames(_numbered(stream.seen)) if event.seq]
    assert [event.seq for event in events] == list(range(2, 2 + len(events)))
    assert {event.session_id for event in events} == {mine}
    assert b"event: text_delta" in stream.seen
    for hint in (b"event: turn\n", b'"state":"completed"', other.encode()):
        assert hint in stream.seen


def _numbered(frames: bytes) -> bytes:
    """The frames that have a number: those of the session."""
    parts = frames.removeprefix(b":\n\n").replace(b"retry: 1000\n", b"").split(b"\n\n")
    return b"".join(part + b"\n\n" for part in parts if part.startswith(b"id: "))


async def test_the_cursor_is_the_sessions_own(door: Door) -> None:
    """By address, and by the header with which an EventSource comes back: what was seen is not sent again."""
    sid = await door.session()
    claim = await door.running(sid)
    await door.say(claim, 1, *"abc")
    path = f"/v1/events?session={sid}"
    async with watching(door.client, f"{path}&after=4") as stream:
        assert b"\nid: 5\n" in await stream.until(b'"text":"abc"')
        assert b"id: 4\n" not in stream.seen
    async with watching(door.client, f"{path}&after=1", headers={"Last-Event-ID": "5"}) as stream:
        await stream.until(b'"text":"abc"')
        assert b"id: 5\n" not in stream.seen


async def test_a_session_that_is_not_there_and_a_cursor_that_is_none_are_refused(door: Door) -> None:
    """Before the stream begins, with the status that says so."""
    sid = await door.session()
    await problem(await door.client.get(f"/v1/events?session={session_id()}"), 404, "not_found")
    await problem(await door.client.get("/v1/events?session=nonsense"), 404, "not_found")
    await problem(await door.client.get(f"/v1/events?session={sid}&after=99"), 400, "bad_cursor")
    assert door.services.feed.watched == 0


async def test_a_deleted_session_ends_the_stream(door: Door) -> None:
    """Cleanly: whoever comes back is told that it is not there."""
    sid = await door.session()
    async with watching(door.client, f"/v1/events?session={sid}&after=0") as stream:
        await stream.until(b"session_created")
        assert (await door.client.delete(f"/v1/sessions/{sid}")).status_code == 204
        await stream.rest()


class _Part:
    """A subscription that gives what it was told to give, then waits."""

    def __init__(self, *frames: bytes | None) -> None:
        self.frames = list(frames)
        self.closed = False
        self.waits = asyncio.Event()

    async def __aenter__(self) -> _Part:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.closed = True

    async def read(self) -> bytes | None:
        if self.frames:
            return self.frames.pop(0)
        self.waits.set()
        await asyncio.Event().wait()
        return None


async def test_nothing_is_lost_when_one_part_speaks_while_another_waits() -> None:
    """Each part's frames come in their order; the last ones before an end come before the end."""
    quiet, talking = _Part(), _Part(b"1", b"2", b"3", None)
    async with Joined((quiet, talking)) as joined:
        seen = [await joined.read() for _ in range(4)]
    assert seen == [b"1", b"2", b"3", None]
    assert quiet.closed
    assert talking.closed


async def test_a_comment_that_is_due_is_passed_on() -> None:
    """An empty reading of one part keeps the connection alive for all."""
    async with Joined((_Part(b""), _Part())) as joined:
        assert await joined.read() == b""


async def test_what_a_part_raises_reaches_the_reader() -> None:
    """And everything is closed."""

    class Broken(_Part):
        async def read(self) -> bytes | None:
            raise ValueError("broken")

    waiting = _Part()
    with pytest.raises(ValueError, match="broken"):
        async with Joined((waiting, Broken())) as joined:
            await joined.read()
    assert waiting.closed
