"""Answering: with options from anywhere, or at the prompt while the turn streams on."""

from __future__ import annotations

import json

import pytest

from tests.clihub import BASH, COLOUR, CliHub, script

QUESTION = {"question": {"questions": [COLOUR]}}


def ask(hub: CliHub, step: object) -> tuple[str, str]:
    """A session that waits for an answer, and the ask."""
    session = hub.new()
    hub.start(session, step)
    return session, hub.asked(session)


def test_allow_lets_the_tool_run(hub: CliHub) -> None:
    """What was recorded is told, and not more than that."""
    session, ask_id = ask(hub, BASH)
    result = hub.run("answer", ask_id, "--allow", "--scope", "session")
    assert result.exit_code == 0
    assert "Recorded" in result.stderr
    hub.run("attach", session)
    assert "… running" not in hub.run("show", session).stdout
    assert hub.asks(session) == []


def test_a_second_answer_is_told_that_somebody_was_faster(hub: CliHub) -> None:
    """Exit code 1: it was not used wrongly, but it did not count."""
    _, ask_id = ask(hub, BASH)
    assert json.loads(hub.run("answer", ask_id, "--deny", "--message", "no", "--json").stdout)["id"] == ask_id
    assert hub.run("answer", ask_id, "--allow").exit_code == 1


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (["--choose", "2"], "Blue"),
        (["--text", "Green, please"], "Green, please"),
        (["--choose", "Mauve"], "Mauve"),
    ],
)
def test_a_question_is_answered_by_number_or_words(hub: CliHub, options: list[str], answer: str) -> None:
    """The agent gets the option's label, or the words."""
    session, ask_id = ask(hub, QUESTION)
    assert hub.run("answer", ask_id, *options).exit_code == 0
    hub.run("attach", session)
    assert answer in hub.run("show", session).stdout


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--choose", "1"],
        ["--text", "x"],
        ["--allow", "--input", "[1]"],
        ["--allow", "--input", "{"],
        ["--message", "x"],
    ],
)
def test_what_does_not_answer_a_permission_is_used_wrongly(hub: CliHub, options: list[str]) -> None:
    """Exit code 2, and the ask stays open."""
    session, ask_id = ask(hub, BASH)
    assert hub.run("answer", ask_id, *options).exit_code == 2
    assert ask_id in hub.run("asks").stdout
    hub.run("interrupt", session)


def test_what_does_not_answer_a_question_is_used_wrongly(hub: CliHub) -> None:
    """A decision, both ways at once, an option that does not exist."""
    session, ask_id = ask(hub, QUESTION)
    for options in ([], ["--allow"], ["--text", "x", "--choose", "1"], ["--choose", "7"], ["--choose", "1,2"]):
        assert hub.run("answer", ask_id, *options).exit_code == 2
    assert hub.run("answer", "ask_unknown", "--allow").exit_code == 2
    assert ask_id in hub.run("asks").stdout
    hub.run("interrupt", session)


def test_a_permission_is_answered_at_the_prompt_while_the_turn_streams(hub: CliHub) -> None:
    """What is no answer is asked again; then the tool runs and the turn goes on."""
    with hub.at_terminal("send", hub.new(), script(BASH, {"text": "Done."})) as terminal:
        terminal.until("Bash asks for permission:")
        terminal.until("| ls -la")
        terminal.until("says why): ")
        terminal.type("perhaps\n")
        terminal.until("Type one of")
        terminal.until("says why): ")
        terminal.type("a\n")
        terminal.until("allowed by person")
        terminal.until("two files")
        terminal.until("Done.\n")
        assert terminal.end() == 0


def test_a_denial_at_the_prompt_carries_the_words(hub: CliHub) -> None:
    """The agent is told why."""
    with hub.at_terminal("send", hub.new(), script(BASH)) as terminal:
        terminal.until("says why): ")
        terminal.type("d use git instead\n")
        terminal.until("denied by person primary: use git instead")
        terminal.until("denied")
        assert terminal.end() == 0


def test_a_question_is_answered_at_the_prompt(hub: CliHub) -> None:
    """By number; the options and what they mean are shown."""
    with hub.at_terminal("send", hub.new(), script(QUESTION)) as terminal:
        terminal.until("? Which colour?")
        terminal.until("1. Red: warm")
        terminal.until("your own words:")
        terminal.type("9\n")
        terminal.until("There is no option 9")
        terminal.until("your own words:")
        terminal.type("2\n")
        terminal.until("Blue")
        assert terminal.end() == 0


def test_the_prompt_goes_away_when_somebody_else_answers(hub: CliHub) -> None:
    """Another device was faster: the turn goes on without anything typed."""
    session = hub.new()
    with hub.at_terminal("send", session, script(BASH, {"text": "Done."})) as terminal:
        terminal.until("says why): ")
        [ask_id] = hub.asks(session)
        assert hub.run("answer", ask_id, "--allow").exit_code == 0
        terminal.until("allowed by person")
        terminal.until("Done.\n")
        assert terminal.end() == 0


def test_the_end_of_input_leaves_the_ask_open(hub: CliHub) -> None:
    """Ctrl-D is no answer; the ask can be answered elsewhere and the turn is still watched."""
    session = hub.new()
    with hub.at_terminal("send", session, script(BASH, {"text": "Done."})) as terminal:
        terminal.until("says why): ")
        terminal.type("\x04")
        terminal.until("Left open. Answer it with: turnhub answer ")
        [ask_id] = hub.asks(session)
        hub.run("answer", ask_id, "--allow")
        terminal.until("Done.\n")
        assert terminal.end() == 0


def test_answer_asks_at_the_terminal_when_there_are_no_options(hub: CliHub) -> None:
    """The same prompt, without watching the turn."""
    session, ask_id = ask(hub, BASH)
    with hub.at_terminal("answer", ask_id) as terminal:
        terminal.until("| ls -la")
        terminal.until("says why): ")
        terminal.type("y\n")
        terminal.until("Recorded.")
        assert terminal.end() == 0
    hub.run("attach", session)
    assert hub.asks(session) == []
