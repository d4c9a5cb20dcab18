"""A small hub on loopback that keeps the HTTP contract, in memory, for tests of the client and the command line.

It plays a part of what the scripted transport plays, so that the same tests can be run against a real hub with
such an agent: a plain message is echoed, ``{"steps": [...]}`` is played.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from hub import __version__, ids
from hub.asks import settle
from hub.errors import Invalid
from hub.events import TERMINAL as ENDS
from hub.events import Ask, By, Question, QuestionOption, is_durable, now

Json = dict[str, Any]
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def problem(status: int, code: str, detail: str, **facts: Any) -> Response:
    body = {"title": code, "status": status, "detail": detail, "code": code, **facts}
    return JSONResponse(body, status, media_type="application/problem+json")


@dataclass
class Turn:
    id: str
    message: str
    attempt: int
    started_at: str = field(default_factory=now)
    interrupted: asyncio.Event = field(default_factory=asyncio.Event)
    number: int = 0


@dataclass
class Session:
    record: Json
    events: list[Json] = field(default_factory=list)
    asks: dict[str, Json] = field(default_factory=dict)
    queue: list[Json] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    turn: Turn | None = None
    last: str | None = None
    failed: bool = False

    async def emit(self, kind: str, turn: Turn | None = None, **fields: Any) -> None:
        head: Json = {"type": kind, "seq": len(self.events) + 1, "session_id": self.record["id"], "at": now()}
        async with self.changed:
            self.events.append({**head, **({"turn_id": turn.id} if turn else {}), **fields})
            self.changed.notify_all()

    async def after(self, at: int) -> AsyncIterator[Json]:
        while True:
            async with self.changed:
                while len(self.events) <= at:
                    await self.changed.wait()
            for event in self.events[at:]:
                at = event["seq"]
                yield event


@dataclass
class FakeHub:
    """``cuts``: after how many events the next streams are cut; ``heard``: what was requested."""

    token: str = "th_test"
    url: str = ""
    cuts: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    sessions: dict[str, Session] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def app(self) -> Starlette:
        one = "/v1/sessions/{id}"
        return Starlette(
            routes=[
                Route("/healthz", self._guarded(self.health)),
                Route("/readyz", self._guarded(self.readiness)),
                Route("/v1/agents", self._guarded(self.agents)),
                Route("/v1/sessions", self._guarded(self.list_sessions)),
                Route("/v1/sessions", self._guarded(self.new_session), methods=["POST"]),
                Route(one, self._guarded(self.snapshot)),
                Route(f"{one}/messages", self._guarded(self.message), methods=["POST"]),
                Route(f"{one}/retry", self._guarded(self.retry), methods=["POST"]),
                Route(f"{one}/interrupt", self._guarded(self.interrupt), methods=["POST"]),
                Route(f"{one}/live", self._guarded(self.live)),
                Route(f"{one}/events", self._guarded(self.log)),
                Route(f"{one}/queue/{{message}}", self._guarded(self.unqueue), methods=["DELETE"]),
                Route("/v1/events", self._guarded(self.everything)),
                Route("/v1/asks", self._guarded(self.list_asks)),
                Route("/v1/asks/{ask}", self._guarded(self.one_ask)),
                Route("/v1/asks/{ask}/answer", self._guarded(self.answer), methods=["POST"]),
            ]
        )

    def _guarded(self, handler: Any) -> Any:
        async def guarded(request: Request) -> Response:
            self.heard.append(f"{request.method} {request.url.path}")
            if self.broken and self.broken.pop(0):
                return problem(503, "store_unavailable", "The store does not answer.")
            if request.url.path != "/healthz" and request.headers.get("authorization") != f"Bearer {self.token}":
                return problem(401, "unauthorized", "This wants a token: see `turnhub token`.")
            if (sid := request.path_params.get("id")) and sid not in self.sessions:
                return problem(404, "not_found", f"There is no session {sid!r}.")
            response: Response = await handler(request)
            return response

        return guarded

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    async def readiness(self, _: Request) -> Response:
        return JSONResponse({"store": {}, "runners": []})

    async def agents(self, request: Request) -> Response:
        def agent(name: str, reason: str | None) -> Json:
            has = ["interrupt", "questions"]
            one = {"name": name, "transport": "scripted", "policy": None, "capabilities": has}
            return {**one, "available": reason is None, "reason": reason}

        return JSONResponse([agent("echo", None), agent("gone", "Not logged in: run `claude`, then /login.")])

    async def list_sessions(self, request: Request) -> Response:
        def listed(one: Session) -> Json:
            waiting = sum(ask["state"] == "open" for ask in one.asks.values())
            ends = [event["type"].removeprefix("turn_") for event in one.events if event["type"] in ENDS]
            turn = one.turn and self._turn(one.turn)
            return {**one.record, "turn": turn, "open_asks": waiting, "ended": ends[-1] if ends else None}

        return JSONResponse([listed(one) for one in reversed(self.sessions.values())])

    async def new_session(self, request: Request) -> Response:
        body = await request.json()
        if body["agent"] != "echo":
            return problem(404, "not_found", f"There is no agent {body['agent']!r}; there are echo, gone.")
        sid = ids.session_id()
        record: Json = {"id": sid, "agent": "echo", "transport": "scripted", "policy": body.get("policy")}
        record |= {"title": body.get("title"), "cwd": body.get("cwd", "/"), "created_at": now()}
        record |= {"updated_at": now(), "archived": False}
        session = self.sessions[sid] = Session(record)
        await session.emit("session_created", agent="echo", transport="scripted", policy=None)
        return JSONResponse(record, 201)

    async def snapshot(self, request: Request) -> Response:
        session = self._session(request)
        turn = session.turn
        return JSONResponse(
            {
                "session": session.record,
                "items": items(session),
                "turn": turn and self._turn(turn),
                "asks": list(session.asks.values()),
                "queue": session.queue,
                "cursor": len(session.events),
            }
        )

    @staticmethod
    def _turn(turn: Turn) -> Json:
        return {"id": turn.id, "state": "running", "started_at": turn.started_at, "attempt": turn.attempt}

    async def message(self, request: Request) -> Response:
        session, body = self._session(request), await request.json()
        key = request.headers.get("idempotency-key") or ids.request_id()
        busy = body.get("on_busy", "reject")
        if key not in self.keys and session.turn is not None:
            turn = session.turn
            if busy == "queue":
                queued: Json = {"message_id": ids.message_id(), "text": body["text"]}
                session.queue.append(queued)
                await session.emit("message_queued", **queued)
                return JSONResponse({"message_id": queued["message_id"], "turn": None}, 202)
            if busy != "attach":
                facts: Json = {"turn_id": turn.id, "started_at": turn.started_at, "state": "running"}
                facts |= {"live": f"/v1/sessions/{request.path_params['id']}/live", "same_message": False}
                return problem(409, "turn_in_flight", f"Turn {turn.id} is running.", **facts)
            self.keys[key] = turn.id
        if key not in self.keys:
            turn = await self._begin(session, body["text"], 1)
            self.keys[key] = turn.id
            if "event-stream" not in request.headers["accept"]:
                return JSONResponse({"turn": self._turn(turn), "message_id": ids.message_id()}, 202)
        return self._stream(self._turn_events(session, self.keys[key], 0))

    async def retry(self, request: Request) -> Response:
        session, key = self._session(request), request.headers["idempotency-key"]
        if key not in self.keys:
            if session.last is None or not session.failed:
                return problem(409, "no_retryable_turn", "The last message has its answer.")
            self.keys[key] = (await self._begin(session, session.last, 2)).id
        return self._stream(self._turn_events(session, self.keys[key], 0))

    async def interrupt(self, request: Request) -> Response:
        turn = self._session(request).turn
        if turn is None:
            return problem(404, "no_active_turn", "No turn is running.")
        turn.interrupted.set()
        return JSONResponse({"turn_id": turn.id}, 202)

    async def live(self, request: Request) -> Response:
        session = self._session(request)
        after = int(request.query_params.get("last_event_id") or request.headers.get("last-event-id") or 0)
        if session.turn is None:
            return Response(status_code=204)
        return self._stream(self._turn_events(session, session.turn.id, after))

    async def log(self, request: Request) -> Response:
        session, after = self._session(request), int(request.query_params.get("after", 0))
        if "event-stream" in request.headers["accept"]:
            return self._stream(self._follow(session, after))
        rest = [one for one in session.events if one["seq"] > after and is_durable(one["type"])]
        following = rest[2]["seq"] if len(rest) > 3 else None
        return JSONResponse({"events": rest[:3], "next": following})

    async def everything(self, request: Request) -> Response:
        sid, after = request.query_params.get("session"), int(request.query_params.get("after", 0))
        return self._stream(self._everything(self.sessions[sid] if sid else None, after))

    async def _everything(self, session: Session | None, after: int) -> AsyncIterator[Json]:
        yield {"type": "hub", "state": "reconnected"}
        if session is not None:
            async for event in session.after(after):
                yield event
        await asyncio.Event().wait()

    async def unqueue(self, request: Request) -> Response:
        session, mid = self._session(request), request.path_params["message"]
        session.queue = [one for one in session.queue if one["message_id"] != mid]
        return Response(status_code=204)

    async def list_asks(self, request: Request) -> Response:
        state = request.query_params.get("state")
        asks = [ask for session in self.sessions.values() for ask in session.asks.values()]
        return JSONResponse([ask for ask in asks if state in {None, ask["state"]}])

    async def one_ask(self, request: Request) -> Response:
        for session in self.sessions.values():
            if found := session.asks.get(request.path_params["ask"]):
                return JSONResponse(found)
        return problem(404, "not_found", f"There is no ask {request.path_params['ask']!r}.")

    async def answer(self, request: Request) -> Response:
        for session in self.sessions.values():
            record = session.asks.get(request.path_params["ask"])
            if record is None:
                continue
            if record["state"] != "open":
                return problem(409, "already_settled", "Somebody was faster.", ask=record)
            body = await request.json()
            try:
                settle(ask_of(record["ask"]), body, By(kind="person", name="primary"))
            except Invalid as error:
                return problem(422, "invalid", error.detail)
            record |= {"state": "settled", "settlement": {**body, "by": {"kind": "person", "name": "primary"}}}
            fields = {"ask_id": record["id"], **record["settlement"]}
            await session.emit("ask_settled", session.turn, **fields)
            return JSONResponse(record)
        return problem(404, "not_found", f"There is no ask {request.path_params['ask']!r}.")

    def _session(self, request: Request) -> Session:
        return self.sessions[request.path_params["id"]]

    def _stream(self, events: AsyncIterator[Json]) -> Response:
        cut = self.cuts.pop(0) if self.cuts else -1
        return StreamingResponse(self._frames(events, cut), media_type="text/event-stream", headers=HEADERS)

    async def _frames(self, events: AsyncIterator[Json], cut: int) -> AsyncIterator[bytes]:
        yield b": hello\n\n"
        sent = 0
        if cut == 0:
            return  # a clean end that says nothing about the turn
        async for event in events:
            line = json.dumps(event, separators=(",", ":"))
            number = f"id: {event['seq']}\n" if "seq" in event else ""
            yield f"{number}event: {event['type']}\ndata: {line}\n\n".encode()
            sent += 1
            if sent == cut:
                return

    async def _follow(self, session: Session, after: int) -> AsyncIterator[Json]:
        async for event in session.after(after):
            if is_durable(event["type"]):
                yield event

    async def _turn_events(self, session: Session, turn_id: str, after: int) -> AsyncIterator[Json]:
        async for event in session.after(after):
            if event.get("turn_id") == turn_id:
                yield event
                if event["type"] in ENDS:
                    return

    async def _begin(self, session: Session, text: str, attempt: int) -> Turn:
        turn = session.turn = Turn(ids.turn_id(), text, attempt)
        session.last = text
        message = ids.message_id()
        if attempt == 1:
            await session.emit("user_message", turn, message_id=message, text=text, origin="api")
        await session.emit("turn_started", turn, attempt=attempt, message_id=message)
        task = asyncio.create_task(self._run(session, turn))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return turn

    async def _run(self, session: Session, turn: Turn) -> None:
        playing = asyncio.create_task(self._play(session, turn))
        stopped = asyncio.create_task(turn.interrupted.wait())
        await asyncio.wait({playing, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stats: Json = {"duration_ms": 1200, "usage": None, "cost_usd": 0.01, "tools": turn.number}
        ending: Json = {"type": "turn_interrupted", "by": "primary"}
        if playing.done():
            ending = playing.result()
        playing.cancel()
        stopped.cancel()
        session.turn, session.failed = None, ending["type"] != "turn_completed"
        await session.emit(ending.pop("type"), turn, **ending, **stats)
        if session.queue:
            await self._begin(session, session.queue.pop(0)["text"], 1)

    async def _play(self, session: Session, turn: Turn) -> Json:
        await session.emit("message_delivered", turn, verdict="submitted", proof="sdk", detail=None)
        await session.emit("status", turn, state="thinking", detail=None)
        steps: list[Json] = [{"text": f"Echo: {turn.message}"}]
        with suppress(ValueError, TypeError, KeyError):
            steps = json.loads(turn.message)["steps"]
        for step in steps:
            turn.number += 1
            if "text" in step:
                for start in range(0, len(step["text"]), 4):
                    delta = step["text"][start : start + 4]
                    await session.emit("text_delta", turn, block=turn.number, text=delta)
                await session.emit("text", turn, block=turn.number, text=step["text"], partial=False)
            elif "reasoning" in step:
                await session.emit("reasoning", turn, block=turn.number, text=step["reasoning"], partial=False)
            elif "tool" in step:
                await self._tool(session, turn, step)
            elif "question" in step:
                await self._question(session, turn, step["question"])
            elif "fail" in step:
                return {"type": "turn_failed", **step["fail"]}
            elif "hang" in step:
                await asyncio.Event().wait()
        return {"type": "turn_completed", "stop_reason": "end_turn"}

    async def _tool(self, session: Session, turn: Turn, step: Json) -> None:
        tool_id, given = f"t{turn.number}", step.get("input", {})
        await session.emit("tool_started", turn, tool_id=tool_id, name=step["tool"], input=given)
        status = "ok"
        if step.get("ask"):
            asked = {
                "kind": "permission",
                "tool": step["tool"],
                "subject": given.get("command", ""),
                "input": given,
            }
            if (await self._ask(session, turn, asked)).get("decision") == "deny":
                status = "denied"
        out = step.get("result", "")
        digest = {"text": out, "bytes": len(out), "sha256": "0" * 64}
        await session.emit("tool_finished", turn, tool_id=tool_id, status=status, digest=digest, duration_ms=20)

    async def _question(self, session: Session, turn: Turn, given: Json) -> None:
        asked = {"kind": "question", "tool": "AskUserQuestion", "questions": given["questions"]}
        reply = await self._ask(session, turn, asked)
        said = reply.get("response") or json.dumps(reply["answers"])
        await session.emit("text", turn, block=turn.number, text=f"You said: {said}", partial=False)

    async def _ask(self, session: Session, turn: Turn, asked: Json) -> Json:
        ask_id = ids.ask_id(session.record["id"])
        ask = {"id": ask_id, "subject": "", "input": {}, "questions": [], "source": "sdk", **asked}
        record: Json = {"id": ask_id, "session_id": session.record["id"], "turn_id": turn.id, "state": "open"}
        session.asks[ask_id] = record | {"ask": ask, "opened_at": now(), "settlement": None}
        await session.emit("ask_opened", turn, ask=ask)
        async with session.changed:
            await session.changed.wait_for(lambda: session.asks[ask_id]["state"] == "settled")
        await session.emit("ask_delivered", turn, ask_id=ask_id)
        session.asks[ask_id]["state"] = "delivered"
        settlement: Json = session.asks[ask_id]["settlement"]
        return settlement


def ask_of(record: Json) -> Ask:
    questions = tuple(
        Question(
            question=one["question"],
            options=tuple(QuestionOption(label=option["label"]) for option in one.get("options", [])),
            multi_select=one.get("multiSelect", False),
        )
        for one in record["questions"]
    )
    return Ask(id=record["id"], kind=record["kind"], tool=record["tool"], questions=questions)


def items(session: Session) -> list[Json]:
    """The conversation, folded as simply as the tests want it."""
    found: list[Json] = []
    for event in session.events:
        kind = event["type"]
        if kind == "user_message":
            item = {"kind": "user", "text": event["text"], "message_id": event["message_id"]}
            found.append({**item, "turn_id": event["turn_id"]})
        elif kind == "turn_started":
            head = {"kind": "assistant", "turn_id": event["turn_id"], "status": "running"}
            found.append({**head, "blocks": [], "asks": [], "ending": None})
        elif kind == "text":
            found[-1]["blocks"].append({"kind": "text", "block": event["block"], "text": event["text"]})
        elif kind in ENDS:
            found[-1] |= {"status": kind.removeprefix("turn_"), "ending": event}
    return found


@contextmanager
def running(hub: FakeHub) -> Iterator[FakeHub]:
    """Serve ``hub`` on a free port of loopback, in a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0))
    hub.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(
        hub.app(), log_level="critical", ws="none", lifespan="off", timeout_graceful_shutdown=0
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield hub
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()
        listener.close()
