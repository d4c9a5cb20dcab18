"""Asks as cards: every way to answer that the hub has, and what a person is told where an answer is not taken."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from hub.testing.process import HubProcess
from tests.web.visitor import Visitor, Visitors

pytestmark = [pytest.mark.slow]

COLOURS = {
    "question": "Which colours?",
    "header": "Colour",
    "multiSelect": True,
    "options": [{"label": "Red", "description": "like a rose"}, {"label": "Blue", "description": ""}],
}
SIZE = {
    "question": "Which size?",
    "options": [{"label": "Small", "description": ""}, {"label": "Large", "description": ""}],
}


@pytest.fixture
def me(hub: HubProcess, visitors: Visitors) -> Visitor:
    """Somebody with a session of their own."""
    visitor = visitors.come(hub)
    visitor.open()
    visitor.begin()
    return visitor


def asks(me: Visitor, command: str = "ls", **more: Any) -> Locator:
    """Have the agent ask for a command; its card."""
    me.play({"tool": "Bash", "input": {"command": command}, "ask": True, "result": "out", **more})
    expect(me.open_asks).to_be_visible()
    return me.open_asks


def test_denied_with_words_the_agent_hears_them(me: Visitor) -> None:
    """The words stand with the answer, and the tool is marked as denied."""
    card = asks(me)
    card.get_by_label(re.compile("Words to the agent")).fill("use the staging machine")
    card.get_by_role("button", name="Deny").click()
    turn = me.ended()
    expect(turn.locator(".ask")).to_contain_text("denied: use the staging machine · by primary")
    turn.locator(".activity summary").first.click()
    expect(turn.locator(".tool")).to_contain_text("denied")


def test_an_edited_input_is_what_runs(me: Visitor) -> None:
    """No JSON is told in a sentence and sends nothing; JSON goes with the permission."""
    card = asks(me)
    card.get_by_role("button", name="Edit the input").click()
    box = card.get_by_label("Input as JSON")
    expect(box).to_be_focused()
    box.fill("{broken")
    card.get_by_role("button", name="Allow once").click()
    expect(card.get_by_role("alert")).to_contain_text("The input is no JSON object")
    box.fill('{"command": "ls -l"}')
    card.get_by_role("button", name="Allow once").click()
    expect(me.ended().locator(".ask")).to_contain_text("allowed · with an edited input · by primary")


def test_allowed_for_the_session_it_does_not_ask_again(me: Visitor) -> None:
    """The same call runs unasked from then on."""
    asks(me).get_by_role("button", name="Allow for the session").click()
    expect(me.ended(1).locator(".ask")).to_contain_text("allowed for the session")
    me.play({"tool": "Bash", "input": {"command": "ls"}, "ask": True, "result": "out"})
    expect(me.ended(2).locator(".activity .line")).to_have_text("1 tool: Bash")
    expect(me.open_asks).to_have_count(0)


def test_questions_take_several_options_own_words_and_skipping(me: Visitor) -> None:
    """Nothing chosen is told; then each question has its own kind of answer."""
    me.play({"question": {"questions": [COLOURS, SIZE, {**SIZE, "question": "And why?"}]}})
    card = me.open_asks
    card.get_by_role("button", name="Send the answer").click()
    expect(card.get_by_role("alert")).to_have_text("Choose an answer or skip: Which colours?")
    card.get_by_label("Red").check()
    card.get_by_label("Blue").check()
    size = card.get_by_role("group", name=re.compile("Which size"))
    size.get_by_label("Small").check()
    size.get_by_label("Own answer: Which size?").fill("somewhere between")
    expect(size.get_by_label("Small")).not_to_be_checked()
    card.get_by_role("group", name="And why?").get_by_label("skip this one").check()
    card.get_by_role("button", name="Send the answer").click()
    answer = me.ended().locator(".ask")
    for words in ("Which colours? Red, Blue", "Which size? somewhere between", "And why? (skipped"):
        expect(answer).to_contain_text(words)


def test_one_answer_in_own_words_answers_it_all(me: Visitor) -> None:
    """Without touching any option."""
    me.play({"question": COLOURS})
    me.open_asks.get_by_text("Answer in your own words instead").click()
    me.open_asks.get_by_label(re.compile("^One answer")).fill("leave it grey")
    me.open_asks.get_by_role("button", name="Send the answer").click()
    expect(me.ended().locator(".ask")).to_contain_text("leave it grey · by primary")


def test_what_the_hub_refuses_is_told_in_the_card_which_stays_open(me: Visitor) -> None:
    """All skipped is no answer: 422, and the person can still give one."""
    me.expected.add("422")
    me.play({"question": {"questions": [SIZE, {**SIZE, "question": "And why?"}]}})
    card = me.open_asks
    expect(card.get_by_label("skip this one")).to_have_count(2)
    for box in card.get_by_label("skip this one").all():
        box.check()
    card.get_by_role("button", name="Send the answer").click()
    expect(card.get_by_role("alert")).to_contain_text("All questions are skipped")
    for group in card.get_by_role("group").all()[:2]:
        group.get_by_label("Large").check()
    card.get_by_role("button", name="Send the answer").click()
    me.ended()


def test_what_is_written_into_a_card_stays_while_the_turn_goes_on(me: Visitor) -> None:
    """Two asks at once, each its own card: answering one leaves the words in the other alone."""
    tool = {"tool": "Bash", "ask": True, "result": "out"}
    me.play({"parallel": [{**tool, "input": {"command": "first"}}, {**tool, "input": {"command": "second"}}]})
    expect(me.open_asks).to_have_count(2)
    second = me.open_asks.filter(has_text="second")
    words = second.get_by_label(re.compile("Words to the agent"))
    words.fill("half a sen")
    me.page.locator("#items .ask.open").filter(has_text="first").get_by_role("button", name="Allow once").click()
    expect(me.open_asks).to_have_count(1)
    expect(words).to_have_value("half a sen")
    words.press("End")
    words.press_sequentially("tence")
    second.get_by_role("button", name="Deny").click()
    expect(me.ended().locator(".ask").filter(has_text="second")).to_contain_text("half a sentence")


def test_a_question_of_another_session_is_answered_from_the_inbox(me: Visitor) -> None:
    """Without leaving what one looks at."""
    asks(me)
    first = me.page.url
    me.begin()
    me.box.blur()
    me.page.keyboard.press("i")
    inbox = me.page.get_by_role("complementary")
    expect(inbox.get_by_role("button", name="Allow once")).to_be_focused()
    me.page.keyboard.press("Enter")
    expect(inbox.get_by_text("Nothing waits for you.")).to_be_visible()
    me.page.keyboard.press("Escape")
    expect(inbox).to_be_hidden()
    me.page.goto(first)
    expect(me.ended().locator(".ask")).to_contain_text("allowed")


def test_the_form_of_a_server_is_filled_in_or_turned_down(me: Visitor) -> None:
    """An MCP server's form has no answer in own words: its fields, or `decline`, or `cancel`."""
    replies: list[Any] = []

    def note(route: Route) -> None:
        replies.append(route.request.post_data_json)
        route.fulfill(json={})

    me.page.route("**/answer", note)
    me.page.evaluate(_FORM)
    form = me.items.get_by_role("group", name="Question")
    expect(form.get_by_text("Answer in your own words instead")).to_have_count(0)
    form.get_by_role("button", name="Decline").click()
    form.get_by_role("button", name="Cancel").click()
    form.get_by_label("Small").check()
    with me.page.expect_response("**/answer"):
        form.get_by_role("button", name="Send the answer").click()
    assert replies == [{"response": "decline"}, {"response": "cancel"}, {"answers": {"Which size?": "Small"}}]


_FORM = """
async () => {
  const { askView } = await import("/views/ask.js");
  const card = askView();
  const options = [{ label: "Small", description: "" }];
  const questions = [{ question: "Which size?", header: "", multiSelect: false, options }];
  const ask = { id: "ask_x", kind: "question", tool: "Elicitation", input: {}, refuses: [], state: "open" };
  card.update({ ...ask, questions });
  document.getElementById("items").append(card.element);
}
"""
