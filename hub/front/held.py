"""Streams that are open, by the token that opened them: bounded in number, and cut off once the token is worth
nothing any more. A request is checked when it comes; a stream that lasts for days has to be checked again."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from hub.errors import HubError
from hub.front.auth import Admitted
from hub.front.problems import TooManyStreams
from hub.front.services import Keys

log = logging.getLogger(__name__)

RECHECK_S: Final = 5.0
_RETRY_S: Final = 5


class Held:
    """The open streams. ``most``: of one token; ``recheck_s``: how often tokens are looked at again."""

    def __init__(self, tokens: Keys, most: int, recheck_s: float = RECHECK_S) -> None:
        self._tokens = tokens
        self._most = most
        self._recheck_s = recheck_s
        self._count: Counter[str] = Counter()
        self._open: dict[Admitted, dict[object, Callable[[], None]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._checking: asyncio.Task[None] | None = None

    @contextmanager
    def one(self, admitted: Admitted, cut: Callable[[], None]) -> Iterator[None]:
        """A stream is open for as long as the context lasts; ``cut`` is called when it may not be any more.
        Raises TooManyStreams."""
        name, place = admitted.token.name, object()
        if self._count[name] >= self._most:
            raise TooManyStreams(
                f"Token {name!r} has {self._most} streams open, which is as many as it may. Close some, or raise "
                "server.max_streams_per_token.",
                limit=self._most,
                retry_after_s=_RETRY_S,
            )
        self._count[name] += 1
        self._open.setdefault(admitted, {})[place] = cut
        self._look_later()
        try:
            yield
        finally:
            self._leave(admitted, place)

    def _leave(self, admitted: Admitted, place: object) -> None:
        name = admitted.token.name
        self._count[name] -= 1
        if not self._count[name]:
            del self._count[name]
        del self._open[admitted][place]
        if not self._open[admitted]:
            del self._open[admitted]
        if not self._open:
            self._rest()

    def _look_later(self) -> None:
        if self._timer is None and self._checking is None:
            self._timer = asyncio.get_running_loop().call_later(self._recheck_s, self._look)

    def _look(self) -> None:
        self._timer = None
        self._checking = asyncio.create_task(self._check())

    def _rest(self) -> None:
        """Nobody is there to look after."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._checking is not None:
            self._checking.cancel()
            self._checking = None

    async def _check(self) -> None:
        try:
            for admitted in await asyncio.to_thread(self._worthless, tuple(self._open)):
                self._cut(admitted)
        finally:
            self._checking = None
            if self._open:
                self._look_later()

    def _cut(self, admitted: Admitted) -> None:
        streams = tuple(self._open.get(admitted, {}).values())
        log.info("token %s is worth nothing any more; %d streams are cut off", admitted.token.name, len(streams))
        for cut in streams:
            cut()

    def _worthless(self, known: tuple[Admitted, ...]) -> list[Admitted]:
        """Those that would not be let in as they were. Where that cannot be told, nobody is."""
        try:
            return [one for one in known if self._tokens.verify(one.secret) != one.token]
        except HubError as error:
            log.warning("tokens cannot be checked: %s", error.detail)
            return list(known)
