"""An ask that is under way in a turn, and what makes two of them one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from msgspec import Struct

from hub import AskDelivered, AskOpened, AskRequest, AskWithdrawn, Settlement, TurnContext
from turnhub_tmux.bridge.facts import AskOver, PermissionAsked
from turnhub_tmux.requests import is_about, request_of
from turnhub_tmux.screen.types import Dialog
from turnhub_tmux.transcript.facts import Used


class OpenAsk(Struct, eq=False):
    """An ask that is under way. ``asked``: the hook's request; ``dialog``: what the screen shows of it."""

    request: AskRequest
    elsewhere: asyncio.Future[Settlement]
    over: asyncio.Event
    asked: PermissionAsked | None = None
    dialog: Dialog | None = None
    end: AskOver | None = None
    gone_at: float | None = None
    answering: bool = False
    task: asyncio.Task[None] | None = None

    @property
    def from_pane(self) -> bool:
        """Whether only the screen shows it."""
        return self.asked is None


def inherited(turn: TurnContext) -> list[AskRequest]:
    """The asks of an adopted turn whose answer the agent has not taken, oldest first."""
    found: dict[str, AskRequest] = {}
    for event in turn.shown:
        match event:
            case AskOpened(ask=ask):
                found[ask.id] = AskRequest(
                    kind=ask.kind,
                    tool=ask.tool,
                    subject=ask.subject,
                    input=ask.input,
                    questions=ask.questions,
                    source=ask.source,
                )
            case AskDelivered() | AskWithdrawn():
                found.pop(event.ask_id, None)
            case _:
                continue
    return list(found.values())


def begun(request: AskRequest, asked: PermissionAsked | None = None, dialog: Dialog | None = None) -> OpenAsk:
    """An ask that begins, seen by hook or on the screen."""
    elsewhere: asyncio.Future[Settlement] = asyncio.get_running_loop().create_future()
    return OpenAsk(request, elsewhere, asyncio.Event(), asked=asked, dialog=dialog)


def same(one: AskRequest, other: AskRequest) -> bool:
    """Whether hook and screen ask the same."""
    if one.kind != other.kind:
        return False
    if one.tool_id is not None and one.tool_id == other.tool_id:
        return True
    return one.subject == other.subject or (one.kind == "question" and one.tool == other.tool)


def call_of(dialog: Dialog, pending: Iterable[Used]) -> Used | None:
    """The call that a dialog asks about: the first pending one whose words it shows."""
    for used in pending:
        if is_about(dialog, request_of(used.name, used.input, source="pane", tool_id=used.tool_use_id)):
            return used
    return None
