"""What the agent asks about a project before it begins: an option is what its words say, a box is no choice."""

from __future__ import annotations

import pytest
from turnhub_tmux.requests import NONE, of_dialog, reply_of
from turnhub_tmux.screen.answers import Choose, Leave, strokes
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Dialog, Key

from hub import Answered, By, Settlement

RULE = "─" * 70
WORDS = "MCP servers may execute code or access system resources. All tool calls require approval."
ONE = f"""{RULE}
  New MCP server found in this project: shop

  {WORDS}

    Use this MCP server
    Use this and all future MCP servers in this project
  ❯ Continue without using this MCP server

  Enter to confirm · Esc to reject
"""
SEVERAL = f"""{RULE}
  {{many}} new MCP servers found in this project
  Select any you wish to enable.

  {WORDS}

{{rows}}
 Space to select · Esc to reject all
"""
BROKEN = f"""{RULE}
  Settings Error

  Files with errors are skipped entirely, not just the invalid settings.

  ❯ 1. Fix with Claude
    2. Exit and fix manually
    3. Continue without these settings

  Enter to confirm · Esc to cancel
"""
TWO = "  ❯ [✔] shop\n    [ ] two\n       Enable selected"
AT_THE_END = "    [✔] shop\n    [ ] two\n  ❯    Enable selected"


def dialog_in(text: str, manifest: Manifest) -> Dialog:
    """The dialog that a screen shows."""
    found = read(text, manifest).dialog
    assert found is not None
    return found


def several(rows: str, manifest: Manifest) -> Dialog:
    """The dialog about several servers."""
    return dialog_in(SEVERAL.format(many=2, rows=rows), manifest)


def answered(dialog: Dialog, words: str) -> object:
    """What an answer in these words does."""
    request = of_dialog(dialog)
    given = Settlement(by=By(kind="person", name="ann"), answers={request.questions[0].question: words})
    return reply_of(dialog, request, Answered(ask_id="ask_1", settlement=given))


@pytest.mark.parametrize(("text", "refusal"), [(ONE, "Continue without using this MCP server"), (BROKEN, None)])
def test_going_on_without_is_no_consent(text: str, refusal: str | None, claude: Manifest) -> None:
    """It is asked with its own options; none of them is a yes that could be taken for consent, and "Continue
    without" is a no."""
    dialog = dialog_in(text, claude)
    request = of_dialog(dialog)
    assert (request.kind, request.tool) == ("question", "dialog:other")
    assert [option.label for option in dialog.options] == [one.label for one in request.questions[0].options]
    assert {option.means for option in dialog.options} <= {"choose", "no"}
    assert next(one.means for one in dialog.options if one.label.startswith("Continue without")) == "no"
    assert refusal is None or dialog.option("no").label == refusal  # type: ignore[union-attr]


def test_boxes_without_numbers_are_ticked_one_by_one_and_taken_by_their_row(claude: Manifest) -> None:
    """Each is an option with its bare name; exactly the chosen ones are ticked, and only then the row below is
    walked to; the cursor on that row changes nothing about what the dialog is."""
    dialog, end = several(TWO, claude), several(AT_THE_END, claude)
    assert [(one.label, one.means, one.checked) for one in dialog.options] == [
        ("shop", "toggle", True),
        ("two", "toggle", False),
        ("Enable selected", "submit", None),
    ]
    assert dialog.fingerprint == end.fingerprint
    question = of_dialog(dialog).questions[0]
    assert (question.multi_select, [one.label for one in question.options]) == (True, ["shop", "two", NONE])
    assert strokes(dialog, Choose(("shop",)), claude) == (Key("Down"), Key("Down"), Key("Enter"))
    assert strokes(dialog, Choose(("shop", "two")), claude)[:2] == (Key("Down"), Key("Enter"))
    assert strokes(end, Choose(("shop",)), claude) == (Key("Enter"),)
    assert answered(dialog, "shop, two") == Choose(("shop", "two"))
    assert answered(dialog, "two") == Choose(("two",))
    assert answered(dialog, NONE) == Leave()


@pytest.mark.parametrize("place", ["first", "last"])
def test_boxes_out_of_sight_are_not_answered_for(place: str, claude: Manifest) -> None:
    """Of a list that scrolls only a part shows, and the rest is ticked, too: nothing is offered."""
    names = [f"srv{number}" for number in range(5)]
    marks = ["❯", "", "", "", "↓"] if place == "first" else ["↑", "", "", "", "❯"]
    rows = "\n".join(f"  {mark or ' '} [✔] {name}" for mark, name in zip(marks, names, strict=True))
    screen = read(SEVERAL.format(many=12, rows=f"{rows}\n       Enable selected"), claude)
    assert (screen.state, screen.dialog) == ("waiting", None)


def test_boxes_of_which_nobody_knows_what_takes_them_are_no_choices(claude: Manifest) -> None:
    """Enter on such a row may tick, or take what is ticked: it is waiting, and left to the person there."""
    screen = read(SEVERAL.format(many=2, rows="  ❯ [✔] shop\n    [✔] two"), claude)
    assert (screen.state, screen.dialog) == ("waiting", None)
