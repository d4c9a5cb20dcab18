"""Pure: when a turn of an agent in a pane is over, and how it ended, by what was noticed of it."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from hub import Completed, Ending, Failed, Interrupted, Sight
from turnhub_tmux.bridge.facts import Fact, StopFailed, Stopped
from turnhub_tmux.failures import failure
from turnhub_tmux.transcript import facts as rows
from turnhub_tmux.typist import seen_in

TELL_S: Final = 1.0
"""Seconds for what is said about the end by others than who said it first."""
REST_S: Final = 1.5
LONG_REST_S: Final = 6.0
"""Seconds of rest on the screen after which an agent of which nothing else tells, or that should have told, is
taken to be done."""
_DEAD: Final = "The agent's process ended in the middle of the turn. Try again: it is started anew."
_AT_REST: Final = "The agent came to rest without saying that it is done. What came is kept; look at its terminal."


class Signs(Struct):
    """What speaks for the turn's end; times are seconds of the loop's clock. ``command``: the message is a command
    of the agent's own, in which its model has had no part so far; ``put_back``: nothing was shown, and the message
    stands in the composer again, as after Escape at the keyboard; ``worked``: the agent was seen at work on it;
    ``at_tool``: it was stopped while a tool ran, which it calls a refusal."""

    queued: bool = False
    command: bool = False
    stopped: float | None = None
    over: float | None = None
    failed: Failed | None = None
    blocked: rows.Blocked | None = None
    broken_off: bool = False
    put_back: bool = False
    worked: bool = False
    refused: bool = False
    at_tool: bool = False
    dead: int = 0
    at_work: bool = False
    rest_since: float | None = None
    screen: tuple[str, ...] = ()
    alive_at: float = 0.0

    def hear(self, fact: Fact | rows.RowFact, now: float) -> None:
        """Take what hooks or transcript say into account."""
        self.alive_at = now
        match fact:
            case Stopped() if fact.agent is None and not fact.late:
                self.stopped = now
            case StopFailed() if fact.agent is None and not fact.late:
                self.failed = failure(fact.error, fact.last_message or fact.detail or fact.error)
            case rows.TurnOver() if not fact.aside:
                self.over = now
            case rows.Blocked():
                self.blocked = fact
            case rows.Interrupted():
                self.broken_off, self.refused = True, fact.tool
            case rows.Absorbed() | rows.Prompt() if self.queued:
                self.queued, self.stopped, self.over = False, None, None
            case _:
                return

    def look(self, sight: Sight, now: float) -> None:
        """Take a look at the screen into account."""
        self.dead = self.dead + 1 if sight.holder in ("shell", "nothing") else 0
        seen = seen_in(sight)
        shown = seen.screen.rows if seen is not None else ()
        self.at_work = seen is not None and seen.screen.state in ("busy", "waiting")
        self.worked |= self.at_work
        rests = seen is not None and (seen.screen.state == "ready" or (self.command and seen.screen.panel))
        if not rests or shown != self.screen:
            self.rest_since = None
        if rests and self.rest_since is None:
            self.rest_since = now
        if shown != self.screen:
            self.screen, self.alive_at = shown, now

    @property
    def written_to_the_end(self) -> bool:
        """Whether the transcript tells of the turn's end."""
        return self.over is not None or self.broken_off or self.blocked is not None

    def goes_on(self) -> None:
        """The agent works on another message of this turn now: what ended was the one before."""
        self.stopped = self.over = self.rest_since = None

    def rested(self, now: float) -> float:
        """For how many seconds the screen has been at rest."""
        return 0.0 if self.rest_since is None else now - self.rest_since


def ending(
    signs: Signs,
    now: float,
    *,
    told: bool,
    hooked: bool,
    written: bool,
    error: Failed | None,
    joining: bool = False,
) -> Ending | None:
    """How the turn has ended; None while it goes on. ``told``: nothing that was begun to be told is outstanding;
    ``hooked``, ``written``: whether hooks and a transcript tell of this agent; ``error``: what the transcript says
    went wrong with its model."""
    if (found := _said(signs)) is not None:
        return found
    if signs.queued:
        return None  # what ended was what the agent had to do before
    if joining and signs.rested(now) < LONG_REST_S:
        return None  # the agent goes on to what waits in its queue
    first = min((at for at in (signs.stopped, signs.over) if at is not None), default=None)
    if first is not None:
        witnesses = (signs.stopped is not None or not hooked) and (signs.over is not None or not written)
        # Other hooks are asked about its end beside ours: until they let it end, it may be sent on to more.
        held = signs.over is None and signs.at_work
        done = (witnesses and told) or (now - first >= TELL_S and not held)
        return Completed() if done else None
    return _by_rest(signs, now, foreign=signs.command or not (hooked or written), error=error)


def _said(signs: Signs) -> Ending | None:
    """The ending that somebody has said outright."""
    if signs.dead >= 2:
        return Failed(code="agent_dead", message=_DEAD)
    if signs.failed is not None:
        return signs.failed
    if signs.blocked is not None:
        return Failed(code="agent_error" if signs.blocked.kept else "not_delivered", message=signs.blocked.text)
    if signs.refused and not signs.at_tool:  # a "no" at the keyboard ends the agent's turn
        return Completed(stop_reason="tool_denied")
    return Interrupted(by="keyboard") if signs.broken_off else None


def _by_rest(signs: Signs, now: float, *, foreign: bool, error: Failed | None) -> Ending | None:
    rested = signs.rested(now)
    if error is not None and rested >= TELL_S:
        return error
    if signs.put_back and signs.worked and rested >= REST_S:
        return Interrupted(by="keyboard")
    if foreign and rested >= REST_S:
        return Completed()
    if rested >= LONG_REST_S:
        return Failed(code="incomplete", message=_AT_REST)
    return None
