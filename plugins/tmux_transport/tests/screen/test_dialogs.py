"""Dialogs of several versions and agents: kind, options and their meaning, liveness, fingerprint."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Dialog

RULE = "─" * 70

OLD_PERMISSION = f"""● I will make a file.

{RULE}
 Bash command

   touch made
   Make a file

 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and don’t ask again for touch commands in /home/dev/proj1
   3. No, and tell Claude what to do differently (esc)
"""
BOXED_PERMISSION = """╭──────────────────────────────────────────────────────────────────╮
│ Bash command                                                     │
│                                                                  │
│   touch made                                                     │
│                                                                  │
│ Do you want to proceed?                                          │
│ ❯ 1. Yes                                                         │
│   2. Yes, and don't ask again for touch commands                 │
│   3. No, and tell Claude what to do differently (esc)            │
╰──────────────────────────────────────────────────────────────────╯
"""
TRUST_OLD = f"""{RULE}
 Do you trust the files in this folder?

 /home/dev/proj1

 Claude Code may read, write, or execute files contained in this directory.

 ❯ 1. Yes, proceed
   2. No, exit

 Enter to confirm · Esc to cancel
"""
TRUST_NEW = f"""{RULE}
 Accessing workspace:

 /home/dev/proj1

 Quick safety check: Is this a project you created or one you trust?

 Security guide

 ❯ No, exit
   Yes, I trust this folder

 Enter to confirm · Esc to cancel
"""
THEME = """ Let's get started.

 Choose the text style that looks best with your terminal
 To change this later, run /theme

 ❯ 1. Dark mode ✔
   2. Light mode
   3. Dark mode (colorblind-friendly)

╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 1  function greet() {
 2 -  console.log("Hello, World!");
 2 +  console.log("Hello, Claude!");
 3  }
╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
 Syntax theme: Monokai Extended (ctrl+t to disable)
"""
API_KEY = """ Detected a custom API key in your environment

 ANTHROPIC_API_KEY: sk-ant-...real-key

 Do you want to use this API key?

   1. Yes
 ❯ 2. No (recommended) ✔

 Enter to confirm · Esc to cancel
"""
RENDERER = f"""{RULE}
 Try the new fullscreen renderer?

 Flicker-free, with mouse support.

 ❯ 1. Yes, try it
   2. Not now

 Enter to confirm · Esc to cancel
"""
UPDATE = """ Update available! 2.1.300 → 2.1.332

 ❯ 1. Update now
   2. Skip this version

 Enter to confirm · Esc to cancel
"""
SURVEY = f"""● Done.

● How is Claude doing this session? (optional)
  1: Bad    2: Fine   3: Good   0: Dismiss

{RULE}
❯ \n{RULE}
  ? for shortcuts
"""
MULTI = f"""● x

{RULE}
←  ☒ Toppings  ☐ Size  ✔ Submit  →

Which toppings?

  1. [✔] Cheese
         Mozzarella
❯ 2. [ ] Ham
         1. Parma
  3. [ ] Type something
     Next
{RULE}
  4. Chat about this

Enter to select · Tab/Arrow keys to navigate · Esc to cancel
"""
GEMINI = """╭──────────────────────────────────────────────────╮
│ ?  Shell touch made (Make a file)                │
│                                                  │
│ touch made                                       │
│                                                  │
│ Allow execution of: 'touch'?                     │
│                                                  │
│ ● 1. Yes, allow once                             │
│   2. Yes, allow always ...                       │
│   3. No, suggest changes (esc)                   │
│                                                  │
╰──────────────────────────────────────────────────╯
 ⠏ Waiting for user confirmation...
"""
OPENCODE = """  ┃
  ┃  △ Permission required
  ┃    $ touch made
  ┃
  ┃   Allow once   Allow always   Reject      ⇆ select  enter confirm
"""
YES, ALWAYS, NO = "yes", "yes_always", "no"


@pytest.mark.parametrize(
    ("kind", "screen", "dialog", "means"),
    [
        ("claude-code", OLD_PERMISSION, "permission", [YES, ALWAYS, NO]),
        ("claude-code", BOXED_PERMISSION, "permission", [YES, ALWAYS, NO]),
        ("claude-code", TRUST_OLD, "trust", [YES, NO]),
        ("claude-code", TRUST_NEW, "trust", [NO, YES]),
        ("claude-code", THEME, "onboarding", ["choose"] * 3),
        ("claude-code", API_KEY, "api_key", [YES, NO]),
        ("claude-code", RENDERER, "renderer", [YES, NO]),
        ("claude-code", UPDATE, "update", [YES, NO]),
        ("claude-code", SURVEY, "survey", ["choose", "choose", "choose", "cancel"]),
        ("claude-code", MULTI, "question", ["toggle", "toggle", "text", "next", "chat"]),
        ("gemini", GEMINI, "permission", [YES, ALWAYS, NO]),
        ("opencode", OPENCODE, "permission", [YES, ALWAYS, NO]),
    ],
)
def test_kinds_and_meanings(
    kind: str, screen: str, dialog: str, means: list[str], manifest_of: Callable[[str], Manifest]
) -> None:
    """By structure and label, whatever the version and the order of the rows."""
    seen = read(screen, manifest_of(kind))
    assert seen.state == "waiting"
    assert seen.dialog is not None
    assert seen.dialog.kind == dialog
    assert [option.means for option in seen.dialog.options] == means


def dialog_of(screen: str, manifest: Manifest) -> Dialog:
    """The dialog of a screen that has one."""
    dialog = read(screen, manifest).dialog
    assert dialog is not None
    return dialog


def test_the_parts_of_a_page_with_several_questions(claude: Manifest) -> None:
    """Pages, ticks, the cursor, descriptions with numbers in them."""
    dialog = dialog_of(MULTI, claude)
    assert dialog.multi
    assert [(tab.label, tab.done) for tab in dialog.tabs] == [
        ("Toppings", True),
        ("Size", False),
        ("Submit", False),
    ]
    assert [option.checked for option in dialog.options] == [True, False, False, None, None]
    assert [option.selected for option in dialog.options] == [False, True, False, False, False]
    assert [option.key for option in dialog.options] == ["1", "2", "3", None, "4"]
    assert dialog.options[1].description == "1. Parma"
    assert dialog.question == "Which toppings?"


@pytest.mark.parametrize("screen", [OLD_PERMISSION, BOXED_PERMISSION])
def test_the_command_of_a_permission(screen: str, claude: Manifest) -> None:
    """It is what would run, without the description."""
    dialog = dialog_of(screen, claude)
    assert dialog.title == "Bash command"
    assert dialog.command is not None
    assert dialog.command.splitlines()[0] == "touch made"
    assert dialog.question == "Do you want to proceed?"


@pytest.mark.parametrize(
    "below",
    [
        "● Done.",
        "  ⎿  Interrupted",
        "✻ Baked for 3s",
        "✻ Baking…",
        "* Baking…",
        "· Baking… (3s · esc to interrupt)",
        "❯ ping",
        "● Done.\n" + RULE + "\n❯ \n" + RULE,
        "later output of something",
        "  and text of an answer",
    ],
)
@pytest.mark.parametrize("screen", [OLD_PERMISSION, TRUST_OLD, MULTI], ids=["permission", "trust", "question"])
def test_a_menu_with_something_said_below_is_over(screen: str, below: str, claude: Manifest) -> None:
    """Whatever was said, done or sent after it."""
    assert read(f"{screen}\n{below}\n", claude).dialog is None


@pytest.mark.parametrize("below", ["", "\n" * 20, f"\n{RULE}\n❯ \n{RULE}"])
def test_blank_rows_and_an_empty_box_end_no_menu(below: str, claude: Manifest) -> None:
    """They are no conversation."""
    assert read(f"{TRUST_OLD}{below}", claude).dialog is not None


@pytest.mark.parametrize("hint", ["Esc to cancel\n · Tab to amend", "Esc to cancel · Tab\n to amend"])
def test_a_wrapped_hint_ends_no_menu(hint: str, claude: Manifest) -> None:
    """On a narrow pane the keys are named over several rows."""
    assert read(OLD_PERMISSION + "\n " + hint, claude).dialog is not None


def test_a_draft_in_the_box_below_ends_a_menu(claude: Manifest) -> None:
    """What is typed there has the keyboard."""
    screen = read(f"{TRUST_OLD}\n{RULE}\n❯ half a thought\n{RULE}", claude)
    assert (screen.dialog, screen.state) == (None, "ready")


def test_a_description_below_the_longest_label_is_no_part_of_it(claude: Manifest) -> None:
    """Where nothing shows how wide the pane is, a short row is no full one."""
    dialog = dialog_of("Proceed?\n❯ 1. Yes, run the whole command\n     (a script)\n  2. No\n", claude)
    assert [option.label for option in dialog.options] == ["Yes, run the whole command", "No"]
    assert dialog.options[0].description == "(a script)"


@pytest.mark.parametrize("columns", [30, 44, 70])
def test_a_wrapped_label_is_put_together(columns: int, claude: Manifest) -> None:
    """The rule shows how wide the pane is."""
    label = "Yes, and don't ask again for any of the commands that begin with touch"
    rows = textwrap.wrap(label, columns - 6)
    wrapped = "\n      ".join(rows)
    screen = f"{'─' * columns}\n Bash command\n\n Proceed?\n ❯ 1. Yes\n   2. {wrapped}\n   3. No\n\n Esc to cancel"
    assert [option.label for option in dialog_of(screen, claude).options] == ["Yes", label, "No"]


@pytest.mark.parametrize(
    "answer",
    [
        "● Do you want to proceed?\n\n  1. Yes\n  2. No\n",
        "● So it looks:\n\n  ❯ 1. Yes\n    2. No\n",
        "● Options:\n  1. Yes\n  2. No\n\n  Press enter to choose.\n",
        "  1: Bad news is at hand.\n",
        "● Rate it\n  1: a\n  2: b\n",
    ],
)
def test_an_answer_that_lists_options_is_no_menu(answer: str, claude: Manifest) -> None:
    """With the composer below it, a list of numbers is text."""
    screen = read(f"{answer}\n{RULE}\n❯ \n{RULE}\n  ? for shortcuts", claude)
    assert (screen.dialog, screen.state) == (None, "ready")


@pytest.mark.parametrize("numbers", ["23", "124", "134", "12456", "2"])
def test_a_menu_with_rows_missing_offers_nothing(numbers: str, claude: Manifest) -> None:
    """Still, something holds the keyboard: nobody is told that the agent is ready."""
    rows = "\n".join(f"{'❯' if n == numbers[0] else ' '} {n}. Row {n}" for n in numbers)
    screen = read(f"Do you want to proceed?\n{rows}\n\nEsc to cancel", claude)
    assert screen.dialog is None
    assert screen.state == "waiting"


def test_the_fingerprint_is_blind_to_cursor_ticks_and_typing(claude: Manifest) -> None:
    """The same page stays the same while somebody moves about in it."""
    first = dialog_of(MULTI, claude).fingerprint
    moved = MULTI.replace("❯ 2. [ ] Ham", "  2. [✔] Ham").replace("  1. [✔]", "❯ 1. [ ]")
    typed = MULTI.replace("Type something", "as a table")
    coloured = MULTI.replace("Cheese", "\x1b[1mCheese\x1b[0m")
    assert {dialog_of(screen, claude).fingerprint for screen in (moved, typed, coloured)} == {first}


def test_the_fingerprint_is_blind_to_what_stands_above(claude: Manifest) -> None:
    """Scrolled history, a blinking mark, a running clock are no part of the dialog."""
    first = dialog_of(OLD_PERMISSION, claude).fingerprint
    above = OLD_PERMISSION.replace("● I will make a file.", "  I will make a file.\n\n  12s")
    timer = OLD_PERMISSION.replace("Do you want to proceed?", "Waiting (12s)\n\n Do you want to proceed?")
    later = timer.replace("(12s)", "(13s)")
    assert dialog_of(above, claude).fingerprint == first
    assert dialog_of(timer, claude).fingerprint == dialog_of(later, claude).fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("touch made", "touch other"),
        ("touch made", "sleep 5s"),
        ("3. No, and", "3. No, but"),
        ("Bash command", "Edit"),
    ],
)
def test_the_fingerprint_tells_contents_apart(old: str, new: str, claude: Manifest) -> None:
    """Another command, another label, another title: another dialog."""
    other = OLD_PERMISSION.replace(old, new)
    assert dialog_of(other, claude).fingerprint != dialog_of(OLD_PERMISSION, claude).fingerprint


def test_commands_that_differ_in_a_number_only_are_different(claude: Manifest) -> None:
    """What looks like a clock in a command is none."""
    one, two = (OLD_PERMISSION.replace("touch made", f"$ sleep {n}; date (in {n}s)") for n in (5, 6))
    assert dialog_of(one, claude).fingerprint != dialog_of(two, claude).fingerprint


@pytest.mark.parametrize(
    ("label", "means"),
    [
        ("Yes", YES),
        ("Yes, and don't ask again for: curl", ALWAYS),
        ("Yes, and don’t ask again this session", ALWAYS),
        ("Yes, allow all edits during this session (shift+tab)", ALWAYS),
        ("Yes, and always allow access to /x from this project", ALWAYS),
        ("Yes, manually approve edits", YES),
        ("No", NO),
        ("No, and tell Claude what to do differently (esc)", NO),
        ("No, and don't ask again", NO),
        ("Nothing of the kind", "choose"),
        ("Don't allow", NO),
        ("Never", NO),
        ("Explain this command first", "choose"),
    ],
)
@pytest.mark.parametrize("place", [1, 2, 3])
def test_meaning_is_by_label_never_by_position(label: str, means: str, place: int, claude: Manifest) -> None:
    """Wherever the row stands."""
    labels = ["Yes", "No"]
    labels.insert(place - 1, label)
    rows = "\n".join(f"{'❯' if n == 1 else ' '} {n}. {one}" for n, one in enumerate(labels, 1))
    dialog = dialog_of(f" Bash command\n\nDo you want to proceed?\n{rows}\n\nEsc to cancel", claude)
    assert dialog.options[place - 1].means == means


def test_a_question_whose_answers_are_yes_and_no_is_answered_by_words(claude: Manifest) -> None:
    """There, "Yes" is a choice like any other."""
    rows = "❯ 1. Yes\n  2. No\n  3. Type something."
    asked = f"{RULE}\n ☐ Trust\n\nDo you trust the build?\n\n{rows}"
    screen = f"{asked}\n{RULE}\n  4. Chat about this\n\nEnter to select"
    dialog = dialog_of(screen, claude)
    assert dialog.kind == "question"
    assert [option.means for option in dialog.options] == ["choose", "choose", "text", "chat"]


def test_ten_options_are_read_to_the_end(claude: Manifest) -> None:
    """Numbers of two digits stand one column further left, or further right."""
    for pad in (" ", "  "):
        rows = [f"{pad if n > 1 else '❯ '[: len(pad)]}{n:>2}. Row {n}" for n in range(1, 12)]
        screen = "Which?\n" + "\n".join(rows) + "\n\nEnter to select"
        assert [option.key for option in dialog_of(screen, claude).options] == [str(n) for n in range(1, 12)]


PLAN = f"""{RULE}
 Here is Claude's plan:

 1. Read

 Claude has written up a plan and is ready to execute. Would you like to proceed?

   1. Yes, and use auto mode
   2. Yes, manually approve edits
 ❯ 3. WORDS
      shift+tab to approve with this feedback

 ctrl+g to edit in Vim · ~/.claude/plans/x.md
"""


@pytest.mark.parametrize(
    "typed", ["Tell Claude what to change", "no, fewer steps", "Yes", "use\n      other steps"]
)
def test_what_is_typed_into_a_plans_row_is_no_option(typed: str, claude: Manifest) -> None:
    """It is words, whatever they say: never taken for a yes or a no."""
    dialog = dialog_of(PLAN.replace("WORDS", typed), claude)
    assert dialog.kind == "plan"
    assert [option.means for option in dialog.options] == ["yes_always", "yes", "text"]
