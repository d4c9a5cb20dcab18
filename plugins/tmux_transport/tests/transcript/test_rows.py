"""What the rows of recorded transcripts say, of the terminal and of the SDK; what is unknown is passed over."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turnhub_tmux.transcript.facts import (
    Absorbed,
    CommandSaid,
    Entered,
    HookDecided,
    Interrupted,
    Prompt,
    Queue,
    Result,
    RowFact,
    Said,
    Spent,
    Thought,
    TurnOver,
    Used,
)
from turnhub_tmux.transcript.rows import facts

RECORDED = Path(__file__).parent.parent / "recorded"


@pytest.fixture(scope="session")
def told() -> Callable[[str], list[RowFact]]:
    """The facts of a recorded transcript."""

    def of(name: str) -> list[RowFact]:
        lines = (RECORDED / f"{name}.rows.jsonl").read_bytes().splitlines()
        return [fact for line in lines for fact in facts(line)]

    return of


Told = Callable[[str], list[RowFact]]


def of(found: list[RowFact], kind: type) -> list[Any]:
    """The facts of one kind."""
    return [fact for fact in found if isinstance(fact, kind)]


def test_a_turn_is_its_prompt_its_blocks_and_its_end(told: Told) -> None:
    """With the agent's own time, and each block's place in its message."""
    found = [fact for fact in told("tools") if not isinstance(fact, Spent)]
    kinds = [type(fact) for fact in found[:8]]
    assert kinds == [Prompt, Thought, Said, Used, HookDecided, Result, Said, TurnOver]
    prompt, thought, said, used = found[0], found[1], found[2], found[3]
    assert isinstance(prompt, Prompt)
    assert (prompt.text, prompt.source) == ("BASH allowed", "typed")
    assert isinstance(thought, Thought)
    assert isinstance(said, Said)
    assert isinstance(used, Used)
    assert (thought.block, said.block, used.block) == (0, 1, 2)
    assert thought.message_id == said.message_id == used.message_id
    assert used.input["command"] == "touch made"
    assert found[7].at.endswith("Z")
    assert isinstance(found[7], TurnOver)
    assert found[7].duration_ms > 0


def test_results_tell_success_failure_and_refusal(told: Told) -> None:
    """A denial by a hook, by the keyboard, and a tool that failed are three things."""
    results = of(told("tools"), Result)
    assert [(one.error, one.denied) for one in results] == [
        (False, False),
        (True, True),
        (False, False),
        (False, False),
        (True, False),
    ]
    assert results[1].content == "not today"
    assert "Green,\nin my own words" in results[3].content
    assert [(one.error, one.denied) for one in of(told("keyboard"), Result)][-1] == (True, True)
    assert [one.decision for one in of(told("tools"), HookDecided)] == ["allow", "deny", "allow", "allow", "allow"]
    assert of(told("keyboard"), HookDecided) == []


def test_the_agents_queue_is_followed(told: Told) -> None:
    """In, out one by one, absorbed by the running turn, taken back into the composer."""
    found = told("queued")
    assert [(one.operation, (one.text or "")[:10]) for one in of(found, Queue)] == [
        ("enqueue", "the same w"),
        ("enqueue", "the same w"),
        ("enqueue", "<pasted_co"),
        ("dequeue", ""),
        ("dequeue", ""),
        ("dequeue", ""),
        ("enqueue", "into the r"),
        ("remove", "into the r"),
        ("enqueue", "taken back"),
        ("pop_all", "taken back"),
    ]
    assert [one.text for one in of(found, Absorbed)] == ["into the running turn"]
    assert [one.source for one in of(found, Prompt)] == ["typed", "queued", "queued", "queued", "typed", "typed"]


def test_an_interruption_is_no_prompt_and_text_that_was_cut_says_so(told: Told) -> None:
    """At a tool, and in the middle of the text; commands and their output are not a person's words either."""
    found = told("keyboard")
    assert [one.tool for one in of(found, Interrupted)] == [True, False]
    assert [one.text for one in of(found, Prompt)] == [
        "BASH yes",
        "ASK at the keyboard",
        "BASH no",
        "SLOW stopped",
        "anew",
    ]
    assert [(one.text, one.cut) for one in of(found, Said)][-2] == ("a", True)


def test_the_usage_of_a_message_is_told_with_it(told: Told) -> None:
    """Tokens, why it stopped, by which model."""
    spent = of(told("plain"), Spent)[0]
    assert (spent.usage.input_tokens, spent.usage.output_tokens, spent.stop_reason) == (10, 5, "end_turn")
    assert spent.model


def test_a_session_of_the_sdk_reads_the_same(told: Told) -> None:
    """One parser for both; there every prompt goes through the queue."""
    found = told("sdk")
    assert [(one.text, one.source) for one in of(found, Prompt)] == [
        ("hello", "sdk"),
        ("TOOL now", "sdk"),
        ("FAIL now", "sdk"),
    ]
    assert [one.name for one in of(found, Used)] == ["Bash"]
    assert [one.content for one in of(found, Result)] == ["hi"]
    assert [one.text for one in of(found, Said)] == ["Hello there.", "Using.", "Done.", "Done."]


def row(**fields: Any) -> bytes:
    """A row of a person's, as an older version writes it."""
    message = {"role": "user", "content": fields.pop("content", "words")}
    return json.dumps({"type": "user", "message": message, "uuid": "u", **fields}).encode()


def test_older_rows_without_a_source_are_told_apart_by_what_they_hold() -> None:
    """A person's words are; the agent's own notes are not."""
    assert of(list(facts(row())), Prompt) == [Prompt(uuid="u", text="words")]
    assert facts(row(isMeta=True)) == ()
    assert facts(row(isCompactSummary=True)) == ()
    assert facts(row(content="<command-name>/clear</command-name>")) == ()
    assert facts(row(content="<bash-stdout>hi</bash-stdout>")) == ()
    assert isinstance(facts(row(content="[Request interrupted by user]"))[0], Interrupted)
    assert facts(row(content="<command-name>is what I typed", promptSource="typed")) != ()
    (aside,) = facts(row(isSidechain=True))
    assert aside.aside


def test_what_a_command_printed_is_told_and_its_name_is_not_said_by_a_person() -> None:
    """In rows of this version and of older ones, without colours; one that printed nothing says nothing."""
    printed = "<local-command-stdout>\x1b[1mSet\x1b[22m model\n</local-command-stdout>"
    system = {"type": "system", "uuid": "u"}
    for line in (
        json.dumps({**system, "subtype": "local_command", "content": printed}).encode(),
        json.dumps({**system, "subtype": "informational", "content": "Set model"}).encode(),
        row(content=printed),
    ):
        assert facts(line) == (CommandSaid(uuid="u", text="Set model"),)
    empty = "<local-command-stdout></local-command-stdout>"
    named = "<command-name>/model</command-name>\n<command-args></command-args>"
    for content in (empty, named):
        assert facts(json.dumps({**system, "subtype": "local_command", "content": content})) == ()


def test_the_agents_list_of_submitted_lines_reads_as_such() -> None:
    """A line with its session; rows without one are passed over."""
    line = {"display": "/cost", "pastedContents": {}, "timestamp": 1, "project": "/w", "sessionId": "s"}
    assert facts(json.dumps(line)) == (Entered(text="/cost", session="s", project="/w"),)
    assert facts(json.dumps({"display": "/cost"})) == ()


def test_an_error_of_the_model_is_no_answer() -> None:
    """It is said so, and spends nothing."""
    message = {"id": "m", "content": [{"type": "text", "text": "API Error: 529"}], "usage": {"input_tokens": 0}}
    (said,) = facts(json.dumps({"type": "assistant", "isApiErrorMessage": True, "message": message}))
    assert isinstance(said, Said)
    assert said.error


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "message", "content", "text", "id", "attachment", "x"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(
    st.sampled_from(["user", "assistant", "system", "queue-operation", "attachment", "new"]),
    st.dictionaries(
        st.sampled_from(["message", "attachment", "operation", "content", "uuid", "subtype", "durationMs"]), JSON
    ),
)
def test_rows_of_any_shape_are_harmless(kind: str, fields: dict[str, Any]) -> None:
    """Nothing is raised."""
    facts(json.dumps({"type": kind, **fields}))


@given(st.binary(max_size=100))
def test_lines_that_are_no_rows_say_nothing(line: bytes) -> None:
    """Whatever bytes stand there."""
    assert facts(line) == ()
