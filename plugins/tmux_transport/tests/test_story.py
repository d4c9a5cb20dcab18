"""What a turn shows is told once, whoever tells it first."""

from __future__ import annotations

from typing import Any

import pytest
from turnhub_tmux.bridge.facts import BatchDone, Displayed, ToolDone, ToolResult, ToolStarting
from turnhub_tmux.story import Story
from turnhub_tmux.transcript.facts import Result, Said, Spent, Used

from hub import AnyEvent, Text, TextDelta, ToolFinished, ToolStarted, Usage


def piece(index: int, delta: str, *, final: bool = False, message: str = "m") -> Displayed:
    return Displayed(turn="t", message_id=message, index=index, final=final, delta=delta)


def said(text: str, message: str = "api", block: int = 0) -> Said:
    return Said(message_id=message, block=block, text=text)


def used(tool_id: str = "a") -> Used:
    return Used(message_id="api", block=1, tool_use_id=tool_id, name="Bash", input={"command": "ls"})


def texts(events: list[AnyEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, Text)]


def test_pieces_become_deltas_and_one_text_in_any_order() -> None:
    """Out of order and repeated: the deltas add up to the text, which comes once."""
    story = Story()
    events = [
        event
        for one in (
            piece(1, "b"),
            piece(0, "a"),
            piece(1, "b"),
            piece(2, "c", final=True),
            piece(2, "c", final=True),
        )
        for event in story.hear(one)
    ]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "abc"
    assert texts(events) == ["abc"]
    assert events[-1] == Text(block=0, text="abc")


def test_a_tool_hands_over_its_whole_output() -> None:
    """However long it is, and however it was told; the digest has the beginning."""
    long = "x" * 9000
    by_hook, by_row, silent = Story(), Story(), Story()
    told = by_hook.hear(ToolDone(tool_use_id="a", name="Bash", input={}, output={"stdout": long, "stderr": ""}))
    by_row.read(used(), live=True)
    read = by_row.read(Result(tool_use_id="a", content=long), live=True)
    for event in (told[-1], read[-1]):
        assert isinstance(event, ToolFinished)
        assert event.digest is not None
        assert (event.output, event.digest.bytes, event.digest.truncated) == (long, 9000, True)
    silent.read(used(), live=True)
    (left,) = silent.reconcile()
    assert isinstance(left, ToolFinished)
    assert (left.digest, isinstance(left.output, str)) == (None, False)


def test_the_transcript_tells_again_what_the_hooks_told_and_it_is_not_told_twice() -> None:
    """Blocks of one message are one text in the hooks; tools have one id."""
    story = Story()
    story.hear(piece(0, "First. Second.", final=True))
    started = story.hear(ToolStarting(tool_use_id="a", name="Bash", input={"command": "ls"}))
    done = story.hear(ToolDone(tool_use_id="a", name="Bash", input={"command": "ls"}, output="x", duration_ms=3))
    assert [type(event) for event in (*started, *done)] == [ToolStarted, ToolFinished]
    for row in (said("First. "), said("Second.", block=1), used(), Result(tool_use_id="a", content="x")):
        assert story.read(row, live=False) == []
    assert story.reconcile() == []


def test_what_the_hooks_lost_is_taken_from_the_transcript() -> None:
    """A message that was never posted, and one whose last piece was lost."""
    story = Story()
    story.hear(piece(0, "half "))
    story.read(said("half done"), live=False)
    story.read(said("never posted", message="api2"), live=False)
    events = story.reconcile()
    assert texts(events) == ["half done", "never posted"]
    assert events[0] == TextDelta(block=0, text="done")


def test_tools_that_the_hooks_lost_are_taken_from_the_transcript() -> None:
    """Nobody listened to the hooks: between the texts, with how they ended; what has no result is unknown."""
    story = Story()
    story.hear(ToolStarting(tool_use_id="a", name="Bash", input={"command": "ls"}))
    for fact in (
        said("First."),
        used("a"),
        Result(tool_use_id="a", content="made"),
        used("b"),
        Result(tool_use_id="b", content="no", denied=True),
        used("c"),
        said("Then.", message="next"),
    ):
        assert story.read(fact, live=False) == []
    events = story.reconcile()
    assert [type(event).__name__ for event in events] == [
        *("Text", "ToolFinished", "ToolStarted", "ToolFinished", "ToolStarted", "Text", "ToolFinished")
    ]
    ended = {event.tool_id: event.status for event in events if isinstance(event, ToolFinished)}
    assert ended == {"a": "ok", "b": "denied", "c": "unknown"}
    assert texts(events) == ["First.", "Then."]
    assert story.reconcile() == []


def test_what_nobody_ended_is_ended_as_what_is_known_of_it() -> None:
    """Half a text is partial; a tool is unknown, or denied where it was refused."""
    story = Story()
    story.hear(piece(0, "ha"))
    for tool_id in "ab":
        story.hear(ToolStarting(tool_use_id=tool_id, name="Bash", input={}))
    story.refused("b")
    events = story.reconcile()
    assert events[0] == Text(block=0, text="ha", partial=True)
    assert [event.status for event in events if isinstance(event, ToolFinished)] == ["unknown", "denied"]


def test_a_call_that_was_not_allowed_to_run_is_denied() -> None:
    """Its only trace is in the batch."""
    story = Story()
    story.hear(ToolStarting(tool_use_id="a", name="Bash", input={}))
    result = ToolResult(tool_use_id="a", name="Bash", output="no")
    (event,) = story.hear(BatchDone(results=(result,)))
    assert isinstance(event, ToolFinished)
    assert event.status == "denied"


@pytest.mark.parametrize("sure", [True, False])
def test_a_text_that_the_transcript_does_not_have_was_broken_off(sure: bool) -> None:
    """Told for good is what the transcript has, or what a tool follows; where that is not read to the end, all."""
    story = Story()
    pieces = [("m1", "half of"), ("m2", "whole"), ("m3", "with a tool")]
    for name, text in pieces:
        told = story.hear(piece(0, text, final=True, message=name), written=True)
        assert [type(event) for event in told] == [TextDelta]
    assert story.read(said("whole"), live=False) == [Text(block=1, text="whole")]
    first, second = story.hear(ToolStarting(tool_use_id="a", name="Bash", input={}), written=True)
    assert first == Text(block=2, text="with a tool")
    assert isinstance(second, ToolStarted)
    story.hear(ToolDone(tool_use_id="a", name="Bash", input={}), written=True)
    assert story.reconcile(sure=sure) == ([] if sure else [Text(block=0, text="half of")])


def test_an_adopted_turn_tells_in_its_place_what_nobody_heard() -> None:
    """Of what was said and done before anybody listened again the transcript alone tells: at once, so that it does
    not come behind what is said afterwards; what was told before is not told again, whole or in parts."""
    shown: list[Any] = [Text(block=0, text="one two"), ToolStarted(tool_id="a", name="Bash")]
    story = Story(shown)
    past = [said("one ", "m1"), said("two", "m1"), Result(tool_use_id="a", content="x"), said("three", "m2")]
    events = [event for row in past for event in story.read(row, live=False, past=True)]
    assert [type(event) for event in events] == [ToolFinished, Text]
    events += story.hear(piece(0, "four", final=True), written=True)
    events += story.read(said("four", "m3"), live=False)
    events += story.reconcile()
    assert texts(events) == ["three", "four"]
    assert [event.block for event in events if isinstance(event, Text)] == [1, 2]


def test_an_adopted_turn_tells_nothing_again() -> None:
    """What the log has is not told a second time; what came while no hub was there is."""
    shown: list[Any] = [Text(block=0, text="one"), ToolStarted(tool_id="a", name="Bash")]
    story = Story(shown)
    rows = (said("one"), used(), Result(tool_use_id="a", content="x"), said("two", message="api2"))
    events = [event for row in rows for event in story.read(row, live=True)]
    assert [type(event) for event in events] == [ToolFinished, Text]
    assert events[-1] == Text(block=1, text="two")


def test_tokens_are_added_up_over_messages_and_counted_once_a_message() -> None:
    """Each row of a message repeats them: the last counts."""
    story = Story()
    assert story.usage is None
    for message, tokens in (("a", 1), ("a", 5), ("b", 2)):
        story.read(Spent(message_id=message, usage=Usage(output_tokens=tokens)), live=False)
    assert story.usage is not None
    assert story.usage.output_tokens == 7
