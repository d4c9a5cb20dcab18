"""That the agent tries its model again is told once for each attempt, by what its screen says."""

from __future__ import annotations

import pytest
from turnhub_tmux.retrying import Retries
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Screen

from hub import Status

RULE = "─" * 60
PANE = f"""❯ hello

{{row}}

                                            ◐ medium · /effort
{RULE}
❯{" "}
{RULE}
  ⏸ manual mode on · {{footer}}
"""


@pytest.fixture
def shows(claude: Manifest) -> object:
    """The screen with this row above its composer."""

    def of(row: str, footer: str = "esc to interrupt") -> Screen:
        return read(PANE.format(row=row, footer=footer), claude)

    return of


def test_each_attempt_is_told_once_however_it_counts_down(shows: object, claude: Manifest) -> None:
    """The seconds that go by are no news; the next attempt is, and so is the first one of another row of them."""
    assert callable(shows)
    retries = Retries()
    seen = [
        "✻ API error · retrying in 2s · attempt 1/3",
        "✽ API error · retrying in 1s · attempt 1/3",
        "✻ API error · retrying… · attempt 1/3",
        "✢ 401 invalid x-api-key · retrying in 9s · attempt 2/3",
        "· Gusting… (1s · ↓ 5 tokens)",
        "✻ API error · retrying in 2s · attempt 1/3",
    ]
    told = [retries.look(shows(row), claude) for row in seen]
    first = Status(state="retrying", detail="API error · retrying · attempt 1/3")
    second = Status(state="retrying", detail="401 invalid x-api-key · retrying · attempt 2/3")
    assert told == [first, None, None, second, None, first]


@pytest.mark.parametrize(
    "row", ["● I am retrying it now", "  ⎿  API error · retrying in 2s · attempt 1/3", "❯ hi"]
)
def test_nothing_else_is_taken_for_it(shows: object, claude: Manifest, row: str) -> None:
    """What the agent says, what a tool printed, and an agent at rest."""
    assert callable(shows)
    assert Retries().look(shows(row), claude) is None
    assert Retries().look(shows("✻ API error · retrying in 2s · attempt 1/3", "? for shortcuts"), claude) is None
