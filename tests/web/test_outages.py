"""The hub is killed, the network goes, everything is slow: the page says what it knows, and catches up."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import pytest
from playwright.sync_api import Route, expect

from hub.testing.process import HubProcess, hub_process
from tests.web.conftest import CONFIG
from tests.web.visitor import Visitors, client

pytestmark = [pytest.mark.slow]

LONG = {"text": " ".join(f"word{number}" for number in range(200)), "deltas": 200, "every_ms": 15}


@pytest.fixture
def staying_hub() -> Iterator[HubProcess]:
    """A hub that comes back at the same address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with hub_process(CONFIG, "--port", str(port)) as hub:
        yield hub


def test_a_killed_hub_is_told_of_and_what_became_of_the_turn_is_shown_when_it_is_back(
    staying_hub: HubProcess, visitors: Visitors
) -> None:
    """kill -9 in mid-answer under an open page. Without a reload: a sentence at once, the failed turn with its
    partial text afterwards, a retry that works; a draft that was being written is there all the time."""
    me = visitors.come(staying_hub)
    me.hub_leaves = True
    me.open()
    me.begin()
    me.play(LONG)
    expect(me.turns.first.locator(".text.open")).to_contain_text("word30")
    me.box.fill("half a thought")
    staying_hub.kill()
    expect(me.page.locator("#connection")).to_contain_text("The hub does not answer. What you see was so at")
    expect(me.turns.first).to_contain_text("word30")
    staying_hub.start()
    expect(me.page.locator("#connection")).to_be_hidden()
    expect(me.ended(1).locator(".failed code")).to_have_text("owner_lost")
    expect(me.turns.first.locator(".text")).to_contain_text("cut off here")
    expect(me.page.get_by_role("button", name="Go on where it stopped")).to_be_visible()
    me.page.get_by_role("button", name="Try again").click()
    expect(me.ended(2).locator(".text")).to_contain_text("word199")
    expect(me.box).to_have_value("half a thought")
    undisturbed = visitors.come(staying_hub)
    undisturbed.open(me.page.url.partition("#")[2])
    assert me.settled() == undisturbed.settled()


def test_without_a_network_nothing_is_lost(hub: HubProcess, visitors: Visitors) -> None:
    """Offline in mid-answer: a message that cannot be sent stays in the box; back again, the answer is whole."""
    me = visitors.come(hub)
    me.hub_leaves = True
    me.open()
    me.begin()
    me.play(LONG)
    expect(me.turns.first.locator(".text.open")).to_contain_text("word5")
    me.page.context.set_offline(True)
    me.say("is anybody there?")
    expect(me.page.locator("#notice")).to_contain_text("The hub does not answer.")
    expect(me.box).to_have_value("is anybody there?")
    me.page.context.set_offline(False)
    expect(me.ended(1).locator(".text")).to_contain_text("word199")
    me.box.press("Enter")
    expect(me.ended(2).locator(".text")).to_contain_text("Echo: is anybody there?")
    expect(me.page.locator("article.user")).to_have_count(2)


def test_what_could_not_be_rendered_is_asked_for_again(hub: HubProcess, visitors: Visitors) -> None:
    """The hub is asked too often, then busy, then nobody answers, while the stream goes on: the text stands there
    plain, and as Markdown soon after."""
    me = visitors.come(hub)
    me.expected.update({"429", "503"})
    me.hub_leaves = True
    refused: list[str] = []

    def refuse(route: Route) -> None:
        refused.append(route.request.url)
        if len(refused) <= 2:
            route.fulfill(status=(429, 503)[len(refused) - 1])
        elif len(refused) == 3:
            route.abort()
        else:
            route.continue_()

    me.page.route("**/v1/render", refuse)
    me.open()
    me.begin()
    me.play({"text": "* one\n* two"})
    expect(me.ended(1).locator(".markdown li")).to_have_text(["one", "two"])
    assert len(refused) == 4


@pytest.mark.full
def test_a_slow_network_shows_the_same(hub: HubProcess, visitors: Visitors) -> None:
    """Half a second there, little at a time."""
    me = visitors.come(hub)
    me.open()
    network = me.page.context.new_cdp_session(me.page)
    network.send("Network.enable")
    slow = {"offline": False, "latency": 500, "downloadThroughput": 40_000, "uploadThroughput": 20_000}
    network.send("Network.emulateNetworkConditions", slow)
    me.begin()
    me.play(LONG)
    expect(me.ended(1).locator(".text")).to_contain_text("word199")
    quick = visitors.come(hub)
    quick.open(me.page.url.partition("#")[2])
    quick.ended(1)
    assert me.settled() == quick.settled()


def test_a_session_that_was_deleted_is_said_to_be_gone(hub: HubProcess, visitors: Visitors) -> None:
    """Under an open page, and by an old address."""
    me = visitors.come(hub)
    me.expected.add("404")
    me.hub_leaves = True
    me.open()
    session = me.begin()
    with client(hub) as http:
        assert http.delete(f"/v1/sessions/{session}").status_code == 204
    expect(me.page.locator("#title")).to_have_text("This session is not here any more.")
    expect(me.page.locator(f"#sessions a[href='#{session}']")).to_have_count(0)
    me.begin()
    me.say("elsewhere")
    expect(me.ended(1).locator(".text")).to_contain_text(re.compile("Echo: elsewhere"))
