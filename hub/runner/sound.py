"""Pure: what plugins hand in is checked before it is believed.

msgspec's structs do not look at their fields when they are made. An event with a wrong field would be written,
and then no reader could decode it: neither clients, nor whoever has to end the turn.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from hub.errors import PluginError
from hub.events import (
    EVENT_TYPES,
    AnyEvent,
    Event,
    ReasoningDelta,
    TextDelta,
    Unknown,
    decode,
    encode,
    to_json,
    type_of,
)
from hub.transport import TRANSPORT_EVENTS

EVENT_MOST: Final = 16 * 1024 * 1024
_HEAD = 200
_UNSOUND = (msgspec.MsgspecError, TypeError, ValueError, RecursionError)

S = TypeVar("S", bound=msgspec.Struct)


def sound(value: S, whose: str) -> S:
    """``value`` as its readers will read it: through JSON and back. ``whose`` begins the sentence of the
    PluginError that is raised where that is not possible."""
    try:
        return msgspec.json.decode(to_json(value), type=type(value))
    except _UNSOUND as error:
        raise PluginError(f"{whose} is no sound {type(value).__name__}: {error}.") from error


def sound_event(event: object, transport: str) -> tuple[AnyEvent, int]:
    """An event that a transport emits, as its readers will read it, and about how many bytes it takes. Raises
    PluginError for events that are the hub's own, that cannot be written, or that are too large."""
    if isinstance(event, TextDelta | ReasoningDelta) and _plain(event):
        return event, _HEAD + len(event.text)
    who = f"Transport {transport!r}"
    if not isinstance(event, TRANSPORT_EVENTS):
        name = f"{type(event).__name__}, which is no event"
        if isinstance(event, Event) and type(event) in EVENT_TYPES.values():
            name = f"{type_of(event)}, which is the hub's own"
        raise PluginError(f"{who} emitted {name}.")
    try:
        line = encode(event)
        read = decode(line)
    except _UNSOUND as error:
        raise PluginError(f"{who} emitted a {type_of(event)} that cannot be written: {error}.") from error
    if isinstance(read, Unknown):
        raise PluginError(f"{who} emitted an event of its own type {read.name!r}, which nobody knows.")
    if len(line) > EVENT_MOST:
        raise PluginError(f"{who} emitted a {type_of(event)} of {len(line)} bytes; {EVENT_MOST} are the most.")
    return read, len(line)


def _plain(delta: TextDelta | ReasoningDelta) -> bool:
    """Whether a delta needs no closer look: they come in floods."""
    text = delta.text
    if type(delta) not in {TextDelta, ReasoningDelta}:
        return False
    return type(text) is str and type(delta.block) is int and delta.seq == 0 and len(text) < EVENT_MOST // 4


def said(error: BaseException, most: int = 500) -> str:
    """What an error says of itself, in a few words. A group of one error is that error."""
    error = innermost(error)
    try:
        words = str(error).strip()
    except Exception:  # noqa: BLE001 - a plugin's error may fail even at telling itself
        words = ""
    words = words if len(words) <= most else words[:most] + "…"
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def innermost(error: BaseException) -> BaseException:
    """The first error inside groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
