"""An httpx transport into an ASGI application that can stream: responses come as they are sent, for ever if
need be, and closing one is a disconnect. (httpx's own collects the whole body first.)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx
from starlette.types import ASGIApp, Message

_END_S: Final = 5.0


class AsgiTransport(httpx.AsyncBaseTransport):
    """Sends requests into ``app``. ``client``: the address that it sees. A response's first part is waited for
    without bound; at its end, or when it is closed, the application has 5 s to return.

    What the application raises comes out of the request, or of reading the response.
    """

    def __init__(self, app: ASGIApp, client: tuple[str, int] = ("127.0.0.1", 50_000)) -> None:
        self._app = app
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Run the application until its response begins."""
        exchange = _Exchange(self._app, _scope(request, self._client), request)
        try:
            start = await exchange.begin()
        except BaseException:
            await exchange.aclose()
            raise
        return httpx.Response(start["status"], headers=start["headers"], stream=exchange, request=request)


def asgi_client(app: ASGIApp, token: str = "", base_url: str = "http://127.0.0.1:8420") -> httpx.AsyncClient:
    """An httpx client whose requests go into ``app``, with ``token`` where there is one. It follows no
    redirects and waits without bound."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(transport=AsgiTransport(app), base_url=base_url, headers=headers, timeout=None)  # noqa: S113


def _scope(request: httpx.Request, client: tuple[str, int]) -> dict[str, Any]:
    raw_path, _, query = request.url.raw_path.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "server": (request.url.host, request.url.port),
        "client": client,
        "extensions": {},
    }


class _Exchange(httpx.AsyncByteStream):
    """One request, and the application's task that answers it."""

    def __init__(self, app: ASGIApp, scope: dict[str, Any], request: httpx.Request) -> None:
        self._app = app
        self._scope = scope
        self._request = request
        self._sent: asyncio.Queue[Message | None] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._body = self._parts()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> Message:
        """Start the application; its first message."""
        self._task = asyncio.create_task(self._run())
        start = await self._sent.get()
        if start is None:
            await self._task
            raise AssertionError("The application returned without a response.")
        return start

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The parts of the body as they are sent."""
        while (message := await self._sent.get()) is not None:
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body", False):
                return
        if self._task is not None:
            await self._task
        raise httpx.RemoteProtocolError("The application returned in the middle of its response.")

    async def aclose(self) -> None:
        """Disconnect, and see that the application returns."""
        self._gone.set()
        if self._task is None:
            return
        done, _ = await asyncio.wait({self._task}, timeout=_END_S)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task})
            raise AssertionError(f"The application did not end within {_END_S:.0f} s of the disconnect.")
        self._task.result()

    async def _run(self) -> None:
        try:
            await self._app(self._scope, self._receive, self._send)
        finally:
            await self._sent.put(None)

    async def _receive(self) -> Message:
        part = await anext(self._body, None)
        if part is not None:
            return part
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        await self._sent.put(message)

    async def _parts(self) -> AsyncIterator[Message]:
        stream = self._request.stream
        if isinstance(stream, httpx.AsyncByteStream):
            async for part in stream:
                yield {"type": "http.request", "body": part, "more_body": True}
        yield {"type": "http.request", "body": b"", "more_body": False}


__all__ = ["AsgiTransport", "asgi_client"]
