"""Where a text is: what counts is where it stands, and what has been added since."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.readback import readback
from turnhub_tmux.screen.types import Readback

RULE = "─" * 40
DIM, OFF, GREY = "\x1b[2m", "\x1b[0m", "\x1b[38;5;246m"


def screen(above: str, inside: str = "", footer: str = "  ? for shortcuts") -> str:
    """A screen of Claude Code."""
    return f"{above}\n{RULE}\n❯ {inside}\n{RULE}\n{footer}"


def found(needle: str, after: str, claude: Manifest, before: str | None = None) -> tuple[bool | None, ...]:
    """submitted, queued, staged."""
    got = readback(needle, before, after, claude)
    return (got.submitted, got.queued, got.staged)


BEFORE = screen("❯ continue\n\n● ok done")


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (screen("❯ continue\n\n● ok done", "continue"), (False, False, True)),
        (screen("❯ continue\n\n● ok done\n\n❯ continue"), (True, False, False)),
        (screen("❯ continue\n\n● ok done\n\n❯ continue\n\n● ok again"), (True, False, False)),
        (screen("● ok done\n\n❯ continue\n\n● something else\n  in two lines"), (True, False, False)),
        (screen("❯ continue\n\n● ok done"), (False, False, False)),
        (screen("● quite another screen"), (None, False, False)),
    ],
)
def test_a_repeat_of_an_earlier_message(after: str, expected: tuple[bool | None, ...], claude: Manifest) -> None:
    """The old one proves nothing, the new one does, also when the old one has been scrolled away."""
    assert found("continue", after, claude, BEFORE) == expected


def test_text_that_the_agent_had_said_before(claude: Manifest) -> None:
    """Words that stood on the screen are no proof that they were sent."""
    before = screen("● Shall I run make test now?")
    assert found("run make test", before, claude, before) == (False, False, False)
    staged = screen("● Shall I run make test now?", "run make test")
    assert found("run make test", staged, claude, before) == (False, False, True)


@pytest.mark.parametrize("style", ["", GREY])
def test_queued_is_not_submitted(style: str, claude: Manifest) -> None:
    """Above the box, but in the agent's own queue; the one being worked on is submitted."""
    off = OFF if style else ""
    colour = "\x1b[1m" if style else ""
    above = f"{colour}❯ SLOW one{off}\n\n{style}❯ next thing{off}\n  ⎿  Queued · ctrl+x to send now\n\n✻ Baking…"
    after = screen(above, f"{DIM if style else ''}Press up to edit queued messages{off}", "  esc to interrupt")
    assert found("next thing", after, claude) == (False, True, False)
    assert found("SLOW one", after, claude) == (True, False, False)


def test_a_queued_text_that_is_taken_becomes_submitted(claude: Manifest) -> None:
    """The same words, first queued, then sent."""
    queued = screen("❯ SLOW\n\n❯ next thing\n  ⎿  Queued\n\n✻ Baking…", "Press up to edit queued messages")
    taken = screen("❯ SLOW\n\n● Done.\n\n❯ next thing\n\n✻ Baking…", "", "  esc to interrupt")
    assert found("next thing", taken, claude, queued) == (True, False, False)


@pytest.mark.parametrize(
    ("inside", "before", "staged"),
    [
        ("[Pasted text #1 +59 lines]", "", True),
        ("[Pasted text #1 +59 lines]", "[Pasted text #1 +59 lines]", False),
        ("[Pasted text #1 +59 lines] [Pasted text #2 +59 lines]", "[Pasted text #1 +59 lines]", True),
        ("[Pasted text #2]", "", True),
        ("", "", False),
    ],
)
def test_collapsed_pastes_are_counted(inside: str, before: str, staged: bool, claude: Manifest) -> None:
    """A marker that was there already is somebody else's."""
    text = "\n".join(f"line {n}" for n in range(60))
    assert found(text, screen("● x", inside), claude, screen("● x", before))[2] is staged


def test_a_short_line_is_no_collapsed_paste(claude: Manifest) -> None:
    """Without a look from before, a marker cannot be told to be these few words."""
    assert found("hello", screen("● x", "[Pasted text #1 +59 lines]"), claude)[2] is None


def test_a_collapsed_paste_that_was_sent(claude: Manifest) -> None:
    """Some versions show the marker in place of the text above the box too."""
    text = "\n".join(f"line {n}" for n in range(60))
    before = screen("● x", "[Pasted text #1 +59 lines]")
    after = screen("● x\n\n❯ [Pasted text #1 +59 lines]\n\n✻ Baking…")
    assert found(text, after, claude, before) == (True, False, False)
    assert found(text, after, claude)[0] is True


def test_wrapped_and_wide_text(claude: Manifest) -> None:
    """Blanks and line ends of the screen say nothing; nor do composed and decomposed letters differ."""
    text = "日本語テキスト と とても長い行 cafe\u0301 " * 3
    rows = (
        "日本語テキスト と とても長",
        "い行 café 日本語テキスト と とても",
        "長い行 café 日本語テキスト と とても長い行 café",
    )
    above = "❯ " + "\n  ".join(rows)
    assert found(text, screen(above), claude) == (True, False, False)


@pytest.mark.parametrize(
    ("sent", "drawn"),
    [
        ("please run `touch x`", "please run touch x"),
        ("# heading & more", "heading & more"),
        ("**bold** words", "bold words"),
        ("* one\n* two", "- one\n  - two"),
        ("> quote\n```py\nx=1\n```", "> quote\n  x=1"),
    ],
)
def test_a_text_that_is_drawn_as_markdown_is_found(sent: str, drawn: str, claude: Manifest) -> None:
    """Its marks are not on the screen; a look from before still keeps the old from counting."""
    after = screen(f"❯ continue\n\n● ok done\n\n❯ {drawn}")
    assert found(sent, after, claude, BEFORE) == (True, False, False)
    assert found(sent, after, claude, after)[0] is not True


def test_a_very_long_text_is_shown_without_its_middle(claude: Manifest) -> None:
    """Its beginning and its end tell it from others."""
    words = [f"word{number}" for number in range(20_000)]
    head, tail = "\n  ".join([" ".join(words[:9]), " ".join(words[9:20])]), " ".join(words[-12:])
    shown = f"❯ {head}\n  ──── (~95 KB hidden) ────\n  {tail}"
    after = screen(f"● hi\n\n{shown}\n\n● Understood.")
    assert found(" ".join(words), after, claude, screen("● hi")) == (True, False, False)
    assert found(" ".join([*words, "more"]), after, claude, screen("● hi"))[0] is not True


def test_a_long_text_whose_start_has_scrolled_away(claude: Manifest) -> None:
    """The pane begins in the middle of it."""
    text = "\n".join(f"paragraph number {n} of the text" for n in range(80))
    shown = "\n".join(f"  paragraph number {n} of the text" for n in range(60, 80))
    assert found(text, screen(f"{shown}\n\n● Thanks."), claude) == (True, False, False)


def test_a_draft_taller_than_its_box(claude: Manifest) -> None:
    """Its end is to be seen."""
    text = "\n".join(f"typed line {n}" for n in range(20))
    rows = "\n".join(f"  typed line {n}" for n in range(8, 20))
    after = f"● x\n─── ↑ 8 more {'─' * 20}\n{rows}\n{RULE}\n  footer"
    assert found(text, after, claude) == (False, False, True)


@pytest.mark.parametrize(
    "shown",
    ["…the very long line", "... very long line", "start of it and…", "it and the tail of the very long line"],
)
def test_a_line_of_which_the_box_shows_a_part(shown: str, claude: Manifest) -> None:
    """Its end, marked or long enough to be no accident, or its start, marked."""
    text = "start of it and the tail of the very long line"
    assert found(text, screen("● x", shown), claude) == (False, False, True)


def test_half_of_a_paste_is_inconclusive(claude: Manifest) -> None:
    """The rest may be on its way."""
    assert found("one two three four five", screen("● x", "one two three"), claude)[2] is None


def test_a_foreign_draft_is_not_ours(claude: Manifest) -> None:
    """Other words in the box."""
    assert found("hello", screen("● x", "something else"), claude)[2] is False


def test_ours_behind_a_foreign_draft_is_staged(claude: Manifest) -> None:
    """Merged with what stood there."""
    assert found("hello", screen("● x", "something else hello"), claude) == (False, False, True)


def test_what_is_listed_for_completion_is_not_sent(claude: Manifest) -> None:
    """A command being typed is listed above the box."""
    above = "● x\n\n  ❯ /add-dir      Add a working directory\n    /agents       Manage agents"
    before = screen("● x")
    assert found("/add-dir", screen(above, "/add-dir"), claude, before) == (False, False, True)


def test_words_of_a_dialog_are_no_proof(claude: Manifest) -> None:
    """The command that is asked about is not above the composer: what holds the keyboard swallowed the text."""
    before = screen("❯ go\n\n● ok")
    asked = " Bash command\n\n   touch made\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"
    after = f"❯ go\n\n● ok\n{RULE}\n{asked}"
    got = readback("touch made", before, after, claude)
    assert got.submitted is not True
    assert got.staged is None


@pytest.mark.parametrize("prompt", ["$ ", "user@host:~/x$ ", "root@host:/# ", "[user@host x]$ ", "% "])
def test_a_bare_shell_never_proves_a_submission(prompt: str, claude: Manifest) -> None:
    """The agent is gone: what is typed there is staged at best, and what ran there went to no agent."""
    assert found("hello there", f"{prompt}ls\nfile\n{prompt}hello there", claude) == (False, False, True)
    ran = f"{prompt}hello there\nbash: hello: command not found\n{prompt}"
    assert found("hello there", ran, claude)[0] is None
    assert found("hello there", f"unrelated\n{prompt}", claude) == (False, False, False)


def test_an_empty_text_says_nothing(claude: Manifest) -> None:
    """There is nothing to look for."""
    assert readback(" \n", None, screen("● x"), claude) == Readback(submitted=None, queued=None, staged=None)


def test_codex(manifest_of: Callable[[str], Manifest]) -> None:
    """Submitted messages look like the composer there; the last one is the composer."""
    codex = manifest_of("codex")
    before = "› one\n\n• Done.\n\n› \n\n  ? for shortcuts"
    staged = "› one\n\n• Done.\n\n› two\n\n  ? for shortcuts"
    sent = "› one\n\n• Done.\n\n› two\n\n• Working (1s • esc to interrupt)\n\n› \n\n  ? for shortcuts"
    assert found("two", staged, codex, before) == (False, False, True)
    assert found("two", sent, codex, before) == (True, False, False)


@pytest.mark.parametrize(
    ("needle", "marker", "expected"),
    [
        ("hello", "[Pasted text #1 +60 lines]", None),
        ("x" * 900, "[Image #1]", None),
        ("x" * 900, "[Pasted text #1]", True),
        ("/help\n\n\n", "[Pasted text #1 +3 lines]", True),
    ],
)
def test_a_new_marker_proves_only_a_text_that_it_can_stand_for(
    needle: str, marker: str, expected: bool | None, claude: Manifest
) -> None:
    """Somebody's picture, or a long paste of theirs, is no proof of a short message."""
    after = screen(f"❯ continue\n\n● ok done\n\n❯ {marker}\n\n● ok")
    assert found(needle, after, claude, BEFORE)[0] is expected
