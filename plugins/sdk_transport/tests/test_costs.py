"""From which sum a resumed agent goes on counting its costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ResultMessage
from turnhub_sdk.costs import spent_before
from turnhub_sdk.endings import cost_of

SESSION = "5519423e-0780-46ae-b02e-4bad59dd8ba9"


def written(config: Path, *rows: Any) -> Path:
    """A configuration folder with one transcript of these rows (texts as they stand)."""
    folder = config / "projects" / "-some-project"
    folder.mkdir(parents=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (folder / f"{SESSION}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return config


def state(total: float, session: str = SESSION) -> dict[str, Any]:
    """A row as an agent writes it when it leaves."""
    return {"type": "cost-state", "sessionId": session, "totalCostUSD": total, "totalDuration": 2238}


def test_the_last_sum_written_down_counts(tmp_path: Path) -> None:
    """An agent left twice, then another one was killed: the next one counts from the second leaving."""
    rows = [state(0.25), {"type": "user"}, state(0.75), {"type": "user"}, {"type": "assistant"}]
    assert spent_before(written(tmp_path, *rows), SESSION) == 0.75


def test_a_conversation_that_no_agent_has_left_counts_from_nothing(tmp_path: Path) -> None:
    """Without any sum written down an agent counts from nothing."""
    assert spent_before(written(tmp_path, {"type": "user"}), SESSION) == 0.0


def test_words_about_costs_are_no_costs(tmp_path: Path) -> None:
    """Messages that quote such rows, rows of other sessions, broken and unfinished ones are passed over."""
    quoted = {"type": "user", "message": json.dumps(state(7.0)), "about": '"cost-state"'}
    broken = ['{"type":"cost-state","sessionId":', '{"type":"cost-state","sessionId":"x","totalCostUSD":"much"}']
    rows = [state(0.5), quoted, state(9.0, session="another"), *broken]
    assert spent_before(written(tmp_path, *rows), SESSION) == 0.5


def test_a_transcript_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    """No transcript, no sum: not known, instead of nothing."""
    assert spent_before(tmp_path, SESSION) is None


@pytest.mark.parametrize(
    ("total", "before", "cost"),
    [
        (0.5, 0.25, 0.25),
        (0.5, 0.0, 0.5),
        (0.5, 0.5, 0.0),
        (None, 0.25, None),
        (0.5, None, None),
        (0.25, 0.5, None),
    ],
)
def test_a_cost_is_a_difference_or_not_known(
    total: float | None, before: float | None, cost: float | None
) -> None:
    """What is not known is not told, least of all as nothing: no sum now, none before, or one that began anew."""
    result = ResultMessage("success", 1, 1, is_error=False, num_turns=1, session_id=SESSION, total_cost_usd=total)
    assert cost_of(result, before) == cost
