"""An ask that is under way in a turn, and what makes two of them one."""

from __future__ import annotations

import asyncio

from msgspec import Struct, field

from hub import AskDelivered, AskOpened, AskRequest, AskWithdrawn, Settlement, TurnContext
from turnhub_tmux.bridge.facts import AskOver, PermissionAsked
from turnhub_tmux.screen.types import Dialog
from turnhub_tmux.transcript.facts import Result


class OpenAsk(Struct, eq=False):
    """An ask that is under way. ``asked``: the hook's request; ``dialog``: what the screen shows of it; ``call``:
    what the transcript told later of an ask that the screen alone was the first to show;
    ``foreign``: neither, only a plugin sees it; ``again``: an answer to it could not be typed before. ``let``:
    its answer lets the call run; ``result``: what the transcript told of its call while an answer was being given,
    and ``told``: that it has."""

    request: AskRequest
    elsewhere: asyncio.Future[Settlement]
    over: asyncio.Event
    asked: PermissionAsked | None = None
    dialog: Dialog | None = None
    call: AskRequest | None = None
    end: AskOver | None = None
    gone_at: float | None = None
    foreign: bool = False
    again: bool = False
    answering: bool = False
    let: bool = False
    result: Result | None = None
    told: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def known(self) -> AskRequest:
        """What is known of it by now."""
        return self.call or self.request


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
                    refuses=ask.refuses,
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
    """Whether hook and screen ask the same, although the screen may know less of it."""
    if one.kind != other.kind:
        return False
    if one.tool_id is not None and other.tool_id is not None:
        return one.tool_id == other.tool_id
    return one.subject == other.subject or (one.kind == "question" and one.tool == other.tool)
