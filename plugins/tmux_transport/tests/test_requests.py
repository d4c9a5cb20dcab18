"""The same ask from every side is one ask; an answer is given as the agent takes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from turnhub_tmux.bridge.decisions import Allow, Deny
from turnhub_tmux.bridge.facts import PermissionAsked
from turnhub_tmux.bridge.posts import questions_of
from turnhub_tmux.requests import by_keyboard, decision_of, is_about, of_dialog, reply_of, request_of
from turnhub_tmux.screen.answers import CannotAnswerError, Choose, Mean, Words
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Dialog
from turnhub_tmux.transcript.facts import Used

from hub import Answered, Settlement, WithdrawnAsk
from hub.testing import allow, answer, deny, respond

COLOUR = {"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}, {"label": "Blue"}]}
SIZE = {"question": "Which size?", "header": "Size", "options": [{"label": "Small"}, {"label": "Large"}]}
ASKED = {"questions": [COLOUR]}


def answered(settlement: Settlement) -> Answered:
    return Answered(ask_id="ask", settlement=settlement)


@pytest.fixture
def dialog(pane: Callable[[str], bytes], claude: Manifest) -> Callable[[str], Dialog]:
    """The dialog of a saved screen of the real agent."""

    def of(name: str) -> Dialog:
        found = read(pane(f"claude-2.1.332-{name}"), claude).dialog
        assert found is not None
        return found

    return of


def test_hook_and_transcript_and_screen_make_the_same_ask(dialog: Callable[[str], Dialog]) -> None:
    """Kind, tool, subject and input are the same, so that it is known again after a restart."""
    given = {"command": "touch made", "description": "make a file"}
    hook = request_of("Bash", given, source="hook", tool_id="t")
    used = Used(message_id="m", block=0, tool_use_id="t", name="Bash", input=given)
    screen = of_dialog(dialog("w200-perm-bash"), used)
    assert (hook.kind, hook.tool, hook.subject, hook.input) == (
        screen.kind,
        screen.tool,
        screen.subject,
        screen.input,
    )
    alone = of_dialog(dialog("w200-perm-bash"))
    assert (alone.kind, alone.tool, alone.subject) == ("permission", "Bash", "touch made")


@pytest.mark.parametrize(
    ("name", "tool", "given", "about"),
    [
        ("w200-perm-bash", "Bash", {"command": "touch made"}, True),
        ("w40-perm-bash", "Bash", {"command": "touch made"}, True),
        ("w200-perm-bash", "Bash", {"command": "touch made2"}, False),
        ("w200-perm-bash", "AskUserQuestion", ASKED, False),
        ("w200-perm-write", "Write", {"file_path": "/a/b/new.py", "content": "x"}, True),
        ("w200-perm-write", "Write", {"file_path": "/a/b/other.py", "content": "x"}, False),
        ("w200-ask-single", "AskUserQuestion", ASKED, True),
        ("w40-ask-several-2", "AskUserQuestion", {"questions": [COLOUR, SIZE]}, True),
        ("w40-ask-several-review", "AskUserQuestion", {"questions": [COLOUR, SIZE]}, True),
        ("w40-ask-several-2", "AskUserQuestion", ASKED, False),
        ("w200-plan", "ExitPlanMode", {"plan": "x"}, True),
        ("w200-trust", "Bash", {"command": "touch made"}, False),
    ],
)
def test_a_dialog_is_known_for_the_ask_that_it_is(
    dialog: Callable[[str], Dialog], name: str, tool: str, given: dict[str, Any], about: bool
) -> None:
    """By its kind and its words; another command's dialog is another ask, which no answer may reach."""
    assert is_about(dialog(name), request_of(tool, given, source="hook")) is about


def test_answers_become_what_a_page_takes(dialog: Callable[[str], Dialog]) -> None:
    """Labels are chosen, other words are written; a form's page gets its own answer; nothing lasting is given."""
    ask = request_of("AskUserQuestion", ASKED, source="pane")
    page = dialog("w200-ask-single")
    assert reply_of(page, ask, answered(answer({"Which colour?": "blue"}))) == Choose(("Blue",))
    assert reply_of(page, ask, answered(answer({"Which colour?": "a green"}))) == Words("a green")
    assert reply_of(page, ask, answered(respond("none"))) == Words("none")
    form = request_of("AskUserQuestion", {"questions": [COLOUR, SIZE]}, source="pane")
    both = answered(answer({"Which colour?": "Red", "Which size?": "Large"}))
    assert reply_of(dialog("w40-ask-several-2"), form, both) == Choose(("Large",))
    assert reply_of(dialog("w40-ask-several-review"), form, both) == Mean("submit")
    bash = request_of("Bash", {"command": "touch made"}, source="pane")
    assert reply_of(dialog("w200-perm-bash"), bash, answered(allow(scope="session"))) == Mean("yes")
    assert reply_of(dialog("w200-perm-bash"), bash, answered(deny())) == Mean("no")
    assert reply_of(dialog("w200-perm-bash"), bash, WithdrawnAsk(ask_id="a", reason="r")) == Mean("no")
    with pytest.raises(CannotAnswerError, match="not changed"):
        reply_of(dialog("w200-perm-bash"), bash, answered(allow(input={"command": "other"})))


def test_answers_become_what_a_hook_takes() -> None:
    """An allow with its edited input, a denial with its words, answers by question; a withdrawn ask is a no."""
    bash = PermissionAsked(ask_id="1", tool="Bash", input={"command": "ls"})
    assert decision_of(bash, answered(allow(input={"command": "pwd"}))) == Allow(input={"command": "pwd"})
    assert decision_of(bash, answered(deny("not now"))) == Deny(message="not now")
    assert isinstance(decision_of(bash, WithdrawnAsk(ask_id="a", reason="r")), Deny)
    asked = PermissionAsked(ask_id="1", tool="AskUserQuestion", input=ASKED, questions=questions_of(ASKED))
    for settlement in (answer({"Which colour?": "green"}), respond("green")):
        decision = decision_of(asked, answered(settlement))
        assert isinstance(decision, Allow)
        assert decision.input is not None
        assert decision.input["answers"] == {"Which colour?": "green"}


def test_what_the_keyboard_answered_is_told_only_where_its_consequences_tell_it() -> None:
    """A tool that ran was allowed; a question's answer stands in the tool's output; else nobody knows."""
    bash = request_of("Bash", {"command": "ls"}, source="hook")
    asked = request_of("AskUserQuestion", ASKED, source="hook")
    told = by_keyboard(asked, allowed=True, output={"answers": {"Which colour?": "Red"}})
    assert told is not None
    assert (told.by.kind, told.answers) == ("keyboard", {"Which colour?": "Red"})
    assert by_keyboard(asked, allowed=True, output="words") is None
    assert by_keyboard(asked, allowed=False) is None
    for allowed, decision in ((True, "allow"), (False, "deny")):
        found = by_keyboard(bash, allowed=allowed)
        assert found is not None
        assert found.decision == decision
