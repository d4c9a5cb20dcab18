"""The recorded logs that the fold is held to in both languages.

``python -m tests.web.recording`` records them anew: logs written by hand, one for each rule, and logs that the
strategies of the Python tests have drawn."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any, Final

from hypothesis.errors import NonInteractiveExampleWarning

from hub import events as ev
from hub.fold import fold
from hub.items import Items, encode_items
from tests import strategies

FOLDER: Final = Path(__file__).parent.parent / "fixtures" / "fold"
Json = dict[str, Any]
_DRAWN: Final = 40
_EXACT: Final = 1 << 53  # beyond it numbers are not the same in all languages, which is JSON's own matter


def lines(log: list[Json]) -> list[ev.AnyEvent | ev.Unknown]:
    """The events of a recorded log."""
    return [ev.decode(json.dumps(event)) for event in log]


def shown(items: Items) -> list[Json]:
    """Items as the hub sends them."""
    return list(json.loads(encode_items(items)))


def durable(log: list[Json]) -> list[Json]:
    """What the session's log holds of them."""
    return [event for event in log if ev.is_durable(event["type"])]


def as_written(event: Json) -> Json:
    """The event with every field that the hub writes."""
    known = ev.decode(json.dumps(event))
    return event if isinstance(known, ev.Unknown) else dict(json.loads(ev.encode(known)))


def recorded(name: str, log: list[Json]) -> Json:
    """A log with what it folds to: watched live, and read back."""
    log = [as_written(event) for event in log]
    return {
        "name": name,
        "events": log,
        "live": shown(fold(lines(log))),
        "replayed": shown(fold(lines(durable(log)))),
    }


def _plain(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int() | float():
            return value if abs(value) < _EXACT else str(value)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


def _drawn() -> list[Json]:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonInteractiveExampleWarning)
        for number in range(_DRAWN):
            log = strategies.session_logs().example()
            found.append(recorded(f"drawn {number}", [_plain(json.loads(ev.encode(one))) for one in log]))
    random.shuffle(found)
    return found


def _numbered(*events: Json) -> list[Json]:
    usual = {"session_id": "ses_x", "turn_id": "t1"}
    return [{**usual, "seq": n, "at": f"2026-01-01T00:00:{n:02}.000Z", **one} for n, one in enumerate(events, 1)]


_HEAD: Final[list[Json]] = [
    {"type": "session_created", "agent": "a", "transport": "sdk", "policy": None},
    {"type": "user_message", "message_id": "m1", "text": "hello", "origin": "api"},
    {"type": "turn_started", "attempt": 1, "message_id": "m1"},
]
_DONE: Final = {"type": "turn_completed", "stop_reason": "end_turn", "duration_ms": 7, "cost_usd": 0.5, "tools": 1}
_ASK: Final = {"id": "a1", "kind": "permission", "tool": "Bash", "subject": "ls", "input": {"command": "ls"}}
_BY: Final = {"kind": "person", "name": "ada"}


def _text(kind: str, block: int, text: str, **more: Any) -> Json:
    return {"type": kind, "block": block, "text": text, **more}


def _tool(tool_id: str, name: str = "Bash") -> Json:
    return {"type": "tool_started", "tool_id": tool_id, "name": name, "input": {"command": "ls"}}


WRITTEN: Final[dict[str, list[Json]]] = {
    "streaming blocks stand behind durable ones": [
        *(*_HEAD, _text("text_delta", 2, "b"), _text("reasoning_delta", 1, "a"), _tool("x")),
        *(_text("reasoning", 1, "A"), _text("text_delta", 2, "c")),
    ],
    "retrying discards what was streamed": [
        *(*_HEAD, _text("text", 1, "kept"), _text("text_delta", 2, "lost")),
        {"type": "status", "state": "retrying", "detail": "429"},
    ],
    "an activity ends with anything else": [
        *(*_HEAD, {"type": "status", "state": "thinking"}, {"type": "message_delivered", "verdict": "submitted"}),
    ],
    "a tool keeps its place when it is told again": [
        *(*_HEAD, _tool("x"), _tool("y", "Read"), _text("text", 1, "between")),
        {"type": "tool_finished", "tool_id": "y", "status": "error", "duration_ms": 3},
        *(
            {"type": "turn_started", "attempt": 2},
            _tool("x", "Glob"),
            {"type": "tool_finished", "tool_id": "no", "status": "ok"},
        ),
    ],
    "an ask from opening to its turn's end": [
        *(*_HEAD, {"type": "ask_opened", "ask": _ASK}, {"type": "ask_opened", "ask": {**_ASK, "tool": "Other"}}),
        {"type": "ask_opened", "ask": {**_ASK, "id": "a2"}},
        {"type": "ask_settled", "ask_id": "a1", "by": _BY, "decision": "allow", "input": {"command": "ls -l"}},
        {"type": "ask_settled", "ask_id": "a1", "by": _BY, "decision": "deny"},
        *({"type": "ask_delivered", "ask_id": "a1", "input": {"command": "ls -l"}}, _DONE),
    ],
    "a withdrawn ask stays withdrawn": [
        *(*_HEAD, {"type": "ask_opened", "ask": _ASK}),
        {"type": "ask_withdrawn", "ask_id": "a1", "reason": "agent moved on"},
        {"type": "ask_settled", "ask_id": "a1", "by": _BY, "decision": "allow"},
    ],
    "nothing counts after the end": [
        *(*_HEAD, _text("text_delta", 1, "open"), _tool("x"), _DONE, _text("text", 1, "late"), _tool("z")),
        {"type": "turn_failed", "code": "owner_lost", "message": "x", "retryable": True, "duration_ms": 1},
        {"type": "turn_distilled", "distillate": {"summary": "s"}, "route": "extractive", "model": None},
        {"type": "distill_failed", "code": "timeout", "message": "Too late."},
    ],
    "a retry answers an earlier message, and its verdict goes there": [
        *_HEAD,
        {"type": "turn_failed", "code": "agent_error", "message": "no", "retryable": True, "duration_ms": 1},
        {"type": "turn_started", "attempt": 2, "message_id": "m1", "turn_id": "t2"},
        {"type": "message_delivered", "verdict": "submitted", "proof": "sdk", "turn_id": "t2"},
    ],
    "a verdict finds the message that it names": [
        *_HEAD,
        {"type": "message_delivered", "verdict": "submitted", "proof": "hook"},
        {"type": "user_message", "message_id": "m2", "text": "and this", "origin": "api"},
        {"type": "message_delivered", "verdict": "queued", "proof": "pane", "message_id": "m2"},
    ],
    "what a later version writes is passed over": [
        *(*_HEAD, {"type": "telepathy", "mood": {}}, {"type": "gap", "after": 3, "before": 9, "seq": 99}),
        *(
            _text("text", 1, "on"),
            {"type": "grant_revoked", "grant_id": "g", "tool": "Bash", "subject": None, "by": _BY},
        ),
    ],
    "events that were seen before change nothing": [
        *(*_HEAD, _text("text_delta", 1, "once"), _text("text_delta", 1, "twice", seq=4)),
    ],
    "a turn whose beginning was never seen": [_text("text_delta", 1, "late", turn_id="t9", at="")],
    "a turn that showed nothing, started without naming its message": [
        _HEAD[1],
        {"type": "turn_started", "attempt": 1},
        {
            "type": "turn_failed",
            "code": "empty_response",
            "message": "Nothing.",
            "retryable": True,
            "duration_ms": 3,
        },
    ],
    "a message that waited, one that was taken back": [
        *(*_HEAD, {"type": "message_queued", "message_id": "m2", "text": "later"}),
        *({"type": "message_queued", "message_id": "m3", "text": "never"}, _DONE),
        {"type": "message_unqueued", "message_id": "m3", "text": "never"},
        {"type": "user_message", "message_id": "m2", "text": "later", "origin": "queue", "turn_id": "t2"},
        {"type": "turn_interrupted", "by": "ada", "duration_ms": 4, "turn_id": "t2"},
    ],
}


def record() -> None:
    """Write both files."""
    written = [recorded(name, _numbered(*log)) for name, log in WRITTEN.items()]
    for name, found in (("written", written), ("drawn", _drawn())):
        logs = ",\n".join(json.dumps(one, separators=(",", ":")) for one in found)
        (FOLDER / f"{name}.json").write_text(f"[\n{logs}\n]\n")


if __name__ == "__main__":
    record()
