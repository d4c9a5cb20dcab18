"""The kinds of streams: of one turn, of a session's log, of a session as it lives, of hints about the hub."""

from __future__ import annotations

import httpx

from hub import events
from hub.client.stream import Received, Stream, checked
from hub.events import AnyEvent, Unknown


class SessionStream(Stream):
    """All durable events of a session after a cursor, over all its turns, without end."""

    def _is_end(self, event: AnyEvent | Unknown) -> bool:
        return False

    async def _catch_up(self) -> list[Received]:
        self._response = await checked(await self._requests.open_events(self._session_id, self.cursor))
        return []


class LiveStream(SessionStream):
    """All events of a session after a cursor, transient ones of a running turn included, without end. Hints about
    the hub come with them and are passed over."""

    async def _catch_up(self) -> list[Received]:
        self._response = await checked(await self._requests.open_hub(self._session_id, self.cursor))
        return []


class HintStream(SessionStream):
    """Hints about what changes in the hub, from now on, without end."""

    def _is_new(self, event: AnyEvent | Unknown) -> bool:
        return isinstance(event, Unknown)  # hints have no numbers

    async def _catch_up(self) -> list[Received]:
        self._response = await checked(await self._requests.open_hub(None, 0))
        return []


class TurnStream(Stream):
    """The events of one turn, to its terminal event. ``turn_id`` is None until it is known."""

    turn_id: str | None = None

    def _was_missed(self, response: httpx.Response) -> bool:
        return response.status_code == 204 and self.turn_id is not None

    def _is_elsewhere(self, event: AnyEvent | Unknown) -> bool:
        return isinstance(event, events.TurnStarted) and self.turn_id not in {None, event.turn_id}

    def _is_new(self, event: AnyEvent | Unknown) -> bool:
        own = event.turn_id if isinstance(event, events.TurnEvent) else None
        if self.turn_id is None:
            self.turn_id = own
        return own in {None, self.turn_id} and super()._is_new(event)

    def _is_end(self, event: AnyEvent | Unknown) -> bool:
        return events.type_of(event) in events.TERMINAL

    async def _catch_up(self) -> list[Received]:
        if self.turn_id is None:
            await self._begin()
            return []
        ended = await self._rest_of_log()
        if not ended:
            response = await checked(await self._requests.open_live(self._session_id, self.cursor))
            if response.status_code == 204:  # it has ended just now: the next look at the log tells how
                await response.aclose()
            else:
                self._response = response
        return ended

    async def _rest_of_log(self) -> list[Received]:
        """What the log has of the turn after the cursor, if the turn has ended; else nothing."""
        rest: list[Received] = []
        after: int | None = self.cursor
        while after is not None:
            page, after = await self._requests.page(self._session_id, after)
            for one in page:
                if isinstance(one.event, events.TurnEvent) and one.event.turn_id == self.turn_id:
                    rest.append(one)
                    if self._is_end(one.event):
                        self.cursor = one.event.seq
                        return rest
        return []
