"""Who is let in, and for how much: the token of a request, guesses at one, requests and streams of each."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from hub.config import ServerConfig
from hub.front.auth import HOW, Admitted, logged_in, secret_of
from hub.front.buckets import Buckets, Rate
from hub.front.held import Held
from hub.front.peers import peer_of
from hub.front.problems import TooManyRequests, TooManyWrongTokens, Unauthorized
from hub.front.services import Keys
from hub.front.sse import ABORT
from hub.tokens import Token


class Admission:
    """One front's door. ``clock`` tells seconds that only ever grow."""

    def __init__(self, tokens: Keys, server: ServerConfig, clock: Callable[[], float] = time.monotonic) -> None:
        guesses = server.max_wrong_tokens_per_minute
        self._tokens = tokens
        self._clock = clock
        self._asked = Buckets(Rate(server.requests_per_s, server.request_burst))
        self._guessed = Buckets(Rate(guesses / 60, max(1, guesses)))
        self._held = Held(tokens, server.max_streams_per_token)

    async def admit(self, scope: Scope) -> Admitted:
        """Whose request this is. Raises Unauthorized, TooManyWrongTokens, TooManyRequests."""
        secret = secret_of(Headers(scope=scope))
        token = await self._known(secret, scope)
        if token is None:
            raise Unauthorized(f"This token is not known here. {HOW}")
        if wait := self._asked.take(token.name, self._clock()):
            raise TooManyRequests(
                f"Token {token.name!r} asks too often. Wait {_told(wait)}; server.requests_per_s bounds it.",
                retry_after_s=math.ceil(wait),
            )
        return Admitted(token, secret)

    async def log_in(self, scope: Scope, secret: str) -> Response:
        """What ``GET /?token=`` answers. Raises Unauthorized, TooManyWrongTokens."""
        if await self._known(secret, scope) is None:
            raise Unauthorized("This token is not known here. `turnhub token` shows the one that is.")
        return logged_in(Headers(scope=scope), secret, secure=scope["scheme"] == "https")

    def stream(self, admitted: Admitted, scope: Scope) -> AbstractContextManager[None]:
        """Room for one more open stream, for as long as the context lasts; its connection is cut off when the
        token is worth nothing any more. Raises TooManyStreams."""
        return self._held.one(admitted, scope.get("extensions", {}).get(ABORT, _nothing))

    async def _known(self, secret: str, scope: Scope) -> Token | None:
        peer = peer_of(scope.get("client"))
        if peer is not None and (wait := self._guessed.wait(peer, self._clock())):
            raise TooManyWrongTokens(
                f"Too many wrong tokens came from {peer}. Wait {_told(wait)}, then send the right one.",
                retry_after_s=math.ceil(wait),
            )
        token = await asyncio.to_thread(self._tokens.verify, secret)
        if token is None and peer is not None:
            self._guessed.take(peer, self._clock())
        return token


def _told(wait_s: float) -> str:
    return f"{max(0.1, wait_s):.1f} s"


def _nothing() -> None:
    """Without a connection there is nothing to cut off."""
