"""The same ask from every side is one ask; an answer is given as the agent takes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from turnhub_tmux.bridge.decisions import Allow, Deny, Fill
from turnhub_tmux.bridge.facts import PermissionAsked
from turnhub_tmux.bridge.posts import questions_of
from turnhub_tmux.requests import (
    KEYBOARD,
    behind,
    by_keyboard,
    decision_of,
    is_about,
    is_another,
    of_dialog,
    refusals,
    reply_of,
    request_of,
)
from turnhub_tmux.screen.answers import CannotAnswerError, Choose, Leave, Mean, Talk, Words
from turnhub_tmux.screen.manifest import Manifest
from turnhub_tmux.screen.reader import read
from turnhub_tmux.screen.types import Dialog

from hub import Answered, AskRequest, Settlement, WithdrawnAsk
from hub.testing import allow, answer, deny, respond

COLOUR = {"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}, {"label": "Blue"}]}
SIZE = {"question": "Which size?", "header": "Size", "options": [{"label": "Small"}, {"label": "Large"}]}
ASKED = {"questions": [COLOUR]}
CALL = request_of("Bash", {"command": "touch made"}, source="pane")
QUESTION = request_of("AskUserQuestion", ASKED, source="pane")
TOPPINGS = {"question": "Which toppings do you want on the pizza?", "options": [], "multiSelect": True}


def answered(settlement: Settlement) -> Answered:
    return Answered(ask_id="ask", settlement=settlement)


REVIEWED = Answered(
    ask_id="ask", settlement=answer({"Which colour?": "ham", "Which size?": "Large"})
)  # what the saved page shows


@pytest.fixture
def dialog(pane: Callable[[str], bytes], claude: Manifest) -> Callable[[str], Dialog]:
    """The dialog of a saved screen of the real agent."""

    def of(name: str) -> Dialog:
        found = read(pane(f"claude-2.1.332-{name}"), claude).dialog
        assert found is not None
        return found

    return of


def test_the_screen_alone_tells_what_is_asked(dialog: Callable[[str], Dialog]) -> None:
    """Kind, tool and subject are those that the hook tells, so that both are known to be one."""
    alone = of_dialog(dialog("w200-perm-bash"))
    hook = request_of("Bash", {"command": "touch made", "description": "make a file"}, source="hook")
    assert (alone.kind, alone.tool, alone.subject) == (hook.kind, hook.tool, hook.subject)


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("w200-perm-bash", ("input", "lines")),
        ("w200-perm-write", ("input", "lines")),
        ("w200-perm-accepted-fetch", ("input", "message")),
        ("w200-plan", ("input", "lines")),
        ("w200-ask-single", ("lines",)),
        ("w40-ask-several-2", ("response", "lines")),
        ("w200-trust", ("words",)),
    ],
)
def test_what_keys_cannot_convey_is_known_beforehand(
    dialog: Callable[[str], Dialog], name: str, refused: tuple[str, ...]
) -> None:
    """An edited call, a denial's words where the dialog has no place for them, more than a line of words."""
    shown = replace(dialog("w200-perm-bash"), amend=False) if name.endswith("-fetch") else dialog(name)
    assert refusals(shown) == refused


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


ORDER = (
    "─"
    * 90
    + "\n Tool use\n\n my shop.x — Order Tool: (MCP)\n\n n: 3\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n"
    " Esc to cancel · Tab to amend\n"
)


@pytest.mark.parametrize(
    ("tool", "given", "about"),
    [
        ("mcp__my_shop_x__order", {"n": 3}, True),
        ("mcp__my_shop_x__order", {}, True),
        ("mcp__my_shop_x__buy", {"n": 3}, True),  # a tool may have a title of its own
        ("mcp__my_shop_x__buy", {"n": 4}, False),
        ("mcp__shop__order", {"n": 3}, False),
    ],
)
def test_the_call_of_a_server_is_known_by_server_and_tool(
    claude: Manifest, tool: str, given: dict[str, Any], about: bool
) -> None:
    """As its dialog names them."""
    found = read(ORDER, claude).dialog
    assert found is not None
    assert is_about(found, request_of(tool, given, source="transcript")) is about


def test_a_dialog_that_counts_is_the_same_kind_and_says_how_many_wait(claude: Manifest) -> None:
    """Its counter is no part of the tool's name."""
    found = read(ORDER.replace(" Tool use", f" Bash command{' ' * 50}2 of 5"), claude).dialog
    assert found is not None
    assert (of_dialog(found).tool, behind(found)) == ("Bash", 3)
    alone = read(ORDER, claude).dialog
    assert alone is not None
    assert behind(alone) == 0


FORM = {"properties": {"size": {"enum": ["s", "l"], "enumNames": ["Small", "Large"]}}}
ELICITED = {"server": "shop", "message": "What?", "schema": FORM, "url": None}


def test_a_form_is_filled_in_by_its_hook_and_at_the_keyboard() -> None:
    """The hook gets action and values; what the server was told tells what the keyboard answered."""
    asked = PermissionAsked(ask_id="1", tool="Elicitation", input=ELICITED)
    assert decision_of(asked, answered(answer({"size": "Large"}))) == Fill(action="accept", content={"size": "l"})
    assert decision_of(asked, answered(respond("decline"))) == Fill(action="decline")
    assert decision_of(asked, WithdrawnAsk(ask_id="a", reason="r")) == Fill(action="cancel")
    request = request_of("Elicitation", ELICITED, source="hook")
    accepted = by_keyboard(request, allowed=True, output={"action": "accept", "content": {"size": "s"}})
    declined = by_keyboard(request, allowed=False, output={"action": "decline", "content": {}})
    assert accepted is not None
    assert declined is not None
    assert (accepted.answers, declined.response) == ({"size": "Small"}, "decline")
    assert by_keyboard(request, allowed=False) is None


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
    assert reply_of(dialog("w40-ask-several-review"), form, REVIEWED) == Mean("submit")
    with pytest.raises(CannotAnswerError, match="other answers"):
        reply_of(dialog("w40-ask-several-review"), form, both)
    assert reply_of(page, ask, answered(respond("chat about this"))) == Talk()
    assert reply_of(page, ask, WithdrawnAsk(ask_id="a", reason="r")) == Leave()
    ticks = request_of("AskUserQuestion", {"questions": [TOPPINGS]}, source="pane")
    several = dialog("w200-ask-multi")
    assert reply_of(several, ticks, answered(respond("ham, Olives"))) == Choose(("Ham", "Olives"))
    assert reply_of(several, ticks, answered(respond("Ham, rocket, or so"))) == Choose(
        ("Ham",), words="rocket, or so"
    )
    bash = request_of("Bash", {"command": "touch made"}, source="pane")
    assert reply_of(dialog("w200-perm-bash"), bash, answered(allow(scope="session"))) == Mean("yes")
    assert reply_of(dialog("w200-perm-bash"), bash, answered(deny())) == Mean("no")
    assert reply_of(dialog("w200-perm-bash"), bash, answered(deny("not now"))) == Mean("no", words="not now")
    plan = request_of("ExitPlanMode", {"plan": "x"}, source="pane")
    assert reply_of(dialog("w200-plan"), plan, answered(allow())) == Mean("yes")
    assert reply_of(dialog("w200-plan"), plan, answered(deny("fewer steps"))) == Words("fewer steps")
    assert isinstance(reply_of(dialog("w200-plan"), plan, answered(deny())), Words)
    assert isinstance(reply_of(dialog("w200-plan"), plan, WithdrawnAsk(ask_id="a", reason="r")), Words)
    assert reply_of(dialog("w200-perm-bash"), bash, WithdrawnAsk(ask_id="a", reason="r")) == Mean("no")
    with pytest.raises(CannotAnswerError, match="not changed"):
        reply_of(dialog("w200-perm-bash"), bash, answered(allow(input={"command": "other"})))


def test_a_dialog_of_the_agents_own_is_asked_about_with_all_that_it_says(claude: Manifest) -> None:
    """Who is asked whether to trust a folder reads which one."""
    screen = (
        " Accessing workspace:\n\n /home/dev/proj1\n\n Quick safety check: Is this a project you created or one"
        " you trust?\n\n ❯ No, exit\n   Yes, I trust this folder\n\n Enter to confirm · Esc to cancel\n"
    )
    found = read(screen, claude).dialog
    assert found is not None
    (question,) = of_dialog(found).questions
    assert "/home/dev/proj1" in question.question
    assert "one you trust?" in question.question


def test_a_menu_of_a_command_takes_one_of_its_options_or_is_left(dialog: Callable[[str], Dialog]) -> None:
    """Words that are none of its options leave it; so does what is no answer at all."""
    menu = replace(dialog("w200-ask-single"), kind="other")
    menu = replace(menu, options=tuple(one for one in menu.options if one.means == "choose"))
    ask = of_dialog(menu)
    question = ask.questions[0].question
    assert reply_of(menu, ask, answered(answer({question: "Blue"}))) == Choose(("Blue",))
    for given in (respond("No answer in time."), answer({question: "(skipped)"}), deny()):
        assert reply_of(menu, ask, answered(given)) == Leave()


def test_answers_become_what_a_hook_takes() -> None:
    """An allow with its edited input, a denial with its words, answers by question; a withdrawn ask is a no."""
    bash = PermissionAsked(ask_id="1", tool="Bash", input={"command": "ls"})
    assert decision_of(bash, answered(allow(input={"command": "pwd"}))) == Allow(input={"command": "pwd"})
    plan = PermissionAsked(ask_id="1", tool="ExitPlanMode", input={"plan": "x"})
    assert decision_of(plan, answered(allow())) == Allow(input={"plan": "x"}, mode="default", same=True)
    assert decision_of(bash, answered(deny("not now"))) == Deny(message="not now")
    assert isinstance(decision_of(bash, WithdrawnAsk(ask_id="a", reason="r")), Deny)
    asked = PermissionAsked(ask_id="1", tool="AskUserQuestion", input=ASKED, questions=questions_of(ASKED))
    for settlement in (answer({"Which colour?": "green"}), respond("green")):
        decision = decision_of(asked, answered(settlement))
        assert isinstance(decision, Allow)
        assert decision.input == {"questions": ASKED["questions"], "answers": {"Which colour?": "green"}}
    both = {"questions": [COLOUR, SIZE]}
    form = PermissionAsked(ask_id="1", tool="AskUserQuestion", input=both, questions=questions_of(both))
    assert decision_of(form, answered(respond("neither"))) == Deny(message="neither")


@pytest.mark.parametrize(
    ("request_", "given", "found", "denied", "another"),
    [
        (CALL, allow(), None, True, True),
        (CALL, allow(), None, False, False),
        (CALL, deny(), None, True, False),
        (CALL, deny(), None, False, True),
        (QUESTION, answer({"Which colour?": "Blue"}), {"answers": {"Which colour?": "Red"}}, False, True),
        (QUESTION, answer({"Which colour?": "Blue"}), {"answers": {"Which colour?": "Blue"}}, False, False),
        (QUESTION, answer({"Which colour?": "b,\u200b a"}), {"answers": {"Which colour?": "a, b"}}, False, False),
        (QUESTION, answer({"Which colour?": "Blue"}), {"response": "Chat about this"}, True, True),
        (QUESTION, answer({"Which colour?": "Blue"}), None, True, True),
        (QUESTION, answer({"Which colour?": "Blue"}), None, False, False),
        (QUESTION, respond("a green"), {"answers": {"Which colour?": "a green"}}, False, False),
        (QUESTION, respond("a green"), {"answers": {"Which colour?": "Red"}}, False, True),
        (QUESTION, respond("Chat about this"), {"response": "Chat about this"}, True, False),
    ],
)
def test_it_is_known_whose_answer_the_agent_took(
    request_: AskRequest, given: Settlement, found: Any, denied: bool, another: bool
) -> None:
    """By what its transcript has as the result of the call."""
    other = None if found is None else Settlement(by=KEYBOARD, **found)
    if request_ is CALL:
        other = by_keyboard(CALL, allowed=not denied)
    assert is_another(Answered(ask_id="ask", settlement=given), request_, other, denied=denied) is another
    assert not is_another(WithdrawnAsk(ask_id="ask", reason="gone"), request_, other, denied=denied)


def test_what_the_keyboard_answered_is_told_only_where_its_consequences_tell_it() -> None:
    """A tool that ran was allowed; a question's answer stands in the tool's output; else nobody knows."""
    bash = request_of("Bash", {"command": "ls"}, source="hook")
    asked = request_of("AskUserQuestion", ASKED, source="hook")
    told = by_keyboard(asked, allowed=True, output={"answers": {"Which colour?": "Red"}})
    assert told is not None
    assert (told.by.kind, told.answers) == ("keyboard", {"Which colour?": "Red"})
    assert by_keyboard(asked, allowed=True, output="words") is None
    assert by_keyboard(asked, allowed=False) is None
    assert by_keyboard(asked, allowed=False, output="The tool use was rejected.") is None
    talked = by_keyboard(asked, allowed=False, output="…\nThe user wants to clarify these questions.\n…")
    assert talked is not None
    assert (talked.by.kind, talked.response) == ("keyboard", "Chat about this")
    for allowed, decision in ((True, "allow"), (False, "deny")):
        found = by_keyboard(bash, allowed=allowed)
        assert found is not None
        assert found.decision == decision
