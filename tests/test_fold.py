"""The projection: a conversation looks the same however its events reached whoever looks."""

from __future__ import annotations

import time

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hub import events as ev
from hub.events import (
    AnyEvent,
    Ask,
    AskDelivered,
    AskOpened,
    AskSettled,
    AskWithdrawn,
    By,
    Digest,
    Distillate,
    DistillFailed,
    Gap,
    MessageDelivered,
    Reasoning,
    ReasoningDelta,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnDistilled,
    TurnFailed,
    TurnStarted,
    Unknown,
    UserMessage,
)
from hub.fold import Fold, apply, fold
from hub.items import (
    Activity,
    AssistantItem,
    Delivery,
    NoticeItem,
    ReasoningBlock,
    TextBlock,
    ToolBlock,
    UserItem,
    decode_items,
    encode_items,
)
from tests.strategies import durable, session_logs, trimmed, without_finished_live_streams

MESSAGE = UserMessage(message_id="m1", text="hello", turn_id="t1", seq=1, at="T1")
STARTED = TurnStarted(attempt=1, message_id="m1", turn_id="t1", seq=2, at="T2")
COMPLETED = TurnCompleted(stop_reason="end_turn", duration_ms=7, tools=1, cost_usd=0.5)


def numbered(*events: AnyEvent, turn: str = "t1", after: int = 0) -> list[AnyEvent]:
    """The events with rising numbers, and a turn where they can belong to one."""
    result: list[AnyEvent] = []
    for seq, event in enumerate(events, after + 1):
        changes: dict[str, object] = {"seq": seq}
        if isinstance(event, ev.TurnEvent) and not event.turn_id:
            changes["turn_id"] = turn
        result.append(msgspec.structs.replace(event, **changes))
    return result


def turn(*events: AnyEvent) -> AssistantItem:
    """The assistant item of a turn with these events."""
    item = fold([MESSAGE, STARTED, *numbered(*events, after=2)])[1]
    assert isinstance(item, AssistantItem)
    return item


# Properties


@given(session_logs(), st.data())
def test_reload_at_any_cursor_then_following_gives_the_same_items(
    events: list[AnyEvent], data: st.DataObject
) -> None:
    """A client that got items as JSON at any cursor and went on sees what one who watched it all sees."""
    cut = data.draw(st.integers(0, len(events)))
    seen = encode_items(fold(events[:cut]))
    resumed = Fold.resume(decode_items(seen), cut).extend(events[cut:])
    assert resumed.items() == fold(events)
    assert resumed.cursor == len(events)


@given(session_logs())
def test_a_reload_after_every_single_event_changes_nothing(events: list[AnyEvent]) -> None:
    """Items are the whole state: apply() needs nothing else, at any event."""
    items = fold(())
    for event in events:
        items = apply(decode_items(encode_items(items)), event)
    assert items == fold(events)


@given(session_logs(running=False))
def test_the_log_alone_gives_the_same_items_once_turns_have_ended(events: list[AnyEvent]) -> None:
    """Reloaded after the end, from durable events only, a conversation looks as it did live."""
    assert fold(durable(events)) == fold(events)


@given(session_logs())
def test_a_snapshot_of_log_and_running_turn_gives_the_same_items(events: list[AnyEvent]) -> None:
    """The live streams of finished turns may expire without anybody noticing."""
    assert fold(without_finished_live_streams(events)) == fold(events)


@given(session_logs(), st.data())
def test_deltas_of_written_blocks_may_be_trimmed(events: list[AnyEvent], data: st.DataObject) -> None:
    """A bounded stream, read at any moment and followed from there, folds to the same items."""
    cut = data.draw(st.integers(0, len(events)))
    held = trimmed(events[:cut])
    assert fold(held) == fold(events[:cut])
    assert fold([*held, *events[cut:]]) == fold(events)


@given(session_logs(), st.data())
def test_events_seen_before_change_nothing(events: list[AnyEvent], data: st.DataObject) -> None:
    """Replaying from any earlier cursor is harmless."""
    cut = data.draw(st.integers(0, len(events)))
    back = data.draw(st.integers(0, cut))
    assert fold([*events[:cut], *events[back:]]) == fold(events)


@given(session_logs(), st.data())
def test_unknown_types_fields_and_gaps_are_passed_over(events: list[AnyEvent], data: st.DataObject) -> None:
    """What a later version writes between and into events does not change what this version shows."""
    lines: list[ev.AnyEvent | Unknown] = []
    for event in events:
        if data.draw(st.booleans()):
            lines.append(ev.decode(b'{"type":"telepathy","seq":%d,"turn_id":"x","mood":{}}' % (event.seq - 1)))
            lines.append(Gap(seq=10**9, after=0, before=event.seq))
        line = ev.encode(event)
        lines.append(ev.decode(line[:-1] + b',"from_the_future":[1,{"x":null}]}'))
    assert fold(lines) == fold(events)


@given(session_logs())
def test_no_ended_turn_shows_anything_as_still_going_on(events: list[AnyEvent]) -> None:
    """After its end a turn has no streaming block, no running tool, no open ask, no activity."""
    for item in fold(events):
        if isinstance(item, AssistantItem) and item.ending is not None:
            assert item.status != "running"
            assert item.activity is None
            assert not [b for b in item.blocks if not isinstance(b, ToolBlock) and b.open]
            assert not [b for b in item.blocks if isinstance(b, ToolBlock) and b.status == "running"]
            assert not [a for a in item.asks if a.state in {"open", "delivered"}]


@given(session_logs(), st.data())
def test_any_part_of_a_log_folds_without_an_error(events: list[AnyEvent], data: st.DataObject) -> None:
    """Events of a turn whose beginning was never seen make its item rather than an error."""
    some = data.draw(st.lists(st.sampled_from(events), unique_by=lambda event: event.seq))
    fold(sorted(some, key=lambda event: event.seq))


@given(session_logs())
def test_rendering_in_between_does_not_change_the_result(events: list[AnyEvent]) -> None:
    """A fold looked at after every event ends as one that never was, and old looks stay as they were."""
    watched, looks = Fold(), []
    for event in events:
        watched.apply(event)
        looks.append((watched.items(), encode_items(watched.items())))
    assert watched.items() == fold(events)
    assert all(encode_items(items) == data for items, data in looks)


# One thing at a time


def test_a_message_shows_who_said_what_when() -> None:
    """The user item carries the message, its place and its origin."""
    assert fold([MESSAGE]) == (
        UserItem(message_id="m1", turn_id="t1", text="hello", origin="api", at="T1", seq=1),
    )


def test_delivery_is_shown_on_the_message() -> None:
    """The last verdict about a turn's message stands on its item."""
    items = fold([MESSAGE, STARTED, *numbered(MessageDelivered(verdict="submitted", proof="hook"), after=2)])
    assert isinstance(items[0], UserItem)
    assert items[0].delivery == Delivery(verdict="submitted", proof="hook")


def test_delivery_of_a_retry_is_shown_on_the_message_it_retries() -> None:
    """A retry's turn has no message of its own: the verdict goes to the one it answers."""
    failed = TurnFailed(code="not_delivered", message="no", retryable=True, duration_ms=1, turn_id="t1", seq=3)
    again = TurnStarted(attempt=2, message_id="m1", turn_id="t2", seq=4)
    took = MessageDelivered(verdict="submitted", proof="sdk", turn_id="t2", seq=5)
    user, first, second = fold([MESSAGE, STARTED, failed, again, took])
    assert isinstance(user, UserItem)
    assert isinstance(first, AssistantItem)
    assert isinstance(second, AssistantItem)
    assert user.delivery == Delivery(verdict="submitted", proof="sdk")
    assert (first.status, second.status, second.attempt, second.message_id) == ("failed", "running", 2, "m1")


def test_deltas_join_into_a_streaming_block() -> None:
    """Text that is still coming is shown, and marked as open."""
    item = turn(TextDelta(block=1, text="Hel"), TextDelta(block=1, text="lo"))
    assert item.blocks == (TextBlock(block=1, text="Hello", open=True),)


def test_streaming_blocks_stand_behind_durable_ones() -> None:
    """An open block moves to its place in the log when its text is written."""
    streaming = (TextDelta(block=2, text="b"), ReasoningDelta(block=1, text="a"))
    tool = ToolStarted(tool_id="x", name="Bash")
    kinds = [type(block) for block in turn(*streaming, tool).blocks]
    assert kinds == [ToolBlock, TextBlock, ReasoningBlock]
    written = turn(*streaming, tool, Reasoning(block=1, text="A")).blocks
    assert written[1:] == (ReasoningBlock(block=1, text="A"), TextBlock(block=2, text="b", open=True))


def test_retrying_discards_what_was_streamed_of_unfinished_blocks() -> None:
    """After a retry only written text and what comes anew counts."""
    item = turn(
        Text(block=1, text="kept"), TextDelta(block=2, text="lost"), Status(state="retrying", detail="429")
    )
    assert item.blocks == (TextBlock(block=1, text="kept"),)
    assert item.activity == Activity(state="retrying", detail="429")


def test_activity_lasts_until_the_turns_next_event() -> None:
    """A status is shown while nothing else has happened."""
    assert turn(Status(state="thinking")).activity == Activity(state="thinking")
    assert turn(Status(state="thinking"), TextDelta(block=1, text="x")).activity is None


def test_a_tool_is_one_block_from_start_to_finish() -> None:
    """The tool's end fills in its block; figures count started tools while the turn runs."""
    digest = Digest(text="ok", bytes=2, sha256="00")
    item = turn(
        ToolStarted(tool_id="x", name="Bash", input={"command": "ls"}),
        Text(block=1, text="meanwhile"),
        ToolFinished(tool_id="x", status="ok", digest=digest, duration_ms=5),
    )
    assert item.blocks[0] == ToolBlock(
        tool_id="x", name="Bash", input={"command": "ls"}, status="ok", digest=digest, duration_ms=5
    )
    assert item.stats.tools == 1


def test_an_end_of_a_tool_that_was_never_seen_is_passed_over() -> None:
    """A tool whose start is not held cannot be shown."""
    assert turn(ToolFinished(tool_id="ghost", status="ok")).blocks == ()


def test_a_tool_announced_again_by_a_new_runner_stays_one_block() -> None:
    """Recovery may tell of a tool again: it keeps its place and is counted once."""
    item = turn(
        ToolStarted(tool_id="x", name="Bash"),
        Text(block=1, text="a"),
        TurnStarted(attempt=2),
        ToolStarted(tool_id="x", name="Bash"),
    )
    assert [type(block) for block in item.blocks] == [ToolBlock, TextBlock]
    assert (item.stats.tools, item.attempt, item.status) == (1, 2, "running")


def test_recovery_keeps_the_item_and_what_streams() -> None:
    """A turn that goes on under a new runner is the same item with a higher attempt."""
    item = turn(TextDelta(block=1, text="a"), TurnStarted(attempt=2), TextDelta(block=1, text="b"))
    assert item.attempt == 2
    assert item.started_at == "T2"
    assert item.blocks == (TextBlock(block=1, text="ab", open=True),)


def test_an_ask_is_told_from_opening_to_delivery() -> None:
    """An ask nests in its turn and shows where it stands and who settled it."""
    by = By(kind="person", name="ada")
    opened = AskOpened(ask=Ask(id="a", kind="permission", tool="Bash", subject="ls"))
    settled = AskSettled(ask_id="a", by=by, decision="allow", scope="once", input={"command": "ls -l"})
    states = [
        turn(opened).asks[0].state,
        turn(opened, settled).asks[0].state,
        turn(opened, settled, AskDelivered(ask_id="a")).asks[0].state,
        turn(opened, settled, AskDelivered(ask_id="a"), COMPLETED).asks[0].state,
    ]
    assert states == ["open", "settled", "delivered", "closed"]
    ask = turn(opened, settled).asks[0]
    assert ask.settlement is not None
    assert (ask.subject, ask.settlement.by, ask.settlement.input) == ("ls", by, {"command": "ls -l"})


def test_the_first_settlement_stands() -> None:
    """A second settlement, or one after a withdrawal, changes nothing."""
    opened = AskOpened(ask=Ask(id="a", kind="permission", tool="Bash"))
    first = AskSettled(ask_id="a", by=By(kind="person", name="ada"), decision="deny")
    second = AskSettled(ask_id="a", by=By(kind="person", name="bob"), decision="allow")
    settlement = turn(opened, first, second).asks[0].settlement
    assert settlement is not None
    assert settlement.decision == "deny"
    gone = turn(opened, AskWithdrawn(ask_id="a", reason="agent moved on"), second).asks[0]
    assert (gone.state, gone.reason, gone.settlement) == ("withdrawn", "agent moved on", None)


def test_an_open_ask_is_withdrawn_with_its_turn_and_a_settled_one_stays_settled() -> None:
    """After the end nothing looks answerable, and nothing undelivered looks delivered."""
    opened = [AskOpened(ask=Ask(id=name, kind="permission", tool="Bash")) for name in "ab"]
    settled = AskSettled(ask_id="b", by=By(kind="person", name="ada"), decision="allow")
    first, second = turn(*opened, settled, COMPLETED).asks
    assert (first.state, first.reason) == ("withdrawn", "turn ended")
    assert second.state == "settled"


def test_an_ending_is_shown_with_its_figures() -> None:
    """The terminal event stands on the item, also of a turn that showed nothing."""
    failed = TurnFailed(code="empty_response", message="Nothing.", retryable=True, duration_ms=3)
    item = turn(failed)
    assert item.status == "failed"
    assert item.blocks == ()
    assert isinstance(item.ending, TurnFailed)
    assert item.ending.code == "empty_response"
    assert turn(COMPLETED).stats.cost_usd == 0.5


def test_what_nobody_closed_is_closed_by_the_end() -> None:
    """Streaming blocks without durable text vanish with their turn; a tool that ran on ends as unknown."""
    item = turn(TextDelta(block=1, text="lost"), ToolStarted(tool_id="x", name="Bash"), COMPLETED)
    assert item.blocks == (ToolBlock(tool_id="x", name="Bash", status="unknown"),)


def test_nothing_counts_after_the_end() -> None:
    """The first terminal event stands; words and tools that come later do not."""
    after = (Text(block=1, text="ghost"), TextDelta(block=2, text="g"), ToolStarted(tool_id="x", name="B"))
    late = TurnFailed(code="owner_lost", message="x", retryable=True, duration_ms=1)
    assert turn(COMPLETED, *after, late) == turn(COMPLETED)


def test_a_memory_finds_its_turn_later() -> None:
    """Distillation comes after the end, maybe while the next turn runs."""
    remembered = TurnDistilled(distillate=Distillate(summary="said hello"), route="extractive")
    item = turn(COMPLETED, UserMessage(message_id="m2", text="next", turn_id="t2"), remembered)
    assert item.memory == Distillate(summary="said hello")


def test_a_failed_memory_is_a_notice() -> None:
    """What a person should know without it being the agent's words is a notice."""
    items = fold(
        [MESSAGE, STARTED, *numbered(COMPLETED, DistillFailed(code="timeout", message="Too late."), after=2)]
    )
    assert items[-1] == NoticeItem(code="timeout", message="Too late.", turn_id="t1")


def test_deltas_of_an_unknown_turn_make_its_item() -> None:
    """A client that joined in the middle shows what it gets."""
    (item,) = fold(numbered(TextDelta(block=1, text="late"), turn="t9"))
    assert isinstance(item, AssistantItem)
    assert (item.turn_id, item.started_at, item.message_id) == ("t9", None, None)


def test_memories_and_verdicts_of_an_unknown_turn_are_passed_over() -> None:
    """What only adds to a turn does not make one."""
    events = numbered(
        TurnDistilled(distillate=Distillate(summary="s"), route="r"),
        MessageDelivered(verdict="submitted"),
        turn="t9",
    )
    assert fold(events) == ()


def test_a_hundred_thousand_deltas_fold_in_linear_time() -> None:
    """Folding and one rendering of a very long answer take well under what copying at each delta would."""
    deltas = [TextDelta(block=1, text="twenty characters.. ", turn_id="t1", seq=n) for n in range(3, 100_003)]
    start = time.process_time()
    item = fold([MESSAGE, STARTED, *deltas])[1]
    assert time.process_time() - start < 5
    assert isinstance(item, AssistantItem)
    block = item.blocks[0]
    assert isinstance(block, TextBlock)
    assert len(block.text) == 2_000_000


def test_a_turn_names_its_tools_once_in_the_order_of_first_use() -> None:
    """What a line about a turn needs is in its item, live and read back."""
    calls = [ToolStarted(tool_id=str(number), name=name) for number, name in enumerate(("Read", "Bash", "Read"))]
    running = turn(*calls)
    assert running.tool_names == ("Read", "Bash")
    (again,) = decode_items(encode_items((running,)))
    assert isinstance(again, AssistantItem)
    later = numbered(ToolStarted(tool_id="9", name="Glob"), COMPLETED, after=9)
    (ended,) = Fold.resume((again,), 9).extend(later).items()
    assert isinstance(ended, AssistantItem)
    assert (ended.tool_names, ended.status, ended.stats.duration_ms) == (("Read", "Bash", "Glob"), "completed", 7)
