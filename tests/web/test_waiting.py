"""Messages that wait for the running turn: shown, changed, taken back, begun by hand after a failure."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from hub.testing.process import HubProcess
from tests.web.visitor import Visitor, Visitors

pytestmark = [pytest.mark.slow]

ASKING = {"tool": "Bash", "input": {"command": "ls"}, "ask": True, "result": "out"}


@pytest.fixture
def me(hub: HubProcess, visitors: Visitors) -> Visitor:
    """Somebody with a session of their own."""
    visitor = visitors.come(hub)
    visitor.open()
    visitor.begin()
    return visitor


def test_a_waiting_message_is_taken_back(me: Visitor) -> None:
    """It is shown while it waits; taken back it never begins."""
    me.play(ASKING)
    expect(me.open_asks).to_be_visible()
    me.say("never mind")
    queued = me.items.locator(".queued")
    expect(queued).to_contain_text("never mind")
    queued.get_by_role("button", name="Take back").click()
    expect(queued).to_have_count(0)
    me.open_asks.get_by_role("button", name="Allow once").click()
    me.ended()
    expect(me.page.locator("article.user")).to_have_count(1)


def test_a_waiting_message_is_changed_and_keeps_its_place(me: Visitor, visitors: Visitors) -> None:
    """On every page that shows it; what begins is what it says now."""
    other = visitors.come(me.hub)
    other.open(me.page.url.partition("#")[2])
    me.play(ASKING)
    expect(me.open_asks).to_be_visible()
    for text in ("first", "second"):
        me.say(text)
        expect(me.items.locator(".queued").last).to_contain_text(text)
    queued = me.items.locator(".queued").first
    queued.get_by_role("button", name="Change").click()
    queued.get_by_label("The waiting message").fill("changed")
    queued.get_by_role("button", name="Save").click()
    for visitor in (me, other):
        expect(visitor.items.locator(".queued .words")).to_have_text(["changed", "second"])
    me.open_asks.get_by_role("button", name="Allow once").click()
    expect(me.ended(2).locator(".text .words")).to_have_text("Echo: changed")
    expect(me.ended(3).locator(".text .words")).to_have_text("Echo: second")


def test_after_a_failure_what_waits_is_begun_by_hand(me: Visitor) -> None:
    """The page says that it stands, and has the button that lets it go on."""
    me.play(ASKING, {"fail": {"code": "agent_error", "message": "It broke.", "retryable": True}})
    expect(me.open_asks).to_be_visible()
    me.say("later")
    expect(me.items.locator(".queued")).to_be_visible()
    me.open_asks.get_by_role("button", name="Allow once").click()
    me.ended(1)
    expect(me.items).to_contain_text("does not begin by itself after a failure")
    me.page.get_by_role("button", name="Send what waits").click()
    expect(me.ended(2).locator(".text .words")).to_have_text("Echo: later")
    expect(me.items.locator(".queued")).to_have_count(0)
