"""Somebody who has the page open: what they see, what they do, and what the browser complained about."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

import httpx
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, ViewportSize, expect

from hub.client.discover import Address
from hub.client.tls import verification
from hub.statedir import read_note
from hub.testing.process import HubProcess

DESK: Final = ViewportSize(width=1100, height=720)
PHONE: Final = ViewportSize(width=390, height=780)
PATIENCE_MS: Final = 45_000
expect.set_options(timeout=PATIENCE_MS)

# What the browser itself logs of a status that the page deals with.
_STATUS: Final = re.compile(r"^Failed to load resource: the server responded with a status of (\d+)")
_SESSION: Final = re.compile(r"/v1/sessions/ses_[0-9a-z]+$")
_AWAY: Final = re.compile(r"^Failed to load resource: net::ERR_")


class Visitor:
    """One tab. ``expected``: statuses that this test brings about; ``hub_leaves``: it may be away for a while."""

    def __init__(self, context: BrowserContext, hub: HubProcess) -> None:
        self.hub = hub
        self.page = context.new_page()
        self.expected: set[str] = set()
        self.hub_leaves = False
        self.complaints: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        self.page.set_default_timeout(PATIENCE_MS)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type not in {"error", "warning"}:
            return
        status = _STATUS.match(message.text)
        if (status and status[1] in self.expected) or (self.hub_leaves and _AWAY.match(message.text)):
            return
        self.complaints.append(f"{message.type}: {message.text}")

    def open(self, session: str = "") -> None:
        """Come in with the token, and look at a session."""
        self.page.goto(f"{self.hub.url}/?token={self.hub.token}")
        expect(self.page.locator("[name=agent] option").first).to_be_attached()
        if session:
            self.page.goto(f"{self.hub.url}/#{session}")
            expect(self.page.locator("#items")).not_to_have_attribute("aria-busy", "")

    def begin(self, agent: str = "echo") -> str:
        """Make a session with an agent; its id."""
        before = self.page.url
        self.page.select_option("[name=agent]", agent)
        self.page.get_by_role("button", name="New session").click()
        self.page.wait_for_url(lambda url: "#ses_" in url and url != before)
        expect(self.send_button).to_be_enabled()
        return self.page.url.partition("#")[2]

    def come_deaf(self, session: str) -> None:
        """Look at a session, and hear nothing of it from then on."""
        self.expected.add("409")
        self.hub_leaves = True
        self.page.route("**/v1/events*", lambda route: route.abort())
        self.open(session)
        self.page.route(_SESSION, lambda route: route.abort())
        expect(self.page.locator("#connection")).to_be_visible()
        expect(self.send_button).to_be_enabled()

    def hear_again(self) -> None:
        """The end of deafness."""
        self.page.unroute("**/v1/events*")
        self.page.unroute(_SESSION)

    @property
    def box(self) -> Locator:
        """Where a message is written."""
        return self.page.get_by_label("Message", exact=True)

    @property
    def send_button(self) -> Locator:
        """What sends it."""
        return self.page.locator("#send button")

    @property
    def items(self) -> Locator:
        """The conversation."""
        return self.page.locator("#items")

    @property
    def turns(self) -> Locator:
        """The agent's turns."""
        return self.page.locator("#items > article.assistant")

    @property
    def open_asks(self) -> Locator:
        """What waits for an answer in this conversation."""
        return self.page.locator("#items .ask.open")

    def say(self, text: str) -> None:
        """Write a message and send it by the keyboard."""
        self.box.fill(text)
        self.box.press("Enter")

    def play(self, *steps: dict[str, Any]) -> None:
        """Send steps to a scripted agent."""
        self.say(json.dumps({"steps": steps}))

    def sight_of(self, selector: str, text: str) -> Callable[[], None]:
        """Watch from now on for an element with ``text`` in it, however soon it changes again; what is returned
        waits until it has been there."""
        watch = """([selector, text]) => {
            window.sight = new Promise((seen) => {
                const look = () => {
                    const found = [...document.querySelectorAll(selector)];
                    if (found.some((one) => one.textContent.includes(text))) seen();
                };
                const everything = { subtree: true, childList: true, characterData: true, attributes: true };
                new MutationObserver(look).observe(document.body, everything);
                look();
            });
        }"""
        self.page.evaluate(watch, [selector, text])
        late = f"new Promise((late) => setTimeout(late, {PATIENCE_MS}))"
        waits = f"Promise.race([window.sight.then(() => true), {late}])"

        def seen() -> None:
            assert self.page.evaluate(waits), f"nothing like {selector} with {text!r} was there"

        return seen

    def ended(self, count: int = 1) -> Locator:
        """The ``count``-th turn, once it has ended."""
        turn = self.turns.nth(count - 1)
        expect(turn.locator(".stats")).to_be_visible()
        return turn

    def settled(self) -> str:
        """The conversation's markup once no turn runs and every text is rendered."""
        expect(self.page.locator("#interrupt")).to_be_hidden()
        expect(self.page.locator(".text .words:not(.markdown)")).to_have_count(0)
        return str(self.items.evaluate("element => element.innerHTML"))


class Visitors:
    """All who have the page open in a test."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.all: list[Visitor] = []

    def come(self, hub: HubProcess, size: ViewportSize = DESK, **options: Any) -> Visitor:
        """One more, with a browser profile of their own."""
        context = self._browser.new_context(viewport=size, **options)
        self._contexts.append(context)
        return self._add(context, hub)

    def another_tab(self, first: Visitor) -> Visitor:
        """One more tab of the same profile."""
        return self._add(first.page.context, first.hub)

    def _add(self, context: BrowserContext, hub: HubProcess) -> Visitor:
        visitor = Visitor(context, hub)
        self.all.append(visitor)
        return visitor

    def leave(self) -> None:
        """Everybody goes, and what they made too. Raises AssertionError where a browser complained of anything."""
        gone, self.all = self.all, []
        contexts, self._contexts = self._contexts, []
        for context in contexts:
            context.close()
        for hub in {id(visitor.hub): visitor.hub for visitor in gone}.values():
            with client(hub) as http:
                for session in http.get("/v1/sessions?limit=500").json():
                    http.delete(f"/v1/sessions/{session['id']}?force=true")
        complaints = [complaint for visitor in gone for complaint in visitor.complaints]
        assert not complaints, "\n".join(complaints)


def client(hub: HubProcess) -> httpx.Client:
    """A client of the hub beside the browser."""
    note = read_note(hub.state)
    verify = verification(Address(url=hub.url, certificate=note.certificate if note else None))
    headers = {"Authorization": f"Bearer {hub.token}"}
    return httpx.Client(base_url=hub.url, headers=headers, trust_env=False, timeout=30, verify=verify)
