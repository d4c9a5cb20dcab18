"""The same hub on every kind of store: fakeredis, Valkey of the wheel, Debian's Redis, a cluster of three."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hub.asks import settle
from hub.config import RunnerConfig
from hub.events import AskOpened, By, TextDelta, TurnCompleted, TurnFailed, TurnInterrupted
from hub.testing import stores
from hub.testing.hub import hub_config, running_hub

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=["fakeredis", "valkey", "redis", "cluster"])
def url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Each kind of store in turn; None is fakeredis."""
    if request.param == "fakeredis":
        yield None
        return
    binary = stores.valkey_binary() if request.param == "valkey" else stores.redis_binary()
    if binary is None:
        pytest.skip(f"{request.param} is not installed here")
    if request.param == "cluster":
        with stores.cluster(binary) as address:
            yield address
    else:
        with stores.server(binary) as process:
            yield process.url


async def test_a_hub_works_on_it(url: str | None) -> None:
    """Turns in many sessions, an answer and an interruption from another process, a killed runner, and a
    stopped one."""
    hang = [{"text": "a b", "deltas": 2}, {"hang": True}]
    async with running_hub(hub_config(runner=RunnerConfig(lease_s=1.5)), url=url) as hub, hub.other() as other:
        sessions = [await hub.session() for _ in range(6)]
        for session in sessions:
            assert isinstance(await hub.run_turn(session), TurnCompleted)
        asking = await hub.send(sessions[0], [{"tool": "Bash", "input": {"command": "ls"}, "ask": True}])
        opened = await hub.until(asking, AskOpened)
        (record,) = await other.overview.open_asks()
        assert record.id == opened.ask.id
        await other.store.settle_ask(
            record, settle(record.ask, {"decision": "allow"}, By(kind="person", name="a"))
        )
        assert isinstance(await hub.ending(asking), TurnCompleted)
        hanging = await hub.send(sessions[1], hang)
        await hub.until(hanging, TextDelta)
        await other.store.cancel(sessions[1], "ann")
        assert isinstance(await hub.ending(hanging), TurnInterrupted)
        lost = await hub.send(sessions[2], hang)
        await hub.until(lost, TextDelta)
        await hub.runners[0].kill()
        hub.add_runner()
        ending = await hub.ending(lost)
        assert isinstance(ending, TurnFailed)
        assert ending.code == "owner_lost"
        stopped = await hub.send(sessions[3], hang)
        await hub.until(stopped, TextDelta)
        await hub.runners[1].stop()
        ending = await hub.ending(stopped)
        assert isinstance(ending, TurnFailed)
        assert ending.code == "cancelled_by_shutdown"
        page = await other.overview.sessions()
        assert {one.record.id for one in page.sessions} == set(sessions)
        assert all(one.turn is None for one in page.sessions)
