"""What a hub's login has to be allowed at its store, and what of that it is not.

The store is asked once, before anything relies on it: a right that is missing shows late otherwise, and where one
would not look (without PUBLISH no turn is seen live, without SUBSCRIBE no stream ever begins).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from hub.errors import StoreRefused
from hub.store import keys
from hub.store.transactions import Redis, clear_errors

_KEY: Final = keys.bucket_key("rights", 0)
_ON_A_KEY: Final = (
    "DEL EXISTS EXPIRE GET HDEL HEXISTS HGET HGETALL HINCRBY HKEYS HLEN HMGET HSET HSETNX HVALS LINDEX LINSERT "
    "LLEN LPOP LRANGE LREM LSET PEXPIRE RPUSH XADD XDEL XRANGE XREVRANGE ZADD ZCARD ZRANGE ZRANGEBYSCORE ZREM "
    "ZREVRANGEBYSCORE ZSCORE"
)
CALLS: Final[tuple[tuple[str, ...], ...]] = (
    *((name, _KEY) for name in _ON_A_KEY.split()),
    ("SET", _KEY, "1"),
    ("BLPOP", _KEY, "0"),
    ("XGROUP", "CREATE", _KEY, "runners", "0"),
    ("XREADGROUP", "GROUP", "runners", "any", "STREAMS", _KEY, ">"),
    ("PUBLISH", keys.HUB_CHANNEL, ""),
    ("SUBSCRIBE", keys.HUB_CHANNEL),
    ("UNSUBSCRIBE", keys.HUB_CHANNEL),
    ("EVALSHA", "0", "1", _KEY),
    ("INFO",),
    ("PING",),
    ("TIME",),
)
ENOUGH: Final = "~th:* &th:* +@read +@write +@pubsub +@scripting +@connection +time +info"
_TOLD: Final = 4

# Stores before Redis 7 cannot be asked: nothing is said of them. A command that is not known there is refused too.
_ASK: Final = """
local refused = {}
if not redis.acl_check_cmd then return refused end
for _, call in ipairs(cjson.decode(ARGV[1])) do
  local known, allowed = pcall(redis.acl_check_cmd, unpack(call))
  if not (known and allowed) then refused[#refused + 1] = call[1] end
end
return refused
"""


async def check_rights(redis: Redis) -> None:
    """Return where this login may do all that a hub does. Raises StoreRefused, which names what it may not and
    what mends it; StoreUnavailable."""
    with clear_errors():
        answer: list[Any] = await redis.execute_command("EVAL", _ASK, 0, msgspec.json.encode(CALLS))
    refused = [name.decode() for name in answer]
    if not refused:
        return
    told = ", ".join(refused[:_TOLD]) + (f" and {len(refused) - _TOLD} more" if len(refused) > _TOLD else "")
    raise StoreRefused(
        f"The store does not let this login do what a hub does ({told}, on keys and channels th:*). Give the user "
        f"of store.url its rights: ACL SETUSER <user> {ENOUGH}"
    )
