"""The screens and cases that were given: each gets the verdict that stands beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from turnhub_tmux.screen.answers import CannotAnswerError, Shape, form
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.readback import readback
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Dialog, Key

DATA: Final = Path(__file__).parent / "data"
CASES: Final[list[dict[str, Any]]] = msgspec.json.decode((DATA / "screen_cases.json").read_bytes())
LABELS: Final[dict[str, str]] = msgspec.json.decode((DATA / "panes" / "labels.json").read_bytes())


def group(*names: str) -> pytest.MarkDecorator:
    """A parameter for each case of these groups that has a screen or keys."""
    found = [case for case in CASES if case["group"] in names and ("pane" in case or "keys" in case)]
    return pytest.mark.parametrize("case", found, ids=[case["name"] for case in found])


@pytest.mark.parametrize("name", LABELS)
def test_real_panes(name: str, claude: Manifest) -> None:
    """ready, busy or waiting, as labelled."""
    assert read((DATA / "panes" / name).read_bytes(), claude).state == LABELS[name]


@group("menu")
def test_menus(case: Mapping[str, Any], claude: Manifest) -> None:
    """Which options there are, or that there is no menu."""
    dialog = read(case["pane"], claude).dialog
    if case.get("keys", ()) is None:
        assert dialog is None
        return
    assert dialog is not None
    if "keys" in case:
        assert [option.key for option in dialog.options] == case["keys"]
    if "labels" in case:
        assert [option.label for option in dialog.options] == case["labels"]
    assert all(len(option.label) <= 200 for option in dialog.options)
    assert_named(case, dialog)


def assert_named(case: Mapping[str, Any], dialog: Dialog) -> None:
    """What a case says of single options."""
    if "label1" in case:
        assert dialog.options[0].label == case["label1"]
    if "label2_contains" in case:
        assert case["label2_contains"] in dialog.options[1].label
    if "first" in case:
        first = dialog.options[0]
        assert [first.key, first.label, first.means] == case["first"]
    if "fourth_value" in case:
        assert dialog.options[3].means == case["fourth_value"]


def test_a_long_label_is_cut_with_an_ellipsis(claude: Manifest, cases: Callable[[str], Any]) -> None:
    """Not dropped."""
    case = next(case for case in cases("menu") if "200" in case["name"])
    dialog = read(case["pane"], claude).dialog
    assert dialog is not None
    assert dialog.options[1].label.endswith("…")


@group("liveness")
def test_liveness(case: Mapping[str, Any], claude: Manifest) -> None:
    """A live menu is the last thing on the pane."""
    screen = read(case["pane"], claude)
    assert (screen.dialog is not None) is case["live"]
    assert (screen.state == "waiting") is case["live"]


@group("ask_screen")
def test_question_pages(case: Mapping[str, Any], claude: Manifest) -> None:
    """Kind, options, the row for own words, the row to chat."""
    dialog = read(case["pane"], claude).dialog
    assert dialog is not None
    assert dialog.kind == case["kind"]
    if isinstance(case["options"], int):
        assert len(dialog.options) == case["options"]
    else:
        plain = [option.label for option in dialog.options if option.means not in ("text", "chat")]
        assert plain == case["options"]
    for row, means in (("free_text_row", "text"), ("chat_row", "chat")):
        if row in case:
            assert [option.key for option in dialog.options if option.means == means] == [str(case[row])]
    assert dialog.multi is case.get("multi", False)


@group("codex", "grok")
def test_other_agents(case: Mapping[str, Any], manifest_of: Callable[[str], Manifest]) -> None:
    """Approvals of Codex and Grok by their manifests."""
    dialog = read(case["pane"], manifest_of(case["group"])).dialog
    if case["keys"] is None:
        assert dialog is None
        return
    assert dialog is not None
    assert [option.key for option in dialog.options] == case["keys"]
    assert [option.means.removesuffix("_always") for option in dialog.options] == case["values"]
    assert dialog.command == case["command"]
    if "message" in case:
        assert dialog.question == case["message"]
    if case.get("labels_strip_key_hint"):
        assert not any(option.label.endswith(")") for option in dialog.options)


def test_one_agents_screen_is_no_dialog_of_another(manifest_of: Callable[[str], Manifest]) -> None:
    """Codex under Grok's manifest, the other way round, and both under Claude Code's."""
    panes = {
        case["group"]: case["pane"] for case in CASES if case.get("keys") and case["group"] in ("codex", "grok")
    }
    for shown, kind in (("codex", "grok"), ("grok", "codex"), ("grok", "claude-code"), ("codex", "gemini")):
        screen = read(panes[shown], manifest_of(kind))
        assert screen.dialog is None, (shown, kind)
        assert screen.state != "ready", (shown, kind)


def test_groks_menu_is_over_when_something_stands_below_its_footer(manifest_of: Callable[[str], Manifest]) -> None:
    """Conversation below the footer, or the footer gone: no menu."""
    pane = next(case["pane"] for case in CASES if case["group"] == "grok" and case.get("keys"))
    grok = manifest_of("grok")
    assert read(pane + "\n  ◆ Ran touch a.txt\n\n  Done.\n", grok).dialog is None
    assert read(pane.replace("1/5:select", ""), grok).dialog is None


@group("readback")
def test_readback(case: Mapping[str, Any], claude: Manifest) -> None:
    """Submitted and staged, by position."""
    found = readback(case["needle"], case.get("baseline"), case["pane"], claude)
    assert (found.submitted, found.staged) == (case["submitted"], case["staged"])


@group("ask_keys")
def test_keys_of_whole_forms(case: Mapping[str, Any]) -> None:
    """The keys that were measured."""
    shapes = [Shape(**question) for question in case["questions"]]
    keys = form(shapes, picks=case.get("picks"), text=case.get("text"))
    assert [key.name if isinstance(key, Key) else key.text for key in keys] == case["keys"]


@pytest.mark.parametrize("shapes", [[Shape(3, multi=True)], [Shape(2), Shape(2)]])
def test_own_words_are_refused_where_they_cannot_be_typed(shapes: list[Shape]) -> None:
    """With ticks or several questions nothing is typed."""
    with pytest.raises(CannotAnswerError):
        form(shapes, text="as a table")
