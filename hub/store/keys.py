"""The names of everything in Redis (architecture, section 4).

Keys of one session share a hash tag, so that they share a slot of a cluster: ``{b}`` with
b = crc16(session id) mod 64. The 64 buckets are also how things over all sessions are listed.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator

BUCKETS = 64
HUB_CHANNEL = "th:hub"
RUNNERS = "th:runners"
PROBE = "th:probe"  # written to see whether the store takes writes


def bucket(session_id: str) -> int:
    """The bucket of a session: CRC-16/XMODEM (the one Redis Cluster uses) of its id, modulo 64."""
    return binascii.crc_hqx(session_id.encode(), 0) % BUCKETS


def session_key(kind: str, session_id: str) -> str:
    """A key of one session: ``session``, ``log``, ``turn``, ``asks``, ``queue``, ``grants``, ``idem``,
    ``last``, ``distill`` (turns that wait for their distillation), ``memory`` (what was distilled), ``outputs``
    (tools' whole outputs) and ``kept`` (until when, and how large each is)."""
    return f"th:{{{bucket(session_id)}}}:{kind}:{session_id}"


def bucket_key(kind: str, number: int) -> str:
    """A key of one bucket: ``sessions``, ``leases``, ``pending`` or ``undistilled``."""
    return f"th:{{{number}}}:{kind}"


def bucket_keys(kind: str) -> Iterator[str]:
    """That key in every bucket."""
    return (bucket_key(kind, number) for number in range(BUCKETS))


def live_prefix(session_id: str) -> str:
    """What a turn's id makes the key of its live stream."""
    return session_key("live", session_id) + ":"


def live_key(session_id: str, turn_id: str) -> str:
    """The live stream of a turn."""
    return live_prefix(session_id) + turn_id


def channel(session_id: str) -> str:
    """Where a session's frames are published."""
    return session_key("bell", session_id)


def runner_channel(runner_id: str) -> str:
    """Where a runner is told of cancellations and answers."""
    return f"th:runner:{runner_id}"


def look_key(look_id: str) -> str:
    """Where the answer to one look at an agent's terminal is left."""
    return f"th:look:{look_id}"


def work_key(agent: str) -> str:
    """The stream that says: this turn wants a runner."""
    return f"th:work:{agent}"


def transaction_keys(session_id: str) -> list[str]:
    """KEYS of every transaction, in the order that ``lua/_lib.lua`` names them."""
    number = bucket(session_id)
    kinds = ("session", "log", "turn", "asks", "queue", "idem", "last")
    return [
        *(session_key(kind, session_id) for kind in kinds),
        *(bucket_key(kind, number) for kind in ("sessions", "leases", "pending")),
        session_key("grants", session_id),
        live_prefix(session_id),
        session_key("distill", session_id),
        bucket_key("undistilled", number),
        session_key("memory", session_id),
        session_key("outputs", session_id),
        session_key("kept", session_id),
    ]
