"""The page's fold and the hub's: the same items from the same recorded logs, live, read back, picked up."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page

from hub.fold import fold
from hub.testing.process import HubProcess
from tests.web.recording import FOLDER, WRITTEN, Json, durable, lines, shown
from tests.web.visitor import Visitors

LOGS: list[Json] = [one for path in sorted(FOLDER.glob("*.json")) for one in json.loads(path.read_text())]

_FOLD = """
async (events) => {
  const { Fold } = await import("/fold.js");
  const fold = new Fold();
  for (const event of events) fold.apply(event);
  return JSON.stringify(fold.items());
}
"""
_PICKED_UP = """
async (events) => {
  const { Fold } = await import("/fold.js");
  const looks = [];
  for (let cut = 0; cut <= events.length; cut += 1) {
    const first = new Fold();
    for (const event of events.slice(0, cut)) first.apply(event);
    const second = Fold.resume(JSON.parse(JSON.stringify(first.items())), first.cursor);
    for (const event of events.slice(Math.max(0, cut - 2))) second.apply(event);
    looks.push(JSON.stringify(second.items()));
  }
  return looks;
}
"""


@pytest.fixture(scope="module")
def page(hub: HubProcess, browser: object) -> Page:
    """The hub's page, for its modules alone."""
    visitor = Visitors(browser).come(hub)  # type: ignore[arg-type]
    visitor.open()
    return visitor.page


def test_the_records_are_of_every_rule() -> None:
    """One log for each rule, and the drawn ones."""
    names = {one["name"] for one in LOGS}
    assert names >= set(WRITTEN)
    assert len(names) > len(WRITTEN) + 30


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log["name"])
def test_the_hub_folds_as_recorded(log: Json) -> None:
    """The records are what this version of the hub shows."""
    assert shown(fold(lines(log["events"]))) == log["live"]
    assert shown(fold(lines(durable(log["events"])))) == log["replayed"]


def test_the_page_folds_as_recorded(page: Page) -> None:
    """Item for item, watched live and read back from the log."""
    for log in LOGS:
        assert json.loads(page.evaluate(_FOLD, log["events"])) == log["live"], log["name"]
        assert json.loads(page.evaluate(_FOLD, durable(log["events"]))) == log["replayed"], log["name"]


def test_the_page_goes_on_from_any_cursor(page: Page) -> None:
    """Items at any instant and the events behind it, some of them twice, give what was watched live."""
    for log in LOGS:
        for cut, look in enumerate(page.evaluate(_PICKED_UP, log["events"])):
            assert json.loads(look) == log["live"], f"{log['name']}, cut at {cut}"
