"""What a conversation had cost before an agent took it up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

_MARK: Final = b'"cost-state"'


class _CostState(Struct, frozen=True, tag_field="type", tag="cost-state"):
    """A row of a transcript: the sum of the whole session, written down when an agent leaves it in good order."""

    sessionId: str
    totalCostUSD: float


def spent_before(config: Path, session: str) -> float | None:
    """The sum, in US dollars, from which an agent that resumes ``session`` goes on counting; None: not known.

    It is the last one that an agent wrote into the transcript as it left (measured with Claude Code 2.1.332).
    What one that was killed had spent since is in no sum: its turn told no cost, and no later one is charged
    with it. ``config``: the agent's configuration folder.
    """
    transcript = next((config / "projects").glob(f"*/{session}.jsonl"), None)
    if transcript is None:
        return None
    try:
        *_, last = 0.0, *_sums(transcript, session)
    except OSError:
        return None
    return last


def _sums(transcript: Path, session: str) -> Iterator[float]:
    with transcript.open("rb") as rows:
        for row in rows:
            if _MARK not in row:
                continue
            try:
                state = msgspec.json.decode(row, type=_CostState)
            except msgspec.MsgspecError:
                continue  # somebody else's words about such a row, or one that was not finished
            if state.sessionId == session:
                yield state.totalCostUSD
