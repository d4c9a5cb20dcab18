"""What the store hands out: sessions, turns, claims, snapshots. Plain data, decoded from Redis hashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from hub.asks import AskRecord, AskState, Settlement
from hub.events import TERMINAL, Ask, ForkedFrom, Origin, is_durable
from hub.store.transactions import foreign
from hub.transport import Message
from hub.turn import TurnState


class SessionRecord(Struct, frozen=True, kw_only=True):
    """A session's metadata. Times are RFC 3339; ``memory`` is its transport's own; ``runner`` is who took its last
    turn, "" before the first; ``sensitive``: its turns go to no model elsewhere for distillation. ``copied``: up
    to this seq its log is another session's, which ``forked_from`` or ``imported_from`` names; ``inherited``:
    that session's memory, where all of it was copied; ``asked``: the fingerprint of the request that made it."""

    id: str
    agent: str
    transport: str
    policy: str | None = None
    title: str | None = None
    cwd: str = ""
    created_at: str = ""
    updated_at: str = ""
    archived: bool = False
    memory: Mapping[str, str] = field(default_factory=dict)
    runner: str = ""
    sensitive: bool = False
    copied: int = 0
    forked_from: ForkedFrom | None = None
    imported_from: str | None = None
    inherited: Mapping[str, str] = field(default_factory=dict)
    asked: str = ""


class TurnRecord(Struct, frozen=True, kw_only=True):
    """The running turn. ``first`` is the seq of its first event; ``trimmed`` the highest seq that was
    dropped from its live stream, 0 for none; ``previous`` the runner of the session's turn before; ``resumes``:
    it goes on where the attempt before was cut off. By the store's clock alone, whatever those of the hub's hosts
    say (Unix milliseconds, 0 where it is not known): it was ``born``, was ``taken`` by its runner, and its runner
    was ``alive`` last."""

    id: str
    state: TurnState
    started_at: str
    attempt: int
    message: Message
    first: int
    runner: str = ""
    fence: str = ""
    cancel_by: str | None = None
    trimmed: int = 0
    previous: str = ""
    resumes: bool = False
    born: int = 0
    taken: int = 0
    alive: int = 0


class Claim(Struct, frozen=True, kw_only=True):
    """The right to write a turn: what every write of its runner carries."""

    session_id: str
    turn_id: str
    runner: str
    fence: str


class Taken(Struct, frozen=True, kw_only=True):
    """A turn that this runner now owns."""

    claim: Claim
    turn: TurnRecord
    session: SessionRecord


class Begun(Struct, frozen=True, kw_only=True):
    """A turn that has begun. ``repeated``: it had begun before, by the same request."""

    session_id: str
    turn_id: str
    message_id: str
    attempt: int
    first: int
    repeated: bool = False


class Appended(Struct, frozen=True, kw_only=True):
    """What an append reports back: the last seq of the batch, who wants the turn stopped, asks that are settled
    but not yet delivered, and messages that are meant for this turn."""

    last: int
    cancel_by: str | None
    answers: tuple[str, ...]
    steers: tuple[str, ...] = ()


class Finished(Struct, frozen=True, kw_only=True):
    """A turn's end: the terminal event's seq, and the turn that began from the queue with it."""

    last: int
    next_turn: str | None
    next_message: str | None


class QueuedMessage(Struct, frozen=True, kw_only=True):
    """A message that waits. ``tail`` and ``event`` are the ends of its events' bodies, made when it came;
    ``key`` is the idempotency key it came with, "" for none; ``interrupts``: it has the running turn ended (by
    ``by``), and begins with that end."""

    id: str
    text: str
    literal: bool
    fingerprint: str
    tail: str
    event: str
    key: str = ""
    interrupts: bool = False
    by: str = ""


class Entry(Struct, frozen=True):
    """One event as the streams hold it: its number, its turn ("" for none), its type, its frame's bytes."""

    seq: int
    turn_id: str
    type: str
    frame: bytes

    @property
    def durable(self) -> bool:
        """Whether the log has it."""
        return is_durable(self.type)

    @property
    def terminal(self) -> bool:
        """Whether it ends its turn."""
        return self.type in TERMINAL


class Snapshot(Struct, frozen=True, kw_only=True):
    """One instant of a session. ``entries``: what came after the asked cursor, log and live, by seq, each
    once; ``complete``: nothing more than these up to ``cursor``."""

    cursor: int
    turn: TurnRecord | None
    entries: tuple[Entry, ...]
    complete: bool
    session: SessionRecord | None = None
    asks: tuple[AskRecord, ...] = ()
    queue: tuple[QueuedMessage, ...] = ()


class RunnerRecord(Struct, frozen=True, kw_only=True):
    """A runner's last word: which host, which agents, when (Unix seconds)."""

    id: str
    host: str
    agents: tuple[str, ...]
    seen: float
    version: str = ""


Fields = dict[str, str]
Hash = list[bytes] | Mapping[bytes, bytes]
_queued = msgspec.json.Decoder(QueuedMessage)


def fields_of(flat: Hash) -> Fields:
    """A Redis hash as text, from either form in which clients give it."""
    if isinstance(flat, Mapping):
        return {name.decode(): value.decode() for name, value in flat.items()}
    words = [word.decode() for word in flat]
    return dict(zip(words[::2], words[1::2], strict=True))


def session_fields(record: SessionRecord) -> Fields:
    """What a session's hash holds from its beginning, but for its times."""
    return {
        "agent": record.agent,
        "transport": record.transport,
        "policy": record.policy or "",
        "title": record.title or "",
        "cwd": record.cwd,
        "sensitive": "1" if record.sensitive else "0",
        "asked": record.asked,
    }


def session_record(session_id: str, fields: Fields) -> SessionRecord:
    """The session in its hash. Raises StoreForeign where it is none."""
    with intact(f"session {session_id}"):
        return _session_record(session_id, fields)


def _session_record(session_id: str, fields: Fields) -> SessionRecord:
    memory = {name.removeprefix("memory:"): value for name, value in fields.items() if name.startswith("memory:")}
    return SessionRecord(
        id=session_id,
        agent=fields["agent"],
        transport=fields["transport"],
        policy=fields.get("policy") or None,
        title=fields.get("title") or None,
        cwd=fields.get("cwd", ""),
        created_at=fields.get("created_at", ""),
        updated_at=fields.get("updated_at", ""),
        archived=fields.get("archived") == "1",
        memory=memory,
        runner=fields.get("runner", ""),
        sensitive=fields.get("sensitive") == "1",
        copied=int(fields.get("copied", "0")),
        forked_from=msgspec.json.decode(forked, type=ForkedFrom)
        if (forked := fields.get("forked_from"))
        else None,
        imported_from=fields.get("imported_from") or None,
        inherited=msgspec.json.decode(fields.get("inherited") or "{}", type=dict[str, str]),
        asked=fields.get("asked", ""),
    )


def turn_record(fields: Fields) -> TurnRecord | None:
    """The turn in its hash; None when there is no turn. Raises StoreForeign where it is none that a hub wrote."""
    if "id" not in fields:
        return None
    with intact(f"turn {fields['id']}"):
        return _turn_record(fields)


def _turn_record(fields: Fields) -> TurnRecord:
    message = Message(
        id=fields["message_id"],
        text=fields["text"],
        literal=fields["literal"] == "1",
        origin=cast(Origin, fields["origin"]),
    )
    return TurnRecord(
        id=fields["id"],
        state=cast(TurnState, fields["state"]),
        started_at=fields["started_at"],
        attempt=int(fields["attempt"]),
        message=message,
        first=int(fields["first"]),
        runner=fields["runner"],
        fence=fields["fence"],
        cancel_by=fields.get("cancel"),
        trimmed=int(fields.get("trimmed", "0")),
        previous=fields.get("previous", ""),
        resumes=fields.get("resumes") == "1",
        born=int(fields.get("born", "0")),
        taken=int(fields.get("taken", "0")),
        alive=int(fields.get("alive", "0")),
    )


def ask_record(session_id: str, ask_id: str, fields: Fields) -> AskRecord | None:
    """The ask ``ask_id`` in its session's asks hash; None when it is not there. Raises StoreForeign where it is
    none that this version knows."""
    own = {name[len(ask_id) + 1 :]: value for name, value in fields.items() if name.startswith(ask_id + ":")}
    if "state" not in own:
        return None
    with intact(f"ask {ask_id}"):
        return _ask_record(session_id, ask_id, own)


def _ask_record(session_id: str, ask_id: str, own: Fields) -> AskRecord:
    settlement = own.get("settlement")
    reason = own.get("reason")
    return AskRecord(
        id=ask_id,
        session_id=session_id,
        turn_id=own["turn"],
        state=cast(AskState, own["state"]),
        ask=msgspec.json.decode(own["ask"], type=Ask),
        opened_at=own["opened_at"],
        settlement=msgspec.json.decode(settlement, type=Settlement) if settlement else None,
        settled_at=own.get("settled_at"),
        delivered_at=own.get("delivered_at"),
        effective=msgspec.json.decode(own["effective"]) if own.get("effective") else None,
        reason=msgspec.json.decode(f'"{reason}"', type=str) if reason else None,
    )


def ask_records(session_id: str, fields: Fields) -> tuple[AskRecord, ...]:
    """All asks of a session's asks hash, oldest first."""
    by_ask: dict[str, Fields] = {}
    for name, value in fields.items():
        by_ask.setdefault(name.rpartition(":")[0], {})[name] = value
    order = sorted(by_ask, key=lambda ask_id: int(by_ask[ask_id][f"{ask_id}:seq"]))
    records = (ask_record(session_id, ask_id, by_ask[ask_id]) for ask_id in order)
    return tuple(record for record in records if record is not None)


def queued_messages(items: list[bytes]) -> tuple[QueuedMessage, ...]:
    """The messages of a queue list, in order. Raises StoreForeign where one is none."""
    with intact("a message that waits"):
        return tuple(_queued.decode(item) for item in items)


@contextmanager
def intact(what: str) -> Iterator[None]:
    """Read what a hub should have written. Raises StoreForeign where it cannot be read as that."""
    try:
        yield
    except (KeyError, ValueError, TypeError, msgspec.MsgspecError) as error:
        raise foreign(f"{what}: {type(error).__name__}: {error}") from error


def entry(turn_id: str, frame: bytes) -> Entry:
    """The entry of a frame as the transactions make it: id line, event line, data line."""
    number, kind, _ = frame.split(b"\n", 2)
    return Entry(int(number[4:]), turn_id, kind[7:].decode(), frame)


def stream_entries(raw: list[Any]) -> list[Entry]:
    """The entries of an XRANGE over a log or a live stream."""
    return [entry(pairs[b"t"].decode(), pairs[b"f"]) for pairs in (_pairs(flat) for _, flat in raw)]


def _pairs(flat: Hash) -> Mapping[bytes, bytes]:
    if isinstance(flat, Mapping):
        return flat
    return dict(zip(flat[::2], flat[1::2], strict=True))


def merged(streams: list[list[Entry]], most: int) -> tuple[list[Entry], bool]:
    """Several streams, each read with a limit of ``most``, as one run by seq, each event once; and whether
    that is all. Where a stream was cut by the limit, the run ends at its cut: what lies behind it may lack
    events."""
    cuts = [stream[-1].seq for stream in streams if len(stream) >= most]
    end = min(cuts, default=None)
    by_seq = {one.seq: one for stream in streams for one in stream if end is None or one.seq <= end}
    return [by_seq[seq] for seq in sorted(by_seq)], end is None
