"""Pure: one turn's events -> its item. A part of :mod:`hub.fold`, which sees to order and duplicates."""

from __future__ import annotations

import msgspec

from hub.asks import Settlement
from hub.events import (
    AskDelivered,
    AskOpened,
    AskSettled,
    AskWithdrawn,
    Distillate,
    Reasoning,
    ReasoningDelta,
    Status,
    Text,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnEvent,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
)
from hub.items import (
    Activity,
    AskItem,
    AssistantItem,
    Block,
    ReasoningBlock,
    Stats,
    TextBlock,
    ToolBlock,
    TurnStatus,
)

_Words = type[TextBlock] | type[ReasoningBlock]
TURN_ENDED = "turn ended"


class TurnFold:
    """The state of one turn: durable blocks in log order, and the pieces of those still streaming."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self.message_id: str | None = None
        self._base = AssistantItem(turn_id=turn_id)
        self._blocks: list[Block] = []
        self._streaming: dict[tuple[_Words, int], list[str]] = {}
        self._tools: dict[str, int] = {}
        self._asks: dict[str, AskItem] = {}
        self._rendered: AssistantItem | None = None

    @classmethod
    def of(cls, item: AssistantItem) -> TurnFold:
        """The state that ``item`` shows."""
        turn = cls(item.turn_id)
        turn.message_id = item.message_id
        turn._base = item
        turn._rendered = item
        turn._asks = {ask.id: ask for ask in item.asks}
        for block in item.blocks:
            if isinstance(block, ToolBlock):
                turn._tools[block.tool_id] = len(turn._blocks)
            elif block.open:
                turn._streaming[type(block), block.block] = [block.text]
                continue
            turn._blocks.append(block)
        return turn

    def render(self) -> AssistantItem:
        """The turn's item as it stands now."""
        if self._rendered is None:
            self._rendered = msgspec.structs.replace(
                self._base,
                message_id=self.message_id,
                blocks=(*self._blocks, *self._open_blocks()),
                tool_names=tuple(
                    dict.fromkeys(block.name for block in self._blocks if isinstance(block, ToolBlock))
                ),
                asks=tuple(self._asks.values()),
            )
        return self._rendered

    def _open_blocks(self) -> list[Block]:
        blocks: list[Block] = []
        for (kind, number), pieces in self._streaming.items():
            pieces[:] = ["".join(pieces)]
            blocks.append(kind(block=number, text=pieces[0], open=True))
        return blocks

    def _set(self, **changes: object) -> None:
        self._base = msgspec.structs.replace(self._base, **changes)
        self._rendered = None

    def quiet(self) -> None:
        """Forget the activity: something else happened."""
        if self._base.activity is not None:
            self._set(activity=None)

    def remember(self, distillate: Distillate) -> None:
        """Take what was distilled from the turn."""
        self._set(memory=distillate)

    def apply(self, event: TurnEvent) -> None:
        """Take the turn's next event into account. Nothing counts after the turn's end."""
        if self._base.ending is not None:
            return
        self._rendered = None
        match event:
            case TextDelta():
                self._streaming.setdefault((TextBlock, event.block), []).append(event.text)
            case ReasoningDelta():
                self._streaming.setdefault((ReasoningBlock, event.block), []).append(event.text)
            case Text():
                self._written(TextBlock, event)
            case Reasoning():
                self._written(ReasoningBlock, event)
            case ToolStarted() | ToolFinished():
                self._on_tool(event)
            case AskOpened() | AskSettled() | AskDelivered() | AskWithdrawn():
                self._on_ask(event)
            case Status():
                self._on_status(event)
            case TurnStarted():
                self._on_started(event)
            case TurnCompleted():
                self._end(event, "completed")
            case TurnFailed():
                self._end(event, "failed")
            case TurnInterrupted():
                self._end(event, "interrupted")

    def _on_started(self, event: TurnStarted) -> None:
        self.message_id = event.message_id or self.message_id
        self._set(
            attempt=event.attempt,
            started_at=self._base.started_at or event.at or None,
        )

    def _on_status(self, event: Status) -> None:
        if event.state == "retrying":
            self._streaming.clear()
        self._set(activity=Activity(state=event.state, detail=event.detail))

    def _written(self, kind: _Words, event: Text | Reasoning) -> None:
        self._streaming.pop((kind, event.block), None)
        self._blocks.append(kind(block=event.block, text=event.text, partial=event.partial))

    def _on_tool(self, event: ToolStarted | ToolFinished) -> None:
        index = self._tools.get(event.tool_id)
        if isinstance(event, ToolStarted):
            block = ToolBlock(tool_id=event.tool_id, name=event.name, input=event.input, parent_id=event.parent_id)
            if index is not None:  # announced again, by a runner that took the turn over: it keeps its place
                self._blocks[index] = block
                return
            self._tools[event.tool_id] = len(self._blocks)
            self._blocks.append(block)
            self._set(stats=Stats(tools=len(self._tools)))
        elif index is not None:
            self._blocks[index] = msgspec.structs.replace(
                self._blocks[index], status=event.status, digest=event.digest, duration_ms=event.duration_ms
            )

    def _on_ask(self, event: AskOpened | AskSettled | AskDelivered | AskWithdrawn) -> None:
        if isinstance(event, AskOpened):
            self._asks.setdefault(event.ask.id, AskItem(**msgspec.structs.asdict(event.ask)))
            return
        ask = self._asks.get(event.ask_id)
        if ask is None:
            return
        match event:
            case AskSettled() if ask.state == "open":
                ask = msgspec.structs.replace(ask, state="settled", settlement=_settlement(event))
            case AskDelivered() if ask.state == "settled":
                ask = msgspec.structs.replace(ask, state="delivered", effective=event.input)
            case AskWithdrawn() if ask.state in {"open", "settled"}:
                ask = msgspec.structs.replace(ask, state="withdrawn", reason=event.reason)
            case _:
                return
        self._asks[ask.id] = ask

    def _end(self, event: TurnCompleted | TurnFailed | TurnInterrupted, status: TurnStatus) -> None:
        self._streaming.clear()
        for index in self._tools.values():
            block = self._blocks[index]
            if isinstance(block, ToolBlock) and block.status == "running":
                self._blocks[index] = msgspec.structs.replace(block, status="unknown")
        self._asks = {ask.id: _ended(ask) for ask in self._asks.values()}
        stats = Stats(duration_ms=event.duration_ms, tools=event.tools, usage=event.usage, cost_usd=event.cost_usd)
        self._set(status=status, ending=event, stats=stats, activity=None)


def _ended(ask: AskItem) -> AskItem:
    if ask.state == "open":
        return msgspec.structs.replace(ask, state="withdrawn", reason=TURN_ENDED)
    if ask.state == "delivered":
        return msgspec.structs.replace(ask, state="closed")
    return ask


def _settlement(event: AskSettled) -> Settlement:
    return Settlement(
        by=event.by,
        decision=event.decision,
        scope=event.scope,
        message=event.message,
        input=event.input,
        answers=event.answers,
        response=event.response,
    )
