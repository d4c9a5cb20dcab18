"""The listener that agents post their hooks to: one loopback port a runner, a secret a session.

Whatever does not carry a session's secret is refused and changes nothing. A permission's request is held open,
beside the dialog on the agent's screen, until somebody here answers it, or nobody needs to any more.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from pathlib import Path
from typing import Any, Final, Self

from msgspec import Struct

from hub import ELICITATION
from turnhub_tmux.bridge import posts
from turnhub_tmux.bridge.access import USER, Access, url_of, user_key
from turnhub_tmux.bridge.course import Course
from turnhub_tmux.bridge.decisions import NO_OPINION, Decision, Fill, respond
from turnhub_tmux.bridge.facts import AskOver, Fact, PermissionAsked, Unheld
from turnhub_tmux.bridge.gate import Gate, Posted, Respond
from turnhub_tmux.bridge.server import Server
from turnhub_tmux.bridge.state import Secrets, Slot
from turnhub_tmux.bridge.subscription import Backlog, Subscription

HOLD_S: Final = 24 * 3600.0
_KEYS: Final = 1024
_CANCELLED: Final = respond(Fill(action="cancel"))

log = logging.getLogger(__name__)


class _Watched:
    """One session: what its posts mean, who watches it, and what came while nobody did."""

    def __init__(self, *, fresh: bool) -> None:
        self.course = Course(fresh=fresh)
        self.backlog = Backlog()
        self.subscriptions: set[Subscription] = set()

    def publish(self, fact: Fact) -> None:
        if not self.subscriptions:
            self.backlog.put(fact)
        for subscription in self.subscriptions:
            subscription.put(fact)


class _Held(Struct, frozen=True):
    """A request that waits for an answer."""

    key: str
    body: asyncio.Future[bytes]
    over: bytes = NO_OPINION
    """What the agent is told where nobody is asked any more: of what an MCP server wanted it would show a form of
    its own then, which nobody waits for, and which keeps the next message away."""


class Bridge:
    """The listener of one runner. ``folder`` keeps its port and the hashes of the secrets; ``hold_s``: how long a
    permission's request is held, in seconds. An asynchronous context manager."""

    def __init__(self, folder: Path, *, hold_s: float = HOLD_S) -> None:
        self._folder = folder
        self._hold_s = hold_s
        self._secrets = Secrets(folder)
        self._sessions: dict[str, _Watched] = {}
        self._held: dict[str, _Held] = {}
        self._slot: Slot | None = None
        self._server: Server | None = None

    # Starting and stopping

    async def start(self) -> Self:
        """Listen, on the port of before where it is free. Raises OSError where no port can be listened on, or the
        folder cannot be written."""
        slot = await asyncio.to_thread(Slot, self._folder)
        try:
            before = slot.port
            self._server = self._listen(before)
            await asyncio.to_thread(slot.keep, self._server.port)
            await self._server.start()
        except BaseException:
            slot.leave()
            raise
        self._slot = slot
        return self

    def _listen(self, before: int) -> Server:
        gate = Gate(self._secrets, self._posted)
        try:
            server = Server(gate, before)
        except OSError as error:
            if not before:
                raise
            server = Server(gate, 0)
            log.warning(
                "hook listener: port %d is not free (%s); listening on %d. Agents that were started before post "
                "there in vain: their transcripts and screens tell of them until they are started anew.",
                before,
                error.strerror,
                server.port,
            )
        gate.port = server.port
        return server

    async def close(self) -> None:
        """Leave all held requests to their dialogs, end all subscriptions, stop listening."""
        for ask_id in list(self._held):
            self.release(ask_id, "the hub stops")
        if self._server is not None:
            await self._server.stop()
        for watched in self._sessions.values():
            for subscription in list(watched.subscriptions):
                subscription.close()
        if self._slot is not None:
            self._slot.leave()
        self._server = self._slot = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def port(self) -> int:
        """The port. Raises RuntimeError where it does not listen."""
        if self._server is None:
            raise RuntimeError("The hook listener has not been started.")
        return self._server.port

    # Sessions

    async def admit(self, key: str, *, fresh: bool = True) -> Access:
        """Let posts of session ``key`` in, with a new secret. ``fresh``: its agent is about to be started.

        Raises OSError where the secret's hash cannot be kept, ValueError for a key that is no plain name.
        """
        token = await self._secrets.new(key)
        self._sessions.setdefault(key, _Watched(fresh=fresh))
        return Access(url=url_of(self.port, key), token=token)

    async def forget(self, key: str) -> None:
        """Refuse posts of session ``key`` from now on, and end its subscriptions. Raises OSError, ValueError."""
        await self._secrets.forget(key)
        watched = self._sessions.pop(key, None)
        for ask_id in [ask_id for ask_id, held in self._held.items() if held.key == key]:
            self._end(ask_id, NO_OPINION)
        for subscription in list(watched.subscriptions) if watched else ():
            subscription.close()

    def subscribe(self, key: str) -> Subscription:
        """The facts of session ``key`` from now on, with those that came while nobody watched it."""
        watched = self._watched(key)
        subscription = Subscription(watched.subscriptions.discard, watched.backlog.take())
        watched.subscriptions.add(subscription)
        return subscription

    def asks(self, key: str) -> tuple[PermissionAsked, ...]:
        """The asks of ``key`` whose dialogs may still be there, as far as its posts tell, oldest first."""
        return self._watched(key).course.asks

    # Asks

    def held(self, ask_id: str) -> bool:
        """Whether an answer would reach the agent by its hook."""
        held = self._held.get(ask_id)
        return held is not None and not held.body.done()

    def answer(self, ask_id: str, decision: Decision) -> bool:
        """Answer an ask by its hook. False: its request is not held any more, so only keys can answer it.

        That it was answered is not yet that the agent took it: the following :class:`AskOver` tells
        (:func:`~turnhub_tmux.bridge.decisions.took`).
        """
        held = self._held.get(ask_id)
        if held is None or not self._end(ask_id, respond(decision)):
            return False
        self._watched(held.key).course.answered(ask_id)
        return True

    def release(self, ask_id: str, reason: str) -> bool:
        """Leave an ask to its dialog: no opinion. Whether its request was held."""
        held = self._held.get(ask_id)
        if held is None or not self._end(ask_id, NO_OPINION):
            return False
        self._unheld(held.key, ask_id, reason)
        return True

    def drop(self, ask_id: str) -> None:
        """Nobody is asked any more: the agent need not wait."""
        held = self._held.get(ask_id)
        if held is not None:
            self._end(ask_id, held.over)

    def _end(self, ask_id: str, body: bytes) -> bool:
        held = self._held.get(ask_id)
        if held is None or held.body.done():
            return False
        held.body.set_result(body)
        return True

    def _unheld(self, key: str, ask_id: str, reason: str) -> None:
        asked = next((fact for fact in self.asks(key) if fact.ask_id == ask_id), None)
        if asked is not None:
            self._watched(key).publish(
                Unheld(
                    agent_session=asked.agent_session,
                    prompt_id=asked.prompt_id,
                    agent=asked.agent,
                    ask_id=ask_id,
                    reason=reason,
                )
            )

    # Posts

    async def _posted(self, posted: Posted, reply: Respond) -> None:
        """Take one post that carried its session's secret."""
        ask_id = secrets.token_hex(8)
        post = posts.read(posted.body, ask_id)
        if post is None:
            await reply(400, NO_OPINION)
            return
        key = user_key(post.agent_session) if posted.key == USER else posted.key
        watched = self._watched(key)
        # Of a person's own agents, those that no session here is about are left to their dialogs.
        hold = posted.key != USER or bool(watched.subscriptions)
        for fact in watched.course.take(post):
            if isinstance(fact, PermissionAsked) and hold:
                body: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
                over = _CANCELLED if fact.tool == ELICITATION else NO_OPINION
                self._held[fact.ask_id] = _Held(key, body, over)
            watched.publish(fact)
            if isinstance(fact, AskOver):
                self.drop(fact.ask_id)
        if ask_id not in self._held:
            await reply(200, NO_OPINION)
            return
        try:
            await self._hold(ask_id, key, posted, reply)
        finally:
            self._held.pop(ask_id, None)

    async def _hold(self, ask_id: str, key: str, posted: Posted, reply: Respond) -> None:
        held = self._held[ask_id]
        gone = asyncio.create_task(posted.gone())
        waits: set[asyncio.Future[Any]] = {held.body, gone}
        try:
            await asyncio.wait(waits, timeout=self._hold_s, return_when=asyncio.FIRST_COMPLETED)
            if not held.body.done() and not gone.done():
                self.release(ask_id, f"nobody answered within {self._hold_s:g} s")
            if held.body.done():
                await reply(200, held.body.result())
                return
        finally:
            held.body.cancel()
            gone.cancel()
        over = self._watched(key).course.hung_up(ask_id)
        if over is not None:
            self._watched(key).publish(over)

    def _watched(self, key: str) -> _Watched:
        watched = self._sessions.get(key)
        if watched is None:
            watched = self._sessions[key] = _Watched(fresh=False)
            while len(self._sessions) > _KEYS:
                idle = next((name for name, one in self._sessions.items() if not one.subscriptions), None)
                if idle is None or idle == key:
                    break
                del self._sessions[idle]
        return watched
