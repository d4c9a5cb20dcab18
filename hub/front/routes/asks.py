"""Asks: those that wait, one, the answer to one."""

from __future__ import annotations

from typing import Any, Final

from hub.asks import AskRecord, PermissionReply, QuestionReply, settle
from hub.errors import AlreadySettled, Withdrawn
from hub.events import By
from hub.front import views
from hub.front.operations import Answer, Call, Operation, Reply, operation


@operation("GET", "/v1/asks", Reply(200, list[AskRecord]), scope="read", query=views.AsksQuery)
async def list_asks(call: Call[Any, views.AsksQuery]) -> Answer:
    """All asks that wait for somebody, over all sessions, oldest first."""
    return Answer(200, await call.services.overview.open_asks())


@operation("GET", "/v1/asks/{id}", Reply(200, AskRecord), scope="read", errors=["not_found"])
async def show_ask(call: Call[Any, Any]) -> Answer:
    """One ask: what was asked, where it stands, who settled it and how."""
    return Answer(200, await call.services.store.ask(call.path["id"]))


@operation(
    "POST",
    "/v1/asks/{id}/answer",
    Reply(200, AskRecord),
    scope="approve",
    body=dict,
    shapes=[PermissionReply, QuestionReply],
    errors=["not_found", "already_settled", "withdrawn"],
)
async def answer_ask(call: Call[dict[str, Any], Any]) -> Answer:
    """Settle an ask, once. 200 means recorded; `ask_delivered` in the log says that the agent really took it."""
    store = call.services.store
    record = await store.ask(call.path["id"])
    _refuse_settled(record)
    settlement = settle(record.ask, call.body, By(kind="person", name=call.token.name))
    return Answer(200, await store.settle_ask(record, settlement))


def _refuse_settled(record: AskRecord) -> None:
    if record.state == "withdrawn":
        raise Withdrawn(f"This ask is over: {record.reason}.", reason=record.reason, ask=record)
    if record.settlement is not None:
        raise AlreadySettled(f"This ask was settled before, by {record.settlement.by.name}.", ask=record)


OPERATIONS: Final[tuple[Operation, ...]] = (list_asks, show_ask, answer_ask)
