"""Lists and single sessions: tables for people, lines for pipes, JSON for machines."""

from __future__ import annotations

import json

from tests.clihub import BASH, COLOUR, FAIL, HANG, CliHub, script


def test_a_new_session_prints_its_id_alone(hub: CliHub) -> None:
    """So that it can be used in another command."""
    result = hub.run("new", "echo", "--title", "Tea")
    session = result.stdout.strip()
    assert session.startswith("ses_")
    assert len(result.stdout.splitlines()) == 1
    assert json.loads(hub.run("new", "echo", "--json").stdout)["agent"] == "echo"
    assert hub.run("new", "nobody").exit_code == 2
    assert "Tea" in hub.run("sessions").stdout


def test_sessions_are_listed_newest_first_with_their_state(hub: CliHub) -> None:
    """Idle, running, or waiting for a person."""
    idle, busy = hub.new(), hub.new()
    hub.start(busy, HANG)
    lines = [line.split("\t") for line in hub.run("sessions").stdout.splitlines()]
    assert [line[0] for line in lines][:2] == [busy, idle]
    assert lines[1][2] == "idle"
    assert lines[0][2] in {"queued", "running"}
    assert [one["id"] for one in json.loads(hub.run("sessions", "--json").stdout)][:2] == [busy, idle]
    assert hub.run("sessions", "--limit", "1").stdout.startswith(busy)
    hub.run("interrupt", busy)


def test_a_session_that_failed_is_listed_as_that(hub: CliHub) -> None:
    """As `turnhub top` and the page have it; once it has gone on, it is idle."""
    session = hub.new()

    def state() -> str:
        rows = (line.split("\t") for line in hub.run("sessions").stdout.splitlines())
        return next(row[2] for row in rows if row[0] == session)

    hub.run("send", session, script(FAIL))
    assert state() == "failed"
    hub.run("send", session, "hello")
    assert state() == "idle"


def test_people_are_told_that_nothing_waits(hub: CliHub) -> None:
    """Not a heading over nothing; a pipe gets nothing."""
    with hub.at_terminal("asks") as terminal:
        assert "SESSION ID" not in terminal.until("Nothing waits for you.")
        assert terminal.end() == 0
    assert hub.run("asks").stdout == hub.run("asks").stderr == ""


def test_agents_are_listed_with_why_they_cannot_run(hub: CliHub) -> None:
    """The reason stands beside the name."""
    lines = {line.split("\t")[0]: line.split("\t") for line in hub.run("agents").stdout.splitlines()}
    assert lines["echo"][3] == "yes"
    assert lines["gone"][3] == "no"
    assert len(lines["gone"][4]) > 10
    assert {one["name"] for one in json.loads(hub.run("agents", "--json").stdout)} == {"echo", "gone"}


def test_a_terminal_gets_a_table_with_headings(hub: CliHub) -> None:
    """People see what a column means."""
    hub.new()
    with hub.at_terminal("sessions") as terminal:
        assert "STATE" in terminal.until("UPDATED AT")
        assert terminal.end() == 0


def test_show_gives_the_conversation_with_its_endings(hub: CliHub) -> None:
    """What was asked, what was said, how each turn ended; what goes on now is on stderr."""
    session = hub.new()
    hub.run("send", session, "hello")
    hub.run("send", session, script({"text": "So far."}, FAIL))
    shown = hub.run("show", session).stdout
    assert "> hello\n" in shown
    assert "Echo: hello\n" in shown
    assert "So far.\n" in shown
    assert "✗ failed (agent_error): It broke." in shown
    hub.start(session, BASH)
    hub.asked(session)
    told = hub.run("show", session)
    assert "… running" in told.stdout
    assert "turnhub answer ask_" in told.stderr
    assert f"turnhub attach {session}" in told.stderr
    assert json.loads(hub.run("show", session, "--json").stdout)["session"]["id"] == session
    hub.run("interrupt", session)


def test_asks_are_listed_over_all_sessions(hub: CliHub) -> None:
    """What each is about, oldest first."""
    first, second = hub.new(), hub.new()
    for session, step in ((first, BASH), (second, {"question": {"questions": [COLOUR]}})):
        hub.start(session, step)
        hub.asked(session)
    lines = [line.split("\t") for line in hub.run("asks").stdout.splitlines()]
    assert [(line[1], line[2], line[3]) for line in lines if line[3] in {first, second}] == [
        ("permission", "Bash ls -la", first),
        ("question", "Which colour?", second),
    ]
    assert len(hub.asks(first)) == len(hub.asks(second)) == 1
    assert "waits for you" in hub.run("sessions").stdout
    for session in (first, second):
        hub.run("interrupt", session)
