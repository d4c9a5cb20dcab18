"""A connection that dies without a word, a device that slept, a clock that is wrong."""

from __future__ import annotations

import datetime
import re

import pytest
from playwright.sync_api import expect

from hub.testing.process import HubProcess
from tests.web.blackhole import way_to
from tests.web.visitor import Visitors, client

pytestmark = [pytest.mark.slow]


def test_a_connection_that_died_without_a_word_is_noticed_and_made_up_for(
    hub: HubProcess, visitors: Visitors
) -> None:
    """As after sleep or in another network: no error comes, nothing comes at all. Within about a minute the page
    says so; when the way is free it has what happened meanwhile, without a reload."""
    with way_to(hub.url) as way:
        me = visitors.come(hub)
        me.hub_leaves = True
        me.page.clock.install()
        me.page.goto(f"{way.url}/?token={hub.token}")
        session = me.begin()
        me.say("before")
        me.ended(1)
        way.swallow()
        with client(hub) as http:
            sent = http.post(f"/v1/sessions/{session}/messages", json={"text": "meanwhile"})
            assert sent.status_code == 202
        expect(me.page.locator("#connection")).to_be_hidden()
        me.page.clock.fast_forward(46_000)
        me.page.clock.fast_forward(16_000)
        told = me.page.locator("#connection")
        expect(told).to_contain_text("The hub does not answer. What you see was so at")
        way.restore()
        me.page.clock.fast_forward(31_000)
        expect(me.ended(2).locator(".text")).to_contain_text("Echo: meanwhile")
        expect(told).to_be_hidden()


@pytest.mark.parametrize("hours", [-3, 3])
def test_a_countdown_is_right_whatever_the_clock_of_the_device_says(
    hub: HubProcess, visitors: Visitors, hours: int
) -> None:
    """Ten minutes are ten minutes, counted down by the hub's clock; so is the time that a turn takes."""
    me = visitors.come(hub)
    wrong = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours)
    me.page.clock.install(time=wrong)
    me.open()
    me.begin("timed")
    me.play({"tool": "Bash", "input": {"command": "ls"}, "ask": True})
    countdown = me.open_asks.locator(".countdown")
    expect(countdown).to_have_text(re.compile(r"^(10:00|9:[345]\d) left$"))
    expect(me.turns.locator(".elapsed")).to_have_text(re.compile(r"^ · [123]?\d s$"))
    me.page.clock.fast_forward("02:00")
    expect(countdown).to_have_text(re.compile(r"^(8:00|7:[2345]\d) left$"))
