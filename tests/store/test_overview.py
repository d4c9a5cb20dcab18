"""Things over all sessions: every list is whole, in order, and bears what changes while it is read."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from hub.errors import BadCursor, StoreUnavailable
from hub.events import TurnFailed
from hub.store import keys
from hub.store.connect import AnyRedis, Connections
from hub.store.overview import Overview, SessionSummary
from hub.store.store import Store
from hub.testing import stores
from tests.gates import GatedLines
from tests.store.desk import ALLOW, Desk

pytestmark = pytest.mark.anyio

SOME_SESSION = "ses_00000000000000000000000000"


@pytest.fixture
async def empty(client: AnyRedis) -> AnyRedis:
    """Each kind of store in turn, with no session in it."""
    for kind in ("sessions", "pending", "leases"):
        for key in keys.bucket_keys(kind):
            await client.execute_command("DEL", key)
    return client


@pytest.fixture
async def overview(empty: AnyRedis) -> Overview:
    """An overview of each kind of store in turn."""
    return Overview(Store(empty))


async def test_sessions_are_listed_by_last_change_in_pages(overview: Overview, desk: Desk) -> None:
    """Newest change first, every session once over all pages of any size, with turn, open asks and what waits."""
    made = [await desk.session() for _ in range(7)]
    taken = await desk.taken(made[2])
    await desk.opened(taken.claim)
    await desk.opened(taken.claim)
    await desk.store.enqueue(made[2], "later", literal=True)
    await asyncio.sleep(0.002)
    await desk.store.patch_session(made[4], {"title": "changed last"})
    for size in (1, 2, 3, 7, 50):
        seen: list[SessionSummary] = []
        before: str | None = None
        while True:
            page = await overview.sessions(size, before)
            seen += page.sessions
            before = page.next
            if before is None:
                break
        assert sorted(one.record.id for one in seen) == sorted(made)
        assert seen[0].record.id == made[4]
        times = [one.record.updated_at for one in seen]
        assert times == sorted(times, reverse=True)
        (busy,) = [one for one in seen if one.turn is not None]
        assert (busy.record.id, busy.open_asks, busy.queued) == (made[2], 2, 1)
        assert {one.queued for one in seen if one is not busy} == {0}


async def test_a_session_is_listed_with_how_its_last_turn_ended(overview: Overview, desk: Desk) -> None:
    """Nothing before the first end; then the last end, also while the next turn runs."""
    taken = await desk.taken()
    session_id = taken.claim.session_id

    async def ended() -> str | None:
        return next(one.ended for one in (await overview.sessions()).sessions if one.record.id == session_id)

    assert await ended() is None
    failed = TurnFailed(code="agent_error", message="no", retryable=True, duration_ms=1)
    await desk.finish(taken.claim, failed)
    assert await ended() == "failed"
    again = await desk.taken(session_id)
    assert await ended() == "failed"
    await desk.finish(again.claim)
    assert await ended() == "completed"


async def test_sessions_of_one_instant_are_paged_without_loss(
    overview: Overview, desk: Desk, empty: AnyRedis
) -> None:
    """Many sessions with the very same time of change, in one bucket and in several: each on one page."""
    made = [await desk.session() for _ in range(30)]
    for session in made:
        key = keys.bucket_key("sessions", keys.bucket(session))
        await empty.execute_command("ZADD", key, "1700000000000", session)
    seen: list[str] = []
    before: str | None = None
    for _ in itertools.count():
        page = await overview.sessions(4, before)
        seen += [one.record.id for one in page.sessions]
        before = page.next
        if before is None:
            break
    assert sorted(seen) == sorted(made)


async def test_a_page_can_begin_behind_a_session(overview: Overview, desk: Desk) -> None:
    """``before`` may be a session's id."""
    made = []
    for _ in range(3):
        made.append(await desk.session())
        await asyncio.sleep(0.002)
    page = await overview.sessions(10, made[2])
    assert [one.record.id for one in page.sessions] == [made[1], made[0]]


@pytest.mark.parametrize(
    "before",
    [
        "x",
        "",
        "1.x",
        "²." + SOME_SESSION,
        "-1." + SOME_SESSION,
        "9" * 400 + "." + SOME_SESSION,
        "1e3." + SOME_SESSION,
        SOME_SESSION,
        "\ud800",
        "1.5." + SOME_SESSION,
    ],
)
async def test_a_cursor_that_is_none_is_refused(redis_desk: Desk, before: str) -> None:
    """BadCursor, whatever it holds; the empty one is the beginning."""
    overview = Overview(redis_desk.store)
    if not before:
        assert (await overview.sessions(1, before)).next is None
        return
    with pytest.raises(BadCursor):
        await overview.sessions(10, before)


async def test_open_asks_are_listed_over_all_sessions_oldest_first(overview: Overview, desk: Desk) -> None:
    """In the order in which they were opened; those settled or of deleted sessions are not there."""
    claims = [(await desk.taken()).claim for _ in range(3)]
    opened = []
    for claim in claims * 2:
        opened.append(await desk.opened(claim))
        await asyncio.sleep(0.002)
    assert [ask.id for ask in await overview.open_asks()] == opened
    await desk.store.settle_ask(await desk.store.ask(opened[1]), ALLOW)
    await desk.store.delete_session(claims[2].session_id, force=True)
    assert [ask.id for ask in await overview.open_asks()] == [opened[0], opened[3], opened[4]]


async def test_many_open_asks_are_all_listed(redis_desk: Desk) -> None:
    """More than are read at once."""
    claim = (await redis_desk.taken()).claim
    opened = {await redis_desk.opened(claim) for _ in range(130)}
    assert {ask.id for ask in await Overview(redis_desk.store).open_asks()} == opened


async def test_overdue_turns_are_found_with_how_late_they_are(overview: Overview, desk: Desk) -> None:
    """By the store's clock; those with a valid lease are not among them."""
    late, fine = await desk.taken(), await desk.taken()
    await desk.store.append(late.claim, 0, [], -5_000)
    (found,) = await overview.overdue()
    assert found.session_id == late.claim.session_id
    assert 5_000 <= found.late_ms < 15_000
    assert fine.claim.session_id != late.claim.session_id


@pytest.mark.parametrize("kind", ["redis", "valkey", "cluster"])
async def test_the_store_says_who_it_is(request: pytest.FixtureRequest, kind: str) -> None:
    """Version, one round trip, and the policy that may drop keys."""
    fixture = request.getfixturevalue("cluster_url" if kind == "cluster" else f"{kind}_server")
    connections = Connections(fixture if kind == "cluster" else fixture.url)
    health = await Overview(Store(connections.commands)).ping()
    await connections.close()
    assert health.latency_ms > 0
    assert health.version[0].isdigit()
    assert health.maxmemory_policy == "noeviction"


async def test_a_store_that_is_away_is_one_clear_error(redis_server: stores.ServerProcess) -> None:
    """Never a group of errors, and never a connection that is not there: StoreUnavailable from every call."""
    gated = GatedLines(Connections(redis_server.url))
    store = Store(gated.commands)
    desk = Desk(store)
    claim = (await desk.taken()).claim
    for _ in range(3):
        await desk.opened(claim)
    overview = Overview(store)
    assert await overview.open_asks()
    gated.gate.set("away")
    for call in (overview.open_asks(), overview.ping(), overview.clock_ms(), overview.overdue()):
        with pytest.raises(StoreUnavailable):
            await call
    await gated.close()


async def test_forty_lists_at_once_all_come(redis_server: stores.ServerProcess) -> None:
    """More readers than there are connections wait for one; none is told that the store is away."""
    connections = Connections(redis_server.url, max_connections=4)
    desk = Desk(Store(connections.commands))
    await desk.session()
    overview = Overview(desk.store)
    pages = await asyncio.gather(*(overview.sessions() for _ in range(40)))
    assert all(page.sessions for page in pages)
    await connections.close()
