"""The client itself: one method for each thing that a hub can be asked."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import quote

import httpx
import msgspec

from hub.client.copies import Copies
from hub.client.discover import Address
from hub.client.errors import ClientError, HubNotReachable
from hub.client.stream import Patience, Received, checked, reason_of, received
from hub.client.streams import HintStream, LiveStream, SessionStream, TurnStream
from hub.client.tls import verification
from hub.ids import request_id

OnBusy = Literal["reject", "attach", "queue", "steer", "interrupt"]
Json = dict[str, Any]
_EVENT_STREAM = {"Accept": "text/event-stream"}


class _Page(msgspec.Struct):
    events: list[msgspec.Raw]
    next: int | None = None


class Client(Copies):
    """A connection to the hub at ``address``; use it as a context manager.

    Every method raises ProblemError where the hub refuses and HubNotReachable where none answers. ``timeout_s``
    bounds a request; a stream is given up as lost after ``quiet_s`` without a byte (the hub sends one every 15 s)
    and resumed within ``patience``.
    """

    def __init__(
        self,
        address: Address,
        *,
        timeout_s: float = 10.0,
        quiet_s: float = 45.0,
        patience: Patience | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {address.token}"} if address.token else {}
        self.address = address
        self._patience = patience or Patience()
        self._timeout = httpx.Timeout(timeout_s)
        self._stream_timeout = httpx.Timeout(timeout_s, read=quiet_s)
        # Neither proxies nor .netrc of the environment: the token goes to the hub and to nobody else.
        self._http = httpx.AsyncClient(
            base_url=address.url, headers=headers, trust_env=False, verify=verification(address)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def health(self) -> Json:
        """Whether the hub lives, and its version."""
        return await self._json("GET", "/healthz")

    async def agents(self) -> list[Json]:
        """The agents of the hub: name, transport, policy, available, reason, capabilities."""
        return await self._list("/v1/agents")

    async def readiness(self) -> Json:
        """The store and the runners that were heard of lately."""
        return await self._json("GET", "/readyz")

    async def sessions(self, limit: int = 50, before: str | None = None) -> list[Json]:
        """Sessions, newest change first, each with its running turn and how many asks wait in it. ``before``: a
        page's cursor."""
        return await self._list("/v1/sessions", {"limit": limit, "before": before})

    async def new_session(
        self,
        agent: str,
        *,
        title: str | None = None,
        cwd: str | None = None,
        policy: str | None = None,
        sensitive: bool = False,
    ) -> Json:
        """A new session with ``agent``. ``sensitive``: its turns go to no model elsewhere for distillation."""
        given = {"agent": agent, "title": title, "cwd": cwd, "policy": policy, "sensitive": sensitive or None}
        body = {key: value for key, value in given.items() if value is not None}
        return await self._json("POST", "/v1/sessions", body, {"Idempotency-Key": request_id()})

    async def session(self, session_id: str) -> Json:
        """One instant of a session: session, items, turn, asks, queue, cursor."""
        return await self._json("GET", _session(session_id))

    async def delete_session(self, session_id: str, *, force: bool = False) -> None:
        """Delete a session; with ``force`` although a turn runs in it."""
        await self._request("DELETE", _session(session_id), params={"force": "true" if force else None})

    def send(
        self,
        session_id: str,
        text: str,
        *,
        on_busy: OnBusy = "reject",
        literal: bool = True,
        key: str | None = None,
    ) -> TurnStream:
        """Send a message and follow its turn. ``key`` makes it the same message when it is sent again."""
        body = {"text": text, "on_busy": on_busy, "literal": literal}
        headers = {**_EVENT_STREAM, "Idempotency-Key": key or request_id()}

        async def first() -> httpx.Response:
            return await self._open("POST", f"{_session(session_id)}/messages", body, headers)

        return TurnStream(self, session_id, first, self._patience)

    async def post(
        self, session_id: str, text: str, *, on_busy: OnBusy = "reject", literal: bool = True, key: str
    ) -> Json:
        """Send a message and go on: ``turn`` (null where the message waits) and ``message_id``. The same ``key``
        is the same message, however often it is sent."""
        body = {"text": text, "on_busy": on_busy, "literal": literal}
        return await self._json("POST", f"{_session(session_id)}/messages", body, {"Idempotency-Key": key})

    def attach(self, session_id: str, after: int = 0, turn_id: str | None = None) -> TurnStream:
        """Follow the running turn after the cursor ``after``; ``accepted`` is ``{}`` when none runs.

        With ``turn_id`` it is that turn which is followed to its end, even if it has ended by now.
        """

        async def first() -> httpx.Response:
            return await self.open_live(session_id, after)

        stream = TurnStream(self, session_id, first, self._patience, after)
        stream.turn_id = turn_id
        return stream

    def events(self, session_id: str, after: int = 0) -> SessionStream:
        """All durable events after the cursor ``after``, then those to come, without end."""

        async def first() -> httpx.Response:
            return await self.open_events(session_id, after)

        return SessionStream(self, session_id, first, self._patience, after)

    def follow(self, session_id: str, after: int, patience: Patience | None = None) -> LiveStream:
        """Every event after the cursor ``after``, transient ones of a running turn included, over all turns,
        without end. ``patience``: another than the client's own."""

        async def first() -> httpx.Response:
            return await self.open_hub(session_id, after)

        return LiveStream(self, session_id, first, patience or self._patience, after)

    def hints(self, patience: Patience | None = None) -> HintStream:
        """What changes anywhere in the hub, as hints to look again, without end: each is an Unknown event whose
        name is ``session``, ``turn``, ``ask`` or ``hub``. ``patience``: another than the client's own; its
        ``back`` says when something may have been missed."""

        async def first() -> httpx.Response:
            return await self.open_hub(None, 0)

        return HintStream(self, "", first, patience or self._patience)

    async def asks(self, state: str = "open") -> list[Json]:
        """Asks over all sessions, oldest first."""
        return await self._list("/v1/asks", {"state": state})

    async def ask(self, ask_id: str) -> Json:
        """One ask."""
        return await self._json("GET", f"/v1/asks/{quote(ask_id, safe='')}")

    async def answer(self, ask_id: str, reply: Mapping[str, Any]) -> Json:
        """Answer an ask; the ask as it stands then. That the hub recorded it is not yet that the agent took it."""
        return await self._json("POST", f"/v1/asks/{quote(ask_id, safe='')}/answer", dict(reply))

    async def edit_queued(
        self, session_id: str, message_id: str, text: str, *, literal: bool | None = None
    ) -> Json:
        """Change the words of a waiting message; the message as it waits then. ``literal`` None: as it is."""
        path = f"{_session(session_id)}/queue/{quote(message_id, safe='')}"
        return await self._json("PATCH", path, {"text": text, **({} if literal is None else {"literal": literal})})

    async def resume_queue(self, session_id: str) -> Json:
        """Begin what waits first; the turn and its message."""
        return await self._json("POST", f"{_session(session_id)}/queue/resume", {})

    async def grants(self, session_id: str) -> list[Json]:
        """What the session may without asking, oldest first."""
        return await self._list(f"{_session(session_id)}/grants")

    async def revoke_grant(self, session_id: str, grant_id: str) -> None:
        """Take a grant back."""
        await self._request("DELETE", f"{_session(session_id)}/grants/{quote(grant_id, safe='')}")

    async def memory(self, session_id: str) -> Json:
        """What is kept of the session's turns, newest last, and the turns that wait for their distillation."""
        return await self._json("GET", f"{_session(session_id)}/memory")

    async def interrupt(self, session_id: str) -> Json:
        """Ask for the end of the running turn."""
        return await self._json("POST", f"{_session(session_id)}/interrupt", {})

    def retry(
        self, session_id: str, mode: Literal["rerun", "resume"] = "rerun", *, key: str | None = None
    ) -> TurnStream:
        """Try the last user message again and follow the new turn. ``key`` as in :meth:`send`."""
        headers = {**_EVENT_STREAM, "Idempotency-Key": key or request_id()}

        async def first() -> httpx.Response:
            return await self._open("POST", f"{_session(session_id)}/retry", {"mode": mode}, headers)

        return TurnStream(self, session_id, first, self._patience)

    async def try_again(self, session_id: str, mode: Literal["rerun", "resume"], *, key: str) -> Json:
        """Try the last user message again and go on: ``turn`` and ``message_id``. ``key`` as in :meth:`post`."""
        body, headers = {"mode": mode}, {"Idempotency-Key": key}
        return await self._json("POST", f"{_session(session_id)}/retry", body, headers)

    async def unqueue(self, session_id: str, message_id: str) -> None:
        """Take back a queued message."""
        await self._request("DELETE", f"{_session(session_id)}/queue/{quote(message_id, safe='')}")

    async def page(self, session_id: str, after: int) -> tuple[list[Received], int | None]:
        """Durable events after ``after``, and the cursor of the next page, None when this is all there is."""
        params = {"after": after}
        response = await self._request("GET", f"{_session(session_id)}/events", None, None, params)
        page = _decoded(response, _Page)
        found = [received(bytes(raw).decode()) for raw in page.events]
        more = found and page.next is not None and page.next > after
        return found, page.next if more else None

    async def open_live(self, session_id: str, after: int) -> httpx.Response:
        """The live stream of the running turn, opened."""
        params = {"last_event_id": after} if after else {}
        return await self._open("GET", f"{_session(session_id)}/live", None, _EVENT_STREAM, params)

    async def open_events(self, session_id: str, after: int) -> httpx.Response:
        """The stream of the log, opened."""
        return await self._open("GET", f"{_session(session_id)}/events", None, _EVENT_STREAM, {"after": after})

    async def open_hub(self, session_id: str | None, after: int) -> httpx.Response:
        """The stream of the whole hub, with every event of one session after the cursor, opened."""
        params: dict[str, str | int] = {} if session_id is None else {"session": session_id, "after": after}
        return await self._open("GET", "/v1/events", None, _EVENT_STREAM, params)

    async def _open(
        self,
        method: str,
        path: str,
        body: Json | None,
        headers: Mapping[str, str],
        params: Mapping[str, str | int] | None = None,
    ) -> httpx.Response:
        request = self._http.build_request(
            method, path, json=body, headers=headers, params=params, timeout=self._stream_timeout
        )
        return await self._http.send(request, stream=True)

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
    ) -> httpx.Response:
        headers = {"Accept": "application/json", **(headers or {})}
        given = {key: value for key, value in (params or {}).items() if value is not None}
        try:
            response = await self._http.request(
                method,
                path,
                json=body,
                content=content,
                headers=headers,
                params=given,
                timeout=self._timeout if timeout_s is None else httpx.Timeout(timeout_s),
            )
        except httpx.TransportError as error:
            raise HubNotReachable(reason_of(error)) from None
        return await checked(response)

    async def _json(
        self, method: str, path: str, body: Json | None = None, headers: Mapping[str, str] | None = None
    ) -> Json:
        found: Json = _decoded(await self._request(method, path, body, headers), Json)
        return found

    async def _list(self, path: str, params: Mapping[str, Any] | None = None) -> list[Json]:
        found: list[Json] = _decoded(await self._request("GET", path, None, None, params), list[Json])
        return found


def _session(session_id: str) -> str:
    return f"/v1/sessions/{quote(session_id, safe='')}"


def _decoded(response: httpx.Response, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(response.content, type=kind)
    except msgspec.DecodeError as error:
        raise ClientError(f"What answers at {response.url} is no hub ({error}).") from None
