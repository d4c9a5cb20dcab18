"""Reading JSON bodies: bounded in size and time, and told clearly what is wrong with them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.types import Receive

from hub.errors import BadRequest, Invalid
from hub.front.problems import BadJson, BodyTooLarge, BodyTooSlow, UnsupportedMediaType
from hub.misfits import misfit

T = TypeVar("T", bound=Struct)

BODY_TIMEOUT_S: Final = 30.0
_DEEPEST: Final = 64
_LARGEST: Final = 1 << 63
_BYTE: Final = re.compile(r"\(byte (\d+)\)")
_PAIR_OR_HALF: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


async def read_body(headers: Headers, receive: Receive, limit: int, timeout_s: float = BODY_TIMEOUT_S) -> bytes:
    """The whole body. Raises BodyTooLarge beyond ``limit`` bytes, whatever its length header says; BodyTooSlow
    when it takes longer than ``timeout_s`` seconds; BadRequest when the client goes in the middle of it."""
    declared = headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise BadRequest("The connection ended in the middle of the body.")
                part = message.get("body", b"")
                size += len(part)
                if size > limit:
                    raise _too_large(limit)
                parts.append(part)
                more = message.get("more_body", False)
    except TimeoutError:
        raise BodyTooSlow(f"The body did not arrive within {timeout_s:.0f} s.") from None
    return b"".join(parts)


def check_media_type(headers: Headers, wanted: Sequence[str] = ()) -> None:
    """Raise UnsupportedMediaType unless the body is sent as JSON (or without saying what it is); with ``wanted``
    unless it is sent as one of these."""
    given = headers.get("content-type")
    media, _, parameters = (given or ("" if wanted else "application/json")).partition(";")
    media = media.strip().lower()
    if wanted and media not in wanted:
        raise UnsupportedMediaType(f"The body is sent as {given!r}. Send it with Content-Type: {wanted[0]}.")
    plain_json = media == "application/json" or (media.startswith("application/") and media.endswith("+json"))
    if not wanted and not plain_json:
        raise UnsupportedMediaType(
            f"The body is sent as {given!r}. Send JSON, with Content-Type: application/json."
        )
    charset = parameters.lower().partition("charset=")[2].split(";")[0].strip(" \"'")
    if charset not in {"", "utf-8", "utf8", "us-ascii"}:
        raise UnsupportedMediaType(f"The body is sent in {charset!r}. JSON is UTF-8.")
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise UnsupportedMediaType(f"The body is sent with Content-Encoding {encoding!r}. Send it as it is.")


def parse_object(raw: bytes) -> dict[str, Any]:
    """The JSON object in ``raw``. Raises BadJson where it is malformed, naming the place; Invalid where it is
    no object, names a field twice, or holds what nothing here can carry: NUL characters, numbers beyond 64
    bits."""
    try:
        value = msgspec.json.decode(raw)
    except RecursionError:
        raise BadJson(_too_deep()) from None
    except msgspec.ValidationError as error:
        raise Invalid(f"The body holds a number that is too large ({str(error).lower()}).") from None
    except msgspec.DecodeError as error:
        raise _malformed(raw, str(error)) from None
    if not isinstance(value, dict):
        raise Invalid(f"The body has to be a JSON object, not {_name_of(value)}.")
    _check(value, "", 0)
    json.loads(raw.decode(), object_pairs_hook=_once)
    return value


def _once(pairs: list[tuple[str, Any]]) -> None:
    """Of a name that stands twice nobody knows which value is meant; other readers take the other one."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise Invalid(f"`{name[:80]}` stands twice in one object. Send it once.", field=name)
        seen.add(name)


def typed(value: Mapping[str, Any], kind: type[T], *, strict: bool = True) -> T:
    """``value`` as a ``kind``. Raises Invalid, naming the field (or all unknown ones). ``strict`` is false for
    query parameters, where everything comes as text."""
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    if unknown := [name for name in value if name not in known]:
        told = ", ".join(f"`{name}`" for name in unknown)
        there_are = ", ".join(sorted(known)) or "none"
        raise Invalid(
            f"Unknown field{'s' if len(unknown) > 1 else ''} {told}. There are: {there_are}.", fields=unknown
        )
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        field, why = misfit(error, kind)
        raise Invalid(f"{why}.", field=field) from None


def _too_large(limit: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {limit} bytes. Send less at once.", limit=limit)


def _too_deep() -> str:
    return f"The body is nested deeper than {_DEEPEST} levels."


def _malformed(raw: bytes, reason: str) -> BadJson:
    if not raw.strip():
        return BadJson("The body is empty. Send a JSON object.", position=0)
    found, half = _BYTE.search(reason), _half(raw)
    if half is not None and (found is None or half <= int(found[1])):
        position, reason = half, "half a surrogate pair"
    elif found:
        position = int(found[1]) - ("trailing characters" in reason)
    elif "UTF-8" in reason:
        position = _undecodable(raw)
    else:
        position = len(raw)
    before = raw[:position]
    line, column = before.count(b"\n") + 1, position - (before.rfind(b"\n") + 1) + 1
    told = _BYTE.sub("", reason.removeprefix("JSON is malformed: ")).strip().lower()
    return BadJson(
        f"The body is no JSON: {told} at line {line}, column {column} (byte {position}).", position=position
    )


def _half(raw: bytes) -> int | None:
    """Where the first escaped surrogate without its other half stands."""
    return next((found.start() for found in _PAIR_OR_HALF.finditer(raw) if found[1]), None)


def _undecodable(raw: bytes) -> int:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(raw)


def _check(value: Any, where: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise BadJson(_too_deep())
    match value:
        case str() if "\0" in value:
            raise Invalid(f"`{where}` holds a NUL character; leave it out.", field=where)
        case bool():
            pass
        case int() if not -_LARGEST <= value < _LARGEST:
            raise Invalid(f"`{where}` is a number beyond 64 bits.", field=where)
        case dict():
            for name, item in value.items():
                _check(name, where or "a field's name", depth)
                _check(item, f"{where}.{name}" if where else name, depth + 1)
        case list():
            for place, item in enumerate(value):
                _check(item, f"{where}[{place}]", depth + 1)
        case _:
            pass


def _name_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case _:
            return "an array"
