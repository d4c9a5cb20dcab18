"""An answer and the dialog as it stands give keys, or a refusal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from turnhub_tmux.screen.answers import (
    Answer,
    CannotAnswerError,
    Choose,
    Leave,
    Mean,
    Shape,
    Style,
    Talk,
    Words,
    form,
    strokes,
)
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Dialog, Key

RULE = "─" * 60
PERMISSION = f"""{RULE}
 Bash command

 Do you want to proceed?
   1. Yes
 ❯ 2. Yes, and don't ask again
   3. No

 Esc to cancel"""
SINGLE = f"""{RULE}
 ☐ Colour

Which?

❯ 1. Red
     Warm.
  2. Blue
     Cool.
  3. Type something.
{RULE}
  4. Chat about this

Enter to select"""
MULTI = f"""{RULE}
←  ☐ Tops  ✔ Submit  →

Which?

❯ 1. [ ] A
  2. [✔] B
  3. [ ] C
  4. [ ] Type something
     Submit
{RULE}
  5. Chat about this

Enter to select"""
WRITTEN = MULTI.replace("❯ 1", "  1").replace("  4. [ ] Type something", "❯ 4. [✔] as a table")
AMEND = PERMISSION.replace("  1. Yes", "❯ 1. Yes").replace("❯ 2.", "  2.") + " · Tab to amend"
LASTING = PERMISSION  # the cursor on a row that takes no words: the others may
OPENED = PERMISSION.replace("❯", " ").replace("  3. No", "❯ 3. No, and tell Claude what to do differently")
AMENDED = PERMISSION.replace("❯", " ").replace("  3. No", "❯ 3. No, not here")
FETCH = AMEND.replace("3. No", "3. No, and tell Claude what to do differently (esc)").replace(
    " · Tab to amend", ""
)
SEVERAL = SINGLE.replace(" ☐ Colour", "←  ☐ Colour  ☐ Size  ✔ Submit  →")
TRUST = f"""{RULE}
 Accessing workspace:

 Security guide

 ❯ No, exit
   Yes, I trust this folder

 Enter to confirm · Esc to cancel"""
REVIEW = f"""{RULE}
Review your answers

 ● Which?
   → A

Ready to submit your answers?

❯ 1. Submit answers
  2. Cancel"""


def dialog_of(screen: str, manifest: Manifest) -> Dialog:
    """The dialog of a screen that has one."""
    dialog = read(screen, manifest).dialog
    assert dialog is not None
    return dialog


def keys(screen: str, answer: Answer, manifest: Manifest, style: Style | None = None) -> list[str]:
    """The keys by name, typed text as it is."""
    typed = strokes(dialog_of(screen, manifest), answer, manifest, style)
    return [stroke.name if isinstance(stroke, Key) else f"<{stroke.text}>" for stroke in typed]


@pytest.mark.parametrize(
    ("screen", "answer", "digits", "arrows"),
    [
        (PERMISSION, Mean("yes"), ["1"], ["Up", "Enter"]),
        (PERMISSION, Mean("yes_always"), ["2"], ["Enter"]),
        (PERMISSION, Mean("no"), ["3"], ["Down", "Enter"]),
        (SINGLE, Choose(("Blue",)), ["2"], ["Down", "Enter"]),
        (SINGLE, Words("as a table"), ["Down", "Down", "<as a table>", "Enter"], None),
        (SINGLE, Talk(), ["4"], ["Down", "Down", "Down", "Enter"]),
        (MULTI, Choose(("A", "C")), ["1", "2", "3", "Tab"], None),
        (MULTI, Choose(("B",)), ["Tab"], ["Down", "Down", "Down", "Down", "Enter"]),
        (MULTI, Choose(("A", "B")), ["1", "Tab"], ["Enter", "Down", "Down", "Down", "Down", "Enter"]),
        (SEVERAL, Choose(("Red",)), ["1"], ["Enter"]),
        (SEVERAL, Words("as a table"), ["Down", "Down", "<as a table>", "Enter"], None),
        (MULTI, Words("as a table"), ["2", "Down", "Down", "Down", "<as a table>", "Down", "Enter"], None),
        (
            MULTI,
            Choose(("A", "B"), words="as a table"),
            ["1", "Down", "Down", "Down", "<as a table>", "Down", "Enter"],
            ["Enter", "Down", "Down", "Down", "<as a table>", "Down", "Enter"],
        ),
        (WRITTEN, Choose(("B",), words="as a table"), ["Down", "Enter"], ["Down", "Enter"]),
        (WRITTEN, Words("as a table"), ["Up", "Up", "Enter", "Down", "Down", "Down", "Enter"], None),
        (AMEND, Mean("no", words="not here"), ["Down", "Down", "Tab", "<not here>", "Enter"], None),
        (LASTING, Mean("no", words="not here"), ["Down", "Tab", "<not here>", "Enter"], None),
        (OPENED, Mean("no", words="not here"), ["<not here>", "Enter"], None),
        (AMENDED, Mean("no", words="not here"), ["Enter"], None),
        (SINGLE, Leave(), ["Escape"], ["Escape"]),
        (TRUST, Mean("yes"), ["Down", "Enter"], ["Down", "Enter"]),
        (TRUST, Mean("no"), ["Enter"], ["Enter"]),
        (REVIEW, Mean("submit"), ["1"], ["Enter"]),
        (REVIEW, Mean("cancel"), ["2"], ["Down", "Enter"]),
    ],
)
def test_keys_on_a_page(
    screen: str, answer: Answer, digits: list[str], arrows: list[str] | None, claude: Manifest
) -> None:
    """By digits where a number takes its row, by arrows everywhere; always from where the cursor stands."""
    assert keys(screen, answer, claude, "digits") == digits
    if arrows is not None:
        assert keys(screen, answer, claude, "arrows") == arrows


@pytest.mark.parametrize(
    ("screen", "answer"),
    [
        (TRUST, Mean("yes_always")),
        (PERMISSION, Choose(("Maybe",))),
        (SINGLE, Choose(("Red", "Blue"))),
        (SINGLE, Choose(())),
        (SINGLE, Choose(("Type something.",))),
        (SINGLE, Words("")),
        (SINGLE, Words("two\nlines")),
        (PERMISSION, Words("as a table")),
        (FETCH, Mean("no", words="not here")),
        (AMEND, Mean("no", words="not here\nnor there")),
        (AMENDED.replace("not here", "not now"), Mean("no", words="not here")),
        (WRITTEN.replace("as a table", "as a list"), Words("as a table")),
        (WRITTEN, Choose(("A",))),
        (PERMISSION, Talk()),
    ],
)
def test_what_cannot_be_answered_is_refused(screen: str, answer: Answer, claude: Manifest) -> None:
    """Nothing is typed then."""
    with pytest.raises(CannotAnswerError):
        keys(screen, answer, claude)


def test_nothing_is_walked_to_without_a_cursor(claude: Manifest) -> None:
    """Where it is not to be seen, the arrows would lead anywhere."""
    with pytest.raises(CannotAnswerError):
        keys(PERMISSION.replace("❯", " "), Mean("no"), claude, "arrows")


def test_a_one_time_yes_is_never_a_lasting_one(claude: Manifest) -> None:
    """Where only a lasting consent is offered, a plain yes is refused."""
    only = PERMISSION.replace("1. Yes\n", "1. Yes, and always allow this\n")
    with pytest.raises(CannotAnswerError):
        keys(only, Mean("yes"), claude)


def test_the_manifest_names_the_style(manifest_of: Callable[[str], Manifest], claude: Manifest) -> None:
    """Claude Code takes digits."""
    assert keys(PERMISSION, Mean("no"), claude) == ["3"]


@pytest.mark.parametrize(
    ("shapes", "picks"),
    [
        ([Shape(2)], [[2]]),
        ([Shape(2)], [[0, 1]]),
        ([Shape(2)], [[]]),
        ([Shape(2), Shape(2)], [[0]]),
        ([Shape(2)], None),
    ],
)
def test_forms_that_cannot_be_filled_in(shapes: list[Shape], picks: list[list[int]] | None) -> None:
    """Too many, too few, beyond the last option."""
    with pytest.raises(CannotAnswerError):
        form(shapes, picks)


@pytest.mark.parametrize("name", ["text-row", "text-typed"])
def test_with_the_cursor_in_the_row_for_own_words_no_digit_is_pressed(
    name: str, pane: Callable[[str], bytes], claude: Manifest
) -> None:
    """It would be written into that row, and again with each try: the option is walked to."""
    dialog = read(pane(f"claude-2.1.332-w200-ask-{name}"), claude).dialog
    assert dialog is not None
    assert next(option.means for option in dialog.options if option.selected) == "text"
    labels = [option.label for option in dialog.options if option.means == "choose"]
    for position, label in enumerate(labels):
        pressed = [stroke.name for stroke in strokes(dialog, Choose((label,)), claude) if isinstance(stroke, Key)]
        assert pressed == [*["Up"] * (len(labels) - position), "Enter"]
