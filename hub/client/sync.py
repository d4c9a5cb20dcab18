"""The client for programs without an event loop of their own: the same requests and streams, one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from hub.client.discover import Address
from hub.client.http import Client, Json, OnBusy
from hub.client.stream import Patience, Received, Stream

_T = TypeVar("_T")


class SyncStream:
    """Events, one by one, as they come; what :class:`~hub.client.stream.Stream` is for asynchronous programs, with
    what it raises. Use it as a context manager. Whoever is slow misses nothing: the stream resumes by cursor."""

    def __init__(self, client: SyncClient, stream: Stream) -> None:
        self._client = client
        self._stream = stream

    def __enter__(self) -> Self:
        self._client.run(self._stream.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._client.run(self._stream.__aexit__(kind, error, at))

    def __iter__(self) -> Iterator[Received]:
        while (received := self._client.run(self._next())) is not None:
            yield received

    async def _next(self) -> Received | None:
        return await anext(aiter(self._stream), None)

    @property
    def cursor(self) -> int:
        """The number of the newest event so far: attach after it to go on later."""
        return self._stream.cursor

    @property
    def accepted(self) -> Json | None:
        """The hub's answer where it is no stream: a message that waits, say. Then there are no events."""
        return self._stream.accepted


class SyncClient:
    """A connection to the hub at ``address``; use it as a context manager, in one thread, with no event loop
    running in it. Arguments and errors are those of :class:`~hub.client.http.Client`; what is missing here can be
    had by :meth:`run` of a method of ``client``."""

    def __init__(self, address: Address, *, timeout_s: float = 10.0, patience: Patience | None = None) -> None:
        self._runner = asyncio.Runner()
        self.client = Client(address, timeout_s=timeout_s, patience=patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        try:
            self.run(self.client.__aexit__(kind, error, at))
        finally:
            self._runner.close()

    def run(self, request: Coroutine[Any, Any, _T]) -> _T:
        """What a request comes to."""
        return self._runner.run(request)

    def agents(self) -> list[Json]:
        """The agents of the hub."""
        return self.run(self.client.agents())

    def sessions(self, limit: int = 50, before: str | None = None) -> list[Json]:
        """Sessions, newest change first."""
        return self.run(self.client.sessions(limit, before))

    def new_session(self, agent: str, *, title: str | None = None, cwd: str | None = None) -> Json:
        """A new session with ``agent``."""
        return self.run(self.client.new_session(agent, title=title, cwd=cwd))

    def session(self, session_id: str) -> Json:
        """One instant of a session."""
        return self.run(self.client.session(session_id))

    def delete_session(self, session_id: str, *, force: bool = False) -> None:
        """Delete a session; with ``force`` although a turn runs in it."""
        self.run(self.client.delete_session(session_id, force=force))

    def send(
        self, session_id: str, text: str, *, on_busy: OnBusy = "reject", key: str | None = None
    ) -> SyncStream:
        """Send a message and follow its turn. ``key`` makes it the same message when it is sent again."""
        return SyncStream(self, self.client.send(session_id, text, on_busy=on_busy, key=key))

    def attach(self, session_id: str, after: int = 0, turn_id: str | None = None) -> SyncStream:
        """Follow the running turn after the cursor ``after``."""
        return SyncStream(self, self.client.attach(session_id, after, turn_id))

    def events(self, session_id: str, after: int = 0) -> SyncStream:
        """All durable events after the cursor ``after``, then those to come, without end."""
        return SyncStream(self, self.client.events(session_id, after))

    def retry(self, session_id: str, mode: Literal["rerun", "resume"] = "rerun") -> SyncStream:
        """Try the last user message again and follow the new turn."""
        return SyncStream(self, self.client.retry(session_id, mode))

    def interrupt(self, session_id: str) -> Json:
        """Ask for the end of the running turn."""
        return self.run(self.client.interrupt(session_id))

    def asks(self, state: str = "open") -> list[Json]:
        """Asks over all sessions, oldest first."""
        return self.run(self.client.asks(state))

    def answer(self, ask_id: str, reply: Mapping[str, Any]) -> Json:
        """Answer an ask; the ask as it stands then."""
        return self.run(self.client.answer(ask_id, reply))
