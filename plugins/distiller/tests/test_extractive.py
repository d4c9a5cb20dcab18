"""A memory without a model: what the record says, the same each time."""

from __future__ import annotations

import pytest
from turnhub_distiller import extractive
from turnhub_distiller.account import account_of

from hub import (
    Ask,
    AskOpened,
    AskSettled,
    By,
    FinishedTurn,
    Text,
    ToolStarted,
    TurnFailed,
    TurnInterrupted,
    UserMessage,
)

from .conftest import tool, turn


def test_the_record_of_a_turn_becomes_its_memory(worked: FinishedTurn) -> None:
    """Files, commands, failures with their cause, findings of the last words."""
    made = extractive.distilled(account_of(worked))
    assert made.files_changed == ("src/dates.py",)
    assert made.failures == ({"what": "Bash: pytest -q", "why": "1 failed"},)
    assert made.key_findings == (
        "Such dates are UTC now.",
        "The parser is fixed.",
        "The cause was a date without a zone.",
    )
    assert made.summary == (
        "Asked: Fix the date parser.\n"
        "Did: ran 1 command (pytest -q), changed 1 file, made 1 other tool call.\n"
        "Answered: The parser is fixed."
    )
    assert extractive.distilled(account_of(worked)) == made


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("line one\nfatal: not a git repository\nhint: none", "fatal: not a git repository"),
        ("Traceback\n  x\nValueError: no zone", "ValueError: no zone"),
        ("nothing that complains", "nothing that complains"),
        ("", "It said nothing."),
    ],
)
def test_a_failure_has_the_last_line_that_complains_as_its_cause(output: str, why: str) -> None:
    """Else its last line."""
    made = extractive.distilled(account_of(turn(tool(1, "Bash", output, "error", command="x"))))
    assert made.failures == ({"what": "Bash: x", "why": why},)


def test_a_denied_call_tells_who_denied_it_and_changed_nothing() -> None:
    """The words of whoever denied are the cause."""
    ask = Ask(id="ask_1", kind="permission", tool="Write", subject="/repo/a.txt")
    made = extractive.distilled(
        account_of(
            turn(
                AskOpened(ask=ask),
                AskSettled(ask_id="ask_1", by=By(kind="person", name="ann"), decision="deny", message="not there"),
                tool(1, "Write", "", "denied", file_path="/repo/a.txt"),
            )
        )
    )
    assert made.files_changed == ()
    assert made.failures == ({"what": "Write: /repo/a.txt", "why": "Denied by person ann: not there"},)


def test_a_tool_without_an_end_is_told_as_unknown() -> None:
    """Nobody claims that it worked."""
    made = extractive.distilled(
        account_of(turn([ToolStarted(tool_id="a", name="Write", input={"file_path": "x"})]))
    )
    assert made.files_changed == ()
    assert made.failures == ({"what": "Write: x", "why": "Nobody knows how it ended."},)


@pytest.mark.parametrize(
    ("ending", "failure"),
    [
        (
            TurnFailed(code="stalled", message="Nothing came.", retryable=True, duration_ms=1),
            {"what": "The turn failed", "why": "stalled: Nothing came."},
        ),
        (
            TurnInterrupted(by="ann", duration_ms=1),
            {"what": "The turn was interrupted", "why": "Stopped by ann."},
        ),
    ],
)
def test_a_turn_that_did_not_complete_says_so(ending: TurnFailed, failure: dict[str, str]) -> None:
    """Its ending is among the failures and in the summary."""
    made = extractive.distilled(account_of(turn(ending=ending)))
    assert made.failures == (failure,)
    assert failure["why"] in made.summary


def test_files_outside_of_the_working_directory_keep_their_whole_path() -> None:
    """Those inside are told as a person there would."""
    calls = [
        tool(1, "Write", file_path="/etc/x"),
        tool(2, "Write", file_path="/repo/a/b"),
        tool(3, "Write", file_path="c"),
    ]
    assert account_of(turn(*calls)).files_changed == ("/etc/x", "a/b", "c")


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("Fix the date parser.", "Fix the date parser."),
        ("\n\n# Please look\nat this", "Please look"),
        ("one two three four five six seven eight nine", "one two three four five six seven eight…"),
        ("x" * 100, "x" * 59 + "…"),
        ("", None),
    ],
)
def test_a_title_is_the_first_words_of_what_was_asked(asked: str, title: str | None) -> None:
    """In one short line."""
    assert extractive.title(account_of(turn(text=asked))) == title


def test_long_words_are_cut() -> None:
    """Nothing makes a memory without bound."""
    texts = [Text(block=0, text="\n".join(f"- {'word ' * 500}" for _ in range(500)))]
    made = extractive.distilled(account_of(turn(texts, text="word " * 10_000)))
    assert len(made.summary) < 1_000
    assert sum(map(len, made.key_findings)) < 2_000


def test_words_given_to_the_running_turn_are_asked_too() -> None:
    """The turn's own message stands once, before them."""
    own = UserMessage(message_id="msg_1", text="Fix the date parser.")
    account = account_of(turn([own, UserMessage(message_id="msg_2", text="And the clock.")]))
    assert account.asked == "Fix the date parser.\n\nAnd the clock."
    assert extractive.title(account) == "Fix the date parser."
