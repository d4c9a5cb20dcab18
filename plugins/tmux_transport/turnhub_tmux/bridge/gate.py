"""Who may post: the application in front of the bridge. Foreign requests are turned away before their body is
read, and nothing of them is kept or logged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeAlias

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from turnhub_tmux.bridge.access import PREFIX
from turnhub_tmux.bridge.state import Secrets

MOST_BODY: Final = 32 * 1024 * 1024
_BODY_S: Final = 20.0

Respond: TypeAlias = Callable[[int, bytes], Awaitable[None]]


class Posted(Struct, frozen=True, kw_only=True):
    """A post that carried the secret of session ``key``. ``gone`` returns when whoever posted it hangs up."""

    key: str
    body: bytes
    gone: Callable[[], Coroutine[Any, Any, None]]


class _TooLarge(Exception):
    """The body is longer than one reads."""


class Gate:
    """An ASGI application; ``port`` is the one it is served on, ``most_body`` bytes are read of a post."""

    def __init__(
        self, secrets: Secrets, posted: Callable[[Posted, Respond], Awaitable[None]], most_body: int = MOST_BODY
    ) -> None:
        self.port = 0
        self._secrets = secrets
        self._posted = posted
        self._most_body = most_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return

        async def reply(status: int, body: bytes) -> None:
            await _reply(send, status, body)

        request = Request(scope, receive)
        refusal = await self._refusal(request)
        if refusal:
            await reply(refusal, b"")
            return
        try:
            async with asyncio.timeout(_BODY_S):
                body = await self._body(request)
        except _TooLarge:
            await reply(413, b"")
        except TimeoutError:
            await reply(408, b"")
        except ClientDisconnect:
            return
        else:
            key = request.url.path.removeprefix(PREFIX)
            await self._posted(Posted(key=key, body=body, gone=_gone_of(receive)), reply)

    async def _refusal(self, request: Request) -> int:
        """The status that turns a request away; 0 where it is let in."""
        if not _is_ours(request.headers, self.port):
            return 403
        if request.method != "POST" or not request.scope["path"].startswith(PREFIX):
            return 404
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        key = request.scope["path"].removeprefix(PREFIX)
        return 0 if await self._secrets.good(key, token) and scheme.lower() == "bearer" else 401

    async def _body(self, request: Request) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > self._most_body:
                raise _TooLarge
            parts.append(part)
        return b"".join(parts)


def _is_ours(headers: Headers, port: int) -> bool:
    """Whether a request means this listener, and comes from no web page."""
    return headers.get("host") in (f"127.0.0.1:{port}", f"localhost:{port}") and "origin" not in headers


def _gone_of(receive: Receive) -> Callable[[], Coroutine[Any, Any, None]]:
    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    return gone


async def _reply(send: Send, status: int, body: bytes) -> None:
    # Each post has a connection of its own: one that is kept alive could be closed just when it is used again.
    headers = [(b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    if body:
        headers.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
