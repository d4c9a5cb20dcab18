"""Which deltas may go: those whose block's durable text stands, or that a retry made void; and no others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.config import RunnerConfig
from hub.events import (
    AnyEvent,
    Gap,
    Reasoning,
    ReasoningDelta,
    Status,
    Text,
    TextDelta,
    ToolStarted,
    TurnCompleted,
    decode_frames,
)
from hub.fold import fold
from hub.runner.superseded import Superseded
from hub.testing.hub import hub_config
from hub.transport import TurnContext
from hub.turn import Completed
from tests.runner.acting import Acting
from tests.runner.conftest import Hubs

blocks = st.integers(0, 2)
events = st.lists(
    st.one_of(
        st.builds(lambda block: TextDelta(block=block, text="a"), blocks),
        st.builds(lambda block: ReasoningDelta(block=block, text="a"), blocks),
        st.builds(lambda block: Text(block=block, text="a"), blocks),
        st.builds(lambda block: Reasoning(block=block, text="a"), blocks),
        st.just(Status(state="retrying")),
        st.just(Status(state="thinking")),
        st.just(ToolStarted(tool_id="t", name="n")),
    ),
    max_size=30,
)


@given(events, st.integers(0, 10))
def test_a_delta_may_go_once_its_text_stands(some: list[AnyEvent], most: int) -> None:
    """Exactly the deltas before their block's durable text (or a retry) may go, when there are too many."""
    superseded = Superseded()
    for seq, event in enumerate(some, 1):
        superseded.wrote(event, seq)
    expected = []
    for place, event in enumerate(some):
        if isinstance(event, TextDelta | ReasoningDelta):
            whole = Text if isinstance(event, TextDelta) else Reasoning
            later = some[place + 1 :]
            if any(
                (isinstance(one, whole) and one.block == event.block)
                or (isinstance(one, Status) and one.state == "retrying")
                for one in later
            ):
                expected.append(place + 1)
    assert superseded.live == len(some)
    assert superseded.droppable(most) == (expected if len(some) > most else [])
    superseded.dropped()
    assert superseded.live == len(some) - len(expected)
    assert superseded.droppable(0) == []


@pytest.mark.anyio
async def test_a_very_long_turn_stays_bounded_and_folds_to_the_same(hubs: Hubs) -> None:
    """Far more deltas than the live stream may hold: its length stays near the bound; who attaches late, and
    who comes back with an old cursor and is told of the gap, folds to what was watched undisturbed."""
    go = asyncio.Event()
    most = 200

    async def act(turn: TurnContext) -> Any:
        for block in range(60):
            for number in range(40):
                await turn.emit(TextDelta(block=block, text=f"{block}.{number} "))
            await turn.emit(Text(block=block, text="".join(f"{block}.{number} " for number in range(40))))
        await turn.remember(written="all")
        await turn.emit(TextDelta(block=60, text="the end"))
        await go.wait()
        await turn.emit(Text(block=60, text="the end"))
        return Completed()

    config = hub_config(runner=RunnerConfig(live_limit=most))
    async with hubs(config, transports=[Acting(act)]) as hub:
        session = await hub.session()
        begun = await hub.send(session)
        undisturbed = asyncio.create_task(hub.events(begun))
        await hub.until(begun, lambda event: isinstance(event, TextDelta) and event.block == 60)
        live = await hub.store.live_page(session, begun.turn_id, 0, 100_000)
        assert len(live) < most + 256 + 60
        async with hub.other() as other:
            late, back = [await other.feed.turn(session, turn_id=begun.turn_id, after=after) for after in (0, 100)]
            go.set()
            whole = await undisturbed
            assert isinstance(whole[-1], TurnCompleted)
            assert len(whole) > 2400

            seen = []
            for sub in (late, back):
                assert sub is not None
                frames = b""
                async with sub:
                    while (more := await sub.read()) is not None:
                        frames += more
                seen.append(list(decode_frames(frames)))
        assert fold(seen[0]) == fold(whole)
        assert isinstance(seen[1][0], Gap)
        before = [event for event in whole if event.seq <= 100]
        assert fold([*before, *seen[1][1:]]) == fold(whole)
