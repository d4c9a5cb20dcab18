"""Pure: what all sessions of a hub are at, as ``turnhub top`` shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

from msgspec import Struct

from hub.cli.clean import one_line

State = Literal["waiting for you", "running", "failed", "idle"]
_ORDER: Final[Mapping[str, int]] = {"waiting for you": 0, "running": 1, "failed": 2, "idle": 3}
COLUMNS: Final = ("session", "state", "agent", "age", "asks", "queued", "title")


class Row(Struct, frozen=True, kw_only=True):
    """A session: its state, since when its turn runs (RFC 3339, None where none runs), how many asks wait for an
    answer and how many messages for the turn's end."""

    session: str
    state: State
    agent: str
    turn_started_at: str | None
    asks: int
    queued: int
    title: str | None


class Runner(Struct, frozen=True, kw_only=True):
    """A runner that was heard of lately: where, with which agents."""

    id: str
    host: str
    agents: tuple[str, ...]


class Everything(Struct, frozen=True, kw_only=True):
    """A hub at one instant."""

    sessions: tuple[Row, ...]
    runners: tuple[Runner, ...]


def everything(sessions: Iterable[Mapping[str, Any]], runners: Iterable[Mapping[str, Any]]) -> Everything:
    """What the hub lists, those first that want somebody; archived sessions are left out."""
    rows = [_row(one) for one in sessions if not one.get("archived")]
    rows.sort(key=lambda row: _ORDER[row.state])
    found = [
        Runner(id=one["id"], host=one["host"], agents=tuple(one["agents"]))
        for one in sorted(runners, key=lambda one: str(one["id"]))
    ]
    return Everything(sessions=tuple(rows), runners=tuple(found))


def _row(session: Mapping[str, Any]) -> Row:
    turn = session.get("turn")
    return Row(
        session=session["id"],
        state=_state(session),
        agent=session["agent"],
        turn_started_at=turn["started_at"] if turn else None,
        asks=session.get("open_asks") or 0,
        queued=session.get("queued") or 0,
        title=session.get("title"),
    )


def _state(session: Mapping[str, Any]) -> State:
    if session.get("open_asks"):
        return "waiting for you"
    if session.get("turn"):
        return "running"
    return "failed" if session.get("ended") == "failed" else "idle"


def cells(row: Row, now_s: float) -> Sequence[str]:
    """A row in the order of :data:`COLUMNS`, harmless; ``now_s``: Unix seconds."""
    return (
        one_line(row.session),
        row.state,
        one_line(row.agent, 40),
        "-" if row.turn_started_at is None else age(row.turn_started_at, now_s) or "?",
        str(row.asks or "-"),
        str(row.queued or "-"),
        one_line(row.title or "-", 60),
    )


def counts(shown: Everything) -> str:
    """How many sessions are in which state, in one line."""
    states = [row.state for row in shown.sessions]
    parts = [f"{states.count(state)} {state}" for state in _ORDER if state in states]
    return ", ".join(parts) or "no sessions"


def runner_line(runner: Runner) -> str:
    """A runner in one harmless line."""
    return one_line(f"{runner.id} on {runner.host}: {', '.join(runner.agents) or 'no agents'}")


def age(since: str, now_s: float) -> str:
    """How long ago ``since`` (RFC 3339) was; "" where it is no time. ``now_s``: Unix seconds."""
    try:
        seconds = max(0, int(now_s - datetime.fromisoformat(since).timestamp()))
    except ValueError:
        return ""
    minutes, hours = seconds // 60, seconds // 3600
    if minutes == 0:
        return f"{seconds} s"
    return f"{minutes} min {seconds % 60} s" if hours == 0 else f"{hours} h {minutes % 60} min"
