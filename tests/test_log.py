"""Log lines: correlated, for people or machines, and without what was said or what is secret."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from hub import log


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    """Where the lines go; what was set up is taken back afterwards."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = before
    root.setLevel(level)
    structlog.reset_defaults()


def fail(kind: type[Exception], text: str) -> None:
    raise kind(text)


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_json_lines_have_time_level_logger_message_and_fields(out: io.StringIO) -> None:
    """One object a line, also of libraries that log the ordinary way."""
    log.setup("json", "info", out)
    log.logger("hub.x").info("turn taken", attempt=2)
    logging.getLogger("lib").warning("slow by %d", 3)
    first, second = lines(out)
    assert (first["message"], first["level"], first["logger"], first["attempt"]) == (
        "turn taken",
        "info",
        "hub.x",
        2,
    )
    assert first["timestamp"].endswith("Z")
    assert (second["message"], second["level"], second["logger"]) == ("slow by 3", "warning", "lib")


@pytest.mark.anyio
async def test_lines_name_the_session_and_turn_they_belong_to(out: io.StringIO) -> None:
    """Each task has its own, tasks inside inherit, libraries too; outside there is none."""
    log.setup("json", "info", out)

    async def work(number: int) -> None:
        with log.bound(session=f"s{number}", turn=f"t{number}"):
            await asyncio.sleep(0)
            logging.getLogger("lib").info("%d", number)

    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(work(number))
    log.logger("hub").info("end")
    found = lines(out)
    for number in range(3):
        line = next(one for one in found if one["message"] == str(number))
        assert (line["session_id"], line["turn_id"]) == (f"s{number}", f"t{number}")
    assert "session_id" not in found[-1]


def test_what_was_said_is_held_back_above_debug(out: io.StringIO) -> None:
    """Only its length is told; at debug it is told."""
    log.setup("json", "debug", out)
    for level in ("debug", "info", "error"):
        getattr(log.logger("hub"), level)("sent", text="my secret plan", input={"a": "plan"})
    debug, info, error = lines(out)
    assert debug["text"] == "my secret plan"
    for line in (info, error):
        assert line["text"] == "<14 characters>"
        assert "plan" not in line["input"]


@pytest.mark.parametrize(
    "text",
    [
        "GET /?token=SESAME HTTP/1.1",
        "Authorization: Bearer SESAME",
        "redis://user:SESAME@host/0",
        "rediss://:SESAME@host",
        "made th_SESAMESESAMESESAMESESAME now",
        "api_key=SESAME&x=1",
    ],
)
@pytest.mark.parametrize("kind", ["people", "json"])
def test_secrets_are_never_logged(out: io.StringIO, text: str, kind: log.LogFormat) -> None:
    """Not in the message, not in a field, not in a traceback, not from a library."""
    log.setup(kind, "debug", out)
    try:
        fail(ValueError, text)
    except ValueError as error:
        log.logger("hub").exception(text, url=text, error=error)
        logging.getLogger("lib").warning("failed: %s", text, exc_info=True)
    assert "SESAME" not in out.getvalue()
    assert out.getvalue().count("ValueError") >= 2


def test_lines_for_people_cannot_steer_the_terminal(out: io.StringIO) -> None:
    """Control characters are shown, not sent."""
    log.setup("people", "info", out)
    log.logger("hub").info("a\x1b[2Jb\nforged", name="\x9b31m\r")
    assert len(out.getvalue().splitlines()) == 1
    assert "\x1b" not in out.getvalue()
    assert "\x9b" not in out.getvalue()
    assert "\r" not in out.getvalue()
    assert "a\\x1b[2Jb" in out.getvalue()


def test_tracebacks_do_not_show_local_variables(out: io.StringIO) -> None:
    """Local variables hold what people said."""
    for kind in ("people", "json"):
        log.setup(kind, "info", out)
        said = "my secret plan".upper()
        try:
            fail(RuntimeError, "broken")
        except RuntimeError:
            log.logger("hub").exception("failed")
        assert said not in out.getvalue()
        assert "RuntimeError: broken" in out.getvalue()


def test_the_level_is_kept_and_libraries_that_tell_of_every_request_are_quiet(out: io.StringIO) -> None:
    """Below the level nothing is written; a second set-up replaces the first."""
    log.setup("json", "info", io.StringIO())
    log.setup("json", "info", out)
    log.logger("hub").debug("no")
    logging.getLogger("httpx").info("no")
    log.logger("hub").info("yes")
    assert [line["message"] for line in lines(out)] == ["yes"]


def test_lists_stay_lists_for_machines(out: io.StringIO) -> None:
    """With what is secret in them held back."""
    log.setup("json", "info", out)
    log.logger("hub").info("ready", agents=["a", "b"], urls=("redis://me:SESAME@host/0", 5, None))
    (line,) = lines(out)
    assert line["agents"] == ["a", "b"]
    assert line["urls"] == ["redis://me:...@host/0", 5, None]
