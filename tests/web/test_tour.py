"""The rehearsal from start to end, by a person who only has the page: real agent, real hub, real browser."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from hub.testing.process import HubProcess
from tests.web.visitor import Visitor, Visitors

pytestmark = [pytest.mark.slow, pytest.mark.real]

PICTURE = Path(__file__).parents[2] / "docs/images/web-page.png"


def _photograph(visitor: Visitor) -> None:
    """Take the README's picture, when TURNHUB_PICTURE asks for it."""
    if os.environ.get("TURNHUB_PICTURE"):
        visitor.page.screenshot(path=PICTURE)


def test_the_tour_from_start_to_end(hub: HubProcess, visitors: Visitors) -> None:
    """Help, a name for the session, a permission, a question, a failure that is tried again, and a slow answer
    that a reload and a second device pick up in the middle; the second one stops it."""
    me = visitors.come(hub)
    me.open()
    session = me.begin("rehearsal")
    me.say("help")
    expect(me.ended(1).locator(".markdown li")).to_have_count(5)

    me.page.get_by_role("button", name="Rename the session").click()
    me.page.get_by_label("Name of the session").fill("A first look around")
    me.page.get_by_role("button", name="Save").click()
    expect(me.page.locator("#sessions .name")).to_have_text("A first look around")

    me.say("permission")
    card = me.open_asks
    expect(card.get_by_text("Bash wants to run")).to_be_visible()
    expect(card.locator("pre")).to_contain_text("echo This line was printed")
    expect(me.page.locator("#sessions .waiting")).to_be_visible()
    expect(me.page).to_have_title(re.compile(r"^\(1\) "))
    _photograph(me)
    card.get_by_role("button", name="Allow once").click()
    turn = me.ended(2)
    expect(turn.locator(".markdown pre")).to_contain_text("This line was printed by a command that you allowed.")
    expect(turn.locator(".activity .line")).to_have_text("1 tool: Bash")
    expect(turn.locator(".ask")).to_contain_text("allowed · by primary")
    expect(me.page).to_have_title(re.compile(r"^(?!\()"))

    me.say("question")
    me.open_asks.get_by_label("Tea").check()
    me.open_asks.get_by_role("button", name="Send the answer").click()
    expect(me.ended(3).locator(".markdown").last).to_contain_text("Tea")

    me.say("fail")
    failed = me.ended(4)
    expect(failed.locator(".failed")).to_contain_text("This failure is part of the rehearsal")
    expect(failed.locator("code")).to_have_text("agent_error")
    expect(me.page.locator("#sessions .failed")).to_be_visible()
    me.page.get_by_role("button", name="Try again").click()
    expect(me.ended(5).locator(".text")).to_contain_text("This time it worked")

    me.say("slow")
    slow = me.turns.nth(5)
    expect(slow.locator(".text.open")).to_contain_text("2 of 40")
    me.page.reload()
    other = visitors.come(hub)
    other.open(session)
    expect(other.turns.nth(5).locator(".text.open")).to_contain_text("6 of 40")
    expect(slow.locator(".text.open")).to_contain_text("6 of 40")
    other.page.get_by_role("button", name="Stop").click()
    for visitor in (me, other):
        expect(visitor.ended(6).locator(".stats")).to_contain_text("stopped by primary")
        expect(visitor.turns.nth(5).locator(".text")).to_contain_text("1 of 40")
    assert me.settled() == other.settled()
