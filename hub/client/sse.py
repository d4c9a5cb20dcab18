"""Pure: a parser of server-sent events that does not care where the network cuts the bytes."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

MOST_BYTES: Final = 64 << 20


class SseMessage(Struct, frozen=True, kw_only=True):
    """One dispatched event: ``id`` is the last id seen so far ("" for none), ``data`` its lines joined."""

    event: str
    data: str
    id: str = ""


class SseParser:
    """Feed it bytes, get messages. Comments, ``retry:`` and frames without data give none, as the standard
    says. Line ends may be LF, CRLF or CR; bytes that are no UTF-8 become replacement characters."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._rest = bytearray()
        self._at_start = True
        self._after_cr = False
        self._id = ""
        self._event = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[SseMessage]:
        """The messages that ``chunk`` completes. Raises ValueError when a message outgrows the bound."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")  # the other half of a CRLF
            self._after_cr = False
        self._rest += chunk
        if self._size + len(self._rest) > self._most:
            raise ValueError(f"a server-sent event is larger than {self._most} bytes")
        if b"\n" not in chunk and b"\r" not in chunk:
            return []
        lines = bytes(self._rest).splitlines(keepends=True)
        self._rest.clear()
        if not lines[-1].endswith((b"\n", b"\r")):
            self._rest += lines.pop()
        self._after_cr = not self._rest and lines[-1].endswith(b"\r")
        return [message for line in lines if (message := self._line(line.rstrip(b"\r\n"))) is not None]

    def _line(self, raw: bytes) -> SseMessage | None:
        line = raw.decode("utf-8", "replace")
        if self._at_start:
            line = line.removeprefix("\ufeff")
            self._at_start = False
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._size += len(raw)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _dispatch(self) -> SseMessage | None:
        data, event = self._data, self._event
        self._data, self._event, self._size = [], "", 0
        if not data:
            return None
        return SseMessage(event=event or "message", data="\n".join(data), id=self._id)
