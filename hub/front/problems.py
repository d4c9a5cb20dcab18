"""Errors as problem documents (RFC 9457): one table says which status and title each code has.

A problem is ``application/problem+json`` with ``type``, ``title``, ``status``, ``detail`` (a sentence that a
person can act on), ``code`` and the error's facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from msgspec import Struct
from starlette.responses import Response

from hub.errors import HubError
from hub.events import to_json
from hub.front.headers import HARDENED

MEDIA_TYPE: Final = "application/problem+json"


class Unauthorized(HubError):
    """Nobody knows who is asking."""

    code: ClassVar[str] = "unauthorized"


class MissingScope(HubError):
    """The token may not do this. Facts: scope."""

    code: ClassVar[str] = "missing_scope"


class TooManyRequests(HubError):
    """The token asks too often. Facts: retry_after_s."""

    code: ClassVar[str] = "too_many_requests"


class TooManyStreams(HubError):
    """The token has too many streams open. Facts: limit, retry_after_s."""

    code: ClassVar[str] = "too_many_streams"


class TooManyWrongTokens(HubError):
    """Whoever asks has guessed too often. Facts: retry_after_s."""

    code: ClassVar[str] = "too_many_wrong_tokens"


class BadHost(HubError):
    """The Host header is missing, doubled, or no host at all."""

    code: ClassVar[str] = "bad_host"


class ForeignHost(HubError):
    """The hub is not known by this name."""

    code: ClassVar[str] = "foreign_host"


class ForeignOrigin(HubError):
    """The request comes from another site's page."""

    code: ClassVar[str] = "foreign_origin"


class BadJson(HubError):
    """The body is no JSON. Facts: position (byte), where there is one."""

    code: ClassVar[str] = "bad_json"


class BadIdempotencyKey(HubError):
    """An Idempotency-Key that is none."""

    code: ClassVar[str] = "bad_idempotency_key"


class MethodNotAllowed(HubError):
    """The route knows other methods. Facts: allow."""

    code: ClassVar[str] = "method_not_allowed"


class BodyTooLarge(HubError):
    """The body is beyond the limit. Facts: limit (bytes)."""

    code: ClassVar[str] = "body_too_large"


class BodyTooSlow(HubError):
    """The body did not arrive in time."""

    code: ClassVar[str] = "body_too_slow"


class HeadersTooLarge(HubError):
    """The head of the request is beyond the limit."""

    code: ClassVar[str] = "headers_too_large"


class UnsupportedMediaType(HubError):
    """The body is not sent as JSON."""

    code: ClassVar[str] = "unsupported_media_type"


class UnknownAgent(HubError):
    """No such agent is configured. Facts: agents."""

    code: ClassVar[str] = "unknown_agent"


class UnknownPolicy(HubError):
    """No such policy is configured. Facts: policies."""

    code: ClassVar[str] = "unknown_policy"


class ResumeUnsupported(HubError):
    """The agent cannot go on where it stopped."""

    code: ClassVar[str] = "resume_unsupported"


class OutputGone(HubError):
    """The whole output of a tool is not kept any more. Facts: bytes, sha256 of it."""

    code: ClassVar[str] = "output_gone"


class NotReady(HubError):
    """The hub cannot do its work. Facts: missing."""

    code: ClassVar[str] = "not_ready"


class Unexpected(HubError):
    """A fault of the hub itself. Facts: request_id, under which the log tells more."""

    code: ClassVar[str] = "internal_error"


class Kind(Struct, frozen=True):
    """What a code means in HTTP."""

    status: int
    title: str


KINDS: Final[Mapping[str, Kind]] = {
    "bad_request": Kind(400, "Bad request"),
    "bad_host": Kind(400, "Bad Host header"),
    "bad_json": Kind(400, "Malformed JSON"),
    "bad_cursor": Kind(400, "Bad cursor"),
    "bad_idempotency_key": Kind(400, "Bad Idempotency-Key"),
    "unauthorized": Kind(401, "Token wanted"),
    "missing_scope": Kind(403, "Scope missing"),
    "foreign_host": Kind(403, "Foreign host"),
    "foreign_origin": Kind(403, "Foreign origin"),
    "not_found": Kind(404, "Not found"),
    "no_active_turn": Kind(404, "No active turn"),
    "method_not_allowed": Kind(405, "Method not allowed"),
    "body_too_slow": Kind(408, "Request timeout"),
    "turn_in_flight": Kind(409, "A turn is in flight"),
    "no_retryable_turn": Kind(409, "Nothing to retry"),
    "steer_unsupported": Kind(409, "Steering is not supported"),
    "screen_unsupported": Kind(409, "It has no terminal"),
    "no_screen": Kind(503, "The terminal cannot be seen"),
    "resume_unsupported": Kind(409, "Resuming is not supported"),
    "already_settled": Kind(409, "Already settled"),
    "still_queued": Kind(409, "The message was queued before"),
    "nothing_queued": Kind(404, "No message waits"),
    "message_begun": Kind(409, "The message does not wait any more"),
    "fenced": Kind(409, "Not the owner any more"),
    "withdrawn": Kind(410, "Withdrawn"),
    "body_too_large": Kind(413, "Body too large"),
    "unsupported_media_type": Kind(415, "Unsupported media type"),
    "output_gone": Kind(410, "The output is not kept any more"),
    "bad_archive": Kind(422, "No export that can be imported"),
    "invalid": Kind(422, "Not acceptable as it is"),
    "unknown_agent": Kind(422, "Unknown agent"),
    "unknown_policy": Kind(422, "Unknown policy"),
    "idempotency_mismatch": Kind(422, "Idempotency-Key used before"),
    "too_many_requests": Kind(429, "Too many requests"),
    "too_many_streams": Kind(429, "Too many streams"),
    "too_many_wrong_tokens": Kind(429, "Too many wrong tokens"),
    "headers_too_large": Kind(431, "Headers too large"),
    "internal_error": Kind(500, "Fault of the hub"),
    "agent_unavailable": Kind(503, "Agent unavailable"),
    "not_ready": Kind(503, "Not ready"),
    "store_unavailable": Kind(503, "Store unavailable"),
    "store_read_only": Kind(503, "Store takes no writes"),
    "overloaded": Kind(503, "Overloaded"),
    "bad_tokens": Kind(503, "Tokens unreadable"),
}
_FAULT: Final = Kind(500, "Fault of the hub")


def kind_of(code: str) -> Kind:
    """Status and title of a code; one that the table does not know is a fault of the hub."""
    return KINDS.get(code, _FAULT)


def document(error: HubError) -> dict[str, Any]:
    """The members of the problem document."""
    kind = kind_of(error.code)
    return {
        **error.facts,
        "type": f"urn:turnhub:problem:{error.code}",
        "title": kind.title,
        "status": kind.status,
        "detail": error.detail,
        "code": error.code,
    }


def problem(error: HubError) -> Response:
    """The response that tells ``error``."""
    status = kind_of(error.code).status
    headers = dict(HARDENED)
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="turnhub"'
    if status == 429:
        headers["Retry-After"] = str(error.facts.get("retry_after_s", 1))
    if status == 503:
        headers["Retry-After"] = "1"
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = error.facts["allow"]
    return Response(to_json(document(error)), status, headers, MEDIA_TYPE)
