"""The matrix's judge and table: what became of a message, by what the model and the transcript hold."""

from __future__ import annotations

from collections import Counter

import pytest

from .judge import BLOCK, Kind, Told, judge
from .messages import TRICKIEST, Case, cases
from .table import Column, as_markdown, as_text, totals

PLAIN = Case(group="g", name="plain", text="hello there")
CHANGED = Case(group="g", name="changed", text="a\tb", arrives="a    b", changes=("tabs became four spaces",))
COMMAND = Case(group="g", name="command", text="/help", arrives="/help\n\n\n", changes=("empty lines",))
MENTION = Case(group="g", name="mention", text="@secret.txt", refused="pull a file")
DETAIL = f"Changed: empty lines put behind it, {BLOCK}"


def told(*prompts: str, verdict: str | None = "submitted", **more: object) -> Told:
    """What is told where model and transcript agree."""
    given: dict[str, object] = {"model": prompts, "transcript": prompts, **more}
    return Told(verdict=verdict, **given)  # type: ignore[arg-type]


def framed(text: str) -> str:
    """A long paste, as the agent hands it over."""
    end = "" if text.endswith("\n") else "\n"
    return f'\n\n<pasted_content id="01ab">\n{text}{end}</pasted_content id="01ab">\n'


@pytest.mark.parametrize(
    ("case", "what", "kind"),
    [
        (PLAIN, told("hello there"), "delivered"),
        (PLAIN, told("hello there", verdict="queued"), "delivered"),
        (PLAIN, told("hello there", detail="A draft was set aside and put back"), "delivered"),
        (PLAIN, told(), "false success"),
        (PLAIN, told("hello there", "hello there"), "false success"),
        (PLAIN, told("hello  there"), "false success"),
        (PLAIN, told("hello there", transcript=("hello",)), "false success"),
        (PLAIN, told("hello there", detail="Changed: tabs became four spaces"), "false success"),
        (PLAIN, told(framed("hello there")), "false success"),
        (PLAIN, told(framed("hello there"), detail=f"Changed: {BLOCK}"), "delivered"),
        (PLAIN, told(verdict="unverified"), "not a success"),
        (PLAIN, told("hello there", verdict="unverified"), "false failure"),
        (PLAIN, told(verdict=None, reason="too long"), "not a success"),
        (PLAIN, told("hello there", effects=("ran was made",)), "acted"),
        (CHANGED, told("a    b", detail="Changed: tabs became four spaces"), "delivered"),
        (CHANGED, told("a    b"), "false success"),
        (CHANGED, told("a\tb", detail="Changed: tabs became four spaces"), "false success"),
        (COMMAND, told(framed("/help\n\n\n"), detail=DETAIL), "delivered"),
        (COMMAND, told(framed("/help\n\n"), detail=DETAIL), "false success"),
        (MENTION, told(verdict=None, reason="would pull a file in"), "refused"),
        (MENTION, told(verdict=None, reason="something else"), "not a success"),
        (MENTION, told("@secret.txt"), "false success"),
        (MENTION, told("@secret.txt", verdict=None), "false failure"),
    ],
)
def test_only_what_the_model_and_the_transcript_hold_makes_a_success(case: Case, what: Told, kind: Kind) -> None:
    """Word for word, once, with every change named; whatever the hub says."""
    outcome = judge(case, what)
    assert outcome.kind == kind
    assert outcome.expected is (kind == ("refused" if case.refused else "delivered"))


def test_the_table_has_a_row_for_each_group_and_names_what_was_not_expected() -> None:
    """Counted by column; the rest in words."""
    good, bad = judge(PLAIN, told("hello there", proof="hook")), judge(CHANGED, told())
    results = {Column(80, True): [good, bad], Column(40, False): [good, judge(MENTION, told(verdict=None))]}
    text, page = as_text(results), as_markdown(results)
    assert totals(results)["false success"] == 1
    assert text.splitlines()[0].split("  ")[-1] == "80, hooks"
    assert "| g | 2 | 1 delivered, 1 not a success | 1 delivered, 1 false success |" in page
    assert "* 80, hooks: g: changed: false success: the model has 0 new prompts: none" in page
    assert "2 by hook" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_there_are_enough_messages_and_each_is_another(width: int) -> None:
    """Named once, of every kind; where something else arrives, the change has a name."""
    made = cases(width, "/somewhere")
    assert len(made) >= 60
    names = Counter(case.title for case in made)
    assert set(names) >= TRICKIEST
    assert [name for name, count in names.items() if count > 1] == []
    assert max(len(case.text) for case in made) == 100_000
    assert max(case.text.count("\n") for case in made) >= 1999
    assert all(bool(case.changes) is (case.wanted != case.text) for case in made)
