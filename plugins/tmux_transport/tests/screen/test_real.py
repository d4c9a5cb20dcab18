"""Screens of the real Claude Code 2.1.332 in a real tmux, at 40, 80 and 200 columns (``capture.py`` takes them).

``data/real/labels.json`` says of each what a person sees on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from turnhub_tmux.screen.cells import parse
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.readback import readback
from turnhub_tmux.screen.reader import read

REAL: Final = Path(__file__).parent / "data" / "real"
LABELS: Final[dict[str, dict[str, Any]]] = msgspec.json.decode((REAL / "labels.json").read_bytes())
FAMILIES: Final = ("ask-single ask-text-row ask-text-typed ask-chat-row", "perm-bash perm-bash-down")
DIALOGS: Final = [name for name, label in LABELS.items() if "dialog" in label]


def scene(name: str) -> str:
    """The name of a screen without version and width."""
    return re.sub(r"^claude-[\d.]+-w\d+-", "", name)


@pytest.mark.parametrize("name", LABELS)
def test_what_a_person_sees(name: str, claude: Manifest, pane: Callable[[str], bytes]) -> None:
    """State, composer, queue."""
    seen, label = read(pane(name), claude), LABELS[name]
    assert (seen.state, seen.composer.state) == (label["state"], label["composer"])
    assert seen.queue_hint is label.get("queue", False)
    assert seen.composer.truncated is label.get("truncated", False)
    if "text" in label:
        assert seen.composer.text.strip() == label["text"]
    assert (None if seen.dialog is None else seen.dialog.kind) == label.get("dialog")


@pytest.mark.parametrize("name", DIALOGS)
def test_the_rows_of_a_dialog(name: str, claude: Manifest, pane: Callable[[str], bytes]) -> None:
    """What they mean, which are ticked, where the cursor stands."""
    dialog, label = read(pane(name), claude).dialog, LABELS[name]
    assert dialog is not None
    assert [option.means for option in dialog.options] == label["means"]
    assert [n for n, option in enumerate(dialog.options) if option.checked] == label.get("checked", [])
    if "selected" in label:
        assert [n for n, option in enumerate(dialog.options) if option.selected] == [label["selected"]]


@pytest.mark.parametrize("name", [name for name in LABELS if "dialog" not in LABELS[name]])
def test_without_colours_the_state_is_the_same(name: str, claude: Manifest, pane: Callable[[str], bytes]) -> None:
    """Structure alone tells it; only ghosts need the looks of cells."""
    text = "\n".join(row.text for row in parse(pane(name)))
    assert read(text, claude).state == LABELS[name]["state"]


@pytest.mark.parametrize("name", DIALOGS)
def test_without_colours_a_dialog_is_the_same(name: str, claude: Manifest, pane: Callable[[str], bytes]) -> None:
    """Its kind and what its rows mean."""
    dialog = read("\n".join(row.text for row in parse(pane(name))), claude).dialog
    assert dialog is not None
    assert dialog.kind == LABELS[name]["dialog"]
    assert [option.means for option in dialog.options] == LABELS[name]["means"]


@pytest.mark.parametrize(
    "family", ["ask-single ask-text-row ask-text-typed ask-chat-row", "perm-bash perm-bash-down"]
)
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_one_dialog_has_one_fingerprint(
    family: str, columns: int, claude: Manifest, pane: Callable[[str], bytes]
) -> None:
    """While the cursor moves and somebody types into the free row."""
    seen = [read(pane(f"claude-2.1.332-w{columns}-{one}"), claude).dialog for one in family.split()]
    assert len({dialog.fingerprint for dialog in seen if dialog is not None}) == 1


def test_a_question_has_one_fingerprint_at_any_width(claude: Manifest, pane: Callable[[str], bytes]) -> None:
    """A pane that is resized shows the same question."""
    seen = [read(pane(f"claude-2.1.332-w{columns}-ask-single"), claude).dialog for columns in (40, 80, 200)]
    assert len({dialog.fingerprint for dialog in seen if dialog is not None}) == 1


def test_different_dialogs_have_different_fingerprints(claude: Manifest, pane: Callable[[str], bytes]) -> None:
    """No two of the kinds that were taken are mistaken for each other."""
    kinds = [
        "ask-single",
        "ask-multi",
        "ask-several-1",
        "ask-several-2",
        "perm-bash",
        "perm-long",
        "perm-write",
        "plan",
    ]
    seen = [read(pane(f"claude-2.1.332-w40-{one}"), claude).dialog for one in kinds]
    assert len({dialog.fingerprint for dialog in seen if dialog is not None}) == len(kinds)


def test_all_widths_are_there() -> None:
    """The scenes were taken at each of them."""
    widths = sorted(LABELS, key=scene)
    taken = {name: len(list(group)) for name, group in groupby(widths, key=scene)}
    assert sum(count == 3 for count in taken.values()) >= 40


HELLO: Final = "hello there, this is a draft that is long enough to be wrapped on every screen " * 3
SECOND: Final = "another one, much longer than the first so that it has to be wrapped on narrow screens"
WIDE: Final = "日本語テキスト 😀 の下書き " * 8
LINES: Final = "\n".join(f"line {n}" for n in range(60))


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize(
    ("before", "after", "text", "expected"),
    [
        ("idle", "draft-wrapped", HELLO, (False, False, True)),
        ("idle", "draft-multiline", HELLO, (True, False, False)),
        ("draft-cleared", "paste-collapsed", LINES, (False, False, True)),
        ("draft-cleared", "draft-wide", WIDE, (None, False, True)),
        ("busy", "busy-draft", "half a thought", (False, False, True)),
        ("busy", "queued", "half a thought", (False, True, False)),
        ("queued", "queued-and-draft", SECOND, (False, False, True)),
        ("queued", "queued-two", SECOND, (False, True, False)),
        ("idle", "busy", "SLOW one", (True, False, False)),
    ],
)
def test_where_a_text_is(
    columns: int,
    before: str,
    after: str,
    text: str,
    expected: tuple[bool | None, bool, bool],
    claude: Manifest,
    pane: Callable[[str], bytes],
) -> None:
    """Typed, queued, sent: on the screens before and after."""
    then, now = (pane(f"claude-2.1.332-w{columns}-{one}") for one in (before, after))
    found = readback(text, then, now, claude)
    assert (found.queued, found.staged) == expected[1:]
    assert expected[0] is None or found.submitted is expected[0]
