"""What plugins see waiting: asked all, merged, and never felt when one of them fails."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from hub import hooks
from hub.asks import AskRequest
from hub.hookspecs import hookimpl
from hub.runner.sourcing import sourced
from hub.testing import FakeTurn, make_session

pytestmark = pytest.mark.anyio
SESSION = make_session()
LS = AskRequest(kind="permission", tool="Bash", subject="ls", source="hook")


class Source:
    """A plugin that sees what ``value`` says, or does it."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.seen: list[Mapping[str, Any]] = []

    @hookimpl
    async def source_questions(self, seen: Mapping[str, Any]) -> Any:
        """What waits."""
        self.seen.append(seen)
        return await self.value() if callable(self.value) else self.value


async def kaboom() -> None:
    raise RuntimeError("kaboom")


async def found(*sources: Source, seen: Mapping[str, Any] | None = None) -> tuple[AskRequest, ...]:
    """What these plugins see waiting."""
    manager = hooks.new_manager()
    for number, source in enumerate(sources):
        manager.register(source, f"plugin{number}")
    return await sourced(manager, SESSION, seen or {}, within_s=0.05)


async def test_all_are_asked_about_what_was_seen_and_the_same_is_one() -> None:
    """Each gets what the transport saw; the hook's word holds although the pane's plugin was asked first."""
    hook = Source([LS])
    pane = Source([AskRequest(kind="permission", tool="Bash", subject="ls", source="pane", tool_id="t")])
    got = await found(hook, pane, Source(None), seen={"row": 1})
    assert got == (AskRequest(kind="permission", tool="Bash", subject="ls", source="hook", tool_id="t"),)
    assert hook.seen == pane.seen == [{"row": 1}]


@pytest.mark.parametrize(
    "bad",
    [kaboom, asyncio.Event().wait, "words", ["no request"], [AskRequest(kind="permission", tool=5)]],  # type: ignore[arg-type]
)
async def test_a_source_that_fails_has_seen_nothing(bad: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Raising, hanging, answering nonsense: the others' questions are asked all the same."""
    assert await found(Source([LS]), Source(bad)) == (LS,)


async def test_a_fake_turn_asks_its_plugins_as_the_hub_does() -> None:
    """Tests of a transport bring their own sources; after the end of the turn nothing is sourced."""
    turn = FakeTurn(verifiers=[Source([LS])])
    assert await turn.sourced({}) == (LS,)
    assert await FakeTurn().sourced({}) == ()
