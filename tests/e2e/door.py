"""A client as a stranger would write it: httpx and nothing of the hub's own client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import httpx

from hub.testing.process import HubProcess

Json = dict[str, Any]
_SSE = {"Accept": "text/event-stream"}


class Door:
    """One HTTP client of one hub."""

    def __init__(self, hub: HubProcess) -> None:
        self._hub = hub
        self.http = httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=500))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.http.aclose()

    def _headers(self, more: dict[str, str] | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._hub.token}", **(more or {})}

    async def get(self, path: str, **headers: str) -> httpx.Response:
        """GET."""
        return await self.http.get(self._hub.url + path, headers=self._headers(headers))

    async def post(self, path: str, body: Json | None = None, **headers: str) -> httpx.Response:
        """POST JSON."""
        return await self.http.post(self._hub.url + path, json=body, headers=self._headers(headers))

    async def new(self, agent: str = "echo") -> str:
        """A new session's id."""
        answer = await self.post("/v1/sessions", {"agent": agent})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def session(self, session_id: str) -> Json:
        """A session at one instant."""
        answer = await self.get(f"/v1/sessions/{session_id}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def send(self, session_id: str, text: str, **headers: str) -> httpx.Response:
        """Send a message; 202 or a problem."""
        return await self.post(f"/v1/sessions/{session_id}/messages", {"text": text}, **headers)

    async def play(self, session_id: str, *steps: Json) -> httpx.Response:
        """Send steps to a scripted agent."""
        return await self.send(session_id, json.dumps({"steps": steps}))

    async def talk(self, session_id: str, text: str) -> bytes:
        """Send a message and read its stream to the end."""
        async with self.stream("POST", f"/v1/sessions/{session_id}/messages", {"text": text}) as answer:
            assert answer.status_code == 200, await answer.aread()
            return await answer.aread()

    async def live(self, session_id: str, after: int | None = None) -> bytes:
        """The running turn's stream to its end; empty when no turn runs."""
        query = "" if after is None else f"?last_event_id={after}"
        async with self.stream("GET", f"/v1/sessions/{session_id}/live{query}") as answer:
            assert answer.status_code in (200, 204), await answer.aread()
            return await answer.aread()

    @asynccontextmanager
    async def stream(self, method: str, path: str, body: Json | None = None) -> AsyncIterator[httpx.Response]:
        """A response that streams."""
        async with self.http.stream(
            method, self._hub.url + path, json=body, headers=self._headers(_SSE)
        ) as answer:
            yield answer

    async def log(self, session_id: str) -> list[Json]:
        """All durable events, page by page."""
        found: list[Json] = []
        after = 0
        while True:
            answer = await self.get(f"/v1/sessions/{session_id}/events?after={after}", Accept="application/json")
            page = answer.json()
            found += page["events"]
            if not page["events"] or page["next"] is None:
                return found
            after = page["next"]


def events(stream: bytes) -> list[Json]:
    """The events in a stream's bytes."""
    return [
        json.loads(line[6:])
        for part in stream.split(b"\n\n")
        for line in part.split(b"\n")
        if line[:6] == b"data: "
    ]


def frames(stream: bytes) -> list[bytes]:
    """The frames in a stream's bytes: no comments, no ``retry:`` line."""
    bare = stream.replace(b"retry: 1000\n", b"")
    return [part + b"\n\n" for part in bare.split(b"\n\n") if part and not part.startswith(b":")]


def types(stream: bytes) -> list[str]:
    """The types of the events in a stream's bytes."""
    return [event["type"] for event in events(stream)]
