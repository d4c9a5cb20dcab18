"""A scripted model that speaks the OpenAI chat completions interface on loopback, as most local servers do::

async with ScriptedOpenAI([Completion(text="{}")]).running() as server:
    ...  # server.url is what a `base_url` takes; server.requests are the bodies that came
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route


class Completion(Struct, frozen=True, kw_only=True):
    """One answer; ``tokens``: what it reports to have used. ``stall``: none at all; ``status``: an error instead;
    ``location``: a redirection; ``body``: these bytes, whatever they are."""

    text: str = ""
    reasoning: str = ""
    finish: str = "stop"
    tokens: int = 42
    refusal: str | None = None
    status: int = 200
    stall: bool = False
    location: str | None = None
    body: bytes | None = None


class ScriptedOpenAI:
    """The server. ``answers`` are given in turn, the last one to all further requests."""

    def __init__(self, answers: Iterable[Completion]) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.answers = list(answers)
        self._closing = asyncio.Event()

    async def _complete(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append(body)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer.stall:
            await self._closing.wait()
        if answer.location:
            return RedirectResponse(answer.location, 307)
        if answer.body is not None:
            return Response(answer.body, media_type="application/json")
        if answer.status != 200:
            return JSONResponse({"error": {"message": "told to fail", "type": "x"}}, answer.status)
        message = {"role": "assistant", "content": answer.text or None, "refusal": answer.refusal}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        return JSONResponse(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": answer.finish}],
                "usage": {
                    "prompt_tokens": 9,
                    "completion_tokens": answer.tokens,
                    "total_tokens": 9 + answer.tokens,
                },
            }
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ScriptedOpenAI]:
        """Serve until the block ends."""
        app = Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
            server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            try:
                yield self
            finally:
                self._closing.set()
                server.should_exit = True
                await serving
