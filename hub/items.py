"""The conversation as a person sees it: the items that events fold to (:mod:`hub.fold`), and their JSON.

Items are what a client shows. They hold everything that folding on needs, so a client that got items at a
cursor can go on with later events as if it had seen all the earlier ones.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from hub.asks import AskState, Settlement
from hub.events import (
    Ask,
    Digest,
    Distillate,
    Origin,
    Proof,
    StatusState,
    Terminal,
    ToolStatus,
    Usage,
    VerdictName,
)

TurnStatus = Literal["running", "completed", "failed", "interrupted"]


class Delivery(Struct, frozen=True, kw_only=True):
    """What is known about the delivery of a message, and what proves it."""

    verdict: VerdictName
    proof: Proof | None = None
    detail: str | None = None


class UserItem(Struct, frozen=True, kw_only=True, tag_field="kind", tag="user"):
    """What a person said. ``seq`` is the number of its event; ``delivery`` the last verdict about it."""

    message_id: str
    turn_id: str
    text: str
    origin: Origin = "api"
    at: str = ""
    seq: int = 0
    delivery: Delivery | None = None


class TextBlock(Struct, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    """Words of the agent. ``open``: still streaming; ``partial``: cut off."""

    block: int
    text: str
    open: bool = False
    partial: bool = False


class ReasoningBlock(Struct, frozen=True, kw_only=True, tag_field="kind", tag="reasoning"):
    """Reasoning of the agent. ``open``: still streaming; ``partial``: cut off."""

    block: int
    text: str
    open: bool = False
    partial: bool = False


class ToolBlock(Struct, frozen=True, kw_only=True, tag_field="kind", tag="tool"):
    """A tool call. ``parent_id`` names the tool it ran under; ``duration_ms`` is wall-clock milliseconds."""

    tool_id: str
    name: str
    input: dict[str, Any] = field(default_factory=dict)
    parent_id: str | None = None
    status: Literal["running"] | ToolStatus = "running"
    digest: Digest | None = None
    duration_ms: int | None = None


Block: TypeAlias = TextBlock | ReasoningBlock | ToolBlock


class AskItem(Ask, frozen=True, kw_only=True):
    """An ask inside its turn: what was asked, where it stands, how it was settled, with which input its call runs
    in fact (where the agent tells), why it was withdrawn."""

    state: AskState = "open"
    settlement: Settlement | None = None
    effective: dict[str, Any] | None = None
    reason: str | None = None


class Activity(Struct, frozen=True, kw_only=True):
    """What the agent said last about what it is doing."""

    state: StatusState
    detail: str | None = None


class Stats(Struct, frozen=True, kw_only=True):
    """Figures of a turn. While it runs only ``tools`` (tools started so far) is known."""

    duration_ms: int | None = None
    tools: int = 0
    usage: Usage | None = None
    cost_usd: float | None = None


class AssistantItem(Struct, frozen=True, kw_only=True, tag_field="kind", tag="assistant"):
    """A turn. ``ending`` is its terminal event, None while it runs; ``memory`` what was distilled from it.

    What one line about it needs: ``status`` (and ``activity`` while it runs), ``stats.duration_ms`` (while it
    runs, the time since ``started_at``) and ``tool_names``: each tool once, in the order of first use."""

    turn_id: str
    attempt: int = 1
    message_id: str | None = None
    status: TurnStatus = "running"
    activity: Activity | None = None
    blocks: tuple[Block, ...] = ()
    tool_names: tuple[str, ...] = ()
    asks: tuple[AskItem, ...] = ()
    ending: Terminal | None = None
    stats: Stats = Stats()
    memory: Distillate | None = None
    started_at: str | None = None


class NoticeItem(Struct, frozen=True, kw_only=True, tag_field="kind", tag="notice"):
    """Something that a person should know and that is no part of a turn's own words."""

    code: str
    message: str
    turn_id: str | None = None
    at: str = ""


Item: TypeAlias = UserItem | AssistantItem | NoticeItem
Items: TypeAlias = tuple[Item, ...]

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Items] = msgspec.json.Decoder(Items)


def encode_items(items: Items) -> bytes:
    """The items as a JSON array."""
    return _encoder.encode(items)


def decode_items(data: bytes | str) -> Items:
    """The items in a JSON array; unknown fields are passed over. Raises msgspec.DecodeError."""
    return _decoder.decode(data)
