"""Pure: a session as lines of JSON, out and in.

The first line is a header: the version of the form, whether secrets are masked, what the session is. Each further
line is an event exactly as the log has it. What comes in is checked line by line, and belongs to a session with a
new id: wherever the old one stands in events and in the ids of asks, the new one takes its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from hub.errors import HubError
from hub.events import (
    TRANSIENT,
    AnyEvent,
    ForkedFrom,
    SessionCreated,
    Terminal,
    TurnEvent,
    TurnStarted,
    Unknown,
    decode,
    stamp,
    to_json,
    type_of,
)
from hub.masking import mask_json
from hub.turn import Ending, Failed, TurnTally, terminal_event

VERSION: Final = 1
MEDIA: Final = "application/x-ndjson"
_SESSION: Final = re.compile(r"ses_[0-9a-z]{26}")
_LAST_SEQ: Final = 1 << 52  # the store counts to 2^53: whatever is imported can go on
# What is no content of an event: it tells where it belongs, and has to stay as it is.
_STRUCTURE: Final = frozenset(
    {
        *("type", "seq", "copied", "session_id", "at", "turn_id", "message_id", "tool_id", "parent_id", "ask_id"),
        *("grant_id", "agent", "transport", "forked_from", "code", "status", "route", "model"),
    }
)
_LEFT_OPEN: Final = "This turn had not ended when its session was exported; nobody runs it here."

# Bounds for what stands in every list of sessions: with room for the marks that masking puts there.
_Name = Annotated[str, Meta(max_length=1_000)]


class BadArchive(HubError):
    """What is to be imported is no export. Facts: line, the number of the line that is wrong."""

    code = "bad_archive"


class About(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the header says of the session."""

    id: str
    agent: _Name
    transport: _Name
    policy: _Name | None = None
    title: Annotated[str, Meta(max_length=2_000)] | None = None
    cwd: Annotated[str, Meta(max_length=16_384)] = ""
    created_at: Annotated[str, Meta(max_length=100)] = ""
    sensitive: bool = False
    forked_from: ForkedFrom | None = None


class Header(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line. ``turnhub_export``: the version of the form."""

    turnhub_export: int
    masked: bool
    session: About


class Line(Struct, frozen=True, kw_only=True):
    """One event of a log that is to be written: what its transaction wants to know, and its JSON."""

    seq: int
    type: str
    turn_id: str
    json: bytes

    @property
    def frame(self) -> bytes:
        """The frame that the streams hold."""
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (self.seq, self.type.encode(), self.json)


class Archive(Struct, frozen=True, kw_only=True):
    """An import that was found good."""

    about: About
    masked: bool
    lines: tuple[Line, ...]


def export_lines(about: About, events: Iterable[bytes], *, masked: bool) -> Iterator[bytes]:
    """The lines of an export, each with its end. ``events``: the log's JSON lines."""
    session = masked_about(about) if masked else about
    yield to_json(Header(turnhub_export=VERSION, masked=masked, session=session)) + b"\n"
    for line in events:
        yield (masked_line(line) if masked else line) + b"\n"


def masked_about(about: About) -> About:
    """What is said of a session, with the secrets in it masked."""
    shown = msgspec.to_builtins(about)
    return msgspec.convert(mask_json(shown, frozenset({"id", "agent", "transport", "forked_from"})), About)


def masked_line(line: bytes) -> bytes:
    """An event's JSON with the secrets in its content masked."""
    return to_json(mask_json(msgspec.json.decode(line), _STRUCTURE))


def read_archive(data: bytes, session_id: str) -> Archive:
    """Check an export and give it to the session ``session_id``. A turn that was not ended is ended, as failed.

    Raises BadArchive, which names the line, for anything that an export of this version does not have."""
    numbered = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    if not numbered:
        raise BadArchive("This is no export: it is empty.", line=1)
    header = _header(*numbered[0])
    reader = _Reader(header.session.id, session_id)
    lines = [reader.read(number, line) for number, line in numbered[1:]]
    if not lines:
        raise BadArchive("The export has no event: its first one would be line 2.", line=2)
    return Archive(about=header.session, masked=header.masked, lines=(*lines, *reader.closing()))


def _header(number: int, line: bytes) -> Header:
    try:
        told = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadArchive(
            f"Line {number} is no JSON ({error}): an export begins with a header.", line=number
        ) from None
    version = told.get("turnhub_export") if isinstance(told, dict) else None
    if version is None:
        raise BadArchive(
            f"Line {number} is no header of an export: it has no `turnhub_export`, the version.", line=number
        )
    if version != VERSION or isinstance(version, bool):
        raise BadArchive(
            f"Line {number}: this export is of version {version!r}; this hub reads version {VERSION}.", line=number
        )
    try:
        header = msgspec.convert(told, Header)
    except msgspec.ValidationError as error:
        raise BadArchive(f"Line {number}: the header is wrong: {error}.", line=number) from None
    if not _SESSION.fullmatch(header.session.id):
        raise BadArchive(f"Line {number}: `session.id` is no session's id.", line=number)
    return header


class _Reader:
    """Checks one event after the other, and moves each to the new session."""

    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new
        self._last = 0
        self._first = True
        self._turn: str | None = None
        self._ended: set[str] = set()
        self._tally = TurnTally()
        self._at = ""

    def read(self, number: int, line: bytes) -> Line:
        """The event in line ``number``. Raises BadArchive."""
        try:
            event, told = decode(line), msgspec.json.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self._wrong(number, f"is no event ({error})") from None
        if (why := self._against(event)) is not None:
            raise self._wrong(number, why)
        self._follow(event)
        return line_of_event(event.seq, readdressed(told, self._old, self._new))

    def _against(self, event: AnyEvent | Unknown) -> str | None:
        if isinstance(event, Unknown):
            return f"has type {event.name!r}, which this hub does not know"
        if type_of(event) in TRANSIENT:
            return f"is a {type_of(event)}, which no log keeps"
        if event.session_id != self._old:
            return f"belongs to session {event.session_id[:80]!r}, not to that of the header"
        return self._out_of_order(event) or self._out_of_turn(event)

    def _out_of_order(self, event: AnyEvent) -> str | None:
        if not self._last < event.seq < _LAST_SEQ:
            return f"has seq {event.seq}; it has to be above {self._last}, the one before, and below {_LAST_SEQ}"
        if self._first != isinstance(event, SessionCreated):
            return "is not session_created, the first event" if self._first else "is a second session_created"
        return None

    def _out_of_turn(self, event: AnyEvent) -> str | None:
        if not isinstance(event, TurnEvent):
            return None
        if not event.turn_id:
            return f"is a {type_of(event)} without a turn_id"
        if isinstance(event, TurnStarted) and self._turn not in {None, event.turn_id}:
            return f"begins turn {event.turn_id} while {self._turn} is not ended"
        if isinstance(event, Terminal) and event.turn_id in self._ended:
            return f"ends turn {event.turn_id} a second time"
        return None

    def _follow(self, event: AnyEvent | Unknown) -> None:
        self._first, self._last, self._at = False, event.seq, event.at
        if isinstance(event, TurnStarted) and event.turn_id != self._turn:
            self._turn, self._tally = event.turn_id, TurnTally()
        if isinstance(event, TurnEvent) and event.turn_id == self._turn:
            self._tally.feed(event)
        if isinstance(event, Terminal):
            self._ended.add(event.turn_id)
            self._turn = None if event.turn_id == self._turn else self._turn

    def closing(self) -> Iterator[Line]:
        """What ends the turn that had not ended."""
        if self._turn is not None:
            failed = Failed(code="owner_lost", message=_LEFT_OPEN, retryable=False)
            where = {"session_id": self._new, "turn_id": self._turn, "at": self._at}
            yield from closing_lines(self._tally, failed, **where, last=self._last)

    @staticmethod
    def _wrong(number: int, why: str) -> BadArchive:
        return BadArchive(f"Line {number} {why}.", line=number)


def closing_lines(
    tally: TurnTally, ending: Ending, *, session_id: str, turn_id: str, at: str, last: int
) -> Iterator[Line]:
    """What has to follow event ``last`` so that a turn that was left open is ended."""
    closing = (*tally.closing(), terminal_event(ending, duration_ms=0, tools=tally.tools))
    for seq, event in enumerate(closing, last + 1):
        stamped = msgspec.structs.replace(stamp(event, session_id, turn_id, at), seq=seq)
        yield Line(seq=seq, type=type_of(event), turn_id=turn_id, json=to_json(stamped))


def line_of_event(seq: int, told: dict[str, Any]) -> Line:
    """The line of an event as number ``seq``, from its JSON object."""
    kind = told["type"]
    rest = {key: value for key, value in told.items() if key not in {"type", "seq"}}
    return Line(
        seq=seq, type=kind, turn_id=told.get("turn_id", ""), json=to_json({"type": kind, "seq": seq, **rest})
    )


def readdressed(told: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """An event's JSON object as one of session ``new`` instead of ``old``, ids of asks included."""
    moved = {**told, "session_id": new}
    if isinstance(told.get("ask_id"), str):
        moved["ask_id"] = moved_ask(told["ask_id"], old, new)
    ask = told.get("ask")
    if isinstance(ask, dict) and isinstance(ask.get("id"), str):
        moved["ask"] = {**ask, "id": moved_ask(ask["id"], old, new)}
    return moved


def moved_ask(ask_id: str, old: str, new: str) -> str:
    """An ask's id, which carries its session's."""
    head = f"ask_{old.removeprefix('ses_')}_"
    return f"ask_{new.removeprefix('ses_')}_{ask_id.removeprefix(head)}" if ask_id.startswith(head) else ask_id
