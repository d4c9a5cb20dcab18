"""How the page is handled: on a phone, by the keyboard, by links; changes, calls and names as one reads them."""

from __future__ import annotations

import random
import re

import pytest
from playwright.sync_api import expect

from hub.testing.process import HubProcess, hub_process
from tests.web.test_looks import findings
from tests.web.visitor import PHONE, Visitors

pytestmark = [pytest.mark.slow]


def test_on_a_phone_lists_lie_over_the_conversation_and_give_way(hub: HubProcess, visitors: Visitors) -> None:
    """What waits is one tap away; a tap beside the list closes it and does nothing else; who goes to a session
    sees it, not the inbox over it."""
    me = visitors.come(hub, PHONE)
    me.open()
    me.page.get_by_role("button", name="Sessions").click()
    session = me.begin()
    expect(me.page.locator("#nav")).to_be_hidden()
    me.play({"tool": "Bash", "input": {"command": "ls"}, "ask": True})
    expect(me.open_asks).to_be_visible()
    me.page.get_by_role("button", name="Sessions").click()
    me.page.mouse.click(PHONE["width"] - 20, 30)  # the button Stop is there
    expect(me.page.locator("#nav")).to_be_hidden()
    expect(me.open_asks).to_be_visible()
    for button in me.page.locator("main > header button:visible").all():
        expect(button).to_be_in_viewport(ratio=1)
    me.page.get_by_role("button", name="Inbox: 1 ask").click()
    inbox = me.page.get_by_role("complementary")
    expect(inbox.get_by_role("button", name="Allow once")).to_be_focused()
    assert findings(me) == []
    me.page.goto(f"{hub.url}/#")
    me.page.evaluate("id => { location.hash = id; }", session)
    expect(inbox).to_be_hidden()
    expect(me.open_asks).to_be_visible()


def test_who_answers_by_the_keyboard_keeps_their_place(hub: HubProcess, visitors: Visitors) -> None:
    """In the conversation the answered card has the focus, in the inbox the next card's first button."""
    me = visitors.come(hub)
    me.open()
    me.begin()
    calls = [{"tool": "Bash", "input": {"command": name}, "ask": True} for name in ("one", "two", "three")]
    me.play({"parallel": calls})
    expect(me.open_asks).to_have_count(3)
    me.open_asks.first.get_by_role("button", name="Allow once").press("Enter")
    expect(me.items.locator(".ask:not(.open)")).to_be_focused()
    me.page.keyboard.press("i")
    inbox = me.page.get_by_role("complementary")
    expect(inbox.get_by_role("button", name="Allow once").first).to_be_focused()
    me.page.keyboard.press("Enter")
    expect(inbox.get_by_role("button", name="Allow once")).to_have_count(1)
    expect(inbox.get_by_role("button", name="Allow once")).to_be_focused()
    me.page.keyboard.press("Enter")
    expect(me.page.get_by_label("Close the inbox")).to_be_focused()


def test_a_change_is_shown_line_by_line(hub: HubProcess, visitors: Visitors) -> None:
    """As few lines taken away and added as there can be, each with its sign; of the rest, those beside."""
    me = visitors.come(hub)
    me.open()
    lines = "async ([a, b]) => { const { diffLines } = await import('/views/diff.js'); return diffLines(a, b); }"

    def diff(before: str, after: str) -> list[str]:
        return ["".join(pair) for pair in me.page.evaluate(lines, [before, after])]

    assert diff("a\nb\nc", "a\nx\nc") == [" a", "-b", "+x", " c"]
    assert diff("", "new\nfile") == ["+new", "+file"]
    assert diff("gone", "") == ["-gone"]
    assert diff("a\n", "a\nb\n") == [" a", "+b"]
    assert diff("a\n", "a") == ["now without a line break at its end"]
    assert diff("\n", "\n\n") == [" ", "+"]
    assert diff("same", "same") == []
    old = [f"line {number}" for number in range(20)]
    new = [*old[:3], "put in", *old[3:15], "instead", *old[16:]]
    assert diff("\n".join(old), "\n".join(new)) == [
        *(" line 1", " line 2", "+put in", " line 3", " line 4", "⋯"),
        *(" line 13", " line 14", "-line 15", "+instead", " line 16", " line 17"),
    ]
    rng = random.Random(7)
    for _ in range(50):
        before, after = ([rng.choice("abc") for _ in range(rng.randrange(1, 9))] for _ in range(2))
        shown = diff("\n".join(before), "\n".join(after))
        assert sum(line.startswith(("+", "-")) for line in shown) == len(before) + len(after) - 2 * _common(
            before, after
        )


def _common(one: list[str], other: list[str]) -> int:
    """The length of the longest common subsequence."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + _common(one[1:], other[1:])
    return max(_common(one[1:], other), _common(one, other[1:]))


def test_a_call_that_is_asked_for_is_shown_with_all_of_its_input(hub: HubProcess, visitors: Visitors) -> None:
    """Not only the command: what else goes with it decides what it does."""
    me = visitors.come(hub)
    me.open()
    me.begin()
    given = {"command": "make all", "timeout": 600_000, "run_in_background": True}
    me.play({"tool": "Bash", "input": given, "ask": True}, {"tool": "Odd", "input": {"a": {"b": 1}}, "ask": True})
    expect(me.open_asks.get_by_label("Input", exact=True)).to_have_text("make all")
    expect(me.open_asks).to_contain_text("timeout: 600000 · run_in_background: true")
    me.open_asks.get_by_role("button", name="Allow once").click()
    expect(me.open_asks.get_by_label("Input", exact=True)).to_contain_text('"b": 1')


def test_a_session_is_renamed_on_the_page(hub: HubProcess, visitors: Visitors) -> None:
    """By the keyboard: `e`, the name, Enter; Esc leaves it as it was."""
    me = visitors.come(hub)
    me.open()
    me.begin()
    me.page.keyboard.press("e")
    name = me.page.get_by_label("Name of the session")
    expect(name).to_be_focused()
    name.fill("Weather <b>")
    assert findings(me) == []
    name.press("Enter")
    expect(me.page.locator("#title")).to_have_text("Weather <b>")
    expect(me.page.locator("#sessions .name")).to_have_text("Weather <b>")
    expect(me.page.get_by_role("button", name="Rename the session")).to_be_focused()
    me.page.keyboard.press("e")
    name.fill("something else")
    name.press("Escape")
    expect(name).to_be_hidden()
    expect(me.page.locator("#title")).to_have_text("Weather <b>")


def test_back_forward_and_links_that_lead_nowhere(hub: HubProcess, visitors: Visitors) -> None:
    """The browser's own buttons go from session to session; a link to none is told as one, and offers no box."""
    me = visitors.come(hub)
    me.expected.add("404")
    me.hub_leaves = True
    me.open()
    first = me.begin()
    me.say("in the first")
    me.ended(1)
    second = me.begin()
    me.page.go_back()
    expect(me.page).to_have_url(re.compile(first))
    expect(me.turns).to_contain_text("Echo: in the first")
    me.page.go_forward()
    expect(me.page).to_have_url(re.compile(second))
    expect(me.turns).to_have_count(0)
    me.page.goto(f"{hub.url}/#ses_{'0' * 26}")
    expect(me.page.locator("#title")).to_have_text("This session is not here any more.")
    expect(me.box).to_be_hidden()
    me.page.goto(f"{hub.url}/#%00<script>")
    expect(me.page.locator("#title")).to_have_text("No session")
    me.page.go_back()
    me.page.go_back()
    expect(me.send_button).to_be_enabled()


def test_tools_and_the_newest_words_are_a_key_away(hub: HubProcess, visitors: Visitors) -> None:
    """`o` opens the last turn's tools and stands on them, Tab leads in; `g` goes to the end. Without tools `o`
    does nothing."""
    me = visitors.come(hub)
    me.open()
    me.begin()
    me.page.keyboard.press("o")
    long = "\n\n".join(f"paragraph {number}" for number in range(60))
    me.play({"tool": "Bash", "input": {"command": "ls -l"}, "result": "out"}, {"text": long})
    turn = me.ended(1)
    me.box.press("Escape")
    me.page.keyboard.press("o")
    expect(turn.locator(".activity > summary")).to_be_focused()
    me.page.keyboard.press("Tab")
    me.page.keyboard.press("Enter")
    expect(turn.locator(".tool").get_by_label("Input", exact=True)).to_have_text("ls -l")
    me.items.evaluate("items => { items.scrollTop = 0; }")
    expect(me.page.get_by_role("button", name="Newest")).to_be_visible()
    assert findings(me) == []
    me.page.keyboard.press("g")
    expect(turn.locator(".stats")).to_be_in_viewport()
    expect(me.page.get_by_role("button", name="Newest")).to_be_hidden()


def test_the_page_begins_with_an_agent_that_can_run(visitors: Visitors) -> None:
    """Not with the reason why the first one cannot; what a person has chosen stays chosen."""
    config = '[agents.first]\ntransport = "nothing"\n[agents.second]\ntransport = "scripted"\n'
    with hub_process(config) as own:
        me = visitors.come(own)
        me.open()
        chosen = me.page.locator("[name=agent]")
        expect(chosen).to_have_value("second")
        expect(me.page.locator("#agent-reason")).to_be_empty()
        chosen.select_option("first")
        expect(me.page.locator("#agent-reason")).to_contain_text("nothing")
        visitors.leave()
