"""Very many of everything: items, sessions, tools, output, lines of a change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from hub.testing.process import HubProcess
from tests.web.visitor import PHONE, Visitors, client

pytestmark = [pytest.mark.slow]


def _turn(number: int) -> Iterator[dict[str, Any]]:
    turn, message = f"trn_{number:026d}", f"msg_{number:026d}"
    yield {"type": "user_message", "turn_id": turn, "message_id": message, "text": f"say {number}"}
    yield {"type": "turn_started", "turn_id": turn, "attempt": 1, "message_id": message}
    yield {"type": "text", "turn_id": turn, "block": 0, "text": f"* word {number}\n* `more`"}
    yield {"type": "turn_completed", "turn_id": turn, "stop_reason": "end_turn", "duration_ms": 5, "tools": 0}


def long_session(http: httpx.Client, turns: int) -> str:
    """A session with so many turns; its id."""
    made = http.post("/v1/sessions", json={"agent": "echo"}).json()["id"]
    head, created = map(json.loads, http.get(f"/v1/sessions/{made}/export").text.splitlines())
    events = [created, *(event for number in range(turns) for event in _turn(number))]
    for seq, event in enumerate(events, 1):
        event.update(seq=seq, session_id=made, at=created["at"])
    lines = "".join(json.dumps(line) + "\n" for line in [head, *events])
    kind = {"Content-Type": "application/x-ndjson"}
    answer = http.post("/v1/sessions/import", content=lines, headers=kind)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@pytest.mark.parametrize("turns", [500, pytest.param(2_500, marks=pytest.mark.full)])
def test_a_very_long_conversation_begins_at_its_end_and_is_read_backwards(
    hub: HubProcess, visitors: Visitors, turns: int
) -> None:
    """Its newest part is there soon; scrolling back, or the button, brings what came before, and what one reads
    stays where it is. A new turn streams as in a short one, and is seen by who has gone back to the end."""
    with client(hub) as http:
        session = long_session(http, turns)
    me = visitors.come(hub, PHONE)
    me.open(session)
    expect(me.turns.last.locator("li").first).to_have_text(f"word {turns - 1}")
    expect(me.turns).to_have_count(100)
    me.items.evaluate("items => { items.scrollTop = 0; }")
    expect(me.turns).to_have_count(200)
    top = me.page.get_by_text(f"say {turns - 100}", exact=True)
    expect(top).to_be_in_viewport()
    earlier = me.page.get_by_role("button", name="Show what came before")
    earlier.press("Enter")
    expect(me.page.get_by_text(f"say {turns - 300}", exact=True)).to_be_attached()
    if turns == 500:
        for first in (100, 0):
            me.items.evaluate("items => { items.scrollTop = 0; }")
            expect(me.page.get_by_text(f"say {first}", exact=True)).to_be_attached()
        expect(earlier).to_have_count(0)
    me.page.get_by_role("button", name="Newest").click()
    expect(me.turns.last).to_be_in_viewport()
    me.play({"text": " ".join(f"new{number}" for number in range(60)), "deltas": 60, "every_ms": 5})
    expect(me.turns.last).to_contain_text("new59")
    expect(me.turns.last.locator(".stats")).to_be_in_viewport()


def test_more_sessions_than_the_list_shows_at_first(hub: HubProcess, visitors: Visitors) -> None:
    """A hundred and twenty of them: the oldest is behind a button, and its ask in the inbox has its name."""
    with client(hub) as http:
        body = {"agent": "echo", "title": "The oldest"}
        oldest = http.post("/v1/sessions", json=body).json()["id"]
        for number in range(119):
            http.post("/v1/sessions", json={"agent": "echo", "title": f"Number {number}"})
    me = visitors.come(hub)
    me.open()
    listed = me.page.locator("#sessions a")
    expect(listed).to_have_count(100)
    me.page.get_by_role("button", name="Older sessions").click()
    expect(listed).to_have_count(120)
    expect(me.page.get_by_role("button", name="Older sessions")).to_be_hidden()
    me.page.locator(f"#sessions a[href='#{oldest}']").click()
    expect(me.page.locator("#title")).to_have_text("The oldest")


def test_a_huge_change_and_a_huge_output_are_shown_in_part_and_whole_on_demand(
    hub: HubProcess, visitors: Visitors
) -> None:
    """Before it is allowed, too: how much there is more is said, and one button shows it."""
    me = visitors.come(hub)
    me.open()
    me.begin()
    content = "\n".join(f"line {number}" for number in range(5_000))
    written = {"tool": "Write", "input": {"file_path": "/x", "content": content}, "ask": True}
    me.play(written, {"tool": "Bash", "input": {"command": "cat /x"}, "result": content})
    lines = me.open_asks.locator(".diff .added")
    expect(lines).to_have_count(400)
    me.open_asks.get_by_role("button", name="Show 4,600 more lines").press("Enter")
    expect(lines).to_have_count(5_000)
    me.open_asks.get_by_role("button", name="Allow once").click()
    turn = me.ended(1)
    turn.locator(".activity > summary").click()
    tool = turn.locator(".tool").last
    tool.locator("summary").click()
    expect(tool.get_by_label("Output")).not_to_contain_text("line 4999")
    tool.get_by_role("button", name="Show all of it").click()
    expect(tool.get_by_label("Output")).to_contain_text("line 4999")
