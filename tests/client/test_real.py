"""The client against a real hub: killed and started again, read slowly, asked with a wrong token, and about a
session that is deleted meanwhile. Asynchronous programs and others get the same."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from hub.client import (
    Address,
    Client,
    HubNotReachable,
    Patience,
    ProblemError,
    Received,
    SyncClient,
    here,
)
from hub.events import AskOpened, Text, TurnCompleted, TurnFailed, type_of
from hub.testing.process import HubProcess, hub_process

CONFIG = '[plugins]\nenabled = []\n[agents.echo]\ntransport = "scripted"\n'
BASH = {"tool": "Bash", "input": {"command": "ls"}, "ask": True, "result": "x"}


@pytest.fixture(scope="module")
def process() -> Iterator[HubProcess]:
    """One hub for all, on a port that it has again when it is started again."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with hub_process(CONFIG, "--port", str(port)) as running:
        yield running


@pytest.fixture
def hub(process: HubProcess) -> Iterator[SyncClient]:
    """A client that is not asynchronous."""
    with SyncClient(Address(url=process.url, token=process.token)) as client:
        yield client


def script(*steps: Any) -> str:
    return json.dumps({"steps": steps})


def checked(got: list[Received]) -> list[Received]:
    """The events, once it is seen that each came once and in order."""
    numbers = [one.event.seq for one in got]
    assert numbers == sorted(set(numbers))
    return got


def test_sessions_turns_and_asks(hub: SyncClient, process: HubProcess) -> None:
    """Opened, talked in, asked and answered in the middle of the stream, listed, deleted."""
    session = hub.new_session("echo", title="Tea")["id"]
    with hub.send(session, script(BASH, {"text": "Over."})) as turn:
        got = []
        for received in turn:
            got.append(received)
            if isinstance(received.event, AskOpened):
                assert received.event.ask.id in {one["id"] for one in hub.asks()}
                hub.answer(received.event.ask.id, {"decision": "allow"})
    assert isinstance(checked(got)[-1].event, TurnCompleted)
    assert turn.cursor == got[-1].event.seq
    with hub.attach(session) as nothing:
        assert (nothing.accepted, list(nothing)) == ({}, [])
    assert session in {one["id"] for one in hub.sessions()}
    hub.delete_session(session)
    with pytest.raises(ProblemError, match="There is no session"):
        hub.session(session)


def test_here_is_the_hub_of_the_command_line(
    process: HubProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """By the environment, or by the state directory of the configuration in this folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnhub.toml").write_text(f'[store]\nstate = "{process.state}"\n')
    for name in ("TURNHUB_URL", "TURNHUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert here() == Address(url=process.url, token=process.token)
    monkeypatch.setenv("TURNHUB_URL", "http://127.0.0.1:1/")
    monkeypatch.setenv("TURNHUB_TOKEN", "th_other")
    assert here() == Address(url="http://127.0.0.1:1", token="th_other")


def test_who_reads_slowly_misses_nothing(hub: SyncClient, process: HubProcess) -> None:
    """The turn writes far more than any buffer takes, and is over before its reader takes more than the first
    event."""
    session = hub.new_session("echo")["id"]
    words = "word " * 200_000
    with hub.send(session, script({"text": words, "deltas": 400}, {"text": "The end."})) as turn:
        events = iter(turn)
        got = [next(events)]
        with SyncClient(hub.client.address) as other, other.attach(session) as fast:
            list(fast)  # to its end
        got += events
    assert isinstance(checked(got)[-1].event, TurnCompleted)
    assert [one.event.text for one in got if isinstance(one.event, Text)] == [words, "The end."]


def test_a_wrong_token_is_refused_at_once(hub: SyncClient, process: HubProcess) -> None:
    """A request and a stream alike; and nothing is tried again."""
    with SyncClient(Address(url=process.url, token="th_wrong")) as stranger:
        with pytest.raises(ProblemError) as refused:
            stranger.sessions()
        assert (refused.value.status, refused.value.code) == (401, "unauthorized")
        session = hub.new_session("echo")["id"]
        with pytest.raises(ProblemError), stranger.send(session, "hello") as turn:
            list(turn)
    assert [item for item in hub.session(session)["items"] if item["kind"] == "user"] == []


@pytest.mark.parametrize("kind", ["attach", "events"])
def test_a_session_that_is_deleted_ends_its_streams(hub: SyncClient, kind: str) -> None:
    """What came is there; then it is said that there is no such session, and not tried for ever."""
    session = hub.new_session("echo")["id"]
    with hub.send(session, script({"text": "Begun."}, {"hang": True})) as turn:
        assert any(isinstance(one.event, Text) for one in turn)
        with getattr(hub, kind)(session) as stream:
            events = iter(stream)
            got = [next(events)]
            with SyncClient(hub.client.address) as other:
                other.delete_session(session, force=True)
            with pytest.raises(ProblemError) as gone:
                got += events
    assert gone.value.code == "not_found"
    checked(got)


@pytest.mark.anyio
async def test_a_hub_that_is_killed_and_started_again(process: HubProcess) -> None:
    """Told once each: that it is away, and that it is back. Every event comes once, and what became of the turn is
    the last."""
    told: list[str] = []
    patience = Patience(first_s=0.01, lost=lambda _: told.append("lost"), back=lambda: told.append("back"))
    address = Address(url=process.url, token=process.token)
    async with Client(address, patience=patience) as client:
        session = (await client.new_session("echo"))["id"]
        async with client.send(session, script({"text": "Begun."}, {"hang": True})) as turn:
            got = []
            async for received in turn:
                got.append(received)
                if isinstance(received.event, Text):
                    process.kill()
                    process.start()
        checked(got)
        ending = got[-1].event
        assert isinstance(ending, TurnFailed)
        assert ending.code == "owner_lost"
        assert told[0] == "lost"
        assert told.count("lost") <= 2  # it may hear the new hub before that has the turn's end
        async with client.send(session, "hello") as again:
            assert type_of([one async for one in again][-1].event) == "turn_completed"


def test_a_hub_that_stays_away_is_said_to(tmp_path: Any) -> None:
    """In a sentence, when the patience is at its end."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    away = Address(url=f"http://127.0.0.1:{port}", token="th_x")
    with SyncClient(away, patience=Patience(total_s=0)) as client:
        with pytest.raises(HubNotReachable):
            client.sessions()
        with pytest.raises(HubNotReachable), client.attach("ses_x") as stream:
            list(stream)
