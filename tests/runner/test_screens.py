"""Looking at an agent's terminal from elsewhere: a runner looks, and says what it sees or why it sees nothing."""

from __future__ import annotations

import pytest

from hub.errors import AgentUnavailable
from hub.store.work import Looked
from hub.testing.hub import TestHub
from hub.transport import Capability, Screen, SessionInfo
from tests.runner.acting import Acting, forever
from tests.runner.conftest import Hubs

pytestmark = pytest.mark.anyio
SHOWING: frozenset[Capability] = frozenset({"screen"})
SEEN = Screen(rows=("❯ hello",), columns=80, seen="ready", attach="tmux attach")


async def look(hub: TestHub, within_s: float = 10.0) -> Looked | None:
    """What a runner says of the terminal of a new session."""
    record = await hub.store.session(await hub.session())
    return await hub.work.look(record, f"look-{record.id}", within_s=within_s)


async def test_a_look_shows_what_the_transport_sees_between_turns_too(hubs: Hubs) -> None:
    """No turn has to run for it."""

    async def showing(session: SessionInfo) -> Screen:
        return SEEN

    async with hubs(transports=[Acting(showing=showing, capabilities=SHOWING)]) as hub:
        assert await look(hub) == Looked(screen=SEEN)


async def fails(session: SessionInfo) -> Screen:
    """A fault of the transport."""
    raise RuntimeError("the lens is broken")


async def leaves(session: SessionInfo) -> Screen:
    """It would end the process."""
    raise SystemExit(3)


async def gone(session: SessionInfo) -> Screen:
    """Nothing there."""
    raise AgentUnavailable("There is no pane.")


@pytest.mark.parametrize(
    ("showing", "why"), [(fails, "the lens is broken"), (leaves, "process"), (gone, "no pane")]
)
async def test_why_nothing_is_seen_is_told(hubs: Hubs, showing: object, why: str) -> None:
    """Whatever the transport does: it is told, and the runner goes on to run turns."""
    async with hubs(transports=[Acting(showing=showing, capabilities=SHOWING)]) as hub:  # type: ignore[arg-type]
        looked = await look(hub)
        assert looked is not None
        assert why in looked.why
        await hub.run_turn(await hub.session())


async def test_a_transport_without_terminals_is_not_asked(hubs: Hubs) -> None:
    """It says by its capabilities that there is nothing to see."""
    async with hubs(transports=[Acting()]) as hub:
        looked = await look(hub)
        assert looked is not None
        assert "no terminal" in looked.why


async def test_a_look_that_takes_for_ever_is_given_up_and_holds_nobody_up(
    hubs: Hubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told that the terminal did not show itself, and turns begin meanwhile."""
    monkeypatch.setattr("hub.runner.screens._LOOK_S", 0.2)

    async def showing(session: SessionInfo) -> Screen:
        await forever()
        return SEEN

    async with hubs(transports=[Acting(showing=showing, capabilities=SHOWING)]) as hub:
        looked = await look(hub)
        assert looked is not None
        assert "did not show itself" in looked.why
        await hub.run_turn(await hub.session())


async def test_without_a_runner_nobody_answers(hubs: Hubs) -> None:
    """The look ends by itself."""
    async with hubs(transports=[Acting(capabilities=SHOWING)]) as hub:
        record = await hub.store.session(await hub.session())
        elsewhere = type(record)(
            **{**{f: getattr(record, f) for f in record.__struct_fields__}, "agent": "absent"}
        )
        assert await hub.work.look(elsewhere, "look-nobody", within_s=0.3) is None
