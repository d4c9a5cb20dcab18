"""Which of what hooks and transcript tell belongs to a turn: words and ids decide, not the order alone."""

from __future__ import annotations

import pytest
from turnhub_tmux.belonging import Belonging
from turnhub_tmux.bridge.facts import Displayed, PromptSubmitted, Stopped
from turnhub_tmux.history import History, Place, place_of
from turnhub_tmux.joining import Joining
from turnhub_tmux.transcript.facts import Absorbed, Prompt, Queue, Said, TurnOver


def submitted(prompt: str, id: str, *, queued: bool = False) -> PromptSubmitted:
    """A prompt that the hooks tell of."""
    return PromptSubmitted(prompt=prompt, prompt_id=id, queued=queued)


def displayed(id: str, *, late: bool = False) -> Displayed:
    """Words of the agent while it works on prompt ``id``."""
    return Displayed(turn="t", message_id="m", index=0, final=False, delta="x", prompt_id=id, late=late)


def row(text: str, id: str) -> Prompt:
    """A prompt's row."""
    return Prompt(text=text, prompt_id=id, uuid=f"row-{id}")


def said() -> Said:
    """Words in the transcript."""
    return Said(message_id="m", block=0, text="x", uuid="u")


def test_hooks_of_before_and_after_are_not_ours() -> None:
    """Before our prompt: nobody's. From our prompt on: ours. Of the next prompt: later, to be kept."""
    whose = Belonging("ours")
    assert whose.hears(displayed("old")) == "none"
    assert whose.hears(submitted("somebody else's", "other")) == "later"
    assert whose.hears(submitted("ours", "p1")) == "ours"
    assert whose.hears(displayed("p1")) == "ours"
    assert whose.hears(submitted("typed meanwhile", "p1", queued=True)) == "ours"
    assert whose.hears(displayed("p0", late=True)) == "none"
    assert whose.hears(Stopped(prompt_id="p1")) == "ours"
    assert whose.hears(displayed("p2")) == "later"
    assert whose.hears(submitted("ours", "p3")) == "later"
    assert set(whose.ids) == {"p1"}


def test_rows_of_before_and_after_are_not_ours() -> None:
    """The same in the transcript: from the row of our words to the row of the next prompt."""
    whose = Belonging("ours")
    assert whose.reads(said()) == "none"
    assert whose.reads(row("somebody else's", "other")) == "later"
    assert whose.reads(said()) == "none"
    assert whose.reads(row("ours", "p1")) == "ours"
    assert whose.reads(said()) == "ours"
    assert whose.reads(TurnOver(duration_ms=1)) == "ours"
    assert whose.reads(row("the next", "p2")) == "later"
    assert whose.reads(said()) == "none"
    assert whose.reads(row("and one more", "p3")) == "none"
    assert set(whose.ids) == {"p1", "row-p1"}


def test_a_queued_message_begins_with_its_own_row() -> None:
    """While it waits, what the agent does before is nobody's here, whatever its hooks say."""
    whose = Belonging("ours")
    whose.queued = True
    assert whose.hears(submitted("ours", "p1", queued=True)) == "none"
    assert whose.hears(displayed("p1")) == "none"
    assert whose.reads(row("before us in the queue", "p2")) == "later"
    assert whose.reads(row("ours", "p3")) == "ours"
    assert not whose.queued
    assert whose.hears(displayed("p3")) == "ours"
    assert whose.hears(displayed("p4")) == "later"


def test_a_queued_message_that_is_taken_into_the_running_turn_is_at_work_then() -> None:
    """The agent goes on under the prompt that it was at: its words are ours from then on."""
    whose = Belonging("ours")
    whose.queued = True
    assert whose.hears(displayed("p1")) == "none"
    assert whose.reads(Absorbed(text="somebody else's")) == "none"
    assert whose.reads(Absorbed(text="ours")) == "ours"
    assert whose.hears(displayed("p1")) == "ours"
    assert whose.reads(said()) == "ours"


@pytest.mark.parametrize("loose", [True, False])
def test_a_command_of_the_agent_is_told_of_in_other_words(loose: bool) -> None:
    """Where the words may be others, the next prompt is taken for ours; else it is not."""
    whose = Belonging("/do it")
    whose.loose = loose
    assert whose.hears(submitted("expanded", "p1")) == ("ours" if loose else "later")
    assert whose.reads(row("expanded", "p1")) == ("ours" if loose else "later")


@pytest.mark.parametrize("hooks", [True, False])
def test_messages_that_were_given_to_the_turn_are_of_it(hooks: bool) -> None:
    """Their prompts, in posts and in rows, are the turn's own, each once; another prompt is not."""
    joining = Joining()
    whose = Belonging("ours", joining=joining)
    one = joining.add("more", "m1")
    assert whose.reads(row("more", "p0")) == "later"  # before the turn has begun it is somebody else's
    if hooks:
        assert whose.hears(submitted("ours", "p1")) == "ours"
        assert whose.hears(submitted("more", "p2")) == "ours"
        assert whose.hears(displayed("p2")) == "ours"
    assert whose.reads(row("ours", "p1")) == "ours"
    assert whose.reads(row("more", "p2")) == "ours"
    assert joining.take("more") is one
    assert (one.taken, bool(joining)) == (True, False)
    assert whose.reads(said()) == "ours"
    assert whose.reads(row("more", "p3")) == "later"


def test_prompts_that_the_agent_takes_at_once_are_of_one_turn() -> None:
    """Between them it says nothing, and the hooks of the answer tell the last one's id."""
    whose = Belonging("ours")
    assert whose.hears(submitted("ours", "p1")) == "ours"
    assert whose.reads(row("ours", "p1")) == "ours"
    assert whose.reads(Queue(operation="enqueue", text="another")) == "ours"
    assert whose.hears(displayed("p3")) == "later"  # until its row is read
    assert whose.reads(row("typed there", "p2")) == "joined"
    assert whose.reads(row("that too", "p3")) == "joined"
    assert whose.hears(displayed("p3")) == "ours"
    assert whose.reads(said()) == "ours"
    assert whose.reads(row("the next", "p4")) == "later"
    assert set(whose.ids) == {"p1", "row-p1", "p2", "row-p2", "p3", "row-p3"}


@pytest.mark.parametrize("answered", [True, False])
def test_what_stood_before_a_queued_message_is_of_its_turn_unless_it_was_answered(answered: bool) -> None:
    """What somebody typed before it, and the agent takes with it, is told of once."""
    whose = Belonging("ours")
    whose.queued = True
    before = row("typed there", "p1")
    assert whose.reads(before) == "later"
    if answered:
        whose.reads(said())
    assert whose.reads(row("ours", "p2")) == "ours"
    assert whose.along() == (() if answered else (before,))
    assert whose.along() == ()
    assert ("p1" in whose.ids) is not answered


def test_words_that_the_agent_takes_up_while_it_works_are_of_the_turn() -> None:
    """Those of a person; not those of a helper, nor any before the turn has begun or after it."""
    whose = Belonging("ours")
    assert whose.reads(Absorbed(text="typed there", uuid="a0")) == "none"
    assert whose.reads(row("ours", "p1")) == "ours"
    assert whose.reads(said()) == "ours"
    assert whose.reads(Absorbed(text="typed there", uuid="a1")) == "joined"
    assert whose.reads(Absorbed(text="a helper's", uuid="a2", aside=True)) == "ours"
    assert whose.reads(row("the next", "p2")) == "later"
    assert whose.reads(Absorbed(text="typed there", uuid="a3")) == "none"


def test_what_somebody_types_before_words_that_wait_is_of_the_turn() -> None:
    """The turn goes on until the agent has taken what was given to it: so does what comes in between."""
    joining = Joining()
    whose = Belonging("ours", joining=joining)
    assert whose.reads(row("ours", "p1")) == "ours"
    assert whose.reads(said()) == "ours"
    joining.add("more", "m1")
    assert whose.reads(row("typed there", "p2")) == "joined"
    assert whose.reads(said()) == "ours"
    assert whose.reads(row("more", "p3")) == "ours"


def test_an_adopted_turn_goes_on_where_it_is() -> None:
    """Without its prompt's id known, all is its own until another prompt's row comes."""
    whose = Belonging("ours", begun=True)
    assert whose.hears(displayed("p1")) == "ours"
    assert whose.reads(said()) == "ours"
    assert whose.reads(row("ours", "p1")) == "ours"
    assert whose.reads(said()) == "ours"
    assert whose.reads(row("the next", "p2")) == "later"


def test_reading_goes_on_where_everything_before_is_accounted_for() -> None:
    """A turn that read on from where reading stood moves that place; one that skipped something leaves it."""
    history = History()
    history.read_to(Place("t", 100), since=Place("t", 0))
    assert history.unread == Place("t", 100)
    history.read_to(Place("t", 200), since=Place("t", 100))
    assert history.unread == Place("t", 200)
    history.read_to(Place("t", 400), since=Place("t", 300))
    assert history.unread == Place("t", 200)
    history.read_to(Place("new", 10), since=Place("new", 0))
    assert history.unread == Place("new", 10)
    history.read_to(None, since=None)
    assert history.unread == Place("new", 10)


def test_what_was_remembered_is_read_again() -> None:
    """A place survives as text; anything else is none."""
    assert place_of(Place("/a b/ü.jsonl", 7).remembered()) == Place("/a b/ü.jsonl", 7)
    assert [place_of(text) for text in (None, "", "12", "{}")] == [None] * 4


def test_what_the_hub_typed_is_nobody_elses_prompt() -> None:
    """Each time that it was sent, once; a long one in the agent's own frame, too."""
    history = History()
    history.sending("hello")
    history.sending("hello")
    assert [history.arrived("hello") for _ in range(3)] == [True, True, False]
    history.sending("a\nb\nc\nd")
    assert history.arrived('<pasted_content id="1">\na\nb\nc\nd\n</pasted_content id="1">')


def test_owned_prompts_are_bounded() -> None:
    """Of very many, the newest are known."""
    history = History()
    for number in range(2000):
        history.own(f"p{number}", None, "")
    assert history.owns("p1999", None)
    assert not history.owns("p0")
    assert not history.owns(None, "")
