"""Frames in memory: a cursor at or above the floor sees everything, once, in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hub.store.frames import Frames, Slice, View, joined
from hub.store.records import Entry

TYPES = ("text_delta", "text", "turn_completed", "message_queued")


def made(seq: int, turn: str = "t", kind: str = "text", size: int = 0) -> Entry:
    """An entry of about ``size`` bytes."""
    return Entry(seq, turn, kind, b"id: %d\nevent: %s\ndata: {}%s\n\n" % (seq, kind.encode(), b" " * size))


entries = st.lists(
    st.builds(
        lambda turn, kind, size: (turn, kind, size),
        st.sampled_from("ab"),
        st.sampled_from(TYPES),
        st.integers(0, 40),
    ),
    max_size=40,
).map(lambda rows: [made(number, *row) for number, row in enumerate(rows, 1)])
views = st.sampled_from([View(), View(transient=True), View("a"), View("b")])


def shown(some: list[Entry], view: View, after: int) -> bytes:
    """What a view shows of all entries behind a cursor, up to its turn's end."""
    parts = []
    for one in some:
        if one.seq > after and view.shows(one):
            parts.append(one.frame)
            if view.turn_id is not None and one.terminal:
                break
    return b"".join(parts)


@given(entries, views, st.integers(0, 40), st.integers(1, 7))
def test_reading_in_steps_is_reading_at_once(some: list[Entry], view: View, cursor: int, step: int) -> None:
    """Entries come in batches of any size; a subscriber that reads after each sees what it would see in one
    go, from any cursor, and its cursor only rises."""
    frames = Frames(0, most_bytes=1 << 20)
    seen, at, over = b"", min(cursor, len(some)), False
    start = at
    for begin in range(0, len(some), step):
        batch = some[begin : begin + step]
        frames.append(batch, batch[-1].seq)
        while not over and at < frames.last:
            found = frames.after(at, view)
            assert found.cursor > at
            seen, at, over = seen + found.frames, found.cursor, found.ended
    assert seen == shown(some, view, start)


@given(entries, st.integers(1, 400))
def test_memory_is_bounded_and_nothing_above_the_floor_is_missing(some: list[Entry], most: int) -> None:
    """Beyond the bound, by no more than one frame, the oldest go, never the newest; from the floor on
    everything is there."""
    frames = Frames(0, most_bytes=most)
    for one in some:
        frames.append([one], one.seq)
        held = frames.after(frames.floor, View(transient=True)).frames
        assert len(held) <= most + max(len(entry.frame) for entry in some)
        assert held.endswith(one.frame)
        assert held == shown(some[: one.seq], View(transient=True), frames.floor)


@given(entries, st.data())
def test_repeated_and_old_entries_change_nothing(some: list[Entry], data: st.DataObject) -> None:
    """The same entries again, in part or whole, are dropped."""
    frames = Frames(0, most_bytes=1 << 20)
    frames.append(some, len(some))
    again = data.draw(st.lists(st.sampled_from(some))) if some else []
    frames.append(again, again[-1].seq if again else 0)
    assert frames.after(0, View(transient=True)).frames == b"".join(one.frame for one in some)
    assert frames.last == len(some)


def test_what_several_want_is_joined_once() -> None:
    """Two subscribers at one cursor with equal views get the very same bytes object."""
    frames = Frames(0, most_bytes=1 << 20)
    frames.append([made(1), made(2)], 2)
    assert frames.after(0, View("t")).frames is frames.after(0, View("t")).frames
    assert frames.after(0, View("t")).frames is not frames.after(1, View("t")).frames


def test_a_slice_is_bounded_and_goes_on_where_it_stopped() -> None:
    """More than about 256 KiB come in several slices."""
    some = [made(number, size=100_000) for number in range(1, 8)]
    first = joined(some, View(), 0)
    assert 256 * 1024 <= len(first.frames) < 400_000
    rest = joined(some[first.cursor :], View(), first.cursor)
    assert first.frames + rest.frames == b"".join(one.frame for one in some[: rest.cursor])


def test_a_view_of_a_turn_ends_with_it() -> None:
    """Nothing of what follows the terminal event is in the slice, nor of other turns before it."""
    some = [made(1, "a"), made(2, "b"), made(3, "a", "turn_failed"), made(4, "a"), made(5, "c")]
    assert joined(some, View("a"), 0) == Slice(some[0].frame + some[2].frame, 3, ended=True)


def test_a_number_without_an_event_moves_the_cursor() -> None:
    """Numbers whose events are no longer held are passed, so that nobody waits for them."""
    frames = Frames(0, most_bytes=1 << 20)
    frames.append([made(1)], 5)
    assert frames.after(0, View()) == Slice(made(1).frame, 5, ended=False)
    assert frames.after(1, View()).cursor == 5


def test_a_cursor_that_is_ahead_of_what_is_held_never_goes_back() -> None:
    """Whoever read an event in the store before it rang here does not get it again when it does."""
    frames = Frames(0, most_bytes=1 << 20)
    frames.append([made(1), made(2)], 2)
    ahead = frames.after(3, View("t"))
    assert (ahead.frames, ahead.cursor) == (b"", 3)
    frames.append([made(3), made(4)], 4)
    assert frames.after(ahead.cursor, View("t")).frames == made(4).frame
