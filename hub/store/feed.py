"""Live streams: one subscription a process and session, frames encoded once, cursors for subscribers.

Attach = subscribe, then snapshot, then drop what is not newer than the cursor, then follow. Numbers have no
holes in what is published, so a hole says that something was missed, and the store is read. Nothing here is
the truth, and a slow subscriber slows nobody: it falls behind what is held and is closed, without a terminal
event, to come back with its cursor.
"""

from __future__ import annotations

import asyncio

import structlog

from hub.errors import BadCursor, HubError, NotFound
from hub.events import Gap, encode, now
from hub.store import keys
from hub.store.channels import Channel, FeedBounds, HubChannel
from hub.store.doorbell import Doorbell
from hub.store.frames import View
from hub.store.session_channel import SessionChannel, WentBack
from hub.store.store import Store
from hub.store.subscription import Subscription

_READERS = 8


class Feed:
    """All streams of one process. :meth:`run` has to be running, and the doorbell's ``run`` too."""

    def __init__(self, store: Store, doorbell: Doorbell, bounds: FeedBounds | None = None) -> None:
        self._store = store
        self._doorbell = doorbell
        self._bounds = bounds or FeedBounds()
        self._channels: dict[str, Channel] = {}
        self._wanted: dict[SessionChannel, None] = {}
        self._some_wanted = asyncio.Event()
        self._drained = False

    async def run(self) -> None:
        """Read what was missed, and see that quiet streams get their comments, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(_READERS):
                group.create_task(self._read_on_demand())
            group.create_task(self._pulse())

    def drain(self) -> None:
        """End every stream at once, cleanly; new ones end at once too."""
        self._drained = True
        for channel in self._channels.values():
            channel.close()

    @property
    def watched(self) -> int:
        """How many streams somebody watches in this process."""
        return len(self._channels)

    async def turn(self, session_id: str, *, turn_id: str | None = None, after: int = 0) -> Subscription | None:
        """The running turn, or turn ``turn_id`` whether it runs or has ended, from its first event or after a
        cursor, to its terminal event. None when no turn runs. Raises NotFound, BadCursor, StoreUnavailable."""
        channel = await self._watch_session(session_id)
        try:
            _check_cursor(channel, after)
        except BadCursor:
            await self._release(channel)
            raise
        wanted = turn_id or channel.turn_id
        if wanted is None:
            await self._release(channel)
            return None
        cursor = after or channel.start_of(wanted)
        return self._subscription(channel, View(turn_id=wanted), cursor, _gap(channel, wanted, after))

    async def log(self, session_id: str, *, after: int = 0, transient: bool = False) -> Subscription:
        """Durable events after a cursor, then what follows, across turns; with ``transient`` also those of the
        running turn, behind a gap where some of them are no longer held. Raises NotFound, BadCursor,
        StoreUnavailable."""
        channel = await self._watch_session(session_id)
        try:
            _check_cursor(channel, after)
        except BadCursor:
            await self._release(channel)
            raise
        running = channel.turn_id if transient else None
        first = _gap(channel, running, after) if running is not None and after else b""
        return self._subscription(channel, View(transient=transient), after, first)

    async def hub(self) -> Subscription:
        """Hints about what changes anywhere in the hub, from now on. Raises StoreUnavailable."""
        channel = await self._watch(HubChannel(keys.HUB_CHANNEL, self._bounds))
        return self._subscription(channel, View(transient=True), channel.frames.last)

    def _subscription(self, channel: Channel, view: View, cursor: int, first: bytes = b"") -> Subscription:
        if self._drained:
            channel.close()
        return Subscription(channel, view, cursor, lambda: self._release(channel), first)

    async def _watch_session(self, session_id: str) -> SessionChannel:
        name = keys.channel(session_id)
        channel = await self._watch(
            SessionChannel(name, self._bounds, self._store, session_id, want_reading=self._want_reading)
        )
        if not isinstance(channel, SessionChannel):
            raise HubError(f"{name} is not the channel of a session.")
        return channel

    async def _watch(self, fresh: Channel) -> Channel:
        """The channel of that name, brought up to the present; ``fresh`` when nobody watches it yet."""
        channel = self._channels.setdefault(fresh.name, fresh)
        channel.users += 1
        asked = channel.readings
        try:
            async with channel.lock:
                if not channel.begun:
                    await self._doorbell.listen(channel.name, channel)
                    await channel.begin()
                elif channel.read <= asked:  # a reading that began after we asked, for another, serves us too
                    await channel.sync()
        except WentBack:
            self._end(channel)
            await self._release(channel)
            raise
        except BaseException:
            await self._release(channel)
            raise
        return channel

    def _end(self, channel: Channel) -> None:
        """End its streams without a terminal event: who comes back with a cursor is told what became of it."""
        channel.close()
        self._forget(channel)

    async def _release(self, channel: Channel) -> None:
        channel.users -= 1
        if channel.users == 0:
            self._forget(channel)
            await self._doorbell.leave(channel.name, channel)

    def _forget(self, channel: Channel) -> None:
        if self._channels.get(channel.name) is channel:
            del self._channels[channel.name]

    def _want_reading(self, channel: SessionChannel) -> None:
        self._wanted[channel] = None
        self._some_wanted.set()

    async def _read_on_demand(self) -> None:
        while True:
            await self._some_wanted.wait()
            while self._wanted:
                await self._read(self._next_wanted())  # a name here would keep it when it is done
            self._some_wanted.clear()

    def _next_wanted(self) -> SessionChannel:
        channel = next(iter(self._wanted))
        del self._wanted[channel]
        return channel

    async def _read(self, channel: SessionChannel) -> None:
        log = structlog.get_logger("hub.feed").bind(session_id=channel.session_id)
        try:
            async with channel.lock:
                if channel.begun and not channel.closed:
                    await channel.sync()
        except NotFound:  # deleted: whoever watches is told by the end of the stream
            self._end(channel)
        except WentBack as error:
            log.error("the store went back; the streams of a session end", error=error.detail)
            self._end(channel)
        except HubError as error:  # read again at the next pulse, or when the doorbell is back
            log.warning("could not read a session", error=error.detail)
        except Exception as error:  # what one session holds must not end all streams
            log.error("a session cannot be read; its streams end", error=type(error).__name__)
            log.debug("that error", exc_info=error)
            self._end(channel)

    async def _pulse(self) -> None:
        """Ring where a comment is due; read sessions that have more to read, or a quiet turn."""
        while True:
            await asyncio.sleep(min(self._bounds.heartbeat_s / 5, self._bounds.reread_s))
            self._beat()

    def _beat(self) -> None:
        for channel in list(self._channels.values()):
            channel.ring_if_due()
            if isinstance(channel, SessionChannel) and channel.wants_reading():
                self._want_reading(channel)


def _check_cursor(channel: SessionChannel, after: int) -> None:
    if after > channel.frames.last:
        raise BadCursor(f"Cursor {after} is ahead of this session, which stands at {channel.frames.last}.")


def _gap(channel: SessionChannel, turn_id: str, after: int) -> bytes:
    """The frame that tells a returning client of deltas that are no longer held. It has no id: it moves no
    cursor."""
    end = channel.gap_end(turn_id, after) if after else 0
    if not end:
        return b""
    gap = Gap(seq=after, session_id=channel.session_id, at=now(), after=after, before=end + 1)
    return b"event: gap\ndata: " + encode(gap) + b"\n\n"
