"""The Python client: what it asks, how it resumes, what it raises. Against a hub that keeps the contract."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import ByteReceiveStream, ByteSendStream, SocketAttribute, SocketStream

from hub.client import Address, Client, ClientError, HubNotReachable, Patience, ProblemError, TurnStream
from hub.events import AskOpened, Text, TextDelta, TurnCompleted, TurnFailed, TurnInterrupted, Unknown, type_of
from tests.fakehub import FakeHub, running

pytestmark = pytest.mark.anyio
QUICK = Patience(total_s=5, first_s=0)


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    """A hub with the agent `echo`."""
    with running(FakeHub()) as hub:
        yield hub


@pytest.fixture
async def client(hub: FakeHub) -> AsyncIterator[Client]:
    """A client that does not pause before it tries again."""
    async with Client(Address(url=hub.url, token=hub.token), patience=QUICK) as client:
        yield client


async def new(client: Client) -> str:
    return str((await client.new_session("echo"))["id"])


def script(*steps: Any) -> str:
    return json.dumps({"steps": steps})


async def kinds(stream: TurnStream) -> list[str]:
    async with stream:
        return [type_of(one.event) async for one in stream]


async def test_sessions_agents_and_health_are_read(client: Client) -> None:
    """What the command line lists."""
    session = await client.new_session("echo", title="Tea")
    assert [one["id"] for one in await client.sessions()] == [session["id"]]
    assert [(one["name"], one["available"]) for one in await client.agents()] == [("echo", True), ("gone", False)]
    assert (await client.health())["version"]
    assert (await client.session(session["id"]))["session"]["title"] == "Tea"


async def test_a_message_streams_its_turn_to_the_terminal_event(client: Client) -> None:
    """Every event comes once, in order, and the stream ends by itself."""
    async with client.send(await new(client), "hello") as stream:
        got = [one async for one in stream]
    assert type_of(got[0].event) == "user_message"
    assert isinstance(got[-1].event, TurnCompleted)
    assert "".join(one.event.text for one in got if isinstance(one.event, TextDelta)) == "Echo: hello"
    seqs = [one.event.seq for one in got]
    assert seqs == sorted(set(seqs))
    assert json.loads(got[0].line)["text"] == "hello"


@pytest.mark.parametrize("cut", range(12))
async def test_a_cut_stream_is_resumed_without_a_gap_or_a_repetition(
    client: Client, hub: FakeHub, cut: int
) -> None:
    """Wherever it is cut (also before the first event), the events are those of an undisturbed stream."""
    session = await new(client)
    whole = await kinds(client.send(session, "hello"))
    hub.cuts[:] = [cut, 1, 0]
    async with client.send(session, "hello") as stream:
        got = [one async for one in stream]
    durable = [kind for kind in whole if kind not in {"text_delta", "status"}]
    assert [type_of(one.event) for one in got if type_of(one.event) not in {"text_delta", "status"}] == durable
    assert len({one.event.seq for one in got}) == len(got)
    texts = [one.event.text for one in got if isinstance(one.event, Text)]
    assert texts == ["Echo: hello"]
    assert sum(event["type"] == "user_message" for event in hub.sessions[session].events) == 2


async def test_a_turn_that_ended_while_nobody_listened_is_told_to_its_end(client: Client, hub: FakeHub) -> None:
    """The stream breaks, the turn ends, another one begins: the first one's end is told, nothing of the other."""
    session = await new(client)
    hub.cuts[:] = [5]  # user_message, turn_started, message_delivered, status, tool_started
    ask = {"tool": "Bash", "input": {"command": "ls"}, "ask": True, "result": "x"}
    async with client.send(session, script(ask, {"text": "done"})) as stream:
        got = [await anext(aiter(stream)) for _ in range(5)]
        async with client.events(session) as log:
            async for one in log:
                if isinstance(one.event, AskOpened):
                    await client.answer(one.event.ask.id, {"decision": "allow"})
                if isinstance(one.event, TurnCompleted):
                    break
        async with client.send(session, script({"hang": True})) as other:
            await anext(aiter(other))
            got += [one async for one in stream]
            await client.interrupt(session)
    assert isinstance(got[-1].event, TurnCompleted)
    assert {getattr(one.event, "turn_id", None) for one in got} == {stream.turn_id}
    assert [one.event.text for one in got if isinstance(one.event, Text)] == ["done"]


async def test_a_hub_that_is_away_for_a_moment_is_waited_for(client: Client, hub: FakeHub) -> None:
    """A 503 in the middle is no end."""
    session = await new(client)
    hub.cuts[:] = [3]
    async with client.send(session, "hello") as stream:
        first = await anext(aiter(stream))
        hub.broken[:] = [1, 1, 0]
        rest = [one async for one in stream]
    assert first.event.seq < rest[0].event.seq
    assert isinstance(rest[-1].event, TurnCompleted)


@asynccontextmanager
async def serving(handle: Callable[[SocketStream], Awaitable[None]]) -> AsyncIterator[str]:
    """The address of something that handles connections."""
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, handle)
        yield f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
        group.cancel_scope.cancel()


@asynccontextmanager
async def faulty_line(hub: FakeHub, *, cut_after: int, refused: int) -> AsyncIterator[str]:
    """A line to ``hub`` that breaks after so many bytes of answers, and drops the next connections at once."""
    left, to_refuse = cut_after, 0
    port = int(hub.url.rpartition(":")[2])

    async def pump(source: ByteReceiveStream, target: ByteSendStream) -> None:
        async for data in source:
            await target.send(data)

    async def handle(near: SocketStream) -> None:
        nonlocal left, to_refuse
        async with near:
            if to_refuse > 0:
                to_refuse -= 1
                return
            async with await anyio.connect_tcp("127.0.0.1", port) as far, anyio.create_task_group() as both:
                both.start_soon(pump, near, far)
                async for data in far:
                    if 0 <= left < len(data):
                        await near.send(data[:left])
                        left, to_refuse = -1, refused
                        break
                    left -= len(data) if left >= 0 else 0
                    await near.send(data)
                both.cancel_scope.cancel()

    async with serving(handle) as url:
        yield url


@pytest.mark.parametrize("cut", [0, 10, 300, 420, 700, 900])
async def test_a_line_that_breaks_anywhere_and_stays_down_for_a_while_is_survived(hub: FakeHub, cut: int) -> None:
    """In the head, in the middle of a frame: the message is sent once, every event is told once, and the person
    is told once that the line is down."""
    told: list[str] = []
    async with Client(Address(url=hub.url, token=hub.token)) as direct:
        session = await new(direct)
    async with faulty_line(hub, cut_after=cut, refused=4) as url:
        patience = Patience(total_s=20, first_s=0, lost=told.append)
        async with (
            Client(Address(url=url, token=hub.token), patience=patience) as client,
            client.send(session, "hello") as stream,
        ):
            got = [one async for one in stream]
    assert isinstance(got[-1].event, TurnCompleted)
    assert [one.event.text for one in got if isinstance(one.event, Text)] == ["Echo: hello"]
    assert len({one.event.seq for one in got}) == len(got)
    assert sum(event["type"] == "user_message" for event in hub.sessions[session].events) == 1
    assert len(told) == 1


async def test_a_hub_that_stays_away_is_reported_and_the_turn_is_not_called_failed(hub: FakeHub) -> None:
    """After its patience the client says that nobody answers, and nothing about the turn."""
    told: list[str] = []
    patience = Patience(total_s=0, first_s=0, lost=told.append)
    async with Client(Address(url=hub.url, token=hub.token), patience=patience) as client:
        session = await new(client)
        hub.cuts[:] = [2] * 100
        with pytest.raises(HubNotReachable, match="goes on without us"):
            await kinds(client.send(session, script({"hang": True})))


async def test_a_busy_session_names_the_winner(client: Client) -> None:
    """The problem document's code and facts are there."""
    session = await new(client)
    async with client.send(session, script({"hang": True})) as stream:
        await anext(aiter(stream))
        with pytest.raises(ProblemError) as caught:
            await kinds(client.send(session, "again"))
        assert (caught.value.status, caught.value.code) == (409, "turn_in_flight")
        assert caught.value.facts["turn_id"] == stream.turn_id
        await client.interrupt(session)
        assert isinstance([one async for one in stream][-1].event, TurnInterrupted)


async def test_attach_joins_the_running_turn_and_says_when_there_is_none(client: Client) -> None:
    """From its first event, to its end; without a turn there are no events."""
    session = await new(client)
    async with client.attach(session) as stream:
        assert stream.accepted == {}
        assert [one async for one in stream] == []
    async with client.send(session, script({"hang": True})) as sent, client.attach(session) as attached:
        await client.interrupt(session)
        assert [one.line async for one in sent] == [one.line async for one in attached]


async def test_a_queued_message_is_accepted_without_a_stream(client: Client) -> None:
    """`accepted` is the hub's answer, and a queued message can be taken back."""
    session = await new(client)
    async with client.send(session, script({"hang": True})) as stream:
        async with client.send(session, "later", on_busy="queue") as queued:
            assert [one async for one in queued] == []
        assert queued.accepted is not None
        await client.unqueue(session, queued.accepted["message_id"])
        assert (await client.session(session))["queue"] == []
        await client.interrupt(session)
        assert len([one async for one in stream]) > 2


async def test_asks_are_listed_and_answered(client: Client) -> None:
    """Over all sessions; a second answer is told who was faster."""
    session = await new(client)
    async with client.send(session, script({"tool": "Bash", "input": {"command": "ls"}, "ask": True})) as stream:
        async for one in stream:
            if isinstance(one.event, AskOpened):
                ask = one.event.ask.id
                assert [record["id"] for record in await client.asks()] == [ask]
                assert (await client.answer(ask, {"decision": "allow"}))["state"] != "open"
                with pytest.raises(ProblemError, match="faster"):
                    await client.answer(ask, {"decision": "deny"})
    assert (await client.ask(ask))["settlement"]["decision"] == "allow"
    assert await client.asks() == []


async def test_a_failed_turn_is_retried_and_followed(client: Client) -> None:
    """The failure is an event; the retry is a turn of its own that can be followed to its end."""
    session = await new(client)
    fail = {"fail": {"code": "agent_error", "message": "Broken.", "retryable": True}}
    async with client.send(session, script(fail)) as stream:
        assert isinstance([one async for one in stream][-1].event, TurnFailed)
    cursor = (await client.session(session))["cursor"]
    async with client.retry(session) as again:
        got = [one async for one in again]
    assert type_of(got[0].event) == "turn_started"
    assert isinstance(got[-1].event, TurnFailed)
    async with client.attach(session, cursor, again.turn_id) as late:
        assert [type_of(one.event) async for one in late][-1] == "turn_failed"


async def test_refusals_are_problem_errors_also_without_a_document(client: Client, hub: FakeHub) -> None:
    """A wrong token, an unknown session, a path that no hub has."""
    async with Client(Address(url=hub.url, token="wrong")) as other:
        with pytest.raises(ProblemError, match="wants a token") as caught:
            await other.sessions()
        assert caught.value.status == 401
    with pytest.raises(ProblemError, match=r"no session .x% \?#"):
        await client.session("x% ?#")
    async with Client(Address(url=f"{hub.url}/nowhere")) as other:
        with pytest.raises(ProblemError) as caught:
            await other.agents()
    assert (caught.value.status, caught.value.code) == (404, "http_404")


async def test_no_hub_is_not_reachable_at_once() -> None:
    """Neither a request nor a stream waits for a hub that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    async with Client(Address(url=url)) as client:
        with pytest.raises(HubNotReachable):
            await client.sessions()
        with pytest.raises(HubNotReachable):
            await kinds(client.send("ses", "x"))


async def test_a_message_that_is_queued_over_a_broken_line_is_known_to_be_queued(hub: FakeHub) -> None:
    """The answer was lost: it is asked for again before anything is claimed."""
    async with Client(Address(url=hub.url, token=hub.token)) as direct:
        session = await new(direct)
        async with direct.send(session, script({"hang": True})) as running:
            await anext(aiter(running))
            async with (
                faulty_line(hub, cut_after=0, refused=2) as url,
                Client(Address(url=url, token=hub.token), patience=QUICK) as client,
                client.send(session, "later", on_busy="queue") as stream,
            ):
                assert stream.accepted is not None
            await direct.interrupt(session)


@asynccontextmanager
async def answering(body: bytes, kind: str) -> AsyncIterator[Client]:
    """A client of something that answers every request with ``body``."""

    async def handle(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
            await stream.send(head.encode() + body)

    async with serving(handle) as url, Client(Address(url=url), patience=QUICK) as client:
        yield client


async def test_something_else_that_answers_is_no_hub() -> None:
    """A web page or bytes in place of events are a clear error, no traceback of a decoder."""
    async with answering(b"<html>", "text/html") as client:
        with pytest.raises(ClientError, match="is no hub"):
            await client.sessions()
        with pytest.raises(ClientError, match="is no hub"):
            await kinds(client.send("ses", "x"))
    async with answering(b"data: {}\n\n", "text/event-stream") as client:
        with pytest.raises(ClientError, match="no event"):
            await kinds(client.send("ses", "x"))


async def test_a_session_is_followed_over_its_turns_and_lost_connections(hub: FakeHub, client: Client) -> None:
    """Every event comes once, transient ones too, and no hint; each time the hub is away, that and its return are
    told once."""
    session = await new(client)
    told: list[str] = []
    patience = Patience(
        total_s=5, first_s=0, lost=lambda why: told.append("lost"), back=lambda: told.append("back")
    )
    hub.cuts += [3, 0, 1, 5]
    async with client.follow(session, 0, patience) as stream:
        for text in ("one", "two"):
            assert (await client.post(session, text, key=text))["turn"]["id"]
            written = ""
            async for one in stream:
                written += one.event.text if isinstance(one.event, TextDelta) else ""
                if isinstance(one.event, TurnCompleted):
                    break
            assert written == f"Echo: {text}"
    assert told == ["lost", "back"] * 4


async def test_hints_say_that_something_has_changed(hub: FakeHub, client: Client) -> None:
    """Without end, over lost connections."""
    hub.cuts += [1, 1]
    names: list[str] = []
    async with client.hints() as stream:
        async for one in stream:
            assert isinstance(one.event, Unknown)
            names.append(one.event.name)
            if len(names) == 3:
                break
    assert names == ["hub", "hub", "hub"]
