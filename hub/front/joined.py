"""Several subscriptions as one stream, so that a page needs one connection for all that it watches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType

from hub.front.sse import Readable


class Joined:
    """Frames of all ``parts`` as they come, each part's in its own order. It is over when any part is."""

    def __init__(self, parts: Sequence[Readable]) -> None:
        self._parts = parts
        self._stack = AsyncExitStack()
        self._reading: dict[asyncio.Task[bytes | None], Readable] = {}

    async def __aenter__(self) -> Joined:
        for part in self._parts:
            await self._stack.enter_async_context(part)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        reading = list(self._reading)
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        await self._stack.aclose()

    async def read(self) -> bytes | None:
        """The next frames of any part; ``b""`` when a comment is due; None when a part is over. Raises what the
        parts raise."""
        busy = set(self._reading.values())
        for part in self._parts:
            if part not in busy:
                self._reading[asyncio.ensure_future(part.read())] = part
        done, _ = await asyncio.wait(self._reading, return_when=asyncio.FIRST_COMPLETED)
        found: list[bytes] = []
        over = False
        for task in [one for one in self._reading if one in done]:
            del self._reading[task]
            frames = task.result()
            over = over or frames is None
            found.append(frames or b"")
        joined = b"".join(found)
        return None if over and not joined else joined
