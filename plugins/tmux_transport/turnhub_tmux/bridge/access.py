"""Where agents post their hooks to. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

LOOPBACK: Final = "127.0.0.1"
PREFIX: Final = "/turnhub/hooks/"
USER: Final = "user"
"""The name under which agents post that a person has started: each post says which session it is about."""


class Access(Struct, frozen=True, kw_only=True):
    """Where a session's agent posts to, and the secret that it sends along."""

    url: str
    token: str


def url_of(port: int, key: str) -> str:
    """Where the agent of session ``key`` posts to."""
    return f"http://{LOOPBACK}:{port}{PREFIX}{key}"


def user_key(agent_session: str) -> str:
    """The key under which the facts of an agent are kept that a person has started."""
    return f"{USER}/{agent_session}"
