"""What can go wrong for a client of the hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class ClientError(Exception):
    """Base of the client's errors; ``detail`` is a sentence that a person can act on."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class HubNotReachable(ClientError):
    """No hub answers. Nothing is said about turns that run."""


class ProblemError(ClientError):
    """The hub refused: its problem document. ``facts`` are the members beyond the standard ones."""

    def __init__(self, status: int, code: str, detail: str, facts: Mapping[str, Any]) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.facts = dict(facts)


_STANDARD = ("type", "title", "status", "detail", "instance", "code")


def problem(status: int, body: bytes) -> ProblemError:
    """The error in the answer ``body`` with ``status``; also where it is no problem document."""
    try:
        document = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        document = {}
    detail = document.get("detail") or document.get("title") or f"The hub answered with status {status}."
    facts = {key: value for key, value in document.items() if key not in _STANDARD}
    return ProblemError(status, str(document.get("code") or f"http_{status}"), str(detail), facts)
