"""What a hub can be asked about copies of sessions, what their tools gave back, and what their terminals show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol
from urllib.parse import quote

import httpx

from hub.ids import request_id

Json = dict[str, Any]
Format = Literal["jsonl", "markdown"]
_LONG_S = 300.0


class Requests(Protocol):
    """How the client makes requests."""

    async def _request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        content: bytes | None = None,
        timeout_s: float | None = None,
    ) -> httpx.Response: ...

    async def _json(
        self, method: str, path: str, body: Json | None = None, headers: Mapping[str, str] | None = None
    ) -> Json: ...


class Copies:
    """Forks, exports, imports, whole outputs. Raises what the client raises."""

    async def fork(
        self: Requests,
        session_id: str,
        *,
        after: int | str | None = None,
        title: str | None = None,
        agent: str | None = None,
    ) -> Json:
        """A new session that goes on from this one, from its end or ``after`` an event's number or a turn's id."""
        given = {"after": after, "title": title, "agent": agent}
        body = {key: value for key, value in given.items() if value is not None}
        return await self._json("POST", f"{_path(session_id)}/fork", body, {"Idempotency-Key": request_id()})

    async def export(self: Requests, session_id: str, form: Format = "jsonl", *, mask: bool = True) -> bytes:
        """The session as a file. ``mask`` False: with its secrets."""
        params = {"format": form, "mask": "true" if mask else "false"}
        found = await self._request(
            "GET", f"{_path(session_id)}/export", None, {"Accept": "*/*"}, params, timeout_s=_LONG_S
        )
        return found.content

    async def import_session(self: Requests, content: bytes) -> Json:
        """A new, archived session of an export."""
        headers = {"Content-Type": "application/x-ndjson"}
        found = await self._request(
            "POST", "/v1/sessions/import", None, headers, content=content, timeout_s=_LONG_S
        )
        made: Json = found.json()
        return made

    async def screen(self: Requests, session_id: str) -> Json:
        """What the agent's terminal shows now: rows, columns, seen, attach."""
        return await self._json("GET", f"{_path(session_id)}/screen")

    async def tool_output(self: Requests, session_id: str, tool_id: str, turn_id: str | None = None) -> Json:
        """What a tool gave back, in full while it is kept: text, bytes, sha256, truncated."""
        path = f"{_path(session_id)}/tools/{quote(tool_id, safe='')}/output"
        found: Json = (await self._request("GET", path, params={"turn": turn_id})).json()
        return found


def _path(session_id: str) -> str:
    return f"/v1/sessions/{quote(session_id, safe='')}"
