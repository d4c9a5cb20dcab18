"""The honest ending: what is written before a turn's end, and which ending it really has."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.events import (
    AnyEvent,
    FailureCode,
    Reasoning,
    ReasoningDelta,
    Status,
    Terminal,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnEvent,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
    Usage,
    type_of,
)
from hub.fold import Fold
from hub.items import AssistantItem, ToolBlock
from hub.turn import FAILURES, Completed, Ending, Failed, Interrupted, TurnTally, judge, terminal_event
from tests.strategies import endings, session_logs, signs

SPOKEN = [Text(block=1, text="hello")]
USAGE = Usage(output_tokens=3)


def tally(*events: AnyEvent) -> TurnTally:
    """A tally that was fed these events."""
    result = TurnTally()
    for event in events:
        result.feed(event)
    return result


# What has to be written before the end


@given(session_logs(running=True), st.data())
def test_closing_after_any_prefix_leaves_nothing_open(events: list[AnyEvent], data: st.DataObject) -> None:
    """However a turn is cut off: nothing streams on, no tool runs on, and no word that was shown is lost."""
    last = next(event.turn_id for event in reversed(events) if isinstance(event, TurnStarted))
    cut = data.draw(st.integers(0, len(events)))
    seen = [e for e in events[:cut] if isinstance(e, TurnEvent) and e.turn_id == last]
    counted, shown = TurnTally(), Fold()
    for seq, event in enumerate(seen, 1):
        counted.feed(event)
        shown.apply(with_seq(event, seq))
    before = words_of(shown)
    for seq, closing in enumerate(counted.closing(), len(seen) + 1):
        counted.feed(closing)
        shown.apply(with_seq(closing, seq, last))
    assert counted.closing() == ()
    assert counted.open_tools == ()
    assert words_of(shown) == before
    for item in shown.items():
        if isinstance(item, AssistantItem):
            assert not [b for b in item.blocks if not isinstance(b, ToolBlock) and b.open and b.text]
            assert not [b for b in item.blocks if isinstance(b, ToolBlock) and b.status == "running"]


def with_seq(event: AnyEvent, seq: int, turn_id: str | None = None) -> AnyEvent:
    """The event with a number, and a turn where one is given."""
    changes: dict[str, object] = {"seq": seq} | ({"turn_id": turn_id} if turn_id else {})
    return msgspec.structs.replace(event, **changes)


def words_of(fold: Fold) -> list[tuple[str, int, str]]:
    """Every non-empty text that is shown, wherever it stands."""
    return sorted(
        (type(block).__name__, block.block, block.text)
        for item in fold.items()
        if isinstance(item, AssistantItem)
        for block in item.blocks
        if not isinstance(block, ToolBlock) and block.text
    )


def test_cut_off_blocks_are_kept_and_marked() -> None:
    """Streamed text without its durable form is written as partial, in order of its first piece."""
    cut = tally(TextDelta(block=2, text="a"), ReasoningDelta(block=1, text="why"), TextDelta(block=2, text="b"))
    assert cut.closing() == (
        Text(block=2, text="ab", partial=True),
        Reasoning(block=1, text="why", partial=True),
    )


def test_written_blocks_are_not_written_again() -> None:
    """A block whose durable text came is closed; text and reasoning of one number are two blocks."""
    done = tally(TextDelta(block=1, text="a"), ReasoningDelta(block=1, text="r"), Text(block=1, text="a"))
    assert done.closing() == (Reasoning(block=1, text="r", partial=True),)


def test_what_a_retry_discards_is_not_written() -> None:
    """Pieces streamed before a retry do not count."""
    again = tally(TextDelta(block=1, text="lost"), Status(state="retrying"), TextDelta(block=1, text="new"))
    assert again.closing() == (Text(block=1, text="new", partial=True),)


def test_empty_blocks_are_not_written() -> None:
    """A block that began and got no word leaves nothing."""
    assert tally(TextDelta(block=1, text="")).closing() == ()


def test_open_tools_are_closed_with_the_status_that_fits() -> None:
    """A tool without an end ends as unknown, or as interrupted where that is known."""
    running = tally(
        ToolStarted(tool_id="a", name="Bash"),
        ToolStarted(tool_id="b", name="Bash"),
        ToolFinished(tool_id="a", status="ok"),
    )
    assert running.open_tools == ("b",)
    assert running.closing() == (ToolFinished(tool_id="b", status="unknown"),)
    assert running.closing("interrupted") == (ToolFinished(tool_id="b", status="interrupted"),)


def test_closing_events_can_be_fed_while_they_are_read() -> None:
    """Closing is a fixed list: feeding it back does not disturb it."""
    cut = tally(TextDelta(block=1, text="a"), ToolStarted(tool_id="a", name="Bash"))
    for event in cut.closing():
        cut.feed(event)
    assert cut.closing() == ()


def test_a_tool_counts_once_however_often_it_is_announced() -> None:
    """A new runner of the turn may tell of a tool again."""
    twice = tally(
        ToolStarted(tool_id="a", name="Bash"), TurnStarted(attempt=2), ToolStarted(tool_id="a", name="Bash")
    )
    assert twice.tools == 1


def test_the_terminal_event_is_remembered() -> None:
    """Whoever rebuilds a tally from a live stream sees whether the turn has ended."""
    end = TurnCompleted(stop_reason="end_turn", duration_ms=1)
    assert tally().terminal is None
    assert tally(end).terminal == end


# Which ending it is


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], Failed(code="empty_response")),
        ([Text(block=1, text=" \n\t")], Failed(code="empty_response")),
        ([Text(block=1, text="\u200b\ufeff\x00")], Failed(code="empty_response")),
        ([Text(block=1, text="👍🏽")], Completed()),
        ([TextDelta(block=1, text="")], Failed(code="empty_response")),
        ([Reasoning(block=1, text="hmm")], Failed(code="reasoning_only")),
        ([Reasoning(block=1, text="  ")], Failed(code="empty_response")),
        ([Reasoning(block=1, text="hmm"), Text(block=1, text="so")], Completed()),
        ([ToolStarted(tool_id="a", name="Bash")], Completed()),
        (SPOKEN, Completed()),
    ],
)
def test_a_completion_that_shows_nothing_is_a_failure(events: list[AnyEvent], expected: Ending) -> None:
    """Neither a word nor a tool: empty_response; only reasoning: reasoning_only; never a blank success."""
    assert judge(tally(*events), Completed()) == expected


def test_words_that_came_only_as_pieces_count() -> None:
    """Closing turns streamed pieces into text, which then counts as an answer."""
    cut = tally(TextDelta(block=1, text="hel"))
    for event in cut.closing():
        cut.feed(event)
    assert judge(cut, Completed()) == Completed()


def test_figures_survive_the_change_of_an_ending() -> None:
    """Tokens and cost of an empty turn were spent all the same."""
    expected = Failed(code="empty_response", usage=USAGE, cost_usd=0.1)
    assert judge(tally(), Completed(usage=USAGE, cost_usd=0.1)) == expected


def test_the_first_abnormal_sign_outranks_a_later_done() -> None:
    """A "done" after a failure does not wash it off."""
    sign = Failed(code="token_cap", message="Too long.", retryable=False)
    done = Completed(usage=USAGE, cost_usd=0.1)
    assert judge(tally(*SPOKEN), done, sign) == Failed(
        code="token_cap", message="Too long.", retryable=False, usage=USAGE, cost_usd=0.1
    )


def test_the_first_abnormal_sign_outranks_a_later_other_failure() -> None:
    """What went wrong first is what is told."""
    told = judge(tally(), Failed(code="agent_dead", message="gone"), Failed(code="token_cap"))
    assert told == Failed(code="token_cap")


def test_a_sign_takes_the_better_words_of_an_ending_that_tells_the_same() -> None:
    """An ending of the same code may say more than the first sign could."""
    ending = Failed(code="agent_error", message="Overloaded.", retryable=False)
    assert judge(tally(), ending, Failed(code="agent_error")) == ending
    first = Failed(code="agent_error", message="First words.", retryable=True)
    assert judge(tally(), ending, first) == first


def test_an_interruption_stands_whatever_signs_it_caused() -> None:
    """A person stopped the turn: errors that the stopping made, and empty answers, are not told instead."""
    stopped = Interrupted(by="ada")
    assert judge(tally(), stopped, Failed(code="agent_error")) == stopped


@given(endings, signs)
def test_an_ending_is_judged_once_and_for_all(ending: Ending, sign: Failed | None) -> None:
    """Judging a judged ending again changes nothing, and no sign leaves a completion."""
    told = judge(tally(), ending, sign)
    assert judge(tally(), told, sign) == told
    assert not isinstance(told, Completed)


# The event that tells it


@pytest.mark.parametrize("code", get_args(FailureCode))
def test_every_failure_has_a_sentence_and_says_whether_to_retry(code: FailureCode) -> None:
    """A failure without words of its own gets those of its code; given words and flags win."""
    plain = terminal_event(Failed(code=code), duration_ms=1, tools=0)
    assert isinstance(plain, TurnFailed)
    assert plain.message == FAILURES[code].message
    assert plain.message.endswith(".")
    assert plain.retryable is FAILURES[code].retryable
    own = terminal_event(Failed(code=code, message="Own.", retryable=False), duration_ms=1, tools=0)
    assert isinstance(own, TurnFailed)
    assert (own.message, own.retryable) == ("Own.", False)


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (Completed(stop_reason="end_turn"), TurnCompleted(stop_reason="end_turn", duration_ms=5, tools=2)),
        (Interrupted(by="ada"), TurnInterrupted(by="ada", duration_ms=5, tools=2)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_ending_becomes_its_terminal_event(ending: Ending, expected: Terminal) -> None:
    """Endings map to terminal events with the turn's figures."""
    assert terminal_event(ending, duration_ms=5, tools=2) == expected


@given(endings, st.integers(0, 10**9), st.integers(0, 100))
def test_figures_of_an_ending_reach_its_event(ending: Ending, duration_ms: int, tools: int) -> None:
    """Usage, cost, duration and tools stand on every terminal event."""
    event = terminal_event(ending, duration_ms=duration_ms, tools=tools)
    assert (event.usage, event.cost_usd) == (ending.usage, ending.cost_usd)
    assert (event.duration_ms, event.tools) == (duration_ms, tools)
    assert type_of(event).startswith("turn_")
