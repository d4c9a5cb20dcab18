"""The page without a token, or with one that is worth nothing any more."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from hub.testing.process import HubProcess
from hub.tokens import Tokens
from tests.web.visitor import Visitors, client

pytestmark = [pytest.mark.slow]


def test_who_comes_by_a_link_gives_a_token_and_is_there(hub: HubProcess, visitors: Visitors) -> None:
    """A wrong token is told in the window; the right one shows the link's session and stands in no address."""
    with client(hub) as http:
        session = http.post("/v1/sessions", json={"agent": "echo", "title": "The linked one"}).json()["id"]
    me = visitors.come(hub)
    me.expected.add("401")
    me.page.goto(f"{hub.url}/#{session}")
    window = me.page.get_by_role("dialog", name="This hub wants a token")
    window.get_by_label("Token").fill("not the one")
    window.get_by_role("button", name="Open").click()
    expect(window.get_by_role("alert")).to_contain_text("This token is not known here.")
    window.get_by_label("Token").fill(hub.token)
    window.get_by_label("Token").press("Enter")
    expect(window).to_be_hidden()
    expect(me.page.locator("#title")).to_have_text("The linked one")
    expect(me.page.locator("#connection")).to_be_hidden()
    assert me.page.url == f"{hub.url}/#{session}"
    me.say("hello")
    me.ended(1)


def test_a_token_revoked_under_an_open_page_is_told_and_another_goes_on(
    hub: HubProcess, visitors: Visitors
) -> None:
    """It says that the token is not taken, and asks for another once: put off, the words in the box can be copied.
    With another token everything goes on where it was, without a reload."""
    tokens = Tokens(hub.state, {})
    guest = tokens.new(["read", "send", "approve"], "guest")
    me = visitors.come(hub)
    me.expected.update({"401"})
    me.hub_leaves = True
    me.page.goto(f"{hub.url}/?token={guest}")
    me.begin()
    me.say("before")
    me.ended(1)
    me.box.fill("half a thought")
    me.page.evaluate("() => { window.stayed = true; }")
    tokens.revoke("guest")
    window = me.page.get_by_role("dialog", name="This hub wants a token")
    expect(window).to_be_visible()
    window.get_by_role("button", name="Later").click()
    told = me.page.locator("#connection")
    expect(told).to_contain_text("The hub does not take this page's token.")
    with me.page.expect_response(re.compile("/v1/sessions/")):  # it tries again by itself
        pass
    expect(window).to_be_hidden()
    expect(me.box).to_have_value("half a thought")
    told.get_by_role("button", name="Give a token").click()
    window.get_by_label("Token").fill(hub.token)
    window.get_by_label("Token").press("Enter")
    expect(told).to_be_hidden()
    me.box.press("Enter")
    expect(me.ended(2).locator(".text")).to_contain_text("Echo: half a thought")
    assert me.page.evaluate("window.stayed")
