"""send, attach, retry, interrupt: words on stdout, talk on stderr, and exit codes that scripts can rely on."""

from __future__ import annotations

import json
import socket

from tests.clihub import BASH, FAIL, HANG, CliHub, script


def test_send_streams_the_words_to_stdout_and_the_rest_to_stderr(hub: CliHub) -> None:
    """A script can take the answer as it is."""
    result = hub.run("send", hub.new(), "hello there")
    assert result.exit_code == 0
    assert result.stdout == "Echo: hello there\n"
    assert "✓ done" in result.stderr


def test_blocks_and_tools_are_kept_apart(hub: CliHub) -> None:
    """Each block begins its own line; a tool is a line on stderr with what it is about and how it ended."""
    tool = {**BASH, "ask": False}
    result = hub.run("send", hub.new(), script({"text": "First."}, tool, {"text": "Second."}))
    assert result.stdout == "First.\nSecond.\n"
    assert "▸ Bash ls -la" in result.stderr
    assert "✓ ok" in result.stderr
    assert "two files" in result.stderr


def test_send_reads_the_message_from_stdin(hub: CliHub) -> None:
    """`-` keeps long or private words out of the process list."""
    assert hub.run("send", hub.new(), "-", stdin="from a pipe").stdout == "Echo: from a pipe\n"


def test_json_is_one_event_a_line_and_nothing_else(hub: CliHub) -> None:
    """Machines get every event as it came, in order; stderr is silent."""
    result = hub.run("send", hub.new(), "hi", "--json")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [events[0]["type"], events[-1]["type"]] == ["user_message", "turn_completed"]
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert result.stderr == ""


def test_a_failed_turn_exits_with_1_and_says_how_to_go_on(hub: CliHub) -> None:
    """What was said before stays; the failure has its code, its sentence and the next step."""
    session = hub.new()
    result = hub.run("send", session, script({"text": "So far."}, FAIL))
    assert result.exit_code == 1
    assert result.stdout == "So far.\n"
    assert "failed (agent_error): It broke." in result.stderr
    assert f"turnhub retry {session}" in result.stderr


def test_retry_runs_the_last_message_again(hub: CliHub) -> None:
    """Its stream is watched, its end is the exit code; without a failed turn there is nothing to retry."""
    session = hub.new()
    hub.run("send", session, script({"text": "Again."}, FAIL))
    result = hub.run("retry", session)
    assert result.exit_code == 1
    assert result.stdout == "Again.\n"
    hub.run("send", session, "fine")
    nothing = hub.run("retry", session)
    assert nothing.exit_code == 1
    assert nothing.stderr.startswith("turnhub: ")


def test_a_busy_session_exits_with_4_and_names_the_winner(hub: CliHub) -> None:
    """Nothing was sent, and the way on is told."""
    session = hub.new()
    turn = hub.start(session, HANG)
    result = hub.run("send", session, "me too")
    assert result.exit_code == 4
    assert f"busy: turn {turn} is " in result.stderr
    assert "--on-busy" in result.stderr
    told = json.loads(hub.run("send", session, "me too", "--json").stdout)
    assert (told["error"]["code"], told["error"]["turn_id"]) == ("turn_in_flight", turn)
    hub.run("interrupt", session)


def test_on_busy_attach_watches_the_running_turn_and_says_that_nothing_was_sent(hub: CliHub) -> None:
    """Nobody may believe that the message is on its way."""
    session = hub.new()
    turn = hub.start(session, {"text": "Theirs."}, {"sleep_ms": 50}, {"text": "End."}, HANG)
    with hub.at_terminal("send", session, "mine", "--on-busy", "attach") as terminal:
        terminal.until(f"Your message was not sent: turn {turn}")
        terminal.until("Theirs.\n")
        hub.run("interrupt", session)
        assert terminal.end() == 1
    assert "Echo: mine" not in hub.run("show", session).stdout


def test_on_busy_queue_says_that_the_message_waits(hub: CliHub) -> None:
    """It is accepted, not done: exit code 0, and no answer on stdout."""
    session = hub.new()
    hub.start(session, HANG)
    result = hub.run("send", session, "later", "--on-busy", "queue")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "waits; it begins by itself" in result.stderr
    assert "later" in hub.run("show", session).stderr
    hub.run("interrupt", session)


def test_attach_without_a_turn_says_so(hub: CliHub) -> None:
    """No stream, no failure."""
    result = hub.run("attach", hub.new())
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No turn is running" in result.stderr


def test_attach_shows_the_running_turn_from_its_beginning(hub: CliHub) -> None:
    """Who comes late sees the message and everything so far; its end is the exit code."""
    session = hub.new()
    hub.start(session, {"text": "Early words."}, HANG)
    with hub.at_terminal("attach", session) as terminal:
        terminal.until("Early words.\n")
        assert hub.run("interrupt", session).exit_code == 0
        terminal.until("■ interrupted by primary")
        assert terminal.end() == 1


def test_ctrl_c_in_attach_leaves_the_turn_alone(hub: CliHub) -> None:
    """It only stops the watching, and says so."""
    session = hub.new()
    hub.start(session, {"text": "Words."}, HANG)
    with hub.at_terminal("attach", session) as terminal:
        terminal.until("Words.\n")
        terminal.type("\x03")
        terminal.until("The turn goes on")
        assert terminal.end() == 130
    assert "… running" in hub.run("show", session).stdout
    hub.run("interrupt", session)


def test_ctrl_c_in_send_interrupts_the_turn_and_shows_its_end(hub: CliHub) -> None:
    """The end is watched, not assumed."""
    with hub.at_terminal("send", hub.new(), script({"text": "Words."}, HANG)) as terminal:
        terminal.until("Words.\n")
        terminal.type("\x03")
        terminal.until("Interrupting.")
        terminal.until("■ interrupted by primary")
        assert terminal.end() == 1


def test_interrupt_without_a_turn_is_used_wrongly(hub: CliHub) -> None:
    """Exit code 2 and a sentence."""
    result = hub.run("interrupt", hub.new())
    assert result.exit_code == 2
    assert result.stderr.startswith("turnhub: ")


def test_what_the_agent_says_cannot_steer_the_terminal(hub: CliHub) -> None:
    """Not in words that are cut anywhere, not in tools, and not in --json."""
    evil = "a\x1b]0;owned\x07b\x1b[2Jc\x9b31md\u202ee"
    tool = {"tool": "Ba\x1b[2Jsh", "input": {"command": "x\x1b[31m\x07"}, "result": "r\x1b[H"}
    for option in ([], ["--json"]):
        result = hub.run("send", hub.new(), script({"text": evil}, tool), *option)
        for char in "\x1b\x07\x9b\u202e":
            assert char not in result.stdout
            assert char not in result.stderr
    assert hub.run("send", hub.new(), script({"text": evil})).stdout == "abcde\n"


def test_unknown_sessions_and_wrong_tokens_are_used_wrongly(hub: CliHub) -> None:
    """Exit code 2, with the hub's own sentence."""
    for command in (["send", "ses_x", "hi"], ["attach", "ses_x"], ["show", "ses_x"], ["retry", "ses_x"]):
        assert hub.run(*command).exit_code == 2
    assert hub.run("sessions", TURNHUB_TOKEN="wrong").exit_code == 2
    assert hub.run("sessions", "--token", "wrong").exit_code == 2
    assert hub.run("sessions", "--url", "nonsense").exit_code == 2


def test_no_hub_exits_with_3_and_says_how_to_start_one(hub: CliHub) -> None:
    """For every command that needs one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    for command in (["sessions"], ["send", "s", "hi"], ["attach", "s"], ["asks"], ["agents"], ["new", "echo"]):
        result = hub.run(*command, TURNHUB_URL=url)
        assert result.exit_code == 3
        assert f"no hub answers at {url}" in result.stderr
        assert "turnhub serve" in result.stderr
    told = json.loads(hub.run("sessions", "--json", TURNHUB_URL=url).stdout)
    assert told["error"]["code"] == "not_reachable"


def test_for_machines_every_line_is_an_object(hub: CliHub) -> None:
    """Events, a message that waits, a refusal: one JSON object a line on stdout, and nothing else."""
    session = hub.new()
    hub.start(session, HANG)
    runs = [
        hub.run("send", session, "later", "--on-busy", "queue", "--json"),
        hub.run("send", session, "now", "--json"),
        hub.run("send", "ses_absent", "now", "--json"),
        hub.run("attach", "ses_absent", "--json"),
        hub.run("retry", "ses_absent", "--json"),
        hub.run("attach", session, "--json", TURNHUB_TOKEN="th_wrong"),
        hub.run("attach", session, "--json", TURNHUB_URL="http://127.0.0.1:9"),
    ]
    assert [one.exit_code for one in runs] == [0, 4, 2, 2, 2, 2, 3]
    told = []
    for one in runs:
        (line,) = one.stdout.splitlines()
        told.append(json.loads(line).get("error", {}).get("code"))
    assert told == [None, "turn_in_flight", "not_found", "not_found", "not_found", "unauthorized", "not_reachable"]
    hub.run("interrupt", session)
