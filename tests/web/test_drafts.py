"""What is being written: a session's own, a tab's own, kept whatever becomes of storage, never lost unsaid."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from hub.testing.process import HubProcess
from tests.web.visitor import Visitors

pytestmark = [pytest.mark.slow]

NO_STORAGE = """
for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("switched off", "SecurityError"); } });
}
"""
FULL_STORAGE = """
Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
"""


@pytest.mark.parametrize("storage", [NO_STORAGE, FULL_STORAGE], ids=["off", "full"])
def test_without_storage_drafts_and_settings_last_as_long_as_the_page(
    hub: HubProcess, visitors: Visitors, storage: str
) -> None:
    """Another session and back: the draft is there, each its own; what is sent is gone from the box."""
    me = visitors.come(hub)
    me.page.add_init_script(storage)
    me.open()
    first = me.begin()
    me.box.fill("about the first")
    me.begin()
    expect(me.box).to_have_value("")
    me.page.evaluate("id => { location.hash = id; }", first)
    expect(me.box).to_have_value("about the first")
    me.box.press("Enter")
    me.ended()
    expect(me.box).to_have_value("")
    kept = (
        "async () => { const { setting } = await import('/drafts.js'); setting('x', 'on'); return setting('x'); }"
    )
    assert me.page.evaluate(kept) == "on"


def test_two_tabs_write_one_draft(hub: HubProcess, visitors: Visitors) -> None:
    """A second tab takes up what was written, each goes along with the other, and both boxes are empty when one of
    them has sent it."""
    desk = visitors.come(hub)
    desk.open()
    session = desk.begin()
    desk.box.fill("one thought")
    tab = visitors.another_tab(desk)
    tab.open(session)
    expect(tab.box).to_have_value("one thought")
    desk.box.press("End")
    desk.box.press_sequentially(", longer")
    expect(tab.box).to_have_value("one thought, longer")
    tab.box.fill("another thought")
    expect(desk.box).to_have_value("another thought")
    desk.box.press("Enter")
    for visitor in (desk, tab):
        expect(visitor.ended(1).locator(".text")).to_contain_text("Echo: another thought")
        expect(visitor.box).to_have_value("")


def test_where_two_tabs_have_different_drafts_each_keeps_its_own(hub: HubProcess, visitors: Visitors) -> None:
    """Written at the same moment, before either hears of the other: through sending there and reloading here."""
    desk = visitors.come(hub)
    desk.page.context.add_init_script(_DEAF)
    desk.open()
    session = desk.begin()
    tab = visitors.another_tab(desk)
    tab.open(session)
    desk.box.fill("said at the desk")
    tab.box.fill("kept in the tab")
    desk.page.reload()
    expect(desk.box).to_have_value("said at the desk")
    desk.box.press("Enter")
    for visitor in (desk, tab):
        expect(visitor.ended(1).locator(".text")).to_contain_text("Echo: said at the desk")
    expect(tab.box).to_have_value("kept in the tab")
    tab.page.reload()
    expect(tab.box).to_have_value("kept in the tab")


_DEAF = "window.addEventListener('storage', (event) => event.stopImmediatePropagation());"


def test_a_huge_text_is_sent_whole_or_stays_in_the_box(hub: HubProcess, visitors: Visitors) -> None:
    """Pasted, a hundred thousand characters survive a reload and arrive; what the hub does not take is told in a
    sentence, and nothing of it is lost."""
    me = visitors.come(hub)
    me.expected.add("413")
    me.open()
    me.begin()
    words = "a-line-of-text-that-is-pasted\n" * 3_400
    me.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    me.page.evaluate("words => navigator.clipboard.writeText(words)", words)
    me.box.press("Control+V")
    expect(me.box).to_have_value(words)
    me.page.reload()
    expect(me.box).to_have_value(words)
    me.send_button.click()
    me.ended(1)
    said = me.page.locator("article.user .words")
    assert said.evaluate("(element) => element.textContent") == words
    more = "x" * 1_200_000
    me.box.fill(more)
    me.send_button.click()
    expect(me.page.locator("#notice")).to_contain_text("1048576")
    assert me.box.evaluate("(box) => box.value.length") == len(more)


def test_a_message_under_way_in_one_session_holds_up_no_other(hub: HubProcess, visitors: Visitors) -> None:
    """Its answer does not come; in another session one goes on talking."""
    me = visitors.come(hub)
    me.hub_leaves = True
    me.open()
    first = me.begin()
    me.page.route(f"**/{first}/messages", lambda _: None)
    me.say("into the void")
    expect(me.send_button).to_have_text("Sending")
    me.begin()
    me.say("and here?")
    expect(me.ended(1).locator(".text")).to_contain_text("Echo: and here?")
