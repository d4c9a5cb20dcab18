"""A page that is loaded anew in the middle of a long answer shows, in the end, what an undisturbed one shows."""

from __future__ import annotations

import random

import pytest
from playwright.sync_api import expect

from hub.testing.process import HubProcess
from tests.web.visitor import Visitors

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

RELOADS = 10


def _answer(number: int) -> list[dict[str, object]]:
    """About eight seconds of everything that a turn may have."""
    prose = " ".join(f"word{number}_{index}" for index in range(220))
    code = f"# Part {number}\n\n```python\ndef f{number}():\n    return '<b>'\n```\n\n* one\n* **two**\n\n{prose}"
    edit = {"file_path": "/x.py", "old_string": "a\nb", "new_string": "a\nc"}
    return [
        {"reasoning": prose, "deltas": 100, "every_ms": 10},
        {"text": code, "deltas": 220, "every_ms": 12},
        {"tool": "Edit", "input": edit, "result": "ok", "ms": 300},
        {"parallel": [{"tool": "Read", "input": {"file_path": f"/{name}"}, "ms": 200} for name in "abc"]},
        {"text": prose[::-1], "deltas": 200, "every_ms": 15},
    ]


@pytest.mark.parametrize("answers", [1, pytest.param(5, marks=pytest.mark.full)])
def test_reloaded_at_random_moments_the_page_ends_as_an_undisturbed_one(
    hub: HubProcess, visitors: Visitors, answers: int
) -> None:
    """Ten times in each answer; and as one that comes when all is over."""
    steady, restless = visitors.come(hub), visitors.come(hub)
    restless.hub_leaves = True  # what a reload cuts off is told as a failure of the network
    steady.open()
    session = steady.begin()
    restless.open(session)
    for number in range(1, answers + 1):
        steady.play(*_answer(number))
        expect(restless.turns.nth(number - 1)).to_be_visible()
        for _ in range(RELOADS):
            restless.page.wait_for_timeout(random.uniform(0, 500))
            restless.page.reload()
        steady.ended(number)
        restless.ended(number)
    late = visitors.come(hub)
    late.open(session)
    late.ended(answers)
    assert steady.settled() == restless.settled() == late.settled()
    assert f"word{answers}_219" in steady.items.inner_text()
