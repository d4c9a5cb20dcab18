"""Events, as what the chat shows for good, and what it shows as long as it lasts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.asks import AskRecord
from hub.cli.chat.story import AboutSession, Instant, Piece, Story, TurnFacts, Waiting, Words
from hub.cli.lines import Line
from hub.events import (
    AnyEvent,
    Ask,
    AskOpened,
    AskSettled,
    AskWithdrawn,
    By,
    MessageQueued,
    MessageUnqueued,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
    UserMessage,
)
from hub.items import AssistantItem, Item, TextBlock, ToolBlock, UserItem

AT = "2026-01-01T00:00:00.000Z"
NOW_S = datetime(2026, 1, 1, 0, 1, 5, tzinfo=UTC).timestamp()
BASH = Ask(id="ask_1", kind="permission", tool="Bash", subject="ls")
READ = Ask(id="ask_2", kind="permission", tool="Read")
DONE = TurnCompleted(turn_id="t1", stop_reason="end_turn", duration_ms=1)
FAILED = TurnFailed(turn_id="t1", code="agent_error", message="It broke.", retryable=True, duration_ms=1)


def instant(*items: Item, turn: str | None = None, waiting: tuple[str, ...] = ()) -> Instant:
    return Instant(
        session=AboutSession(id="ses_1", agent="echo"),
        items=items,
        cursor=9,
        turn=None if turn is None else TurnFacts(id=turn, started_at=AT),
        queue=tuple(Waiting(message_id=one, text=f"text of {one}") for one in waiting),
    )


def running() -> Story:
    """A session with a turn that has just begun."""
    story = Story(instant())
    story.begin()
    see(story, UserMessage(turn_id="t1", message_id="m1", text="hi"), TurnStarted(turn_id="t1", attempt=1, at=AT))
    return story


def see(story: Story, *events: AnyEvent) -> list[str]:
    """The texts that events add."""
    return texts([piece for event in events for piece in story.see(event)])


def texts(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces]


@given(st.lists(st.text(alphabet="ab \n#`-", min_size=1, max_size=12), max_size=20), st.integers(0, 20))
def test_the_words_of_an_answer_are_shown_once_whatever_was_streamed(deltas: list[str], came: int) -> None:
    """Blocks as they are finished, the rest when the text is known; none twice."""
    story, whole = running(), "".join(deltas)
    pieces = [
        piece for delta in deltas[:came] for piece in story.see(TextDelta(turn_id="t1", block=1, text=delta))
    ]
    pieces += story.see(Text(turn_id="t1", block=1, text=whole))
    assert all(isinstance(piece, Words) for piece in pieces)
    assert "".join(texts(pieces)).split() == whole.split()
    assert story.tail(9) == ""


def test_words_that_do_not_count_are_said_not_to() -> None:
    """Where something else was shown of them, or the agent tries again."""
    story = running()
    assert see(story, TextDelta(turn_id="t1", block=1, text="Old.\n\nOlder.\n")) == ["Old.\n\n"]
    told, *rest = see(story, Text(turn_id="t1", block=1, text="New."))
    assert "does not count" in told
    assert rest == ["New."]
    see(story, TextDelta(turn_id="t1", block=2, text="Old.\n\nOlder.\n"))
    assert see(story, Status(turn_id="t1", state="retrying")) == [
        "… trying again (what was written last does not count)"
    ]
    assert story.tail(9) == ""


def test_the_activity_line_says_what_goes_on() -> None:
    """What it does, how long, with which tools, what waits."""
    story = running()
    assert story.activity(NOW_S) == "● working · 1 min 5 s"
    see(story, Status(turn_id="t1", state="thinking"))
    assert story.activity(NOW_S) == "● thinking · 1 min 5 s"
    see(story, ToolStarted(turn_id="t1", tool_id="a", name="Bash", input={"command": "ls"}))
    see(story, MessageQueued(message_id="m2", text="later"))
    assert story.activity(NOW_S) == "● Bash ls · 1 min 5 s · 1 tool: Bash · 1 waiting"
    see(story, ToolFinished(turn_id="t1", tool_id="a", status="ok"))
    see(story, TextDelta(turn_id="t1", block=1, text="word"))
    assert story.activity(NOW_S) == "● writing · 1 min 5 s · 1 tool: Bash · 1 waiting"
    see(story, AskOpened(turn_id="t1", ask=BASH))
    assert story.activity(NOW_S).startswith("● waits for your answer")
    see(story, DONE)
    assert story.activity(NOW_S) == ""


def test_tools_that_run_side_by_side_end_by_name() -> None:
    """One alone ends without."""
    story = running()
    see(story, *[ToolStarted(turn_id="t1", tool_id=one, name=f"Tool{one}") for one in "ab"])
    assert see(story, ToolFinished(turn_id="t1", tool_id="a", status="error")) == ["  ✗ Toola: error"]
    assert see(story, ToolFinished(turn_id="t1", tool_id="b", status="ok")) == ["  ✓ ok"]


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (
            AskSettled(ask_id="ask_1", decision="deny", by=By(kind="person", name="phone")),
            "denied by person phone",
        ),
        (AskWithdrawn(ask_id="ask_1", reason="it timed out"), "no longer asked: it timed out"),
        (DONE, "the turn has ended"),
    ],
)
def test_an_ask_is_open_until_it_is_over(event: AnyEvent, why: str) -> None:
    """And then it is known why."""
    story = running()
    (line,) = see(story, AskOpened(turn_id="t1", ask=BASH))
    assert line == "? Bash asks for permission:\n    | ls"
    assert list(story.asks) == ["ask_1"]
    see(story, event)
    assert (story.asks, story.settled) == ({}, {"ask_1": why})


def test_what_waits_is_known_in_its_order() -> None:
    """Added, changed in its place, taken back, begun."""
    story = Story(instant(waiting=("m1", "m2")))
    assert "2 waiting in the queue" in texts(story.begin())[-1]
    assert see(story, MessageQueued(message_id="m1", text="changed")) == ["  waits, changed: changed"]
    assert list(story.queue.items()) == [("m1", "changed"), ("m2", "text of m2")]
    assert see(story, MessageUnqueued(message_id="m2", text="text of m2")) == ["  waits no longer: text of m2"]
    told = see(story, UserMessage(turn_id="t2", message_id="m1", text="changed", origin="queue"))
    assert told == ["> changed (it waited in the queue)"]
    assert story.queue == {}


def test_a_failure_says_what_to_do() -> None:
    """And that what waits stands still."""
    story = running()
    see(story, MessageQueued(message_id="m2", text="later"))
    failed, waiting = see(story, FAILED)
    assert "It broke. Try again with: /retry" in failed
    assert "1 waiting" in waiting


def test_it_begins_in_the_middle_of_a_turn_and_goes_on() -> None:
    """What was written is not written again; the turn is whose message it is."""
    tool = ToolBlock(tool_id="a", name="Bash", input={"command": "ls"})
    blocks = (TextBlock(block=1, text="Before."), tool, TextBlock(block=2, text="One.\n\nTw", open=True))
    story = Story(
        instant(
            UserItem(message_id="m1", turn_id="t1", text="two\nlines", origin="keyboard"),
            AssistantItem(turn_id="t1", blocks=blocks),
            turn="t1",
        )
    )
    shown = texts(story.begin())[1:]
    assert shown == ["> two\n  lines (typed at the agent's own keyboard)", "Before.", "▸ Bash ls"]
    assert story.tail(9) == "One.\n\nTw"
    assert story.last_message_id == "m1"
    assert "Bash ls" in story.activity(NOW_S)
    assert see(story, TextDelta(turn_id="t1", block=2, text="o.\n")) == ["One.\n\n"]
    assert (
        see(
            story,
            Text(turn_id="t1", block=2, text="One.\n\nTwo.\n"),
            ToolFinished(turn_id="t1", tool_id="a", status="ok"),
        )[0]
        == "Two.\n"
    )


def test_asks_that_are_open_at_first_are_asked() -> None:
    """Those that are settled are not."""
    begun = instant(UserItem(message_id="m1", turn_id="t1", text="hi"), turn="t1")
    begun.asks = (
        AskRecord(id="ask_1", session_id="ses_1", turn_id="t1", state="open", ask=BASH, opened_at=AT),
        AskRecord(id="ask_2", session_id="ses_1", turn_id="t1", state="settled", ask=READ, opened_at=AT),
    )
    story = Story(begun)
    story.begin()
    assert list(story.asks) == ["ask_1"]


def test_every_style_is_one_that_there_is() -> None:
    """Lines are drawn as they are named."""
    from hub.cli.chat.render import plain

    story = running()
    for event in (FAILED, AskOpened(turn_id="t1", ask=BASH), MessageQueued(message_id="m", text="x")):
        for piece in story.see(event):
            assert isinstance(piece, Line)
            assert plain(piece.text, piece.style)
