"""The trickiest messages of the delivery matrix, sent to the real agent. ``make matrix`` sends them all."""

from __future__ import annotations

import shutil

import pytest
from turnhub_tmux.testing import bundled_claude

from .agent import run
from .messages import TRICKIEST
from .table import Column

MISSING = [what for what, there in (("tmux", shutil.which("tmux")), ("claude", bundled_claude())) if not there]

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


@pytest.mark.parametrize(
    "column",
    [Column(40, True), pytest.param(Column(80, False), marks=pytest.mark.full)],
    ids=lambda column: column.title,
)
async def test_the_trickiest_messages_arrive_word_for_word_or_are_refused(column: Column) -> None:
    """Judged by what the model was told and what the transcript holds: nothing runs, no file is pulled in, and
    each success is one."""
    outcomes = await run(column, lambda case: case.title in TRICKIEST)
    assert len(outcomes) == len(TRICKIEST)
    assert [f"{one.case.title}: {one.kind}: {one.why}" for one in outcomes if not one.expected] == []
