"""Log lines, for people or as JSON, on stderr; correlated by session and turn.

What is said to and by agents is never logged above debug, and secrets are never logged at all: both are held
back here, whatever a caller passes.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, Final, Literal, TextIO

import structlog

LogFormat = Literal["people", "json"]
Level = Literal["debug", "info", "warning", "error"]
Fields = MutableMapping[str, Any]
Processor = structlog.typing.Processor

WORDS: Final = frozenset(
    {"text", "message_text", "prompt", "input", "answers", "answer", "response", "rationale", "subject", "body"}
)
_SECRETS: Final = (
    (re.compile(r"(?i)((?:token|password|secret|api[_-]?key)=)[^&\s\"']+"), r"\1..."),
    (re.compile(r"(?i)(bearer\s+)[^\s\"']+"), r"\1..."),
    (re.compile(r"(\w+://[^/\s:@]*:)[^@\s/]+@"), r"\1...@"),
    (re.compile(r"\bth_[A-Za-z0-9_-]{20,}"), "th_..."),
)
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# These tell of every request, with its address, or of their own start; what matters of them the hub logs itself.
_CHATTY: Final = ("httpx", "httpcore", "uvicorn.access", "uvicorn.error", "sse_starlette")


def setup(log_format: LogFormat = "people", level: Level = "info", stream: TextIO | None = None) -> None:
    """Send all log lines of this process to ``stream`` (stderr), those of libraries too. Call it once, first
    thing in the process; a second call replaces the first."""
    out = sys.stderr if stream is None else stream
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        hold_back_words,
        hold_back_secrets,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderers(log_format, out)],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger; what it is called with beside the event are fields: ``log.info("turn taken", attempt=2)``."""
    found: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return found


@contextmanager
def bound(*, session: str | None = None, turn: str | None = None, **more: str) -> Iterator[None]:
    """Put the session, the turn and ``more`` in every log line inside, of this task and those it starts."""
    fields = {"session_id": session, "turn_id": turn, **more}
    with structlog.contextvars.bound_contextvars(**{key: one for key, one in fields.items() if one is not None}):
        yield


def hold_back_words(_log: Any, method: str, fields: Fields) -> Fields:
    """Replace what was said by its length, in every line above debug."""
    if fields.get("level", method) != "debug":
        for key in WORDS & fields.keys():
            value = fields[key]
            fields[key] = f"<{len(value)} characters>" if isinstance(value, str) else "<held back>"
    return fields


def hold_back_secrets(_log: Any, _method: str, fields: Fields) -> Fields:
    """Blacken tokens and passwords in every text, also in addresses and tracebacks."""
    for key, value in fields.items():
        if not key.startswith("_") or isinstance(value, str):
            fields[key] = _held_back(value)
    return fields


def _held_back(value: Any) -> Any:
    """``value`` with its texts blackened; a list stays one, for machines."""
    if isinstance(value, int | float | None):
        return value
    if isinstance(value, list | tuple):
        return [_held_back(one) for one in value]
    return _blackened(str(value))


def _blackened(text: str) -> str:
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def _visible(_log: Any, _method: str, fields: Fields) -> Fields:
    """Show control characters as escapes: a log line must not steer the terminal that shows it."""
    for key, value in fields.items():
        if isinstance(value, str):
            if key != "exception":  # the one text that has lines; any other could forge one
                value = value.replace("\n", "\\n")  # noqa: PLW2901
            fields[key] = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", value)
    return fields


def _renderers(log_format: LogFormat, out: TextIO) -> list[Processor]:
    if log_format == "json":
        return [
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
    # Plain tracebacks: the rich ones show local variables, and those hold what people said.
    plain = structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback)
    return [_visible, plain]
