"""What can go wrong, by name. Each error has a stable ``code`` and a sentence that a person can act on.

The front turns them into problem documents, the command line into a line on stderr; neither shows a
traceback for them.
"""

from __future__ import annotations

from typing import Any, ClassVar


class HubError(Exception):
    """Base of all expected errors. ``facts`` are further members of the problem document."""

    code: ClassVar[str] = "error"

    def __init__(self, detail: str, **facts: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.facts = facts


class ConfigError(HubError):
    """A mistake in the configuration: names the key, the file and what was expected."""

    code = "bad_config"


class PluginError(HubError):
    """A plugin that breaks a rule of the hub: a wrapper on an awaited hook, two transports of one name."""

    code = "bad_plugin"


class StoreUnavailable(HubError):
    """The store does not answer. Nothing that was acknowledged is lost."""

    code = "store_unavailable"


class StoreTooOld(StoreUnavailable):
    """The store answers, and has not what is needed of it: it is older than Redis 6.2."""


class StoreRefused(StoreUnavailable):
    """The store answers, and this hub's login is none there, or may not do what a hub does."""


class StoreForeign(StoreUnavailable):
    """The store holds something else where the hub's own should be: another program's, or damaged."""


class StoreReadOnly(HubError):
    """The store answers but takes no writes (a replica, a full disk, out of memory)."""

    code = "store_read_only"


class NotFound(HubError):
    """There is no such thing."""

    code = "not_found"


class BadRequest(HubError):
    """The request cannot be understood."""

    code = "bad_request"


class Invalid(HubError):
    """The request can be read, but what it says is not acceptable: the detail names what is wrong."""

    code = "invalid"


class BadCursor(HubError):
    """A cursor that is no cursor."""

    code = "bad_cursor"


class TurnInFlight(HubError):
    """Another turn is running. Facts: turn_id, started_at, state, live, same_message."""

    code = "turn_in_flight"


class NoActiveTurn(HubError):
    """There is no turn to interrupt."""

    code = "no_active_turn"


class NoRetryableTurn(HubError):
    """The last user message has a completed turn, or there is no user message."""

    code = "no_retryable_turn"


class SteerUnsupported(HubError):
    """The agent's transport cannot take words into a running turn."""

    code = "steer_unsupported"


class ScreenUnsupported(HubError):
    """The agent's transport has no terminal to be looked at."""

    code = "screen_unsupported"


class NoScreen(HubError):
    """The agent's terminal cannot be seen now; the detail says why."""

    code = "no_screen"


class AlreadySettled(HubError):
    """Somebody was faster. Facts: ask (who and what)."""

    code = "already_settled"


class Withdrawn(HubError):
    """The ask is over. Facts: reason, ask."""

    code = "withdrawn"


class IdempotencyMismatch(HubError):
    """One idempotency key for two different requests."""

    code = "idempotency_mismatch"


class StillQueued(HubError):
    """The message of this idempotency key was queued before. Facts: message_id."""

    code = "still_queued"


class NothingQueued(HubError):
    """No message waits that could begin."""

    code = "nothing_queued"


class MessageBegun(HubError):
    """A queued message cannot be taken back: its turn has begun."""

    code = "message_begun"


class AgentUnavailable(HubError):
    """The agent cannot run here: not installed, not logged in, its plugin missing. Says what mends it."""

    code = "agent_unavailable"


class Fenced(HubError):
    """The writer does not own the turn any more. It has to stop; nothing was written."""

    code = "fenced"


class Overloaded(HubError):
    """More than the bounds allow; try again later."""

    code = "overloaded"
