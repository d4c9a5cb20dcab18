"""Running the Lua transactions: one call each, one round trip, errors of the wire turned into the hub's own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, Protocol, cast

from redis import exceptions

from hub import events
from hub.errors import StoreForeign, StoreReadOnly, StoreRefused, StoreTooOld, StoreUnavailable
from hub.store import keys

Argument = str | bytes | int
_READ_ONLY_SIGNS = ("READONLY", "OOM", "MISCONF", "NOREPLICAS")
_LOGIN_SIGNS = ("NOAUTH", "WRONGPASS", "HELLO must be called with the client already authenticated")
_AWAY_SIGNS = ("BUSY", "MASTERDOWN", "CLUSTERDOWN", "LOADING", "UNKILLABLE")

_WHERE = re.compile(r"\.? script: [0-9a-f]{40}, on @?user_script:\d+\.?")


class Redis(Protocol):
    """The part of redis-py's clients (standalone, Sentinel, cluster) and of fakeredis that is used here."""

    def execute_command(self, *args: Any, **options: Any) -> Awaitable[Any]:
        """Send one command and return its answer."""


@cache
def source(name: str) -> str:
    """The text of a transaction: the common head and its own file."""
    folder = files("hub.store") / "lua"
    return (folder / "_lib.lua").read_text() + (folder / f"{name}.lua").read_text()


@cache
def _digest(name: str) -> str:
    return hashlib.sha1(source(name).encode(), usedforsecurity=False).hexdigest()


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn what redis-py raises into StoreUnavailable or StoreReadOnly, with what to do about it."""
    try:
        yield
    except (exceptions.ReadOnlyError, exceptions.OutOfMemoryError) as error:
        raise StoreReadOnly(_read_only(error)) from error
    except (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ClusterError, OSError) as error:
        raise _refused(error) or StoreUnavailable(_away(error)) from error
    except exceptions.NoPermissionError as error:
        raise _refused(error) or StoreUnavailable(_away(error)) from error
    except exceptions.RedisClusterException as error:
        raise StoreUnavailable(_away(error)) from error
    except exceptions.ResponseError as error:
        if any(sign in str(error) for sign in _READ_ONLY_SIGNS):
            raise StoreReadOnly(_read_only(error)) from error
        if "WRONGTYPE" in str(error):
            raise foreign(_WHERE.sub("", str(error))) from error
        if str(error).startswith(_AWAY_SIGNS):
            raise StoreUnavailable(_away(error)) from error
        if "unknown command" in str(error).lower():  # the first is HELLO, which Redis has since 6
            raise StoreTooOld(
                f"The store is too old: it has to be Redis 6.2, Valkey, or newer ({error})."
            ) from error
        raise


def foreign(what: str) -> StoreForeign:
    """What to say of what the hub cannot have written."""
    return StoreForeign(
        f"The store holds something that is not this hub's under a name that is ({what}). Does another program "
        "use th:* there? Give the hub a database of its own (redis://HOST/1, say), or bring that key back."
    )


def _refused(error: BaseException) -> StoreRefused | None:
    """What to say when the login is the reason, which redis-py tells in causes and words only."""
    kinds = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, kinds) or any(sign in str(cause) for sign in _LOGIN_SIGNS):
            return StoreRefused(
                f"The store refuses this hub ({_WHERE.sub('', str(error))}). store.url wants a user and password "
                "that may do all that a hub does: docs/deploy.md has the rights."
            )
        cause = cause.__cause__ or cause.__context__
    return None


def _away(error: Exception) -> str:
    return f"The store does not answer ({error}). Nothing acknowledged is lost; try again."


def _read_only(error: Exception) -> str:
    words = _WHERE.sub("", str(error))
    mend = "Point store.url at a primary with room and disk."
    if "maxmemory" in words:
        mend = "Give it more memory (maxmemory), delete sessions, or point store.url at another one."
    return f"The store takes no writes now ({words}). {mend}"


async def transact(
    redis: Redis, name: str, session_id: str, *arguments: Argument, at: str | None = None
) -> list[Any]:
    """Run transaction ``name`` on a session and return what it says: a status word, then its facts.

    Raises StoreUnavailable or StoreReadOnly. Every transaction may be repeated: the client does so silently
    when a reply is lost.
    """
    names = keys.transaction_keys(session_id)
    call = [len(names), *names, session_id, keys.channel(session_id), at or events.now(), *map(_wire, arguments)]
    with clear_errors():
        try:
            answer = await redis.execute_command("EVALSHA", _digest(name), *call)
        except exceptions.NoScriptError:
            answer = await redis.execute_command("EVAL", source(name), *call)
    status, *facts = cast(list[Any], answer)
    return [status.decode(), *facts]


def _wire(argument: Argument) -> bytes | int:
    return encode_text(argument) if isinstance(argument, str) else argument


def encode_text(text: str) -> bytes:
    """``text`` in UTF-8. Half a surrogate pair becomes U+FFFD, as it does in events."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def flat(values: Mapping[str, str]) -> list[str]:
    """Names and values in turn, as HSET takes them."""
    return [word for pair in values.items() for word in pair]
