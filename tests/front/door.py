"""A front under test: a client at the door, and a desk that plays the runner behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from msgspec import Struct
from starlette.types import ASGIApp

from hub.events import Text, TextDelta, decode_frames, type_of
from hub.front.services import Services
from hub.store.records import Claim
from hub.testing.asgi import asgi_client
from hub.tokens import Tokens
from tests.store.desk import LEASE_MS, Desk, stamped

Json = dict[str, Any]
SSE = {"Accept": "text/event-stream"}


class Door(Struct, kw_only=True):
    """The front's application, its services, and a client with the primary token."""

    services: Services
    app: ASGIApp
    tokens: Tokens
    client: httpx.AsyncClient

    @property
    def desk(self) -> Desk:
        """The runner's part."""
        return Desk(self.services.store)

    def client_with(self, *scopes: str) -> httpx.AsyncClient:
        """A client whose token has these scopes only."""
        return asgi_client(self.app, self.tokens.new(scopes, "-".join(scopes)))

    async def session(self, **body: Any) -> str:
        """A new session's id, made over HTTP."""
        response = await self.client.post("/v1/sessions", json={"agent": "claude", **body})
        assert response.status_code == 201, response.text
        return str(response.json()["id"])

    async def send(self, session_id: str, text: str = "hello", **more: Any) -> httpx.Response:
        """POST a message, answered in JSON."""
        headers = more.pop("headers", {})
        path = f"/v1/sessions/{session_id}/messages"
        return await self.client.post(path, json={"text": text, **more}, headers=headers)

    async def running(self, session_id: str, text: str = "hello") -> Claim:
        """A turn that runs, begun over HTTP and taken by the desk."""
        response = await self.send(session_id, text)
        assert response.status_code == 202, response.text
        return (await self.desk.take_turn(session_id, response.json()["turn"]["id"])).claim

    async def rung(self) -> list[str]:
        """The turns that runners were called for since the last look."""
        await self.services.work.prepare("claude")
        return [one.turn_id for one in await self.services.work.wait("claude", most=100, block_ms=1)]

    async def say(self, claim: Claim, batch: int, *words: str) -> None:
        """Append deltas, and the durable text that they make."""
        deltas = [stamped(claim, TextDelta(block=batch, text=word)) for word in words]
        text = stamped(claim, Text(block=batch, text="".join(words)))
        await self.services.store.append(claim, batch, [*deltas, text], LEASE_MS)


class Watcher:
    """Reads a stream bit by bit."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.seen = b""
        self._parts = response.aiter_raw()

    async def until(self, mark: bytes) -> bytes:
        """Everything up to now, once ``mark`` is in it."""
        while mark not in self.seen:
            self.seen += await anext(self._parts)
        return self.seen

    async def rest(self) -> bytes:
        """Everything, once the stream has ended cleanly."""
        async for part in self._parts:
            self.seen += part
        return self.seen

    @property
    def kinds(self) -> list[str]:
        """The types of the events seen."""
        return kinds(self.seen)


def kinds(frames: bytes) -> list[str]:
    """The types of the events in these frames."""
    return [type_of(event) for event in decode_frames(frames)]


@asynccontextmanager
async def watching(
    client: httpx.AsyncClient, path: str, method: str = "GET", **details: Any
) -> AsyncIterator[Watcher]:
    """Open a stream, and leave it at the end of the block."""
    details["headers"] = {**SSE, **details.pop("headers", {})}
    async with client.stream(method, path, **details) as response:
        yield Watcher(response)


async def problem(response: httpx.Response, status: int, code: str) -> Json:
    """The problem document of a response, once it is checked that it is this one."""
    await response.aread()
    assert (response.status_code, response.json().get("code")) == (status, code), response.text
    assert response.headers["content-type"] == "application/problem+json"
    document: Json = response.json()
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    return document
