"""Notifications of asks: opted in to, once each, and only for who looks elsewhere."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from hub.testing.process import HubProcess
from tests.web.visitor import Visitors, client

pytestmark = [pytest.mark.slow]


def test_notifications_are_for_who_wants_them_and_looks_elsewhere(hub: HubProcess, visitors: Visitors) -> None:
    """Off until switched on in the inbox, once for each ask, never while one looks; a click leads to the session.
    The choice survives a reload; switched off, nothing is shown any more."""
    me = visitors.come(hub)
    me.page.add_init_script(_NOTIFICATIONS)
    me.open()
    session = me.begin()
    shown = "JSON.stringify(window.shown.map((note) => note.body))"

    def asked() -> None:
        with client(hub) as http:
            steps = {"steps": [{"tool": "Bash", "input": {"command": "ls"}, "ask": True}]}
            http.post(f"/v1/sessions/{session}/messages", json={"text": json.dumps(steps)})
        expect(me.open_asks).to_be_visible()
        expect(me.page).to_have_title(re.compile(r"^\(1\)"))

    def done() -> None:
        me.open_asks.get_by_role("button", name="Allow once").click()
        expect(me.open_asks).to_have_count(0)
        expect(me.page).not_to_have_title(re.compile(r"^\("))
        expect(me.page.locator("#interrupt")).to_be_hidden()

    with client(hub) as http:
        http.patch(f"/v1/sessions/{session}", json={"title": "Mine"})
    expect(me.page.locator("#title")).to_have_text("Mine")
    me.page.evaluate("window.elsewhere = true")
    asked()
    done()
    assert me.page.evaluate(shown) == "[]"
    me.page.get_by_role("button", name="Inbox").click()
    notify = me.page.locator("#notify")
    notify.click()
    expect(notify).to_have_attribute("aria-pressed", "true")
    me.page.reload()
    expect(notify).to_have_attribute("aria-pressed", "true")
    asked()
    done()
    assert me.page.evaluate(shown) == "[]"
    me.page.evaluate("window.elsewhere = true")
    asked()
    assert me.page.evaluate(shown) == '["Mine"]'
    me.page.evaluate("location.hash = ''")
    me.page.evaluate("window.shown[0].onclick()")
    expect(me.open_asks).to_be_visible()
    done()
    me.page.evaluate("window.elsewhere = true")
    me.page.get_by_role("button", name="Inbox").click()
    notify.click()
    expect(notify).to_have_attribute("aria-pressed", "false")
    asked()
    assert me.page.evaluate(shown) == '["Mine"]'


# A headless browser shows none, and is never elsewhere.
_NOTIFICATIONS = """
window.shown = [];
window.elsewhere = false;
window.Notification = class {
  static permission = localStorage.getItem("granted") ?? "default";
  static async requestPermission() {
    localStorage.setItem("granted", "granted");
    return (Notification.permission = "granted");
  }
  constructor(title, options) { this.body = options.body; window.shown.push(this); }
};
Object.defineProperty(document, "hidden", { get: () => window.elsewhere });
"""
