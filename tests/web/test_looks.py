"""For everybody: no findings of axe, light, dark, on a phone; all by the keyboard; what agents write is text."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import ViewportSize, expect

from hub.front.rendering import visible
from hub.testing.process import HubProcess
from tests.front.test_rendering import ATTACKS
from tests.web.visitor import DESK, PHONE, Visitor, Visitors, client

pytestmark = [pytest.mark.slow]

EVERYTHING: list[dict[str, Any]] = [
    {"reasoning": "let me think"},
    {"text": "# T\n\n*Words*, `code`, https://x.example\n\n```python\ndef f(): # why\n    return 'a'\n```"},
    {"text": "|a|b|\n|-|-|\n|1|2|\n\n> said\n\n* one"},
    {"tool": "Edit", "input": {"file_path": "/x", "old_string": "a\nb", "new_string": "a\nc"}},
    {"tool": "Bash", "input": {"command": "false"}, "result": {"error": "no"}},
    {"tool": "Bash", "input": {"command": "rm -rf /tmp/x"}, "ask": True},
    {
        "question": {
            "question": "Which?",
            "options": [{"label": "A", "description": "a"}, {"label": "B", "description": ""}],
        }
    },
    {"fail": {"code": "agent_error", "message": "It broke.", "retryable": True}},
]


def _axe() -> str:
    spec = find_spec("axe_playwright_python")
    assert spec is not None
    assert spec.origin is not None
    return (Path(spec.origin).parent / "axe.min.js").read_text()


def findings(visitor: Visitor) -> list[str]:
    """What axe finds on the page as it is now."""
    visitor.page.evaluate(_axe())
    found = visitor.page.evaluate("async () => (await axe.run()).violations")
    return [f"{one['id']}: {node['html']} {node.get('failureSummary')}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize(
    ("scheme", "size"),
    [
        pytest.param("light", DESK, id="light"),
        pytest.param("dark", PHONE, id="dark phone"),
        pytest.param("dark", DESK, marks=pytest.mark.full, id="dark"),
        pytest.param("light", PHONE, marks=pytest.mark.full, id="phone"),
    ],
)
def test_axe_finds_nothing(
    hub: HubProcess, visitors: Visitors, scheme: Literal["light", "dark"], size: ViewportSize
) -> None:
    """With a permission, a question, a failure, tools and code on it, the inbox open, and the help."""
    me = visitors.come(hub, DESK, color_scheme=scheme)
    me.open()
    me.begin()
    me.play(*EVERYTHING)
    me.page.set_viewport_size(size)
    expect(me.open_asks).to_be_visible()
    if size == DESK:
        me.page.get_by_role("button", name="Inbox (1)").click()
    assert findings(me) == []
    if size == DESK:
        me.page.get_by_label("Close the inbox").click()
    me.open_asks.get_by_role("button", name="Edit the input").click()
    me.open_asks.get_by_role("button", name="Allow once").click()
    expect(me.open_asks.get_by_label("A", exact=False).first).to_be_visible()
    me.say("later")
    expect(me.items.locator(".queued")).to_be_visible()
    assert findings(me) == []
    me.open_asks.get_by_label("B", exact=True).check()
    me.open_asks.get_by_role("button", name="Send the answer").click()
    turn = me.ended(1)
    for part in turn.locator("summary").all():
        if part.is_visible():
            part.click()
    assert findings(me) == []
    if size == PHONE:
        me.page.get_by_role("button", name="Sessions").click()
        assert findings(me) == []
        assert me.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        return
    me.box.blur()
    me.page.keyboard.press("?")
    assert findings(me) == []


def test_everything_is_done_by_the_keyboard(hub: HubProcess, visitors: Visitors) -> None:
    """New session, message, answer, stop, retry, another session; single keys only where nobody writes."""
    me = visitors.come(hub)
    me.open()
    press = me.page.keyboard.press
    press("n")
    expect(me.page.get_by_role("combobox", name="Agent")).to_be_focused()
    press("Tab")
    press("Enter")
    expect(me.send_button).to_be_enabled()
    first = me.page.url
    press("c")
    expect(me.box).to_be_focused()
    me.page.keyboard.type('{"steps": [{"tool": "Bash", "input": {"command": "ls"}, "ask": true}, {"hang": true}]}')
    press("Enter")
    expect(me.open_asks).to_be_visible()
    press("Escape")
    press("a")
    expect(me.open_asks.get_by_role("button", name="Allow once")).to_be_focused()
    press("Enter")
    expect(me.open_asks).to_have_count(0)
    me.page.evaluate("document.activeElement.blur()")
    press("s")
    expect(me.ended(1).locator(".stats")).to_contain_text("stopped by primary")
    press("r")
    expect(me.turns).to_have_count(2)
    expect(me.open_asks).to_be_visible()  # from now on nothing happens there, and the newest session stands first
    press("n")
    press("Tab")
    press("Enter")
    expect(me.page).not_to_have_url(first)
    expect(me.send_button).to_be_enabled()
    press("j")
    expect(me.page).to_have_url(first)
    press("?")
    expect(me.page.get_by_role("dialog")).to_be_visible()
    me.page.get_by_label("Keys without Ctrl or Alt").uncheck()
    press("Escape")
    press("k")
    expect(me.page).to_have_url(first)


def test_whatever_an_agent_writes_is_text(hub: HubProcess, visitors: Visitors) -> None:
    """As it streams, as Markdown, in tools, questions and titles; nothing runs or is fetched."""
    me = visitors.come(hub)
    me.open()
    me.page.evaluate("() => { window.alert = (words) => console.error('alert', words); }")
    me.begin()
    hostile = "\n\n".join(ATTACKS)
    asked = {"question": hostile, "header": "<b>", "options": [{"label": "<i>x</i>", "description": hostile}]}
    me.play(
        {"text": hostile, "deltas": 40, "every_ms": 5},
        {"reasoning": hostile},
        {"tool": "<img src=x onerror=alert(1)>", "input": {"command": hostile}, "result": hostile},
        {"question": asked},
    )
    expect(me.open_asks).to_be_visible()
    expect(me.page.locator(".text .markdown")).to_be_visible()
    me.turns.locator("summary").first.click()
    me.turns.locator(".tool summary").click()
    for tag in ("script", "img", "iframe", "object", "style", "b", "i", "[onclick]", "[onerror]", "[style]"):
        expect(me.items.locator(tag)).to_have_count(0)
    links = me.items.locator("a").evaluate_all("links => links.map((link) => new URL(link.href).protocol)")
    assert set(links) <= {"https:", "http:", "mailto:"}
    me.open_asks.get_by_role("button", name="Send the answer").scroll_into_view_if_needed()


def test_what_is_unseen_is_made_visible_the_same_way_everywhere(hub: HubProcess, visitors: Visitors) -> None:
    """The page treats escapes, control characters and overrides of direction as the hub does in Markdown."""
    me = visitors.come(hub)
    me.open()
    words = [
        "\x1b[31mred\x1b[0m",
        "\x1b]0;t\x07x\x1b]8;;u\x1b\\y",
        "\x1b(B\x1b7\x1b",
        "a\r\nb\rc\x08\x7f\x9b",
        "\u202ea\u2066b\u200f",
    ]
    found = me.page.evaluate(
        "async (words) => { const { visible } = await import('/words.js'); return words.map(visible); }", words
    )
    assert found == [visible(text) for text in words]


def test_a_draft_is_the_sessions_own_and_survives_a_reload(hub: HubProcess, visitors: Visitors) -> None:
    """Changing sessions changes the draft; nothing of it is sent."""
    me = visitors.come(hub)
    me.open()
    first = me.begin()
    me.box.fill("about the first")
    me.begin()
    expect(me.box).to_have_value("")
    me.box.fill("about the second")
    me.page.goto(f"{hub.url}/#{first}")
    expect(me.box).to_have_value("about the first")
    me.page.reload()
    expect(me.box).to_have_value("about the first")
    expect(me.page.locator("article")).to_have_count(0)


def test_one_tab_holds_one_stream(hub: HubProcess, visitors: Visitors) -> None:
    """Whatever is looked at and however often it changes: browsers have few connections for one host."""
    me = visitors.come(hub)
    open_streams: list[str] = []
    me.page.on("request", lambda one: open_streams.append(one.url) if one.resource_type == "eventsource" else None)
    me.page.on("requestfailed", lambda one: open_streams.remove(one.url) if one.url in open_streams else None)
    me.open()
    for _ in range(3):
        me.begin()
        me.say("hello")
        me.ended()
    assert len(open_streams) == 1, open_streams
    assert me.page.url.partition("#")[2] in open_streams[0]


def test_a_session_that_gets_another_name_shows_it_everywhere(hub: HubProcess, visitors: Visitors) -> None:
    """In the list, above the conversation and in the browser's own title, without a reload."""
    me = visitors.come(hub)
    me.open()
    session = me.begin()
    with client(hub) as http:
        assert http.patch(f"/v1/sessions/{session}", json={"title": "Another <name>"}).status_code == 200
    expect(me.page.locator("#title")).to_have_text("Another <name>")
    expect(me.page.locator("#sessions .name")).to_have_text("Another <name>")
    expect(me.page).to_have_title("Another <name> · turnhub")
