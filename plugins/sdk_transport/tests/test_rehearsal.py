"""The rehearsal: the real Claude Code, no account, a script that shows a person around."""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from turnhub_sdk import SdkTransport

from hub import Completed, Failed, SessionInfo
from hub.testing import FakeTurn, allow, answer, deny, make_session

pytestmark = [pytest.mark.anyio, pytest.mark.real]


@pytest.fixture
async def transport() -> AsyncIterator[SdkTransport]:
    """The transport, closed in the end."""
    transport = SdkTransport()
    yield transport
    await transport.close()


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionInfo:
    """A session of a rehearsal, on a machine whose own account must not be touched."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-persons-own")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    cwd = tmp_path / "cwd"
    cwd.mkdir()
    return make_session("sdk", cwd=cwd, state_dir=tmp_path / "state", rehearsal=True)


def _names(folder: str) -> list[str]:
    return [path.name for path in Path(folder).iterdir()]


async def test_a_newcomer_is_shown_around(transport: SdkTransport, session: SessionInfo) -> None:
    """Every word of the tour does what it says, and the person's folder stays empty."""
    connection = await transport.open(session)
    turn = FakeTurn("hello", session=session)
    await turn.play(connection, within=90.0)
    assert "`permission`" in turn.text

    turn = turn.next("permission", replies=[allow()])
    await turn.play(connection)
    assert "it printed" in turn.text
    assert turn.asks[0].delivered

    turn = turn.next("permission", replies=[deny("Better not.")])
    await turn.play(connection)
    assert "Better not." in turn.text

    turn = turn.next("question", replies=[answer({"Which drink goes with a rehearsal?": "Cocoa"})])
    await turn.play(connection)
    assert "Cocoa" in turn.text

    turn = turn.next("fail")
    await turn.play(connection)
    assert isinstance(turn.judged, Failed)
    assert turn.judged.code == "agent_error"
    assert "part of the rehearsal" in (turn.judged.message or "")

    turn = turn.next("fail", attempt=2)
    await turn.play(connection)
    assert isinstance(turn.judged, Completed)
    assert "This time it worked" in turn.text
    await connection.close()
    assert _names(session.cwd) == []


async def test_its_home_is_private_and_its_own(transport: SdkTransport, session: SessionInfo) -> None:
    """What the rehearsal keeps lies in the agent's state folder, closed to others."""
    connection = await transport.open(session)
    await FakeTurn("hello", session=session).play(connection, within=90.0)
    await connection.close()
    home = Path(session.agent.state_dir) / "rehearsal"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / ".claude").stat().st_mode) == 0o700
    assert list((home / ".claude" / "projects").iterdir())


async def test_one_model_serves_all_rehearsals_and_ends_with_the_transport(session: SessionInfo) -> None:
    """Two sessions share the model; a transport that was closed can be used again, with another one."""
    transport = SdkTransport()
    for _ in range(2):
        one, two = await transport.open(session), await transport.open(session)
        turn = FakeTurn("hello", session=session)
        await turn.play(one, within=90.0)
        assert "`permission`" in turn.text
        await one.close()
        await two.close()
        await transport.close()


async def test_it_works_without_a_state_folder(transport: SdkTransport, session: SessionInfo) -> None:
    """Where nothing is to be kept a temporary folder is enough."""
    bare = make_session("sdk", cwd=session.cwd, rehearsal=True)
    connection = await transport.open(bare)
    turn = FakeTurn("hello", session=bare)
    await turn.play(connection, within=90.0)
    assert turn.text
    await connection.close()
