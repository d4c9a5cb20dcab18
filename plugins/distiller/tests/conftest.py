"""Turns as the hub gives them to a plugin, and models that answer as a test wants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any

import pytest
import structlog

from hub import AnyEvent, Digest, FinishedTurn, Message, Text, ToolFinished, ToolStarted, TurnCompleted
from hub.testing import make_session

ANSWER: dict[str, Any] = {
    "title": "Dates without a zone",
    "summary": "The person asked for a fix of the date parser; it was fixed and tested.",
    "files_changed": ["src/dates.py"],
    "failures": [{"what": "pytest", "why": "a date without a zone raised"}],
    "key_findings": ["A date without a zone is taken as UTC."],
}


def tool(number: int, name: str, output: str = "ok", status: str = "ok", **given: Any) -> list[AnyEvent]:
    """A tool call and its end."""
    digest = Digest(text=output, bytes=len(output), sha256="")
    finished = ToolFinished(tool_id=f"t{number}", status=status, digest=digest)  # type: ignore[arg-type]
    return [ToolStarted(tool_id=f"t{number}", name=name, input=given), finished]


def turn(
    *events: AnyEvent | Iterable[AnyEvent],
    text: str = "Fix the date parser.",
    sensitive: bool = False,
    ending: Any = None,
    cwd: str = "/repo",
) -> FinishedTurn:
    """A finished turn in which these events came."""
    ended = ending or TurnCompleted(stop_reason="end_turn", duration_ms=1)
    flat: list[AnyEvent] = []
    for one in events:
        flat += [one] if not isinstance(one, Iterable) else one
    return FinishedTurn(
        session=make_session(cwd=cwd),
        turn_id="trn_1",
        events=(*flat, ended),
        ending=ended,
        message=Message(id="msg_1", text=text),
        sensitive=sensitive,
    )


@pytest.fixture
def anyio_backend() -> str:
    """The hub runs on asyncio."""
    return "asyncio"


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """What is logged, and nowhere else."""
    with structlog.testing.capture_logs() as entries:
        yield entries


@pytest.fixture
def worked() -> FinishedTurn:
    """A turn that did some work."""
    return turn(
        tool(1, "Read", file_path="/repo/src/dates.py"),
        tool(2, "Bash", "FAILED test_dates.py\nValueError: no zone\n1 failed", "error", command="pytest -q"),
        tool(3, "Edit", file_path="/repo/src/dates.py", old_string="a", new_string="b"),
        tool(4, "Bash", "12 passed", command="pytest -q"),
        Text(
            block=0, text="The parser is fixed. The cause was a date without a zone.\n\n- Such dates are UTC now."
        ),
    )


def answered(**changes: Any) -> str:
    """An answer as a model has to give it, with changes."""
    return json.dumps({**ANSWER, **changes})
