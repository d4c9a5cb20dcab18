"""Proof of delivery: by hook, transcript and pane, in that order; only what is new counts, never words alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from turnhub_tmux.bridge.course import Course
from turnhub_tmux.bridge.facts import PromptSubmitted
from turnhub_tmux.bridge.posts import Post
from turnhub_tmux.panes.pane import Look, PaneRef
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.traces import PromptLog, plain, same
from turnhub_tmux.transcript.facts import Absorbed, Prompt, Queue
from turnhub_tmux.transcript.rows import facts
from turnhub_tmux.typist import SEEN, Seen
from turnhub_tmux.verify import TRACES, verify

from hub import Evidence, Message
from hub.testing import make_session

RECORDED = Path(__file__).parent.parent / "recorded"
BLOCK = "\n".join(f"line {number}" for number in range(6))


def verdict(text: str, before: Mapping[str, Any], after: Mapping[str, Any], transport: str = "tmux") -> Any:
    """What the ladder says: the verdict and its proof, or None."""
    session = make_session(transport)
    message = Message(id="m", text=text)
    found = verify(Evidence(session=session, message=message, text=text, before=before, after=after))
    return None if found is None else (found.verdict, found.proof)


def look(log: PromptLog) -> dict[str, Any]:
    """A sight's evidence without a pane."""
    return {TRACES: log.now()}


def by_hook(text: str, **details: Any) -> PromptSubmitted:
    """A hook's word."""
    return PromptSubmitted(prompt=text, **details)


def typed(text: str, uuid: str) -> Prompt:
    """A row of a prompt that went straight in."""
    return Prompt(text=text, uuid=uuid, source="typed")


def enqueued(text: str) -> Queue:
    """A row of a prompt that went into the queue."""
    return Queue(operation="enqueue", text=text)


# -- the form of the words --------------------------------------------------------------------------------------


def test_reports_of_long_pastes_are_unwrapped(recorded: Callable[[str], list[Post]]) -> None:
    """Whole or with words before it, with or without the blank lines: as recorded from the agent."""
    reports = [post.fact.prompt for post in recorded("plain") if isinstance(post.fact, PromptSubmitted)]
    assert [plain(report) for report in reports] == ["hello  there\nsecond line", BLOCK, ("word " * 200).rstrip()]
    assert plain('pre \n\n<pasted_content id="e1c8">\na\nb\n</pasted_content id="e1c8">') == "pre a\nb"
    queued = [post.fact.prompt for post in recorded("queued") if isinstance(post.fact, PromptSubmitted)]
    assert same(queued[3], BLOCK)


def test_the_same_words_are_the_same_up_to_what_the_composer_leaves_off() -> None:
    """Whitespace at the end, and the way accents are written; nothing else."""
    assert same("cafe\u0301 ", "caf\u00e9\n\n")
    assert not same("a  b", "a b")
    assert not same("draft and text", "text")
    assert not same("", "")
    literal = 'see <pasted_content id="1">\nx\n</pasted_content id="1">'
    assert same(literal, literal)


# -- what is on record ------------------------------------------------------------------------------------------


def test_the_hook_comes_first_then_the_transcript() -> None:
    """Either proves a submission; other words prove nothing."""
    log = PromptLog()
    before = look(log)
    log.note(typed("hello", "1"))
    assert verdict("hello", before, look(log)) == ("submitted", "transcript")
    assert verdict("other", before, look(log)) is None
    log.note(by_hook("hello"))
    assert verdict("hello", before, look(log)) == ("submitted", "hook")
    assert verdict("hello", before, look(log), transport="sdk") is None


def test_what_was_on_record_before_proves_nothing() -> None:
    """The same message again is delivered when it was taken again."""
    log = PromptLog()
    log.note(by_hook("yes"))
    log.note(typed("yes", "1"))
    before = look(log)
    assert verdict("yes", before, look(log)) is None
    log.note(by_hook("yes"))
    assert verdict("yes", before, look(log)) == ("submitted", "hook")


def test_what_tells_late_of_the_first_does_not_prove_the_second() -> None:
    """The hook told of the first; its row is written when the same words were typed again."""
    log = PromptLog()
    log.note(by_hook("yes"))
    before = look(log)
    log.note(typed("yes", "1"))
    assert verdict("yes", before, look(log)) is None
    log.note(typed("yes", "2"))
    assert verdict("yes", before, look(log)) == ("submitted", "transcript")


def test_a_delivery_that_the_pane_proved_is_no_news_when_it_is_told_late() -> None:
    """Its post and its row come while the same words are typed again."""
    log = PromptLog()
    log.typed("yes")
    log.sent()
    before = look(log)
    log.note(by_hook("yes"))
    log.note(typed("yes", "1"))
    assert verdict("yes", before, look(log)) is None
    log.note(typed("yes", "2"))
    assert verdict("yes", before, look(log)) == ("submitted", "transcript")


def test_a_delivery_that_was_told_already_is_not_counted_twice() -> None:
    """The hook proved the first; so it proves the second."""
    log = PromptLog()
    for _ in range(3):
        before = look(log)
        log.typed("yes")
        log.note(by_hook("yes"))
        assert verdict("yes", before, look(log)) == ("submitted", "hook")
        log.sent()


def test_a_person_who_types_the_same_words_meanwhile_is_counted() -> None:
    """Their prompt is one taking: it is not taken for a second one."""
    log = PromptLog()
    log.note(by_hook("go"))
    log.typed("go")
    before = look(log)
    log.sent()  # the pane proved it, and neither hook nor transcript has told yet
    log.note(by_hook("go"))
    assert verdict("go", before, look(log)) == ("submitted", "hook")
    later = look(log)
    assert verdict("go", later, look(log)) is None


def test_a_key_that_was_pressed_counts_although_nothing_proved_it() -> None:
    """What tells late of it is no proof of the same words typed again; the second that is told is."""
    log = PromptLog()
    log.typed("again")
    log.sent()  # and nothing was heard
    before = look(log)
    log.typed("again")
    log.sent()
    log.note(by_hook("again"))
    assert verdict("again", before, look(log)) is None
    log.note(by_hook("again"))
    assert verdict("again", before, look(log)) == ("submitted", "hook")


def test_what_was_seen_unsent_and_taken_away_does_not_count() -> None:
    """Typed a second time, the first that is told is the proof."""
    log = PromptLog()
    log.typed("again")
    log.sent()
    log.withdrawn()
    before = look(log)
    log.typed("again")
    log.sent()
    log.note(by_hook("again"))
    assert verdict("again", before, look(log)) == ("submitted", "hook")


def test_a_busy_agent_has_queued_it_until_it_works_on_it() -> None:
    """By hook, by transcript; what comes out of the queue later has been submitted."""
    log = PromptLog()
    before = look(log)
    log.note(by_hook("later", queued=True))
    assert verdict("later", before, look(log)) == ("queued", "hook")
    log.note(enqueued("later"))
    log.note(Queue(operation="dequeue"))
    log.note(Prompt(text="later", uuid="1", source="queued"))
    assert verdict("later", before, look(log)) == ("submitted", "hook")


def test_words_that_come_out_of_the_queue_do_not_prove_the_same_words_typed_since() -> None:
    """The first was queued; the second is typed when the first is taken out of the queue, or absorbed."""
    for out in (Prompt(text="go", uuid="1", source="queued"), Absorbed(text="go", uuid="1"), Prompt(text="go")):
        log = PromptLog()
        log.note(enqueued("go"))
        before = look(log)
        log.note(out)
        assert verdict("go", before, look(log)) is None
        log.note(enqueued("go"))
        assert verdict("go", before, look(log)) == ("queued", "transcript")


def test_the_same_words_queued_twice_are_proven_by_the_second_row(recorded: Callable[[str], list[Post]]) -> None:
    """The posts of both are alike, so the second is no proof by itself: as recorded from the agent."""
    course, log = Course(), PromptLog()
    posts = [
        fact for post in recorded("queued") for fact in course.take(post) if isinstance(fact, PromptSubmitted)
    ]
    rows = [fact for line in (RECORDED / "queued.rows.jsonl").read_bytes().splitlines() for fact in facts(line)]
    log.note(posts[0])
    first = look(log)
    log.note(posts[1])
    log.note(rows[0])
    assert verdict("the same words", first, look(log)) == ("queued", "hook")
    log.note(rows[1])
    second = look(log)
    log.note(posts[2])
    assert verdict("the same words", second, look(log)) is None
    proofs = []
    for fact in rows[2:]:
        log.note(fact)
        proofs.append(verdict("the same words", second, look(log)))
    assert proofs[0] == ("queued", "transcript")
    assert proofs[-1] == ("submitted", "transcript")


def test_rows_that_are_read_twice_count_once() -> None:
    """A transcript that was begun anew repeats its rows; a helper's prompts are not the conversation's."""
    log = PromptLog()
    log.note(typed("hi", "1"))
    log.note(Queue(operation="enqueue", text="hi", at="2026-01-01T00:00:00.001Z"))
    before = look(log)
    log.note(typed("hi", "1"))
    log.note(Queue(operation="enqueue", text="hi", at="2026-01-01T00:00:00.001Z"))
    log.note(Prompt(text="hi", uuid="2", source="typed", aside=True))
    assert verdict("hi", before, look(log)) is None


def test_after_a_restart_only_a_record_that_reaches_back_far_enough_proves() -> None:
    """Where the look from before is lost, a record from before the typing has to be at hand."""
    for whole in (True, False):
        log = PromptLog(whole=whole)
        log.note(typed("hi", "1"))
        assert verdict("hi", {}, look(log)) == (("submitted", "transcript") if whole else None)


@given(st.lists(st.sampled_from(["hook", "row", "late"]), max_size=12), st.integers(1, 3))
def test_late_witnesses_never_prove_more_deliveries_than_there_were(order: list[str], sent: int) -> None:
    """However posts and rows of the first messages are held up, one that was not taken has no proof."""
    log, before = PromptLog(), {}
    posts, rows = sent, sent
    for _ in range(sent):
        log.typed("same")
        log.sent()  # all of them were proven, by whatever
    for step, what in enumerate(order):
        if step == len(order) // 2:
            before = look(log)
        if what == "hook" and posts:
            posts -= 1
            log.note(by_hook("same"))
        elif what == "row" and rows:
            rows -= 1
            log.note(typed("same", f"u{rows}"))
    before = before or look(log)
    assert verdict("same", before, look(log)) is None


# -- the pane ---------------------------------------------------------------------------------------------------


@pytest.fixture
def sight(claude: Manifest, pane: Callable[[str], bytes]) -> Callable[[str], dict[str, Any]]:
    """The evidence of a saved screen."""

    def of(name: str) -> dict[str, Any]:
        look = Look(
            ref=PaneRef(pane_id="%1", server_pid=1, pane_pid=2),
            dead=False,
            status=None,
            scrolled=False,
            alternate=False,
            cursor=(0, 0),
            size=(80, 40),
            attached=0,
            command="claude",
            holder="agent",
            capture=pane(name),
        )
        return {SEEN: Seen(look=look, screen=read(look.capture, claude), manifest=claude)}

    return of


def test_the_screen_proves_by_position(sight: Callable[[str], dict[str, Any]]) -> None:
    """Above the box it is submitted, in the agent's queue it is queued, in the box it is staged."""
    idle = sight("claude-2.1.332-w80-idle")
    assert verdict("SLOW one", idle, sight("claude-2.1.332-w80-busy")) == ("submitted", "pane")
    assert verdict("half a thought", sight("claude-2.1.332-w80-busy"), sight("claude-2.1.332-w80-queued")) == (
        "queued",
        "pane",
    )
    assert verdict("half a thought", idle, sight("claude-2.1.332-w80-busy-draft")) == ("staged", "pane")
    assert verdict("never typed", idle, idle) is None


def test_the_agents_own_word_goes_before_the_screen(sight: Callable[[str], dict[str, Any]]) -> None:
    """Also where the screen shows it differently."""
    log = PromptLog()
    idle = {**sight("claude-2.1.332-w80-idle"), **look(log)}
    log.note(by_hook("half a thought"))
    draft = {**sight("claude-2.1.332-w80-busy-draft"), **look(log)}
    assert verdict("half a thought", idle, draft) == ("submitted", "hook")


def test_the_screen_waits_for_those_who_know_the_words(sight: Callable[[str], dict[str, Any]]) -> None:
    """What it shows counts when nobody has told in time, and not when the agent told of other words."""
    log = PromptLog()
    idle = {**sight("claude-2.1.332-w80-idle"), **look(log)}
    busy = sight("claude-2.1.332-w80-busy")
    assert verdict("SLOW one", idle, {**busy, TRACES: replace(log.now(), awaited=True)}) is None
    assert verdict("SLOW one", idle, {**busy, **look(log)}) == ("submitted", "pane")
    log.note(by_hook("SLOW\\ one"))
    assert verdict("SLOW one", idle, {**busy, **look(log)}) == ("unverified", None)
    log.note(by_hook("SLOW one"))
    assert verdict("SLOW one", idle, {**busy, **look(log)}) == ("submitted", "hook")
