"""Several looks at one session: two tabs and a phone, which never contradict each other."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Request, Route, expect

from hub.testing.process import HubProcess
from tests.web.visitor import PHONE, Visitors, client

pytestmark = [pytest.mark.slow]

LONG = {"text": " ".join(f"word{number}" for number in range(160)), "deltas": 160, "every_ms": 10}
WAITS = ({"text": "before"}, {"tool": "Bash", "input": {"command": "ls -la"}, "ask": True, "result": "done"})


def test_two_tabs_and_a_phone_see_the_same(hub: HubProcess, visitors: Visitors) -> None:
    """While it streams and afterwards; on the phone nothing sticks out."""
    desk = visitors.come(hub)
    desk.open()
    session = desk.begin()
    tab = visitors.another_tab(desk)
    tab.open(session)
    phone = visitors.come(hub, PHONE)
    phone.open(session)
    streams = [visitor.sight_of("#items .text.open", "word20") for visitor in (tab, phone)]
    desk.play(LONG, {"tool": "Read", "input": {"file_path": "/a"}, "result": "x"})
    for seen in streams:
        seen()
    pages = [visitor.settled() for visitor in (desk, tab, phone)]
    assert pages[0] == pages[1] == pages[2]
    wide = phone.page.evaluate("document.documentElement.scrollWidth")
    assert wide == PHONE["width"]


def test_an_ask_answered_on_the_phone_disappears_on_the_desk(hub: HubProcess, visitors: Visitors) -> None:
    """In the conversation, in the inbox and in the title, without anybody reloading."""
    desk, phone = visitors.come(hub), visitors.come(hub, PHONE)
    desk.open()
    session = desk.begin()
    phone.open(session)
    desk.play(*WAITS)
    expect(desk.open_asks).to_be_visible()
    desk.page.get_by_role("button", name="Inbox (1)").click()
    expect(desk.page.locator("#asks .ask.open")).to_be_visible()
    expect(desk.page).to_have_title(re.compile(r"^\(1\)"))
    phone.open_asks.get_by_role("button", name="Allow once").click()
    expect(desk.open_asks).to_have_count(0)
    expect(desk.page.get_by_text("Nothing waits for you.")).to_be_visible()
    expect(desk.page).not_to_have_title(re.compile(r"^\("))
    expect(desk.ended().locator(".ask")).to_contain_text("allowed · by primary")
    assert desk.settled() == phone.settled()


def test_who_comes_second_is_told_who_was_first(hub: HubProcess, visitors: Visitors) -> None:
    """Two people answer at once: the second one's page shows the first one's answer, and says so."""
    desk, phone = visitors.come(hub), visitors.come(hub, PHONE)
    desk.open()
    session = desk.begin()
    phone.open(session)
    desk.play(*WAITS)
    expect(phone.open_asks).to_be_visible()
    phone.expected.add("409")

    def late(route: Route) -> None:
        with client(hub) as http:
            (ask,) = http.get("/v1/asks?state=open").json()
            body = {"decision": "deny", "message": "not now"}
            assert http.post(f"/v1/asks/{ask['id']}/answer", json=body).status_code == 200
        route.continue_()

    phone.page.route("**/answer", late)
    phone.open_asks.get_by_role("button", name="Allow once").click()
    for visitor in (desk, phone):
        expect(visitor.ended().locator(".ask")).to_contain_text("denied: not now · by primary")


def test_a_message_that_comes_second_keeps_its_draft_and_shows_the_first_ones_answer(
    hub: HubProcess, visitors: Visitors
) -> None:
    """The tab that does not know of the running turn yet is refused with 409: no error, it attaches, and another
    text than the one that is answered stays in the box."""
    desk, late = visitors.come(hub), visitors.come(hub)
    desk.open()
    session = desk.begin()
    late.come_deaf(session)
    desk.play(*WAITS)
    expect(desk.open_asks).to_be_visible()
    late.say("something else entirely")
    expect(late.page.locator("#notice")).to_contain_text("Yours is still in the box")
    expect(late.box).to_have_value("something else entirely")
    late.hear_again()
    expect(late.turns.first.locator(".text")).to_contain_text("before")
    expect(late.open_asks).to_be_visible()
    expect(late.send_button).to_have_text("Queue")
    late.box.press("Enter")
    expect(late.box).to_have_value("")
    expect(desk.items.locator(".queued")).to_contain_text("something else entirely")
    late.open_asks.get_by_role("button", name="Allow once").click()
    for visitor in (desk, late):
        expect(visitor.ended(2).locator(".text")).to_contain_text("Echo: something else entirely")


def test_a_double_click_is_one_turn(hub: HubProcess, visitors: Visitors) -> None:
    """Pressed twice at once: one message, one turn, an empty box."""
    desk = visitors.come(hub)
    desk.open()
    desk.begin()
    desk.box.fill("only once")
    desk.send_button.dblclick()
    desk.ended()
    expect(desk.page.locator("article.user")).to_have_count(1)
    expect(desk.box).to_have_value("")


def test_the_same_message_from_two_tabs_attaches(hub: HubProcess, visitors: Visitors) -> None:
    """What both wanted is under way: the second box is emptied, and both watch one answer."""
    desk = visitors.come(hub)
    desk.open()
    session = desk.begin()
    late = visitors.another_tab(desk)
    late.come_deaf(session)
    desk.play(*WAITS)
    expect(desk.open_asks).to_be_visible()
    late.play(*WAITS)
    expect(late.page.locator("#notice")).to_be_hidden()
    expect(late.box).to_have_value("")
    late.hear_again()
    late.open_asks.get_by_role("button", name="Allow once").click()
    late.ended()
    expect(late.page.locator("article.user")).to_have_count(1)


def test_eight_tabs_of_one_browser_do_not_block_each_other(hub: HubProcess, visitors: Visitors) -> None:
    """Browsers have six connections for one host. Seven tabs that nobody looks at have three streams between them;
    the one that is looked at works, and each of the others has caught up when it is looked at."""
    first = visitors.come(hub)
    first.page.context.add_init_script(_HIDING)
    streams: list[Request] = []

    def begun(request: Request) -> None:
        if request.resource_type == "eventsource":
            streams.append(request)

    tabs = [first, *(visitors.another_tab(first) for _ in range(7))]
    for tab in tabs:
        tab.page.on("request", begun)
        tab.page.on("requestfailed", lambda one: streams.remove(one) if one in streams else None)
    session = ""
    for tab in tabs:
        tab.open(session)
        session = session or tab.begin()
        if tab is not tabs[-1]:
            tab.page.evaluate("window.hide(true)")
    tabs[-1].say("who hears this?")
    tabs[-1].ended(1)
    assert len(streams) <= 4
    tabs[-1].page.evaluate("window.hide(true)")
    for tab in tabs[:-1]:
        tab.page.evaluate("window.hide(false)")
        expect(tab.ended(1).locator(".text")).to_contain_text("Echo: who hears this?")
        tab.page.evaluate("window.hide(true)")
    tabs[0].page.evaluate("window.hide(false)")
    tabs[0].say("I do")
    expect(tabs[0].ended(2).locator(".text")).to_contain_text("Echo: I do")


# The tabs of a headless browser all believe that they are looked at.
_HIDING = """
let hidden = false;
Object.defineProperty(document, "hidden", { get: () => hidden });
window.hide = (value) => {
  hidden = value;
  document.dispatchEvent(new Event("visibilitychange"));
};
"""
