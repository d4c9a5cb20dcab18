"""A scripted model: a real HTTP endpoint on loopback that speaks the Anthropic Messages API.

It stands in for the model behind Claude Code, so that a test (or a person who only wants to look) can run the
real agent without an account, without a network, and with every fault that a model can have::

    async with ScriptedModel({"hello": reply("Hi there!")}) as model:
        env = claude_environment(model.url, tmp_path)
        ...
        assert model.turns[0].prompts == ("hello",)

By itself: ``python -m hub.testing.model --script FILE.json --port 8000`` (see
:func:`~hub.testing.model_script.load_rules`).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from hub.ids import ulid
from hub.testing.model_script import (
    SPENT,
    Answer,
    Cut,
    Drop,
    Fail,
    Hold,
    Pause,
    Reply,
    Script,
    ScriptLike,
    Silence,
    Stall,
    as_script,
    load_rules,
    reply,
)
from hub.testing.model_server import LoopbackServer, break_connection, gone, respond
from hub.testing.model_wire import (
    SECRETS,
    ModelRequest,
    error_body,
    exchange_of,
    frames,
    is_side,
    message_of,
)

HOUSEKEEPING: Final = reply('{"title": "Scripted session"}')
_PROMPTS_KEPT: Final = 10_000


class ScriptedModel:
    """The endpoint. An asynchronous context manager; ``url`` is what ``ANTHROPIC_BASE_URL`` takes.

    ``requests`` are the last ``keep`` requests of any kind, ``turns`` those of them that ask for a turn of a
    conversation: housekeeping of the command line gets a plain answer and takes no step of the script.
    ``key``: the only API key that is taken; None takes any.
    """

    def __init__(
        self, script: ScriptLike = SPENT, *, port: int = 0, keep: int = 1000, key: str | None = None
    ) -> None:
        self.script: Script = as_script(script)
        self.requests: deque[ModelRequest] = deque(maxlen=keep)
        self._key = key
        self._server = LoopbackServer(self._serve, port)
        self._given: OrderedDict[tuple[str, tuple[str, ...]], int] = OrderedDict()
        self._arrived = asyncio.Condition()
        self._closing = asyncio.Event()
        self._held: set[asyncio.Event] = set()

    @property
    def url(self) -> str:
        """Where the model is, without a slash at the end."""
        return self._server.url

    @property
    def turns(self) -> tuple[ModelRequest, ...]:
        """The requests that asked for a turn, oldest first."""
        return tuple(r for r in self.requests if r.path == "/v1/messages" and r.method == "POST" and not r.side)

    async def received(self, wanted: Callable[[ModelRequest], bool] = lambda _: True) -> ModelRequest:
        """The first request for a turn that is ``wanted``, as soon as there is one."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: any(map(wanted, self.turns)))
        return next(filter(wanted, self.turns))

    async def start(self) -> Self:
        """Listen. Raises OSError where the port is taken."""
        await self._server.start()
        return self

    async def close(self) -> None:
        """Stop, and break what is still open."""
        self._closing.set()
        await self._server.close()

    def release(self) -> None:
        """Let all answers go on that stand at a :class:`Hold` now."""
        for held in self._held:
            held.set()

    async def wait(self) -> None:
        """Return when the endpoint has stopped."""
        await self._server.wait()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- serving -----------------------------------------------------------------------------------------

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = Request(scope, receive)
        request = await _read(http)
        await self._record(request)
        match (request.method, request.path):
            case ("POST", "/v1/messages"):
                await self._message(http, request, send)
            case ("POST", "/v1/messages/count_tokens"):
                tokens = len(json.dumps(request.body)) // 4
                await respond(send, 200, msgspec.json.encode({"input_tokens": tokens}))
            case ("HEAD" | "GET", _):
                await respond(send, 200, b"" if request.method == "HEAD" else b"{}")
            case _:
                await respond(send, 404, error_body(Fail(status=404, message="No such route.")))

    async def _record(self, request: ModelRequest) -> None:
        async with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()

    async def _message(self, http: Request, request: ModelRequest, send: Send) -> None:
        if self._key is not None and not _carries(http, self._key):
            answer: Answer = Fail(status=401, message="invalid x-api-key")
        elif request.side:
            answer = HOUSEKEEPING
        else:
            answer = self._next(request)
        await self._give(answer, http, request, send)

    def _next(self, request: ModelRequest) -> Answer:
        exchange = exchange_of(request)
        prompt = (exchange.session, exchange.prompts)
        number = self._given.pop(prompt, 0)
        self._given[prompt] = number + 1
        if len(self._given) > _PROMPTS_KEPT:
            self._given.popitem(last=False)
        return self.script(msgspec.structs.replace(exchange, number=number))

    async def _give(self, answer: Answer, http: Request, request: ModelRequest, send: Send) -> None:
        match answer:
            case Fail():
                await respond(send, answer.status, error_body(answer), request_id="req_scripted")
            case Drop():
                await break_connection(http)
            case Silence():
                await self._until_gone(http)
            case Reply():
                model = str(request.body.get("model", "scripted"))
                message_id = f"msg_{ulid()}"
                if request.body.get("stream"):
                    await self._stream(answer, model, message_id, http, send)
                elif await self._gets_through(answer, http):
                    await respond(send, 200, msgspec.json.encode(message_of(answer, model, message_id)))

    async def _stream(self, answer: Reply, model: str, message_id: str, http: Request, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for frame in frames(answer, model, message_id):
            match frame:
                case bytes():
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
                case Pause():
                    if await self._over_within(frame.s, http):
                        return
                case Hold():
                    if await self._held_back(http):
                        return
                case Cut():
                    if not await self._over_within(frame.after_s, http):
                        await break_connection(http)
                    return
                case Stall():
                    await self._until_gone(http)
                    return
        await send({"type": "http.response.body", "body": b""})

    async def _gets_through(self, answer: Reply, http: Request) -> bool:
        """Live through what befalls an answer on its way; False when it never arrives."""
        for part in answer.parts:
            match part:
                case Pause():
                    if await self._over_within(part.s, http):
                        return False
                case Hold():
                    if await self._held_back(http):
                        return False
                case Cut():
                    await break_connection(http)
                    return False
                case Stall():
                    await self._until_gone(http)
                    return False
        return True

    async def _over_within(self, seconds: float, http: Request) -> bool:
        """Wait; True when the client went away, or the model was closed, before the time was over."""
        try:
            async with asyncio.timeout(seconds):
                await self._until_gone(http)
        except TimeoutError:
            return False
        return True

    async def _held_back(self, http: Request) -> bool:
        """Wait for :meth:`release`; True when the client went away, or the model was closed, before."""
        held = asyncio.Event()
        self._held.add(held)
        try:
            await self._until_gone(http, held)
        finally:
            self._held.discard(held)
        return not held.is_set()

    async def _until_gone(self, http: Request, *others: asyncio.Event) -> None:
        """Wait for the client to go away, or for one of ``others``; when the model is closed before, break the
        connection."""
        waits = [asyncio.ensure_future(gone(http.receive)), asyncio.ensure_future(self._closing.wait())]
        waits += [asyncio.ensure_future(other.wait()) for other in others]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self._closing.is_set():
            await break_connection(http)


async def _read(http: Request) -> ModelRequest:
    raw = await http.body()
    try:
        body = json.loads(raw) if raw else {}
    except ValueError:
        body = {}
    headers = {name: value for name, value in http.headers.items() if name not in SECRETS}
    request = ModelRequest(
        method=http.method,
        path=http.url.path,
        headers=headers,
        body=body if isinstance(body, dict) else {},
    )
    return msgspec.structs.replace(request, side=is_side(request))


def _carries(http: Request, key: str) -> bool:
    return key in (http.headers.get("x-api-key"), http.headers.get("authorization", "").removeprefix("Bearer "))


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve a script from a file until the process is told to stop; the address goes to stdout."""
    parser = argparse.ArgumentParser(prog="python -m hub.testing.model", description="A scripted model.")
    parser.add_argument("--script", type=Path, required=True, help="a JSON file with rules")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    given = parser.parse_args(arguments)
    try:
        rules = load_rules(given.script.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        parser.error(f"{given.script} is no script: {error}")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_until_stopped(rules, given.port))


async def _serve_until_stopped(script: Script, port: int) -> None:
    async with ScriptedModel(script, port=port) as model:
        sys.stdout.write(f"{model.url}\n")
        sys.stdout.flush()
        await model.wait()


if __name__ == "__main__":
    main()
