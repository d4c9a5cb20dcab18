"""Typing into a terminal: whatever goes wrong at whichever step, nobody is told something that is not so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.runner.delivery import Delivery, Verify
from hub.transport import Message, Verdict
from hub.typist import CannotConvey, Conveyed, Hold, Pace, PlaceLost, PlaceTaken, Sight, undelivered
from tests.runner import terminal as t
from tests.runner.terminal import FakeTypist, Fault, Terminal, by_hook, by_nobody, by_pane

pytestmark = pytest.mark.anyio

TEXT = "list the files, please"
LONG = "a line of many words\n" * 60
Ladder = Callable[[Terminal], Verify]


class Free:
    """A lock that is never lost."""

    def check(self) -> None:
        """Fine."""


@asynccontextmanager
async def unlocked(place: str) -> AsyncIterator[Hold]:
    """A lock for those who are alone."""
    yield Free()


def message(text: str = TEXT) -> Message:
    """A message."""
    return Message(id="m", text=text)


async def deliver(
    terminal: Terminal,
    faults: Sequence[tuple[int, Fault]] = (),
    *,
    text: str = TEXT,
    verify: Verify | None = None,
    typist: FakeTypist | None = None,
    resumed: bool = False,
) -> tuple[Verdict, FakeTypist]:
    """Deliver ``text``; the verdict, and the typist that did it."""
    typist = typist or FakeTypist(terminal, faults)
    delivery = Delivery(typist, message(text), verify or by_pane(terminal), clock=lambda: terminal.now)
    return await delivery.run(unlocked, resumed=resumed), typist


async def step_of(name: str, *, nth: int = 1, draft: str = "") -> int:
    """The step at which an undisturbed delivery does ``name`` for the ``nth`` time."""
    terminal = Terminal(draft)
    _, typist = await deliver(terminal)
    found = [number for number, step in enumerate(typist.steps) if step == name]
    return found[nth - 1]


# The good case


async def test_a_message_is_typed_submitted_and_proven() -> None:
    """One paste, one Enter, one submission; the proof is named."""
    terminal = Terminal()
    verdict, typist = await deliver(terminal)
    assert verdict == Verdict(verdict="submitted", proof="pane")
    assert terminal.took == [TEXT]
    assert (typist.count("paste"), typist.count("submit")) == (1, 1)


async def test_the_terminal_is_looked_at_before_the_paste_and_right_before_enter() -> None:
    """No key without a look just before it."""
    _, typist = await deliver(Terminal())
    for key in ("paste", "submit"):
        assert typist.steps[typist.steps.index(key) - 1] == "look"


async def test_what_had_to_be_changed_is_named() -> None:
    """The detail says in what the text differs from the message."""
    verdict, _ = await deliver(Terminal(), text=f"{TEXT}  \n")
    assert verdict.verdict == "submitted"
    assert verdict.detail == "Changed: whitespace at its end"


async def test_a_long_paste_that_collapses_is_delivered_once() -> None:
    """A chip in the composer is the text."""
    terminal = Terminal(chips=True)
    verdict, typist = await deliver(terminal, text=LONG)
    assert verdict.verdict == "submitted"
    assert terminal.took == [LONG.rstrip()]
    assert typist.count("paste") == 1


async def test_the_same_message_twice_is_two_submissions() -> None:
    """What stands on the screen from before proves nothing."""
    terminal = Terminal()
    for count in (1, 2):
        verdict, _ = await deliver(terminal)
        assert verdict.verdict == "submitted"
        assert terminal.took == [TEXT] * count
    terminal.swallow = ["enter", "enter"]
    verdict, _ = await deliver(terminal)
    assert verdict.verdict == "staged"
    assert terminal.took == [TEXT] * 2


async def test_a_starting_agent_is_waited_for() -> None:
    """Nothing is typed before the composer is ready, and nothing at all into one that never is."""
    terminal = Terminal()
    terminal.starting_until = 3.0
    verdict, _ = await deliver(terminal)
    assert verdict.verdict == "submitted"
    terminal.starting_until = float("inf")
    verdict, _ = await deliver(terminal)
    assert verdict.verdict == "unverified"
    assert "nothing was typed" in str(verdict.detail)
    assert terminal.took == [TEXT]


# Refused


async def test_what_cannot_be_conveyed_is_refused_before_anything_is_typed() -> None:
    """The reason reaches the caller; the terminal feels nothing."""
    terminal = Terminal()
    with pytest.raises(CannotConvey, match="slash"):
        Delivery(FakeTypist(terminal, refuses="a slash"), message(), by_nobody)
    assert terminal.keys == 0


# Faults before the paste


async def test_copy_mode_is_left_first() -> None:
    """Scrolled back at the start: left, then typed."""
    terminal = Terminal()
    terminal.scrolled = True
    verdict, typist = await deliver(terminal)
    assert verdict.verdict == "submitted"
    assert typist.steps[:3] == ["look", "unscroll", "look"]


@pytest.mark.parametrize("holder", ["shell", "nothing"])
async def test_a_terminal_without_its_agent_is_dead_and_nothing_is_typed(holder: str) -> None:
    """A shell never gets a message."""
    terminal = Terminal()
    terminal.holder = holder
    verdict, _ = await deliver(terminal)
    assert verdict.verdict == "dead"
    assert terminal.keys == 0


async def test_a_dialog_at_the_start_blocks_with_its_text() -> None:
    """No key is pressed while a dialog holds the keyboard; the person is told which."""
    terminal = Terminal()
    t.dialog(terminal)
    terminal.tick()
    verdict, _ = await deliver(terminal)
    assert verdict == Verdict(verdict="blocked", proof="pane", detail="Run rm -rf build?")
    assert (terminal.keys, terminal.confirmed) == (0, [])


async def test_a_survey_is_dismissed() -> None:
    """What needs no decision is put away."""
    terminal = Terminal()
    t.survey(terminal)
    terminal.tick()
    verdict, _ = await deliver(terminal)
    assert verdict.verdict == "submitted"
    assert terminal.confirmed == []


async def test_what_cannot_be_found_out_is_waited_for_then_reported() -> None:
    """tmux that does not answer for a moment is no death; one that never does is told of."""
    verdict, _ = await deliver(Terminal(), [(0, t.blind)])
    assert verdict.verdict == "submitted"
    terminal = Terminal()
    terminal.blind_until = float("inf")
    verdict, _ = await deliver(terminal)
    assert verdict.verdict == "unverified"
    assert "nothing was typed" in str(verdict.detail)
    assert terminal.keys == 0


# Faults between paste and Enter


@pytest.mark.parametrize("where", ["paste", "submit"])
@pytest.mark.parametrize("after", [0, 1])
async def test_copy_mode_entered_around_the_keys_is_left_and_the_text_arrives_once(where: str, after: int) -> None:
    """Somebody scrolls right before or after a key."""
    terminal = Terminal()
    verdict, _ = await deliver(terminal, [(await step_of(where) + after, t.scroll)])
    assert verdict.verdict == "submitted"
    assert terminal.took == [TEXT]


@pytest.mark.parametrize("before_enter", [0, 1, 2])
async def test_a_dialog_that_opens_between_paste_and_enter_is_never_confirmed(before_enter: int) -> None:
    """Enter is not pressed, however late the dialog opens."""
    terminal = Terminal()
    verdict, _ = await deliver(terminal, [(await step_of("submit") - before_enter, t.dialog)])
    assert verdict == Verdict(verdict="blocked", proof="pane", detail="Run rm -rf build?")
    assert (terminal.confirmed, terminal.took) == ([], [])


@pytest.mark.parametrize("where", ["paste", "submit"])
@pytest.mark.parametrize("end", [t.to_shell, t.to_nothing])
async def test_an_agent_that_dies_before_a_key_is_dead_and_the_shell_gets_nothing(where: str, end: Fault) -> None:
    """However late it dies."""
    terminal = Terminal()
    verdict, _ = await deliver(terminal, [(await step_of(where), end)])
    assert verdict.verdict == "dead"
    assert terminal.shell_input == []


async def test_an_agent_that_dies_after_taking_the_message_has_taken_it() -> None:
    """The hook's word outlives the agent."""
    terminal = Terminal()
    step = await step_of("submit") + 1
    verdict, _ = await deliver(terminal, [(step, t.to_shell)], verify=by_hook(terminal))
    assert (verdict.verdict, terminal.took) == ("submitted", [TEXT])


async def test_a_swallowed_paste_is_not_submitted() -> None:
    """An empty composer gets no Enter."""
    terminal = Terminal()
    verdict, typist = await deliver(terminal, [(0, t.swallow("paste"))])
    assert verdict.verdict == "unverified"
    assert "did not appear" in str(verdict.detail)
    assert (typist.count("submit"), terminal.took) == (0, [])


async def test_a_paste_that_arrives_in_part_is_taken_away() -> None:
    """Half a message is not submitted, and does not lie about for the next one."""
    terminal = Terminal()
    verdict, _ = await deliver(terminal, [(0, t.swallow("part"))])
    assert verdict.verdict == "unverified"
    assert (terminal.took, terminal.text) == ([], "")


@pytest.mark.parametrize("before_enter", [0, 1])
async def test_a_person_who_types_at_the_same_time_keeps_enter_from_being_pressed(before_enter: int) -> None:
    """Their words and ours are never submitted as one."""
    terminal = Terminal()
    verdict, _ = await deliver(terminal, [(await step_of("submit") - before_enter, t.person_types)])
    assert verdict.verdict == "unverified"
    assert "somebody types" in str(verdict.detail)
    assert terminal.took == []


# Faults at Enter and after


async def test_a_swallowed_enter_is_mended_by_typing_once_more() -> None:
    """Proof that it sits there unsent allows a second try, after clearing."""
    terminal = Terminal()
    verdict, typist = await deliver(terminal, [(0, t.swallow("enter"))])
    assert verdict.verdict == "submitted"
    assert terminal.took == [TEXT]
    assert typist.count("paste") == 2


async def test_it_is_never_typed_a_third_time() -> None:
    """Two Enters lost: staged, and left."""
    terminal = Terminal()
    verdict, typist = await deliver(terminal, [(0, t.swallow("enter")), (0, t.swallow("enter"))])
    assert verdict.verdict == "staged"
    assert terminal.took == []
    assert typist.count("paste") == 2


@pytest.mark.parametrize("verify", [by_hook, by_pane])
@pytest.mark.parametrize("stall", [t.hang, t.hang_long])
@pytest.mark.parametrize("chips", [False, True])
async def test_a_slow_enter_is_not_doubled(verify: Ladder, stall: Fault, chips: bool) -> None:
    """The key is still on its way when patience ends: the text is not typed again behind it."""
    terminal = Terminal(chips=chips)
    text = LONG if chips else TEXT
    step = await step_of("submit")
    verdict, _ = await deliver(terminal, [(step, stall)], text=text, verify=verify(terminal))
    assert terminal.took.count(text.rstrip()) <= 1
    terminal.tick(30)
    assert terminal.took.count(text.rstrip()) == 1
    assert verdict.verdict in ("submitted", "unverified", "staged")
    assert terminal.text == ""


async def test_without_proof_there_is_no_success_and_no_second_try() -> None:
    """Nobody can tell: unverified, typed once."""
    terminal = Terminal()
    verdict, typist = await deliver(terminal, verify=by_nobody)
    assert verdict.verdict == "unverified"
    assert typist.count("paste") == 1


async def test_who_knows_why_nothing_is_proven_is_quoted() -> None:
    """The verifier's own words go before the general ones; it is no success, and nothing is typed again."""

    async def doubts(before: Sight, now: Sight, conveyed: Conveyed) -> Verdict | None:
        return Verdict(verdict="unverified", detail="Other words arrived.")

    verdict, typist = await deliver(Terminal(), verify=doubts)
    assert (verdict.verdict, verdict.detail) == ("unverified", "Other words arrived.")
    assert typist.count("paste") == 1


async def test_a_dialog_after_enter_is_no_refusal() -> None:
    """The agent's first question may come before the proof of submission."""
    terminal = Terminal()
    verdict, _ = await deliver(terminal, [(await step_of("submit") + 1, t.dialog)], verify=by_nobody)
    assert verdict.verdict == "unverified"
    assert "rm -rf" in str(verdict.detail)


# Other people's drafts


async def test_a_persons_draft_is_set_aside_and_given_back() -> None:
    """The message goes alone; the draft stands there afterwards as before."""
    terminal = Terminal("half a thought")
    verdict, _ = await deliver(terminal)
    assert verdict.verdict == "submitted"
    assert "put back" in str(verdict.detail)
    assert (terminal.took, terminal.text) == ([TEXT], "half a thought")


async def test_a_draft_that_cannot_be_cleared_stays_and_nothing_is_typed() -> None:
    """No merging."""
    terminal = Terminal("half a thought")
    terminal.sticky = True
    verdict, _ = await deliver(terminal)
    assert verdict.verdict == "unverified"
    assert (terminal.took, terminal.text) == ([], "half a thought")


async def test_a_draft_that_is_seen_only_in_part_is_left_alone() -> None:
    """What cannot be given back is not taken away."""
    terminal = Terminal("[Pasted text #7] and more")
    verdict, _ = await deliver(terminal)
    assert verdict.verdict == "unverified"
    assert "left alone" in str(verdict.detail)
    assert (terminal.keys, terminal.took) == (0, [])


async def test_a_draft_that_cannot_be_put_back_is_told() -> None:
    """The person finds their words in the detail."""
    terminal = Terminal("half a thought")
    submit = await step_of("submit", draft="half a thought")
    verdict, _ = await deliver(terminal, [(submit + 1, t.dialog)])
    assert verdict.verdict == "submitted"
    assert "'half a thought'" in str(verdict.detail)


async def test_this_very_message_left_in_the_composer_is_no_draft() -> None:
    """An earlier try that left it there does not make it stay for ever."""
    terminal = Terminal(TEXT)
    verdict, _ = await deliver(terminal)
    assert verdict.verdict == "submitted"
    assert (terminal.took, terminal.text) == ([TEXT], "")


# Cancelled, taken over, locked


@pytest.mark.parametrize("draft", ["", "half a thought"])
async def test_cancelled_before_enter_it_takes_the_text_back(draft: str) -> None:
    """An interrupted turn leaves the composer as it found it."""
    terminal = Terminal(draft)
    begun = asyncio.Event()

    class Waiting(FakeTypist):
        def staged(self, before: Sight, now: Sight, text: str) -> bool:
            found = super().staged(before, now, text)
            if found and before.composer == "empty" and text == TEXT and not begun.is_set():
                begun.set()
                return False
            return found

    typist = Waiting(terminal, [(1000, t.scroll)], pace=Pace(paste_s=1000))
    task = asyncio.create_task(deliver(terminal, typist=typist))
    async with asyncio.timeout(10):
        await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (terminal.text, terminal.took) == (draft, [])


@pytest.mark.parametrize("state", ["took", "staged", "nothing"])
async def test_a_delivery_that_was_cut_off_is_not_typed_again(state: str) -> None:
    """Taken over in the middle: what is proven counts, what sits there is submitted, else it is told."""
    terminal = Terminal(TEXT if state == "staged" else "")
    terminal.took = [TEXT] if state == "took" else []
    terminal.tick()
    verdict, typist = await deliver(terminal, resumed=True, verify=by_hook(terminal))
    assert verdict.verdict == ("unverified" if state == "nothing" else "submitted")
    assert terminal.took == ([] if state == "nothing" else [TEXT])
    assert typist.count("paste") == 0


async def test_two_senders_at_once_do_not_merge() -> None:
    """One after the other, each message by itself."""
    terminal, lock = Terminal(), asyncio.Lock()

    @asynccontextmanager
    async def locked(place: str) -> AsyncIterator[Hold]:
        async with lock:
            yield Free()

    texts = [f"message {number}" for number in range(5)]
    runs = [
        Delivery(FakeTypist(terminal), message(text), by_pane(terminal), clock=lambda: terminal.now).run(locked)
        for text in texts
    ]
    verdicts = await asyncio.gather(*runs)
    assert {verdict.verdict for verdict in verdicts} == {"submitted"}
    assert sorted(terminal.took) == texts


@pytest.mark.parametrize("checks", range(4))
async def test_who_has_lost_the_terminal_stops_typing(checks: int) -> None:
    """After the lock is lost no key is pressed any more."""
    terminal = Terminal()

    class Expiring:
        left = checks

        def check(self) -> None:
            self.left -= 1
            if self.left < 0:
                raise PlaceLost("Lost.")

    @asynccontextmanager
    async def locked(place: str) -> AsyncIterator[Hold]:
        yield Expiring()

    typist = FakeTypist(terminal)
    verdict = await Delivery(typist, message(), by_pane(terminal), clock=lambda: terminal.now).run(locked)
    assert terminal.keys == min(checks, 2)
    assert verdict.verdict == ("submitted" if checks >= 2 else "unverified")


async def test_a_terminal_that_stays_taken_is_told_of() -> None:
    """Nothing is typed into a terminal that others type into."""

    @asynccontextmanager
    async def taken(place: str) -> AsyncIterator[Hold]:
        raise PlaceTaken("Somebody else types.")
        yield

    terminal = Terminal()
    verdict = await Delivery(FakeTypist(terminal), message(), by_nobody, clock=lambda: terminal.now).run(taken)
    assert (verdict.verdict, terminal.keys) == ("unverified", 0)


# Whatever happens

FAULTS = [
    t.scroll,
    t.dialog,
    t.survey,
    t.answered,
    t.to_shell,
    t.to_nothing,
    t.blind,
    t.hang,
    t.hang_long,
    t.person_types,
    t.person_enters,
    t.sticky,
    t.swallow("enter"),
    t.swallow("paste"),
    t.swallow("part"),
    t.swallow("back"),
]
schedules = st.lists(st.tuples(st.integers(0, 60), st.sampled_from(FAULTS)), max_size=5)


@given(
    schedule=schedules,
    draft=st.sampled_from(["", "", "half a thought", "y", TEXT]),
    text=st.sampled_from([TEXT, LONG, "y", "two\nlines"]),
    verify=st.sampled_from([by_hook, by_pane]),
)
def test_whatever_goes_wrong_success_is_true_and_nothing_is_submitted_twice(
    schedule: list[tuple[int, Fault]], draft: str, text: str, verify: Ladder
) -> None:
    """No false success, at most one submission, no key for a shell, no dialog confirmed by us, no lost draft."""
    terminal = Terminal(draft, chips=True)
    by_person = [fault for _, fault in schedule if fault is t.person_enters]
    verdict, typist = asyncio.run(deliver(terminal, schedule, text=text, verify=verify(terminal)))
    ours = text.rstrip()
    if verdict.verdict in ("submitted", "queued"):
        assert terminal.took.count(ours) >= 1
    if verdict.verdict in ("staged", "blocked"):
        assert terminal.took.count(ours) <= len(by_person)
    terminal.tick(60)  # whatever is still on its way arrives
    assert terminal.took.count(ours) <= 1 + len(by_person)
    assert typist.count("paste") <= 2 + 2 + typist.count("submit")
    assert not [given for given in terminal.shell_input if ours in given]
    if not by_person:
        assert terminal.confirmed == []
        assert all(taken in (ours,) for taken in terminal.took), terminal.took
    if draft and draft != ours and terminal.holder == "agent" and not by_person:
        assert draft in terminal.text or draft in str(verdict.detail) or terminal.sticky or terminal.dialog


# What becomes of the turn


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (Verdict(verdict="dead"), "agent_dead"),
        (Verdict(verdict="blocked", detail="Run ls?"), "blocked_by_dialog"),
        (Verdict(verdict="staged"), "not_delivered"),
        (Verdict(verdict="unverified", detail="Who knows."), "not_delivered"),
        (CannotConvey("It would run a command."), "not_delivered"),
    ],
)
def test_a_verdict_that_is_no_success_fails_the_turn_with_its_reason(
    verdict: Verdict | CannotConvey, code: str
) -> None:
    """The person learns what happened, in the words of what was seen."""
    failed = undelivered(verdict)
    assert failed.code == code
    if verdict.detail:
        assert verdict.detail in str(failed.message)
    assert failed.retryable is (False if isinstance(verdict, CannotConvey) else None)
